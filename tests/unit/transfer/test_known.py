"""Tests of results that are brought along."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexibo import Study
from flexibo.errors import FlexiBOError
from flexibo.transfer import learn_from

OPTIONS = {"x": (0.0, 1.0)}


def earlier(storage: str | None = None) -> Study:
    study = Study(OPTIONS, ["a", "b"], budget=8, seed=0, method="random", storage=storage, name="first")
    for place in range(8):
        evaluation = study.ask()
        if evaluation is None:
            break
        if place == 3:
            study.fail(evaluation, "broken", cost=1.0, impossible=True)
        else:
            study.tell(evaluation, evaluation.design["x"], cost=1.0)
    return study


def test_results_failures_and_costs_are_learned_once_and_cost_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/first.db"
    old = earlier(url)
    for source in (old, url, tmp_path / "first.db", str(tmp_path / "first.db")):
        study = Study(OPTIONS, ["a", "b"], budget=5, seed=1)
        found = learn_from(study, source)
        assert len(found.results) == 8
        assert study.spent == 0
        assert [study.history.count(j) for j in (0, 1)] == [old.history.count(j) for j in (0, 1)]
        assert sum(len(study.history.failed(p)) for p in (0, 1)) == 1
        assert len(study.history.costs(0)[1]) > 0
        assert not learn_from(study, source).results


def test_what_does_not_fit_is_refused_as_a_whole(tmp_path: Path) -> None:
    table = tmp_path / "old.csv"
    table.write_text("x,a\n0.5,1\n7,1\n")
    study = Study(OPTIONS, ["a", "b"], seed=1)
    for source in (table, tmp_path / "none.csv", tmp_path / "none.db", "none\0.csv"):
        with pytest.raises(FlexiBOError):
            learn_from(study, source)
    assert len(study.events) == 2
