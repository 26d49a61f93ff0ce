"""Ctrl-C and SIGTERM on the command line: long work stops cleanly and says how to go on."""

from __future__ import annotations

import io
import signal
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
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
    assert said.getvalue() == "Interrupted; all is kept in [out]. The same command resumes.\n"
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


def interrupted(*_: object, **__: object) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("arguments", "place", "kept"),
    [
        (["compare", "--problems", "zdt1", "--out", "here"], "flexibo.compare.comparison.compare", "kept in here"),
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
    assert outcome.stdout.startswith("Interrupted; ")
    assert kept in outcome.stdout
    assert "The same command resumes." in outcome.stdout


def test_a_repeated_experiment_says_what_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from flexibo import experiments as reproduce

    class Experiment:
        problems = ("zdt1",)
        run = staticmethod(interrupted)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce, "EXPERIMENTS", {"rq1": Experiment()})
    outcome = CliRunner().invoke(app, ["reproduce", "rq1", "--out", "here"], env={"COLUMNS": "200"})
    assert outcome.exit_code == 130, (outcome.output, outcome.exception)
    assert "kept in here. The same command resumes." in outcome.stdout
