from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from benchmarks.examples import EXAMPLES, Course, main, recorded, search, shown, write_table

from flexibo import Objective, Space, Study

pytest.importorskip("imageio_ffmpeg", reason="the study file of the example imports it (extra examples)")


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_has_a_table_in_which_the_first_objective_is_expensive(example: str) -> None:
    table = recorded(example)
    assert len(table.values) >= 70
    assert np.isfinite(table.values).all()
    costs = [column.mean() for column in table.costs.T if column.any()]
    assert costs[0] > 3 * costs[1]
    assert 0 < len(table.losses()) <= len(table.values)


def test_a_measurement_that_yields_everything_is_the_only_cost() -> None:
    apart = recorded("video")
    (both, counts), (whole, number) = apart.cost_of_all(), apart.together().cost_of_all()
    assert counts == (len(apart.values),) * 2
    assert number == (len(apart.values),)
    assert both == pytest.approx(apart.costs.sum())
    assert whole == pytest.approx(apart.costs[:, 0].sum())


def test_a_search_pays_what_was_recorded_and_never_loses_what_it_confirmed() -> None:
    course = search(("video", "random-coupled", 0, 0.05))
    assert 0 < course.spent[-1] <= 0.06 * recorded("video").cost_of_all()[0]
    assert list(course.spent) == sorted(course.spent)
    assert list(course.missed) == sorted(course.missed, reverse=True)
    assert course.counts[0] == len(course.spent)


def test_medians_are_given_where_more_than_half_of_the_studies_arrived() -> None:
    quick, late = Course("ehvi", (10.0, 20.0), (0.5, 0.04), (2,)), Course("ehvi", (10.0, 20.0), (0.5, 0.3), (2,))
    assert quick.arrival(0.05) == 20.0
    assert late.arrival(0.05) == np.inf
    drawn = shown("video", ["ehvi"], [0.5, 0.05], [quick, late, late])
    cells = [next(iter(column.cells)) for column in drawn.columns]
    assert str(cells[1]).startswith("10 ")
    assert cells[2] == "1/3"


def test_the_table_of_a_stored_study_has_shared_values_and_costs(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    objectives = [Objective("error", options=["a"]), Objective("ms"), Objective("mb", measured_with="ms")]
    space = Space({"a": [1, 2], "b": ["x", "y"]})
    with Study(space, objectives, seed=0, method="random-coupled", storage=storage, name="s") as study:
        study.run({"error": lambda _: (7.0, 9.0), "ms": lambda _: ({"ms": 3.0, "mb": 4.0}, 0.5)}, progress=False)
    assert write_table(storage, tmp_path / "table.csv") == 4
    with (tmp_path / "table.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {(row["a"], row["b"]) for row in rows} == {("1", "x"), ("1", "y"), ("2", "x"), ("2", "y")}
    assert all((row["error"], row["cost:error"], row["mb"], row["cost:ms"]) == ("7", "9", "4", "0.5") for row in rows)


def test_an_unknown_example_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["vidoe"])
    assert "'vidoe'" in capsys.readouterr().err
