"""Shell scripts: what they are given, what is kept of their output, and that none of their processes lives on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from tests.unit._internal.processes import PATIENCE, Clock, until, until_gone

from flexibo._internal.shell import (
    KEPT_BYTES,
    ScriptResult,
    ScriptStopped,
    ScriptTimeout,
    foreground_program,
    run_script,
    syntax_error,
)
from flexibo.errors import MachineError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a shell")


def run(script: str, folder: Path, **fields: Any) -> ScriptResult:
    return run_script(script, folder=str(folder), **{"environment": dict(os.environ), **fields})


TIDY = "trap 'sleep 0.2; touch tidied; exit' TERM; echo 1 > ready; while :; do sleep 0.02; done"


def run_program(words: list[str]) -> int:
    with foreground_program(words) as call:
        return call()


def interrupt_after(file: Path) -> None:
    """Press Ctrl-C once a file has something in it."""

    def interrupt() -> None:
        until(lambda: file.exists() and file.read_text())
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()


class TestResults:
    def test_output_errors_and_status_are_told_apart(self, tmp_path: Path) -> None:
        assert run("echo a; echo b >&2; exit 3", tmp_path) == ScriptResult(3, "a\n", "b\n")

    @pytest.mark.parametrize(
        ("script", "status"),
        [
            ("kill -SEGV $$", -signal.SIGSEGV),
            ("sh -c 'kill -TERM $$'", -signal.SIGTERM),
            ("exit 128", 128),
            ("exit 255", 255),
            ("no-such-program-here", 127),
        ],
    )
    def test_a_signal_is_a_negative_status(self, tmp_path: Path, script: str, status: int) -> None:
        assert run(script, tmp_path).status == status

    def test_it_sees_its_folder_and_its_environment_and_no_more(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FLEXIBO_SECRET", "mine")
        script = 'pwd -P; echo "${FLEXIBO_SECRET-none} $GIVEN"; cat'
        found = run(script, tmp_path, environment={"PATH": os.environ["PATH"], "GIVEN": "a b"})
        assert found.output == f"{tmp_path.resolve()}\nnone a b\n"

    def test_bytes_that_are_no_text_are_replaced(self, tmp_path: Path) -> None:
        assert run(r"printf 'a\377b'", tmp_path).output == "a\ufffdb"

    def test_all_that_was_printed_before_the_end_is_read(self, tmp_path: Path) -> None:
        assert run("head -c 60000 /dev/zero | tr '\\0' x; echo; echo 3", tmp_path).output == "x" * 60_000 + "\n3\n"

    def test_of_a_long_output_the_end_is_kept_and_all_of_it_is_heard(self, tmp_path: Path) -> None:
        heard: list[int] = []
        found = run(
            "head -c 200000 /dev/zero | tr '\\0' x; echo end", tmp_path, listen=lambda chunk: heard.append(len(chunk))
        )
        assert len(found.output) == KEPT_BYTES
        assert found.output.endswith("xend\n")
        assert sum(heard) == 200_004

    def test_endless_output_fills_no_memory(self, tmp_path: Path) -> None:
        import resource

        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found = run("head -c 100000000 /dev/zero | tr '\\0' x; echo; echo 3", tmp_path)
        assert found.output.endswith("x\n3\n")
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000  # kilobytes

    def test_a_script_that_closes_its_output_is_waited_for(self, tmp_path: Path) -> None:
        assert run("echo 6; exec >&- 2>&-; sleep 0.3; touch finished", tmp_path).output == "6\n"
        assert (tmp_path / "finished").exists()

    def test_a_folder_that_is_not_there_is_the_machines_fault(self, tmp_path: Path) -> None:
        with pytest.raises(MachineError, match="gone"):
            run("echo 1", tmp_path / "gone")


class TestTimeouts:
    def test_a_timeout_kills_all_that_the_script_started(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("flexibo._internal.shell.time", Clock(tmp_path / "stubborn"))
        script = "sleep 1000 & echo $! > child; (trap '' TERM; sleep 1000) & echo $! > stubborn; wait"
        with pytest.raises(ScriptTimeout):
            run(script, tmp_path, seconds=600.0)
        for name in ("child", "stubborn"):
            until_gone(tmp_path / name)

    def test_a_script_may_tidy_up_before_it_is_killed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("flexibo._internal.shell.time", Clock(tmp_path / "ready"))
        monkeypatch.setattr("flexibo._internal.ending.GRACE_SECONDS", PATIENCE)
        script = "trap 'echo tidy > tidied; exit 1' TERM; echo ready > ready; while :; do sleep 0.05; done"
        with pytest.raises(ScriptTimeout):
            run(script, tmp_path, seconds=600.0)
        assert (tmp_path / "tidied").read_text() == "tidy\n"

    @pytest.mark.skipif(not Path("/proc/self/environ").exists() or not which("setsid"), reason="needs Linux")
    def test_a_timeout_reaches_even_what_left_the_session(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("flexibo._internal.shell.time", Clock(tmp_path / "away"))
        script = "(setsid sh -c 'trap \"\" TERM; echo $$ > away; sleep 1000' >/dev/null 2>&1 &); sleep 1000"
        with pytest.raises(ScriptTimeout):
            run(script, tmp_path, seconds=600.0)
        until_gone(tmp_path / "away")

    def test_a_script_that_closed_its_output_has_a_timeout_too(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("flexibo._internal.shell.time", Clock(tmp_path / "pid"))
        with pytest.raises(ScriptTimeout):
            run("exec >&- 2>&-; echo $$ > pid; sleep 1000", tmp_path, seconds=600.0)
        until_gone(tmp_path / "pid")

    def test_ctrl_c_ends_it_and_is_passed_on(self, tmp_path: Path) -> None:
        interrupt_after(tmp_path / "pid")
        with pytest.raises(KeyboardInterrupt):
            run("echo $$ > pid; sleep 1000", tmp_path)
        until_gone(tmp_path / "pid")

    def test_all_that_it_started_may_tidy_up(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("flexibo._internal.shell.time", Clock(tmp_path / "ready"))
        monkeypatch.setattr("flexibo._internal.ending.GRACE_SECONDS", PATIENCE)
        with pytest.raises(ScriptTimeout):
            run(f"({TIDY}) & wait", tmp_path, seconds=600.0)
        assert (tmp_path / "tidied").exists()

    def test_it_is_ended_once_nobody_needs_it(self, tmp_path: Path) -> None:
        with pytest.raises(ScriptStopped):
            run("echo $$ > pid; sleep 1000", tmp_path, is_over=(tmp_path / "pid").exists)
        until_gone(tmp_path / "pid")

    def test_a_listener_that_has_heard_enough_ends_it(self, tmp_path: Path) -> None:
        def listen(chunk: bytes) -> None:
            raise ValueError

        with pytest.raises(ValueError):
            run("yes & echo $! > pid; wait", tmp_path, listen=listen)
        until_gone(tmp_path / "pid")


@pytest.fixture(params=[False, True], ids=["no terminal", "a terminal"])
def terminal(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether programs stay in the group of this process, as at a terminal."""
    monkeypatch.setattr("flexibo._internal.shell._has_terminal", lambda: request.param)


@pytest.mark.usefixtures("terminal")
@pytest.mark.skipif(not Path("/proc/self/environ").exists() or not which("setsid"), reason="needs Linux")
class TestPrograms:
    def test_the_status_is_negative_for_a_signal(self) -> None:
        assert [run_program(["sh", "-c", script]) for script in ("exit 7", "kill -9 $$")] == [7, -signal.SIGKILL]

    def test_an_interrupt_ends_all_that_it_started(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        interrupt_after(tmp_path / "away")
        script = "sleep 1000 & echo $! > child; setsid sh -c 'echo $$ > away; exec sleep 1000' & wait"
        with pytest.raises(KeyboardInterrupt):
            run_program(["sh", "-c", script])
        until_gone(tmp_path / "child")
        until_gone(tmp_path / "away")

    def test_all_that_it_started_may_tidy_up(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("flexibo._internal.ending.GRACE_SECONDS", PATIENCE)
        interrupt_after(tmp_path / "ready")
        with pytest.raises(KeyboardInterrupt):
            run_program(["sh", "-c", f"({TIDY}) & wait"])
        assert (tmp_path / "tidied").exists()

    def test_what_it_leaves_in_its_group_is_ended_and_a_service_lives_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        service = "setsid sh -c 'echo $$ > away; exec sleep 1000' & while ! [ -s away ]; do sleep 0.01; done"
        assert run_program(["sh", "-c", f"sleep 1000 & echo $! > child; {service}"]) == 0
        until_gone(tmp_path / "child")
        os.kill(int((tmp_path / "away").read_text()), signal.SIGKILL)  # which fails if it has ended


def test_the_time_of_a_program_is_that_of_the_call_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    monkeypatch.setattr("flexibo._internal.shell.end_rest", lambda mark, group: ended.append(mark))
    with foreground_program(["true"]) as call:
        assert (call(), ended) == (0, [])
    assert len(ended) == 1


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs Linux")
def test_kill_9_of_this_process_ends_all_that_a_program_started(tmp_path: Path) -> None:
    script = "sleep 1000 & echo $! > child; env -i sleep 1000 & echo $! > bare; wait"
    code = f"from flexibo._internal.shell import foreground_program as f\nwith f(['sh', '-c', {script!r}]) as g: g()"
    running = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, start_new_session=True)  # without a terminal
    until(lambda: (tmp_path / "bare").exists() and (tmp_path / "bare").read_text())
    running.kill()
    running.wait()
    until_gone(tmp_path / "child")
    until_gone(tmp_path / "bare")


class TestWhatIsLeftBehind:
    def test_it_neither_delays_the_result_nor_lives_on(self, tmp_path: Path) -> None:
        assert run("sleep 1000 & echo $! > child; echo 4", tmp_path).output == "4\n"
        until_gone(tmp_path / "child")

    def test_it_may_even_go_on_printing(self, tmp_path: Path) -> None:
        assert run("yes >&2 & echo $! > child; echo 4", tmp_path).output == "4\n"
        until_gone(tmp_path / "child")

    def test_what_it_prints_after_the_end_is_not_in_the_output(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("flexibo._internal.shell.LOOK_SECONDS", PATIENCE)
        assert run("(sleep 10; while :; do echo 7; sleep 0.05; done) & echo 1", tmp_path).output == "1\n"


class TestSyntax:
    @pytest.mark.parametrize("script", ["", "echo 1", "no-such-program-here", "if true; then echo a; fi", "exit 3"])
    def test_a_script_that_the_shell_can_read_is_right(self, script: str) -> None:
        assert syntax_error(script) == ""

    @pytest.mark.parametrize("script", ["echo '", "if true; then", "echo )", "echo $(", "case x in"])
    def test_a_script_that_it_cannot_read_is_wrong_in_one_line(self, script: str) -> None:
        found = syntax_error(script)
        assert found
        assert "\n" not in found

    def test_nothing_is_run(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        assert syntax_error("touch pwned") == ""
        assert syntax_error("touch pwned; echo '") != ""
        assert not (tmp_path / "pwned").exists()

    def test_what_no_process_can_be_given_is_left_for_later(self) -> None:
        assert syntax_error("echo a\0b") == ""
