"""Studies from files, interrupted for real: nothing measured is lost, and no command lives on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from shutil import which

import pytest
from tests.forked import COMMAND_LINE, Command, imported

from flexibo import Study
from flexibo.history.events import Asked, Released, Told

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="needs signals")]
PATIENCE = 120.0
STUDY = """
name: toy
method: random
budget: 60
seed: 1
n_initial: 3
options:
  x: {from: 0, to: 1000}
objectives:
  error:
    command: |
      if [ -e hold ]; then
        sleep 1000 &
        echo "$$ $!" > "pids-$$"
        wait
      fi
      echo {x} 8
  joules: {function: "board:joules"}
"""
BOARD = "def joules(design):\n    return 1000 - design['x'], 3.0\n"
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "COLUMNS": "100"}
Start = Callable[..., Command]


@pytest.fixture(scope="module", autouse=True)
def ready() -> Iterator[None]:
    with imported(*COMMAND_LINE):
        yield


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts flexibo in a folder with a study file; nothing outlives its test."""
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "board.py").write_text(BOARD)
    running: list[Command] = []

    def begin(*arguments: str) -> Command:
        running.append(Command(tmp_path, *arguments, **ENVIRONMENT))
        return running[-1]

    yield begin
    for process in running:
        process.kill()
        process.wait()
    for pid in pids(tmp_path):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def pids(folder: Path) -> list[int]:
    """The commands that run, and what they started."""
    return [int(pid) for path in folder.glob("pids-*") for pid in path.read_text().split()]


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody reaps has."""
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat")
        return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def finished(folder: Path, start: Start) -> Study:
    """The study after ``flexibo resume`` ran to its end; each evaluation was answered, and once."""
    (folder / "hold").unlink()
    told = start("resume")
    output = told.communicate(timeout=PATIENCE)[0]
    assert told.returncode == 0, output
    study = Study.load(f"sqlite:///{folder / 'toy.db'}")
    asked = [event.evaluation.number for event in study.events if isinstance(event, Asked)]
    answered = [event.number for event in study.events if isinstance(event, Told)]
    given_back = {event.number for event in study.events if isinstance(event, Released)}
    assert asked == list(range(len(asked)))
    assert sorted(answered) == [number for number in asked if number not in given_back]
    return study


@pytest.mark.parametrize("executor", [[], ["--executor", "processes", "--workers", "1"]], ids=["inline", "processes"])
def test_a_kill_takes_the_commands_along_and_the_study_goes_on(
    tmp_path: Path, start: Start, executor: list[str]
) -> None:
    (tmp_path / "hold").touch()
    run = start("run", "study.yaml", *executor)
    until(lambda: len(pids(tmp_path)) == 2)
    run.send_signal(signal.SIGKILL)
    run.wait(PATIENCE)
    until(lambda: all(map(is_gone, pids(tmp_path))))
    assert 50 < finished(tmp_path, start).spent <= 75  # the lost attempt is charged


@pytest.mark.skipif(not Path("/proc/self/environ").exists() or not which("setsid"), reason="needs Linux")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_not_even_what_left_the_session_lives_on(tmp_path: Path, start: Start, number: int) -> None:
    away = "setsid sh -c 'echo $$ > draft; mv draft pids-away; sleep 1000' &\n        wait"
    (tmp_path / "study.yaml").write_text(STUDY.replace("wait", away))
    (tmp_path / "hold").touch()
    run = start("run", "study.yaml")
    until(lambda: len(pids(tmp_path)) == 3)
    run.send_signal(number)
    run.wait(PATIENCE)
    until(lambda: all(map(is_gone, pids(tmp_path))))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(tmp_path: Path, start: Start, number: int) -> None:
    (tmp_path / "hold").touch()
    run = start("run", "study.yaml")
    until(lambda: len(pids(tmp_path)) == 2)
    run.send_signal(number)
    told = run.communicate(timeout=PATIENCE)[0]
    assert run.returncode == 128 + number
    assert "Traceback" not in told
    assert "Interrupted" in told
    assert ("SIGTERM" in told) == (number == signal.SIGTERM)
    assert told.strip().splitlines()[-1].endswith(": flexibo run study.yaml")
    until(lambda: all(map(is_gone, pids(tmp_path))))
    assert not Study.load(f"sqlite:///{tmp_path / 'toy.db'}").pending
    assert 50 < finished(tmp_path, start).spent <= 65  # what was given back costs nothing


def interrupted(process: subprocess.Popen[bytes]) -> int:
    """The exit status after Ctrl-C, which is pressed again if nothing happens.

    Python may see one that arrives in the moment before it waits for a key only with the next key.
    """
    for _ in range(10):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            return process.wait(PATIENCE / 10)
    return process.wait(0)


def test_the_wizard_in_a_real_terminal_leaves_nothing_after_ctrl_c(tmp_path: Path) -> None:
    import pty

    (tmp_path / "empty").mkdir()
    mine, theirs = pty.openpty()
    try:
        wizard = subprocess.Popen(
            [sys.executable, "-m", "flexibo", "init", "empty/new"],
            cwd=tmp_path,
            env=os.environ | ENVIRONMENT,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        shown = ""
        for question, answer in (("Name of the study", "net\n"), ("First option", "x\n"), ("Values of x", "")):
            while question not in shown:
                shown += os.read(mine, 1000).decode()
            os.write(mine, answer.encode())
        assert interrupted(wizard) == 130
        assert not list((tmp_path / "empty").iterdir())
    finally:
        wizard.kill()
        wizard.wait()
        os.close(mine)
        os.close(theirs)
