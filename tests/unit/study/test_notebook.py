"""A study in a notebook: HTML, and a cell that is updated in place."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit._internal.test_html import HOSTILE, read
from tests.unit.study.small_studies import line

from flexibo import Study
from flexibo.study import _notebook
from flexibo.study._notebook import SECONDS, Html, LiveCell, interruption, notebook_display
from flexibo.study.progress import progress_bar

FUNCTIONS = {"a": lambda d: (d["x"], 1.0), "b": lambda d: (1 - d["x"], 1.0)}


class Cell:
    """A display that remembers what it showed."""

    def __init__(self) -> None:
        self.shown: list[Html] = []

    def __call__(self, html: Html) -> Cell:
        self.shown.append(html)
        return self

    update = __call__

    @property
    def text(self) -> str:
        return read(self.shown[-1]._repr_html_()).text


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """A notebook whose only cell this is."""
    found = Cell()
    monkeypatch.setattr("flexibo.study.progress.notebook_display", lambda: found)
    return found


def test_outside_of_a_notebook_nothing_is_displayed_and_ipython_is_not_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert notebook_display() is None
    assert "IPython" not in sys.modules


@pytest.mark.parametrize(("shell", "is_notebook"), [(None, False), (SimpleNamespace(), False), ("kernel", True)])
def test_only_a_kernel_displays_html(monkeypatch: pytest.MonkeyPatch, shell: Any, is_notebook: bool) -> None:
    pytest.importorskip("IPython")
    found = SimpleNamespace(kernel=object()) if shell == "kernel" else shell
    monkeypatch.setattr("IPython.get_ipython", lambda: found)
    assert (notebook_display() is not None) is is_notebook


def test_a_run_updates_one_cell_and_says_how_it_ended(cell: Cell) -> None:
    study = line(budget=8)
    study.run(FUNCTIONS)
    assert "8 of 8" in cell.text
    assert study.stopped in cell.text
    assert "<svg" in cell.shown[-1].html
    assert "8 of 8" in repr(cell.shown[-1])


def test_no_cell_is_shown_where_none_is_wanted(cell: Cell) -> None:
    line(budget=8).run(FUNCTIONS, progress=False)
    assert not cell.shown


def test_updates_are_limited_and_show_what_is_measured_now() -> None:
    now = [0.0]
    shown, study = Cell(), line(budget=8)
    live = LiveCell(study, shown, clock=lambda: now[0])
    evaluation = study.ask()
    assert evaluation is not None
    live.begin(study)
    assert len(shown.shown) == 1
    now[0] += SECONDS
    live.begin(study)
    live.begin(study)
    assert len(shown.shown) == 2
    assert evaluation.why in shown.text
    live.update(study)
    assert len(shown.shown) == 3
    live.update(study)
    assert len(shown.shown) == 3
    live.finish(study, "the end")
    assert "the end" in shown.text


@pytest.mark.parametrize("progress", [None, False])
def test_an_interrupt_keeps_what_was_measured_and_the_cell_says_how_to_resume(
    cell: Cell, progress: bool | None, tmp_path: Any
) -> None:
    calls = []

    def interrupted(design: Any) -> tuple[float, float]:
        calls.append(design)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return design["x"], 1.0

    study = line(storage=f"sqlite:///{tmp_path / 'own.db'}", budget=8)
    study.run({**FUNCTIONS, "a": interrupted}, progress=progress)
    assert "Study.load('sqlite:///" in cell.text
    assert "own.db" in cell.text
    study.run({**FUNCTIONS, "a": interrupted}, progress=progress)
    assert study.spent == 8


def test_a_study_in_memory_is_told_to_be_stored() -> None:
    assert "storage='sqlite:///" in interruption("study", "")
    assert "load" not in interruption("study", "")


def test_hostile_names_stay_text(cell: Cell) -> None:
    name = "<script>alert('1')</script>"
    study = Study(
        {name: [1, 2, 3], "y": [1, 2, 3]}, [f"a{name}", f"b{name}"], budget=9, n_initial=2, seed=0, name=HOSTILE
    )
    study.run({f"a{name}": lambda d: (d[name] + d["y"], 1.0), f"b{name}": lambda d: (-d[name], 1.0)})
    evaluation = study.history.asked[0]
    for shown in (
        cell.shown[-1],
        study,
        study.front(),
        study.summary(),
        study.hand_over(),
        evaluation,
    ):
        assert {"script", "img"}.isdisjoint(read(shown._repr_html_()).tags)
        assert "<script>" in read(shown._repr_html_()).text


def test_a_study_shows_its_front_and_an_empty_one_says_so() -> None:
    study = line(budget=8)
    assert "No confirmed" in read(study._repr_html_()).text
    study.run(FUNCTIONS)
    html = study._repr_html_()
    assert "<svg" in html
    assert study.stopped in read(html).text
    assert read(study.certificate()._repr_html_()).text.startswith(study.certificate().sentences()[0][:20])


def test_many_rows_are_cut() -> None:
    study = line(budget=None, stop={"max_evaluations": 1})
    for n in range(60):
        study.add({"x": n / 60}, {"a": n / 60, "b": 1 - n / 60})
    assert read(study.front()._repr_html_()).tags.count("tr") < len(study.front()) == 60


def test_costs_that_are_not_known_are_not_shown_as_zero() -> None:
    evaluation = line().ask()
    assert evaluation is not None
    assert evaluation.cost == 0
    assert "not known" in evaluation._repr_html_()


def test_without_ipython_the_bar_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    with progress_bar(line(), wanted=None) as bar:
        assert not isinstance(bar, _notebook.LiveCell)
