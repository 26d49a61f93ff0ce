"""A worker process, seen from its parent; real ones are in tests/integration."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flexibo.errors import MachineError
from flexibo.executors import _worker_process
from flexibo.executors._messages import (
    CHUNK,
    Fault,
    MeasuringBegan,
    MessageReader,
    ProcessTask,
    WorkingContext,
    encoded,
)
from flexibo.executors._worker_main import enter_context
from flexibo.executors._worker_process import WorkerProcess


def test_a_python_that_does_not_know_its_program_is_a_fault_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(MachineError, match=r"sys\.executable is empty"):
        WorkerProcess(0, {})


def test_a_working_directory_that_is_gone_does_not_matter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert _worker_process.working_context().folder is None
    monkeypatch.chdir(tmp_path)
    enter_context(WorkingContext(tuple(sys.path), None))


def test_entries_of_the_search_path_that_are_no_text_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/one", Path("/two"), "/three"])
    assert _worker_process.working_context() == WorkingContext(("/one", "/three"), os.getcwd())


def test_a_process_that_cannot_be_started_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    before = os.listdir("/proc/self/fd") if sys.platform == "linux" else []
    with pytest.raises(MachineError, match=f"{os.strerror(errno.ENOENT)}.*/nowhere/python"):
        WorkerProcess(0, {})
    assert before == (os.listdir("/proc/self/fd") if sys.platform == "linux" else [])


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[WorkerProcess, socket.socket]]:
    """A worker whose process is one that only waits, and the end of the connection that the process would have."""
    ends: list[socket.socket] = []

    def pair() -> tuple[socket.socket, socket.socket]:
        ours, theirs = real_pair()
        ends.append(theirs.dup())
        return ours, theirs

    real_pair, real_popen = socket.socketpair, subprocess.Popen
    monkeypatch.setattr(socket, "socketpair", pair)
    monkeypatch.setattr(subprocess, "Popen", lambda command, **rest: real_popen(["sleep", "60"], **rest))
    made = WorkerProcess(3, {})
    ends[0].settimeout(20)
    yield made, ends[0]
    if made._process.returncode is None:
        made.end()
    ends[0].close()


def tasks(end: socket.socket, n: int) -> list[ProcessTask]:
    reader, found = MessageReader(), list[ProcessTask]()
    while len(found) < n:
        found += reader.feed(end.recv(CHUNK))
    return found


def test_a_function_and_the_context_are_sent_once(
    worker: tuple[WorkerProcess, socket.socket], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made, end = worker
    for digest in ("a", "a", "b"):
        assert made.send("error", digest, b"function", b"question")
    first, again, other = tasks(end, 3)
    assert (first.function, again.function, other.function) == (b"function", None, b"function")
    assert first.place == _worker_process.working_context()
    assert again.place is other.place is None
    monkeypatch.chdir(tmp_path)
    made.send("error", "a", b"function", b"question")
    [moved] = tasks(end, 1)
    assert moved.place is not None
    assert moved.place.folder == str(tmp_path)


def test_replies_are_received_without_waiting_and_a_hang_up_is_the_end(
    worker: tuple[WorkerProcess, socket.socket],
) -> None:
    made, end = worker
    assert made.received() == []
    assert not made.has_served
    sent = encoded(MeasuringBegan(1.0)) + encoded(Fault("No meter."))
    end.sendall(sent[:-3])
    assert made.received() == [MeasuringBegan(1.0)]
    assert made.has_served
    assert not made.is_over()
    end.sendall(sent[-3:])
    end.shutdown(socket.SHUT_RDWR)
    assert made.received() == [Fault("No meter.")]
    assert made.is_over()
    assert not made.send("error", "a", b"", b"")


def test_ending_a_worker_gives_its_exit_status(worker: tuple[WorkerProcess, socket.socket]) -> None:
    made, _ = worker
    assert not made.await_end(0)
    assert made.end() == -signal.SIGKILL
    assert made.is_over() or made._has_ended()
