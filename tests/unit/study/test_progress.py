"""The progress bar of a running study."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest
from tests.unit.study.small_studies import line

from flexibo import Study
from flexibo.study.progress import progress_bar


def test_the_progress_bar_shows_hostile_names_and_any_budget() -> None:
    for budget in (8, None):
        study = Study(
            {"x[/b]": (0.0, 1.0)},
            ["a[/b]", "b[red]"],
            budget=budget,
            n_initial=2,
            seed=0,
            stop={"max_evaluations": 8},
            candidates=50,
        )
        functions = {"a[/b]": lambda d: (d["x[/b]"], 1.0), "b[red]": lambda d: (1 - d["x[/b]"], 1.0)}
        study.run(functions, progress=True)
        assert study.spent == 8


def test_a_study_runs_in_a_terminal() -> None:
    code = (
        "from flexibo import Study\n"
        "study = Study({'x': (0.0, 1.0)}, ['a', 'b'], budget=8, n_initial=3, seed=0, candidates=50)\n"
        "study.run({'a': lambda d: (d['x'], 1.0), 'b': lambda d: (1 - d['x'], 1.0)})\n"
        "print('spent', study.spent)\n"
    )
    parent, child = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", code], stdout=child, stderr=child, close_fds=True)
    os.close(child)
    shown = b""
    while True:
        try:
            part = os.read(parent, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(parent)
    assert process.wait(timeout=60) == 0, shown.decode()
    assert b"spent 8.0" in shown
    assert b"front" in shown
    assert b"8 of 8" in shown


def test_nothing_is_shown_where_no_bar_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    study = line()
    with progress_bar(study, wanted=False) as bar:
        bar.update(study)
    assert capsys.readouterr() == ("", "")


def test_an_interrupted_study_without_a_front_says_that_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    study = line()
    with progress_bar(study, wanted=False) as bar:
        bar.interrupted(study)
    assert "No confirmed design yet" in capsys.readouterr().err
    study.add({"x": 0.25}, {"a": 0.25, "b": 0.75})
    with progress_bar(study, wanted=False) as bar:
        bar.interrupted(study)
    shown = capsys.readouterr().err
    assert "No front" not in shown
    assert "0.75" in shown
