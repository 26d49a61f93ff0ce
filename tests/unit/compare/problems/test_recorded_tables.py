from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from flexibo.compare.metered_problem import MeteredProblem
from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.datasets import DATASETS
from flexibo.compare.problems.recorded_tables import FAMILIES, RECIPES, read_table, recorded_problem
from flexibo.errors import InvalidValueError

BY_NAME = {recipe.name: recipe for recipe in RECIPES}
NB201 = [*(f"op{i}" for i in range(6)), "test_error_cifar10_pct", "train_time_cifar10_s", "tx2_energy_mJ"]
TX2 = ["core0_status", "core1_status", "core2_status", "core3_status", "core_freq", "gpu_freq", "emc_freq"]
Make = Callable[..., Problem]


@pytest.fixture
def problem(tmp_path: Path) -> Make:
    """Builds a recorded problem from a table that is made up."""

    def make(name: str, header: list[str], rows: list[list[object]]) -> Problem:
        path = tmp_path / "recorded" / DATASETS[BY_NAME[name].dataset].file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]) + "\n", encoding="utf-8")
        return recorded_problem(BY_NAME[name], folder=tmp_path)

    return make


def cell(first: str, *numbers: object) -> list[object]:
    return [first, "none", "skip", "none", "none", "none", *numbers]


CELLS = [cell("none", 90.0, 1100, 2.0), cell("conv", 6.0, 4000, 30.0), cell("pool", 9.0, 3000, 35.0)]


def test_values_and_costs_are_those_of_each_design(problem: Make) -> None:
    made = problem("nb201-tx2", NB201, CELLS)
    designs = made.space.designs([{"op0": "pool"}, {"op0": "none"}, {"op0": "pool"}])
    assert made.values(designs).tolist() == [[9.0, 35.0], [90.0, 2.0], [9.0, 35.0]]
    assert made.costs(designs).tolist() == [[3000.0, 20.0], [1100.0, 20.0], [3000.0, 20.0]]


def test_the_front_is_exact_and_misses_nothing(problem: Make) -> None:
    made = problem("nb201-tx2", NB201, CELLS)
    assert made.front.tolist() == [[6.0, 30.0], [90.0, 2.0]]
    assert made.reference.tolist() == pytest.approx([49.5, 32.5])  # three of four designs beat it
    front = [{"op0": "conv"}, {"op0": "none"}]
    assert made.error(made.space.designs(front)) == 0.0
    assert made.error(made.space.designs(front[:1])) == 0.0
    assert made.error(made.space.designs(front[1:])) == 1.0  # an error of 90 % interests nobody


def test_rows_without_a_reading_are_left_out(problem: Make) -> None:
    made = problem("nb201-tx2", NB201, [*CELLS, cell("skip", 1.0, 1000, "")])
    assert made.space.size == 3
    assert made.front[:, 0].min() == 6.0


def test_options_that_never_vary_are_left_out(problem: Make) -> None:
    assert problem("nb201-tx2", NB201, CELLS).space.names == ("op0",)


def accel_row(expansion: int, *numbers: object) -> list[object]:
    return [expansion, *[1] * 27, *numbers]


ACCEL = [
    *(f"block{b}_{part}" for b in range(7) for part in ("e", "k", "l", "se")),
    "val_top1",
    "train_time",
    "throughput_a100",
    "latency_zcu102",
]


def test_accuracies_become_errors_and_throughput_is_maximised(problem: Make) -> None:
    made = problem("accel-a100", ACCEL, [accel_row(1, 60.0, 1500, 9000, 5), accel_row(6, 65.0, 2500, 7000, 5)])
    assert made.values(made.space.enumerate()).tolist() == [[40.0, 9000.0], [35.0, 7000.0]]
    assert made.losses(made.space.enumerate()).tolist() == [[40.0, -9000.0], [35.0, -7000.0]]
    assert len(made.front) == 2


def test_long_trainings_cost_no_more_than_the_cap(problem: Make) -> None:
    made = problem("accel-a100", ACCEL, [accel_row(1, 60.0, 31_079, 9000, 5), accel_row(6, 65.0, 2500, 7000, 5)])
    assert made.costs(made.space.enumerate()).tolist() == [[6000.0, 20.0], [2500.0, 20.0]]


def test_a_design_that_occurs_twice_has_the_median_of_every_column(problem: Make) -> None:
    rows = [accel_row(1, 60.0, 1500, 9000, 5), accel_row(6, 65.0, 2500, 7000, 5), accel_row(1, 62.0, 1700, 9100, 4)]
    made = problem("accel-a100", ACCEL, rows)
    assert made.space.size == 2
    first = made.space.designs([{"block0_e": 1}])
    assert made.values(first).tolist() == [[39.0, 9050.0]]
    assert made.costs(first).tolist() == [[1600.0, 20.0]]


def test_three_objectives_are_three_evaluations(problem: Make) -> None:
    rows = [accel_row(1, 60.0, 1500, 9000, 5), accel_row(6, 65.0, 2500, 7000, "")]
    made = problem("accel-3", ACCEL, [*rows, accel_row(4, 61.0, 2000, 8000, 4)])
    assert made.names == ("error_percent", "throughput_a100", "latency_zcu102")
    assert made.costs(made.space.enumerate()).tolist() == [[1500.0, 20.0, 20.0], [2000.0, 20.0, 20.0]]
    metered = MeteredProblem(made, seed=0)
    assert set(metered.measure(made.space.enumerate()[0], "latency_zcu102").values) == {"latency_zcu102"}
    assert metered.spent == 20.0


def test_tx2_readings_are_bought_together_for_the_price_of_one(problem: Make) -> None:
    header = [*TX2, "inference_time", "power_consumption"]
    rows = [[1, 0, 0, 0, ghz, 7, 8, 1 / ghz, ghz * 100] for ghz in (1, 2)]
    made = problem("tx2-xception-200", header, rows)  # type: ignore[arg-type]
    assert made.space.names == ("core_freq",)
    assert made.costs(made.space.enumerate()).tolist() == [[20.0, 0.0]] * 2
    metered = MeteredProblem(made, seed=0)
    assert metered.measure(made.space.enumerate()[1], "power_consumption").values == {
        "inference_time": 0.5,
        "power_consumption": 200.0,
    }
    assert metered.spent == 20.0


def test_a_design_outside_the_table_is_refused(problem: Make) -> None:
    made = problem("nb201-tx2", NB201, CELLS)
    other = problem("nb201-tx2", NB201, [*CELLS, cell("zz", 6.0, 4000, 30.0)])
    with pytest.raises(InvalidValueError, match=r"op0='zz'.*table"):
        made.values(other.space.designs([{"op0": "zz"}]))


@pytest.mark.parametrize(
    ("rows", "facts"),
    [
        ([], ["no rows"]),
        ([*CELLS, cell("skip", "much", 1000, 3.0)], ["Line 5 ", "'much'", "'test_error_cifar10_pct'"]),
        ([*CELLS, cell("skip", "nan", 1000, 3.0)], ["Line 5 ", "'nan'", "'test_error_cifar10_pct'"]),
        ([*CELLS, cell("skip", 1.0, 1000, "inf")], ["Line 5 ", "'inf'", "'tx2_energy_mJ'"]),
        ([*CELLS, cell("", 1.0, 1000, 3.0)], ["Line 5 ", "option 'op0'"]),
        ([*CELLS, cell("7", 1.0, 1000, 3.0)], ["Line 2 ", "'none'", "option 'op0'", "number"]),
        ([*CELLS, cell("skip", 1.0, 1000)], ["Line 5 ", " 8 ", " 9."]),
        (
            [*CELLS, cell("skip", 1.0, "", 3.0)],
            ["Line 5 ", "readings", "'train_time_cifar10_s'"],
        ),
        ([*CELLS, cell("skip", 1.0, -4000, 3.0)], ["Line 5 ", "'-4000'", "'train_time_cifar10_s'", "zero"]),
        ([*CELLS, cell("skip", 1.0, "nan", 3.0)], ["Line 5 ", "'nan'", "'train_time_cifar10_s'", "zero"]),
        ([*CELLS, cell("skip", 1.0, "1e999", 3.0)], ["Line 5 ", "'1e999'", "'train_time_cifar10_s'"]),
        ([*CELLS, cell("skip", 1.0, -4000, "")], ["Line 5 ", "'-4000'", "'train_time_cifar10_s'", "zero"]),
        ([cell("9" * 5000, *row[6:]) for row in CELLS], ["Line 2 ", "9...9", "'op0'", " 15 "]),
        (
            [*CELLS, cell("skip", "9" * 5000, 1000, 3.0)],
            ["Line 5 ", "9...9", "'test_error_cifar10_pct'"],
        ),
        (CELLS[:1], ["two designs"]),
        ([cell("none", 1.0, 1000, "")], ["two designs"]),
    ],
)
def test_a_broken_table_is_refused_in_one_sentence(problem: Make, rows: list[list[object]], facts: list[str]) -> None:
    with pytest.raises(InvalidValueError, match=".*".join(map(re.escape, facts))) as raised:
        problem("nb201-tx2", NB201, rows)
    assert "nb201_cifar10_hw.csv" in str(raised.value)
    assert len(str(raised.value)) < 500


def test_readings_may_be_negative_and_costs_nothing(problem: Make) -> None:
    made = problem("nb201-tx2", NB201, [*CELLS, cell("skip", -1.0, 0, 3.0)])
    design = made.space.designs([{"op0": "skip"}])
    assert made.values(design).tolist() == [[-1.0, 3.0]]
    assert made.costs(design).tolist() == [[0.0, 20.0]]


@pytest.mark.parametrize(
    ("header", "column", "count"),
    [(["op0", "op9", *NB201[2:]], "op1", "nowhere"), ([*NB201[:7], *NB201[6:8]], "test_error_cifar10_pct", "twice")],
)
def test_a_column_must_be_there_once(problem: Make, header: list[str], column: str, count: str) -> None:
    with pytest.raises(InvalidValueError, match=rf"nb201_cifar10_hw\.csv.*'{column}' {count}"):
        problem("nb201-tx2", header, CELLS)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_bytes(b"\xff\xfe\x00a,b\n")
    with pytest.raises(InvalidValueError, match=r"odd\.csv.*UTF-8"):
        read_table(tmp_path / "odd.csv", ["a"], ["b"])


def test_a_folder_or_an_empty_file_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "recorded" / "nb201_cifar10_hw.csv"
    path.mkdir(parents=True)
    with pytest.raises(InvalidValueError, match=r"nb201_cifar10_hw\.csv.*folder"):
        recorded_problem(BY_NAME["nb201-tx2"], folder=tmp_path)
    path.rmdir()
    path.write_bytes(b"")
    with pytest.raises(InvalidValueError, match=r"nb201_cifar10_hw\.csv.*empty"):
        recorded_problem(BY_NAME["nb201-tx2"], folder=tmp_path)


def test_empty_lines_are_skipped_and_lines_are_counted_as_an_editor_does(tmp_path: Path) -> None:
    (tmp_path / "gaps.csv").write_text("a,b\n\n3,1.5\n\n-4,x\n", encoding="utf-8")
    with pytest.raises(InvalidValueError, match="Line 5 of"):
        read_table(tmp_path / "gaps.csv", ["a"], ["b"])
    (tmp_path / "gaps.csv").write_text("a,b\n\n3,1.5\n\n-4,\n", encoding="utf-8")
    table = read_table(tmp_path / "gaps.csv", ["a"], ["b"])
    assert table.options == {"a": [3, -4]}
    assert table.lines == [3, 5]
    np.testing.assert_array_equal(table.numbers, [[1.5], [np.nan]])


def test_a_missing_table_says_which_and_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FLEXIBO_DATA", str(tmp_path))
    family = next(family for family in FAMILIES if family.name == "accel-3")
    with pytest.raises(InvalidValueError, match=r"recorded/accel_nasbench\.csv") as raised:
        family.make()
    for fact in (str(tmp_path), "FLEXIBO_DATA", "flexibo data"):
        assert fact in str(raised.value)


def test_every_family_needs_a_table_that_knows_it() -> None:
    assert [family.name for family in FAMILIES] == [recipe.name for recipe in RECIPES]
    assert sorted(BY_NAME) == sorted(name for dataset in DATASETS.values() for name in dataset.problems)
    for recipe in RECIPES:
        dataset = DATASETS[recipe.dataset]
        priced = [one.seconds for one in recipe.recorded if isinstance(one.seconds, str)]
        assert recipe.name in dataset.problems
        assert {*recipe.options, *(one.column for one in recipe.recorded), *priced} <= set(dataset.columns)


MLP = ["alpha_step", "batch_size", "depth", "learning_rate_step", "width", "error_pct", "train_time_s"]


def test_perceptrons_are_bought_whole_for_their_training_and_its_start(problem: Make) -> None:
    made = problem("mlp-kc1", MLP, [[0, 4, 1, 0, 16, 30, 2.5], [0, 4, 1, 0, 25, 20, 50], [0, 4, 1, 0, 40, 10, 60.5]])
    assert made.group == "recorded"
    assert made.space.names == ("width",)
    assert made.space.size == 2  # the third trains too long
    designs = made.space.designs([{"width": 16}, {"width": 25}])
    assert made.values(designs).tolist() == [[30.0, 2.5], [20.0, 50.0]]
    assert made.costs(designs).tolist() == [[7.5, 0.0], [55.0, 0.0]]


def test_prices_are_equal_where_one_reading_of_a_constant_price_yields_everything() -> None:
    equal = {recipe.name for recipe in RECIPES if recipe.group == "equal"}
    assert equal == {name for name in BY_NAME if name.startswith("tx2-")}
    assert {family.name for family in FAMILIES if family.group == "equal"} == equal
