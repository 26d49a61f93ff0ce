"""Processes that lead a session are ended with all that they started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from flexibo.executors import _sessions
from flexibo.executors._sessions import ProcessIdentity, end_session, process_state, search_path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sessions need Linux or macOS")


def test_the_search_path_is_this_process_s_and_leaves_out_what_is_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/one", b"/two", "/three"])
    assert search_path() == os.pathsep.join(["/one", "/three"])


def test_all_processes_of_a_session_are_killed_and_no_others() -> None:
    # The shell prints the number of what it started; both are of its session.
    command = ["sh", "-c", "sleep 60 & echo $!; wait"]
    leader = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    other = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        assert leader.stdout is not None
        child = int(leader.stdout.readline())
        end_session(leader.pid)
        assert leader.wait(20) == -signal.SIGKILL
        assert leader.stdout.read() == ""  # its child had the other end
        assert _sessions._session(child) != leader.pid
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
        leader.kill()
        leader.communicate()


def test_the_caller_is_spared_even_if_it_is_of_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[int] = []
    alive = [os.getpid(), 7, 8]
    monkeypatch.setattr(_sessions, "_processes", lambda: alive)
    monkeypatch.setattr(_sessions, "_session", lambda pid: 5)
    monkeypatch.setattr(os, "kill", lambda pid, number: (killed.append(pid), alive.remove(pid)))
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    end_session(5)
    assert killed == [7, 8]


def test_processes_that_cannot_be_killed_are_given_up_after_some_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[int] = []

    def refuse(pid: int, number: int) -> None:
        rounds.append(pid)
        raise PermissionError

    monkeypatch.setattr(_sessions, "_processes", lambda: [7])
    monkeypatch.setattr(_sessions, "_session", lambda pid: 5)
    monkeypatch.setattr(os, "kill", refuse)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    end_session(5)
    assert len(rounds) == _sessions.ROUNDS


def test_what_ended_and_was_not_reaped_is_of_no_session() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
    try:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and its number is still its own
        assert _sessions._session(process.pid) is None or sys.platform != "linux"
    finally:
        process.wait()
    assert _sessions._session(process.pid) is None


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_stopped_process_does_not_run_and_can_be_killed() -> None:
    here = ProcessIdentity.of_this_process()
    process = subprocess.Popen(["sleep", "60"])
    try:
        known = ProcessIdentity(here.boot, process.pid, _sessions._fields(process.pid)[19])
        assert known.is_running()
        process.send_signal(signal.SIGSTOP)
        while process_state(process.pid) != "T":
            time.sleep(0.01)
        assert not known.is_running()
        ProcessIdentity("elsewhere", known.pid, known.started).kill()
        ProcessIdentity(here.boot, known.pid, "1").kill()
        assert process_state(process.pid) == "T"
        known.kill()
        assert process.wait(20) == -signal.SIGKILL
        known.kill()
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("other", [ProcessIdentity("", os.getpid(), ""), ProcessIdentity("elsewhere", 1, "5")])
def test_a_process_that_cannot_be_seen_is_not_said_to_run(other: ProcessIdentity) -> None:
    assert not other.is_running()
