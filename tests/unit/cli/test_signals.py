"""Ctrl-C and SIGTERM on the command line: long work stops cleanly and says how to go on."""

from __future__ import annotations

import io
import signal
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from tests.command_line import mentions
from typer.testing import CliRunner

from flexibo._internal.interrupts import Terminated
from flexibo.cli import app
from flexibo.cli._signals import interruptible_bar, terminable


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_long_work_with_a_sentence_and_its_status(number: signal.Signals, status: int) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    said = io.StringIO()
    try:
        bar = interruptible_bar(Console(file=said, width=200), "runs", "all is kept in [out]")
        with pytest.raises(typer.Exit) as ended, bar:
            signal.raise_signal(number)
    finally:
        signal.signal(signal.SIGINT, before[0])
    assert ended.value.exit_code == status
    assert said.getvalue().count("\n") == 1
    assert mentions(said.getvalue(), "all is kept in [out]")
    assert signal.getsignal(signal.SIGTERM) == before[1]


def test_sigterm_ends_a_run_also_where_ctrl_c_is_ignored_as_in_the_background_of_a_shell() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with terminable():
            signal.raise_signal(signal.SIGINT)
            with pytest.raises(Terminated):
                signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_is_not_interrupted_goes_on_and_errors_stay_errors() -> None:
    with interruptible_bar(Console(file=io.StringIO()), "runs", "x") as update:
        update(1, 2, "half")
    with pytest.raises(ZeroDivisionError), interruptible_bar(Console(file=io.StringIO()), "runs", "x"):
        raise ZeroDivisionError


def test_without_a_terminal_a_line_now_and_then_says_how_much_is_done_and_left(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now, out = 100.0, io.StringIO()
    with interruptible_bar(Console(file=out), "runs", "x", clock=lambda: now) as update:
        update(20, 380, "")  # there already
        for done in range(21, 381):
            now += 1.0
            update(done, 380, "flexibo on zdt1")
    lines = [line.partition(" ")[2] for line in capsys.readouterr().err.splitlines()]
    assert lines[:2] == ["50 of 380 runs, about 6 min left", "80 of 380 runs, about 5 min left"]
    assert len(lines) == 11  # one in 30 s, and none at the end
    assert out.getvalue() == ""


def test_a_terminal_has_a_bar_and_no_lines(capsys: pytest.CaptureFixture[str]) -> None:
    now, out = 100.0, io.StringIO()
    terminal = Console(file=out, force_terminal=True, width=100, color_system=None)
    with interruptible_bar(terminal, "runs", "x", clock=lambda: now) as update:
        update(0, 2, "")
        now += 60.0
        update(1, 2, "half")
    assert "1/2" in out.getvalue()
    assert capsys.readouterr().err == ""


def interrupted(*_: object, **__: object) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("arguments", "place", "kept"),
    [
        (["compare", "--problems", "zdt1", "--out", "here"], "flexibo.compare.comparison.compare", "here"),
        (
            ["record", "lenet", "--out", "t.csv.gz", "--data", "."],
            "flexibo.systems.recording.session.recording",
            "t.csv.gz.partial",
        ),
    ],
)
def test_long_commands_say_what_is_kept(
    arguments: list[str], place: str, kept: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(place, interrupted)
    outcome = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    assert outcome.exit_code == 130, (outcome.output, outcome.exception)
    assert mentions(outcome.stdout, "Interrupted", kept, "same command")
