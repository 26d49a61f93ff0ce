from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from flexibo.compare import candidates
from flexibo.compare.problems import lcbench
from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.lcbench import DEVELOPMENT, EPOCHS, JUDGE, TabularTask, lcbench_problem, multiply_adds
from flexibo.compare.problems.table import find_problem
from flexibo.errors import InvalidValueError, MissingExtraError

TASK = TabularTask(1, "toy", 10, 2)


def stub(inputs: np.ndarray) -> np.ndarray:
    """Seconds that fall once, and an accuracy that rises with the epoch and the units."""
    epoch, units = inputs[:, 0], inputs[:, 6]
    seconds = 2.0 * epoch - np.where(epoch == 7, 5.0, 0.0)
    accuracy = np.log(units) / 7.0 * epoch / EPOCHS
    return np.stack([seconds, *[np.zeros(len(inputs))] * 2, accuracy, *[np.zeros(len(inputs))] * 2], axis=1)


@pytest.fixture
def problem(monkeypatch: pytest.MonkeyPatch) -> Problem:
    monkeypatch.setattr(candidates, "UNIFORM", 200)
    monkeypatch.setattr(candidates, "ROUNDS", 2)
    return lcbench_problem(TASK, surrogate=stub)


def test_a_curve_ends_with_the_value_and_the_cost_of_its_objective(problem: Problem) -> None:
    designs = problem.typical_designs()[:20]
    curve = problem.curves["balanced_error"]
    assert curve.steps == EPOCHS == 52
    assert np.allclose(curve.values(designs)[:, -1], problem.values(designs)[:, 0])
    assert np.allclose(curve.costs(designs)[:, -1], problem.costs(designs)[:, 0])


def test_no_epoch_is_free_even_where_the_seconds_of_the_surrogate_fall(problem: Problem) -> None:
    costs = problem.curves["balanced_error"].costs(problem.typical_designs()[:3])
    assert (np.diff(costs, axis=1) > 0).all()
    assert costs[0, 5] == pytest.approx(12.0)
    assert costs[0, 6] == pytest.approx(12.001)
    assert costs[0, 7] == pytest.approx(16.0)


def test_values_do_not_depend_on_what_was_asked_before(problem: Problem) -> None:
    designs = problem.typical_designs()[:10]
    alone = np.vstack([problem.values(designs[i : i + 1]) for i in (3, 1, 3)])
    assert np.array_equal(alone, problem.values(designs)[[3, 1, 3]])


def test_the_widest_layer_of_a_funnel_has_as_many_units_as_there_are_inputs_at_least() -> None:
    assert multiply_adds(100, 4, 2, 64) == 100 * 100 + 100 * 4
    assert multiply_adds(10, 4, 4, 64) == 10 * 64 + 64 * 44 + 44 * 24 + 24 * 4


def test_a_funnel_of_one_layer_is_linear() -> None:
    assert multiply_adds(10, 4, 1, 1024) == 40


def test_the_size_is_a_power_of_ten(problem: Problem) -> None:
    design = {**problem.typical_designs()[0], "num_layers": 2, "max_units": 64}
    row = problem.space.designs([design])
    assert problem.values(row)[0, 1] == pytest.approx(np.log10(10 * 64 + 64 * 2))


def test_no_task_is_used_both_for_development_and_for_judging() -> None:
    numbers = [task.number for task in (*JUDGE, *DEVELOPMENT)]
    assert len(set(numbers)) == len(numbers) == 22


def test_an_unknown_task_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidValueError, match=r"'task' of 'lcbench' is 7; .*167104.*189906"):
        find_problem("lcbench:task=7")


def test_a_missing_surrogate_says_where_it_can_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEXIBO_DATA", str(tmp_path))
    with pytest.raises(InvalidValueError, match=r"curves/lcbench/model.onnx is missing .*slds-lmu/yahpo_data"):
        lcbench_problem(TASK)


def written(tmp_path: Path, tasks: dict[str, int]) -> None:
    folder = tmp_path / lcbench.FOLDER
    folder.mkdir(parents=True)
    (folder / lcbench.MODEL).write_bytes(b"no network")
    (folder / lcbench.ENCODING).write_text(json.dumps({lcbench.TASK: tasks}))


def test_an_encoding_without_the_task_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, {"2": 0})
    monkeypatch.setenv("FLEXIBO_DATA", str(tmp_path))
    with pytest.raises(InvalidValueError, match=r"encoding.json .* task 1"):
        lcbench_problem(TASK)


def test_without_onnxruntime_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, {"1": 0})
    monkeypatch.setenv("FLEXIBO_DATA", str(tmp_path))
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"onnxruntime.*flexibo\[bench\]"):
        lcbench_problem(TASK)


def test_a_file_that_is_no_network_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    written(tmp_path, {"1": 0})
    monkeypatch.setenv("FLEXIBO_DATA", str(tmp_path))
    with pytest.raises(InvalidValueError, match=r"model.onnx .* onnxruntime"):
        lcbench_problem(TASK)
