"""Ending processes: a group, what left it, and what may clean up before."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from shutil import which

import pytest
from tests.unit._internal.processes import until, until_gone

from flexibo._internal import ending
from flexibo._internal.ending import MARK, ask_to_end, end_at_once, end_rest

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists() or not which("setsid"), reason="needs Linux")


def begun(script: str, folder: Path, *, own_group: bool = True) -> subprocess.Popen[bytes]:
    """A marked script that has written a number into the file `away`."""
    environment = {**os.environ, MARK: folder.name}
    process = subprocess.Popen(["sh", "-c", script], cwd=folder, env=environment, start_new_session=own_group)
    until(lambda: (folder / "away").exists() and (folder / "away").read_text())
    return process


AWAY = "setsid sh -c 'echo $$ > away; exec sleep 1000'"


@pytest.mark.parametrize("own_group", [True, False])
def test_a_group_and_what_left_it_are_ended(tmp_path: Path, own_group: bool) -> None:
    process = begun(f"sleep 1000 & echo $! > child; {AWAY} & wait", tmp_path, own_group=own_group)
    ask_to_end(process, tmp_path.name)
    assert process.returncode == -signal.SIGTERM
    until_gone(tmp_path / "child")
    until_gone(tmp_path / "away")


def test_what_has_no_mark_is_ended_with_its_group(tmp_path: Path) -> None:
    process = begun("env -i sleep 1000 & echo $! > away; wait", tmp_path)
    ask_to_end(process, tmp_path.name)
    until_gone(tmp_path / "away")


def test_a_process_whose_number_is_not_known_yet_is_found_by_its_mark(tmp_path: Path) -> None:
    process = begun("echo $$ > away; exec sleep 1000", tmp_path)
    ask_to_end(None, tmp_path.name)
    assert process.wait() == -signal.SIGTERM


def test_an_interrupt_while_others_clean_up_kills_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(mark: str, until: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ending, "_wait_for_marked", interrupt)
    process = begun("(trap '' TERM; setsid sh -c 'echo $$ > away; exec sleep 1000') & wait", tmp_path)
    with pytest.raises(KeyboardInterrupt):
        ask_to_end(process, tmp_path.name)
    until_gone(tmp_path / "away")


def test_the_rest_of_a_group_is_ended_and_what_left_it_lives_on(tmp_path: Path) -> None:
    process = begun(f"sleep 1000 & echo $! > child; {AWAY} & wait", tmp_path)
    end_rest(tmp_path.name, group=process.pid)
    until_gone(tmp_path / "child")
    os.kill(int((tmp_path / "away").read_text()), signal.SIGKILL)  # which fails if it has ended
    end_at_once(process)


def test_a_group_is_killed_without_a_moment(tmp_path: Path) -> None:
    process = begun("trap '' TERM; sleep 1000 & echo $! > away; wait", tmp_path)
    end_at_once(process)
    assert process.returncode == -signal.SIGKILL
    until_gone(tmp_path / "away")
