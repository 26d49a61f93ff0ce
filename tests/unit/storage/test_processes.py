from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.unit.storage.fake_proc import FakeProc

from flexibo.storage.processes import ProcessState, about_this_process, process_state

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc on this machine")
ABOUT = "import json; from flexibo.storage.processes import about_this_process as a; print(json.dumps(a()), flush=True)"


@pytest.fixture
def proc(tmp_path: Path) -> FakeProc:
    return FakeProc(tmp_path)


@needs_proc
def test_this_process_is_alive() -> None:
    about = about_this_process()
    assert about["pid"] == os.getpid()
    assert process_state(about) is ProcessState.ALIVE


@needs_proc
def test_a_process_that_ended_is_dead() -> None:
    done = subprocess.run([sys.executable, "-c", ABOUT], capture_output=True, text=True, check=True)
    assert process_state(json.loads(done.stdout)) is ProcessState.DEAD


@needs_proc
def test_a_zombie_is_dead_and_a_stopped_process_is_not() -> None:
    code = f"{ABOUT}; import time; time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        about = json.loads(child.stdout.readline())
        assert process_state(about) is ProcessState.ALIVE
        child.send_signal(signal.SIGSTOP)
        assert soon(about, ProcessState.UNKNOWN)
        child.kill()
        assert soon(about, ProcessState.DEAD)
        assert Path(f"/proc/{child.pid}").exists()  # nobody has waited for it yet


def soon(about: dict[str, object], state: ProcessState) -> bool:
    end = time.monotonic() + 30
    while process_state(about) is not state and time.monotonic() < end:
        time.sleep(0.001)
    return process_state(about) is state


@pytest.mark.parametrize(
    ("letter", "state"),
    [
        *[(letter, ProcessState.ALIVE) for letter in "RSDI"],
        *[(letter, ProcessState.DEAD) for letter in "ZXx"],
        *[(letter, ProcessState.UNKNOWN) for letter in "Tt"],
    ],
)
def test_the_letter_in_stat_decides(proc: FakeProc, letter: str, state: ProcessState) -> None:
    about = proc.add(77)
    proc.show(77, letter)
    assert process_state(about, proc.folder, proc.kill) is state


def test_a_number_that_another_process_uses_now_is_a_dead_process(proc: FakeProc) -> None:
    about = proc.add(77)
    proc.show(77, "S", started=501)
    assert process_state(about, proc.folder, proc.kill) is ProcessState.DEAD


def test_a_process_that_is_hidden_is_not_dead(proc: FakeProc) -> None:
    about = proc.add(77)
    proc.hide(77)
    assert process_state(about, proc.folder, proc.kill) is ProcessState.UNKNOWN
    assert process_state(about, proc.folder, lambda pid, number: None) is ProcessState.UNKNOWN  # of the same user
    proc.hidden.clear()
    assert process_state(about, proc.folder, proc.kill) is ProcessState.DEAD


def test_a_process_of_which_stat_cannot_be_read_is_unknown(proc: FakeProc) -> None:
    about = proc.add(77)
    (proc.folder / "77/stat").write_text("nothing")
    assert process_state(about, proc.folder, proc.kill) is ProcessState.UNKNOWN
    (proc.folder / "77/stat").unlink()
    (proc.folder / "77/stat").mkdir()  # any error but that it is missing
    assert process_state(about, proc.folder, proc.kill) is ProcessState.UNKNOWN


@pytest.mark.parametrize(
    "change",
    [
        {"boot": "another machine"},
        {"boot": None},
        {"pids": "another container"},
        {"pid": "78"},
        {"pid": True},
        {"pid": -1},
        {"pid": 2**70},
        {"started": None},
    ],
)
def test_what_is_elsewhere_or_makes_no_sense_is_unknown(proc: FakeProc, change: dict[str, object]) -> None:
    about = proc.add(77) | {"pid": 78}
    assert process_state(about, proc.folder) in (ProcessState.DEAD, ProcessState.UNKNOWN)  # whatever runs as 78 here
    assert process_state(about | change, proc.folder) is ProcessState.UNKNOWN


def test_without_proc_nothing_is_known(tmp_path: Path) -> None:
    about = about_this_process(tmp_path)
    assert set(about) == {"host", "pid"}
    assert process_state(about, tmp_path) is ProcessState.UNKNOWN
    assert process_state(about | {"boot": "x", "pids": "y", "started": 1}, tmp_path) is ProcessState.UNKNOWN
