"""A process that was stopped in the middle of a write finishes it, and is stopped again."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from flexibo.storage._frozen_writers import finish_frozen_writes, is_stopped, writers

PID = 4242


class Machine:
    """The files of /proc about one process, and what signals do to it."""

    def __init__(self, folder: Path) -> None:
        self.proc, self.locks = folder / "proc", folder / "study.db-shm"
        self.locks.write_text("")
        (self.proc / str(PID) / "fd").mkdir(parents=True)
        (self.proc / str(PID) / "fd" / "7").symlink_to(self.locks)
        self.signals: list[int] = []
        self.writes = 1  # how many it will finish once it is continued
        self.lock(120)
        self.state("T")

    def lock(self, *first: int, kind: str = "WRITE", pid: int = PID) -> None:
        inode = self.locks.stat().st_ino
        lines = [f"{n}: POSIX  ADVISORY  {kind} {pid} fe:00:{inode} {byte} {byte}" for n, byte in enumerate(first)]
        (self.proc / "locks").write_text("\n".join(["1: FLOCK  ADVISORY  WRITE 1 00:19:3 0 EOF", *lines]) + "\n")

    def state(self, letter: str) -> None:
        (self.proc / str(PID) / "stat").write_text(f"{PID} (a (name) R) {letter} 1 2 3\n")

    def send(self, pid: int, number: int) -> None:
        assert pid == PID
        self.signals.append(number)
        self.state("S" if number == signal.SIGCONT else "T")

    def sleep(self, seconds: float) -> None:
        """What happens while time passes: it runs, and finishes its write."""
        if self.signals[-1] == signal.SIGCONT and self.writes:
            self.writes -= 1
            self.lock()

    def finish(self) -> list[int]:
        return finish_frozen_writes(self.locks, proc=self.proc, send=self.send, sleep=self.sleep)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_it_finishes_its_write_and_stands_still_again(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    assert machine.finish() == [PID]
    assert machine.signals == [signal.SIGCONT, signal.SIGSTOP]
    assert is_stopped(PID, machine.proc)
    (record,) = caplog.records
    assert str(PID) in record.getMessage()
    assert "study.db" in record.getMessage()


def test_one_that_does_not_finish_is_stopped_again(machine: Machine) -> None:
    machine.writes = 0
    assert machine.finish() == []
    assert machine.signals[-1] == signal.SIGSTOP


@pytest.mark.parametrize(
    "change",
    [
        lambda machine: machine.state("S"),  # it runs
        lambda machine: machine.state("t"),  # a debugger holds it
        lambda machine: machine.lock(120, kind="READ"),
        lambda machine: machine.lock(123),  # of a reader
        lambda machine: machine.lock(120, pid=0),  # of another container
        lambda machine: machine.lock(120, pid=os.getpid()),
        lambda machine: (machine.proc / str(PID) / "fd" / "7").unlink(),  # of a file with this number elsewhere
        lambda machine: (machine.proc / "locks").unlink(),
        lambda machine: machine.locks.unlink(),
    ],
)
def test_nobody_else_gets_a_signal(machine: Machine, change: Callable[[Machine], object]) -> None:
    change(machine)
    assert machine.finish() == []
    assert machine.signals == []


def test_the_process_of_another_user_is_left_alone(machine: Machine) -> None:
    def refused(pid: int, number: int) -> None:
        raise PermissionError

    assert finish_frozen_writes(machine.locks, proc=machine.proc, send=refused, sleep=machine.sleep) == []
    assert writers(machine.locks, machine.proc) == [PID]
