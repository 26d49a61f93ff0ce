"""What every executor promises. To add one, add a line to `EXECUTORS`."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import cloudpickle
import pytest

from flexibo import Design, Evaluation, Objective, Steps
from flexibo.errors import DesignError, MachineError
from flexibo.executors import (
    DaskExecutor,
    Executor,
    InlineExecutor,
    Outcome,
    ProcessExecutor,
    RayExecutor,
    SlurmExecutor,
)
from flexibo.executors.checkpoints import Checkpoints
from flexibo.executors.steps import StepMeasure
from flexibo.objectives import Reading

EXECUTORS: dict[str, Callable[[], Executor]] = {
    "inline": InlineExecutor,
    "processes": lambda: ProcessExecutor(2),
    "dask": lambda: DaskExecutor(n=2),
    "ray": lambda: RayExecutor(n=2),
    "slurm": lambda: SlurmExecutor(n=2, cluster="local", poll=0.3, folder=f"{tempfile.mkdtemp()}/jobs"),
}
"""Makes an executor for each name; each runs at least one evaluation at a time, and is closed after its tests."""

PATIENCE = 60.0

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this module


CLUSTERS = {"dask": "distributed", "ray": "ray", "slurm": "submitit"}
"""The packages of the executors that take long to start."""
MARKS = dict.fromkeys(CLUSTERS, pytest.mark.slow) | {"slurm": pytest.mark.long}  # a process for each evaluation
NAMES = [pytest.param(name, marks=MARKS.get(name, ())) for name in EXECUTORS]


@pytest.fixture(scope="module", params=NAMES)
def shared(request: pytest.FixtureRequest) -> Iterator[Executor]:
    if request.param in CLUSTERS:
        pytest.importorskip(CLUSTERS[request.param])
    executor = EXECUTORS[request.param]()
    yield executor
    executor.close()


@pytest.fixture
def executor(shared: Executor) -> Iterator[Executor]:
    """An idle executor; starting a new one for each test would take long."""
    assert not shared.is_busy()
    yield shared
    assert not shared.is_busy()


def question(number: int = 0, objective: str = "error", yields: tuple[str, ...] | None = None) -> Evaluation:
    return Evaluation(Design({"x": number}), objective, None, 0.0, "", number, yields or (objective,))


def outcome(executor: Executor, measure: Callable[[Design], object], objective: Objective | None = None) -> Outcome:
    """What becomes of a single evaluation."""
    objective = objective or Objective("error")
    executor.submit(question(3, objective.name), objective, measure)
    [only] = outcomes(executor, 1)
    return only


def outcomes(executor: Executor, n: int) -> list[Outcome]:
    found: list[Outcome] = []
    end = time.monotonic() + PATIENCE
    while len(found) < n and time.monotonic() < end:
        found += executor.finished(1.0)
    return found


def test_an_idle_executor_has_room_and_nothing_to_tell(executor: Executor) -> None:
    assert executor.has_room(Objective("error"))
    assert list(executor.finished(0)) == list(executor.finished()) == []


def test_a_value_comes_back_with_its_question_and_the_time_it_took(executor: Executor) -> None:
    asked = question(7)
    executor.submit(asked, Objective("error"), lambda design: 2.0 * design["x"])  # type: ignore[operator]
    assert executor.is_busy()
    [found] = outcomes(executor, 1)
    assert found.evaluation is asked
    assert found.values == {"error": 14.0}
    assert found.timed
    assert 0 < found.cost < PATIENCE
    assert found.reason == ""


def test_a_cost_that_the_function_gives_counts(executor: Executor) -> None:
    found = outcome(executor, lambda design: (0.5, 12.5))
    assert (found.values, found.cost, found.timed) == ({"error": 0.5}, 12.5, False)


def test_one_evaluation_may_yield_several_values(executor: Executor) -> None:
    asked = question(0, "joules", ("joules", "watts"))
    executor.submit(asked, Objective("joules"), lambda design: {"joules": 8, "watts": 4})
    [found] = outcomes(executor, 1)
    assert found.values == {"joules": 8.0, "watts": 4.0}


def test_the_median_of_the_readings_counts_and_their_costs_add_up(executor: Executor) -> None:
    readings = [9.0, 1.0, 2.0]
    found = outcome(executor, lambda design: (readings.pop(), 1.0), Objective("error", noisy=True, repeats=3))
    assert (found.values, found.cost) == ({"error": 2.0}, 3.0), found.reason
    assert found.values is not None
    assert isinstance(found.values["error"], Reading)
    assert found.values["error"].repeats == 3


def test_steps_are_reported_and_a_training_that_dies_goes_on_where_it_was(executor: Executor, tmp_path: Path) -> None:
    objective = Objective("error", steps=9)
    asked = replace(question(), stop=9)

    def train(steps: Steps) -> float:
        has_begun = steps.start > 0
        steps.report(steps.start + 1, 0.5)
        if not has_begun:
            raise ValueError("no power")
        return 0.25

    measure = StepMeasure(train, objective, Checkpoints(tmp_path))
    executor.submit(asked, objective, measure)
    [failed] = outcomes(executor, 1)
    assert (failed.values, failed.reports, failed.begun) == (None, ((1, 0.5),), None)
    executor.submit(asked, objective, measure)
    [found] = outcomes(executor, 1)
    assert (found.values, found.begun) == ({"error": 0.25}, 1)
    assert found.reports == ((1, 0.5), (2, 0.5), (9, 0.25))


def test_an_error_fails_the_evaluation_and_says_what_and_where(executor: Executor) -> None:
    def broken(design: Design) -> float:
        raise ValueError("no such kernel")

    found = outcome(executor, broken)
    assert found.values is None
    assert found.reason.startswith("ValueError: no such kernel (test_executors.py, line ")
    assert not found.impossible


def test_what_is_no_number_fails_the_evaluation(executor: Executor) -> None:
    found = outcome(executor, lambda design: "good")
    assert found.values is None
    assert "'error'" in found.reason
    assert "'good'" in found.reason


def test_a_design_that_cannot_be_built_is_impossible(executor: Executor) -> None:
    def unbuildable(design: Design) -> float:
        raise DesignError("kernel 7 > image 5")

    found = outcome(executor, unbuildable)
    assert found.impossible
    assert found.reason == "kernel 7 > image 5"


def test_an_evaluation_that_outruns_its_timeout_fails(executor: Executor) -> None:
    def slow(design: Design) -> float:
        time.sleep(PATIENCE)
        return 1.0

    found = outcome(executor, slow, Objective("error", timeout=0.05))
    assert found.values is None
    assert "0.05 s" in found.reason
    assert 0.05 <= found.cost < PATIENCE


def test_a_fault_of_the_machine_is_raised_and_the_executor_can_be_used_again(executor: Executor) -> None:
    def unplugged(design: Design) -> float:
        raise MachineError("meter 3 is silent")

    executor.submit(question(), Objective("error"), unplugged)
    with pytest.raises(MachineError, match=r"^meter 3 is silent$"):
        outcomes(executor, 1)
    assert not executor.is_busy()
    assert outcome(executor, lambda design: 1.0).values == {"error": 1.0}


def test_each_evaluation_comes_back_exactly_once(executor: Executor) -> None:
    objective, found, number = Objective("error"), [], 0
    while number < 10 or executor.is_busy():
        while number < 10 and executor.has_room(objective):
            executor.submit(question(number), objective, lambda design: design["x"])
            number += 1
        found += list(executor.finished(PATIENCE))
    assert sorted((o.evaluation.number, o.values) for o in found) == [(i, {"error": float(i)}) for i in range(10)]  # type: ignore[type-var]


def test_closing_twice_is_fine_and_leaves_nothing_to_do(executor: Executor) -> None:
    """The last test, as it closes the executor that all share."""
    executor.submit(question(), Objective("error"), lambda design: time.sleep(PATIENCE))
    start = time.monotonic()
    executor.close()
    executor.close()
    assert time.monotonic() - start < PATIENCE / 2
    assert not executor.is_busy()
    assert list(executor.finished()) == []
