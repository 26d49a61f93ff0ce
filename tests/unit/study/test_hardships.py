"""What real use does to a study: interrupts, dead processes, broken devices, odd numbers, late answers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.study.small_studies import LINE, line

from flexibo import Design, Objective, Space, Study
from flexibo.errors import InvalidTypeError, InvalidValueError, MachineError
from flexibo.history.events import Released
from flexibo.optimizer import StopKind
from flexibo.storage import MemoryStorage

Functions = Mapping[str, Callable[[Design], Any]]
Make = Callable[..., Study]


class InterruptedStorage(MemoryStorage):
    """Gets Ctrl-C right after it has stored one kind of event."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind: str | None = kind

    def commit(self, after: int, decide: Any) -> None:
        super().commit(after, decide)
        if any(event["event"] == self.kind for event in self.read(after)):
            self.kind = None
            os.kill(os.getpid(), 2)


@pytest.mark.parametrize("kind", ["told", "asked"])
def test_an_interrupt_during_a_write_leaves_file_and_memory_in_step(kind: str) -> None:
    storage = InterruptedStorage(kind)
    study = line(storage=storage, budget=12)
    study.run(LINE)
    assert study.stop_kind is StopKind.INTERRUPTED
    assert study.pending == ()
    again = line(storage=storage, budget=12)
    assert again.events == study.events
    again.run(LINE)
    assert again.spent == 12


def test_what_a_dead_process_left_pending_is_measured_first() -> None:
    storage = MemoryStorage()
    first = line(storage=storage, budget=9)
    lost = [first.ask(), first.ask()]
    first.close()
    measured: list[Design] = []

    def watch(design: Design) -> tuple[float, float]:
        measured.append(design)
        return LINE["a"](design)

    again = line(storage=storage, budget=9)
    assert again.pending == tuple(lost)
    again.run({**LINE, "a": watch})
    assert measured[0] == lost[0].design  # type: ignore[union-attr]
    assert again.spent == 9
    assert again.pending == ()


def test_an_interrupt_gives_back_only_what_the_run_itself_asked() -> None:
    study = line()
    mine = study.ask()
    assert mine is not None

    def interrupted(design: Design) -> float:
        raise KeyboardInterrupt

    study.run({**LINE, "b": interrupted})
    assert study.pending == (mine,)
    study.tell(mine, 0.5, cost=1.0)


def test_a_function_that_leaves_the_program_gives_its_evaluation_back() -> None:
    study = line()
    with pytest.raises(SystemExit):
        study.run({**LINE, "a": lambda design: sys.exit(3)})
    assert study.pending == ()
    assert isinstance(study.events[-1], Released)


def test_a_device_that_dies_after_some_successes_stops_the_study() -> None:
    study = line(budget=1000, method="random")
    calls = []

    def dying(design: Design) -> tuple[float, float]:
        calls.append(design)
        if len(calls) > 4:
            raise OSError("device not found")
        return LINE["b"](design)

    study.run({**LINE, "b": dying})
    assert study.stop_kind is StopKind.FAILING
    assert all(fact in study.stopped for fact in ("'b'", "30", "device not found"))


def test_a_set_of_options_means_the_same_as_a_list(space: Space) -> None:
    as_set = Study(space, [Objective("a", options={"kernel", "filters"}), "b"])  # type: ignore[arg-type]
    as_list = Study(space, [Objective("a", options=["filters", "kernel"]), "b"])
    assert as_set.objectives == as_list.objectives


@pytest.mark.parametrize("scale", [1e-200, 1e-90, 1e90])
def test_the_scale_of_an_objective_does_not_matter(scale: float) -> None:
    study = line(budget=10)
    study.run({"a": lambda d: (scale * d["x"], 1.0), "b": lambda d: (1.0 - d["x"], 1.0)})
    assert study.spent == 10
    assert study.front()


def test_a_failed_reading_is_charged_what_the_function_said() -> None:
    readings = iter([1.0, 2.0, float("nan")] * 9)
    study = Study({"x": (0.0, 1.0)}, [Objective("a", repeats=3), "b"], seed=0, stop={"max_evaluations": 1})
    study.run({"a": lambda d: (next(readings), 5.0), "b": LINE["b"]})
    (row,) = study.trace()
    assert row.value is None
    assert row.cost == 15.0


def test_adding_part_of_a_purchase_does_not_spare_an_initial_design() -> None:
    objectives = [Objective("a"), Objective("b"), Objective("c", measured_with="b")]
    study = Study({"x": (0.0, 1.0)}, objectives, seed=0, n_initial=2, budget=6, candidates=60)
    for x in (0.1, 0.2, 0.3):
        study.add({"x": x}, {"b": x})
    study.run({"a": LINE["a"], "b": lambda d: ({"b": d["x"], "c": 1.0 - d["x"]}, 1.0)})
    assert study.spent == 6


def test_adding_the_same_result_again_spares_nothing_more() -> None:
    study = line(n_initial=4, budget=8)
    for _ in range(4):
        study.add({"x": 0.25}, {"a": 0.25, "b": 0.75})
    study.run(LINE)
    assert sum(evaluation.initial for evaluation in study.history.asked) == 6


def test_designs_that_the_user_gave_are_always_measured() -> None:
    study = line(initial_designs=[{"x": 0.1}, {"x": 0.9}], n_initial=3, budget=8)
    study.add({"x": 0.5}, {"a": 0.5, "b": 0.5})
    study.add({"x": 0.6}, {"a": 0.6, "b": 0.4})
    study.run(LINE)
    initial = {evaluation.design["x"] for evaluation in study.history.asked if evaluation.initial}
    assert initial == {0.1, 0.9}


def test_a_rule_that_forbids_nearly_everything_leaves_a_study_of_neighbours() -> None:
    space = Space({"x": (0.0, 1.0), "y": (0.0, 1.0)}, valid=lambda d: abs(d["x"] - d["y"]) < 1e-7 or d["y"] == 0.25)
    given = [{"x": 0.1, "y": 0.1}, {"x": 0.7, "y": 0.25}, {"x": 0.3, "y": 0.25}]
    study = Study(space, ["a", "b"], seed=0, initial_designs=given, budget=12, candidates=50)
    study.run({"a": lambda d: (d["x"], 1.0), "b": lambda d: (d["y"] - d["x"], 1.0)})
    assert study.spent == 12


def test_pending_evaluations_are_reserved_at_what_is_known_now() -> None:
    study = line(budget=20)
    first = study.ask()
    assert first is not None
    second = study.ask()
    assert second is not None
    study.tell(first, 0.5, cost=9.0)
    third = study.ask()
    assert third is not None
    assert first.objective == third.objective
    study.tell(second, 0.5, cost=9.0)
    assert study.ask() is None, "9 + 9 are spent and the pending one is expected to cost 9"


def test_a_promised_objective_that_became_known_is_not_asked() -> None:
    study = line(method="random-coupled", n_initial=2)
    evaluation = study.ask()
    assert evaluation is not None
    study.add(evaluation.design, {"b": 0.5})
    following = study.ask()
    assert following is not None
    assert (following.objective, following.design) != ("b", evaluation.design)


def test_the_last_cent_of_a_budget_can_be_spent() -> None:
    study = line(budget=0.3, n_initial=1, stop={"max_evaluations": 5})
    study.run({"a": lambda d: (d["x"], 0.1), "b": lambda d: (1 - d["x"], 0.1)})
    assert len(study.trace()) == 3


def test_a_free_objective_does_not_keep_a_study_going_for_ever() -> None:
    study = Study({"x": (0.0, 1.0), "y": (0.0, 1.0)}, ["a", "b"], budget=6, n_initial=3, seed=0, candidates=60)
    study.run({"a": lambda d: (d["x"], 1.0), "b": lambda d: (d["y"] - d["x"], 0.0)})
    assert study.stop_kind is StopKind.BUDGET
    assert study.summary().evaluations["a"] == 6


def test_numpy_numbers_are_numbers() -> None:
    study = line(
        budget=np.int64(8), seed=np.int32(3), n_initial=np.int8(2), candidates=np.uint16(50), delta=np.float32(0.1)
    )
    study.run(LINE)
    assert study.spent == 8
    assert Objective("a", repeats=np.int64(2), cost=np.float32(1.5), noisy=np.bool_(True)).cost == 1.5


def test_a_reference_that_nothing_reaches_does_not_end_the_search() -> None:
    study, usual = line(reference=[-5.0, -5.0], budget=12), line(budget=12)
    study.run(LINE)
    usual.run(LINE)
    assert study.stop_kind is StopKind.BUDGET
    counts = study.summary().evaluations
    assert sum(counts.values()) == sum(usual.summary().evaluations.values()) == 12
    assert min(counts.values()) > 3  # both objectives are measured of more than the initial designs
    assert study.reference == dict.fromkeys(study.history.names, -5.0)


def test_the_hypervolume_of_the_past_does_not_change_when_a_design_is_measured_again() -> None:
    noisy = Objective("a", noisy=True, remeasure=True)
    study = Study(Space({"x": [1, 2, 3]}), [noisy, "b"], n_initial=3, seed=0, reference=[9.0, 9.0])
    seen: list[float] = []
    readings = iter([1.0, 1.2, 0.9, 0.4, 1.6, 0.7, 1.1] * 3)
    for _ in range(10):
        evaluation = study.ask()
        if evaluation is None:
            break
        x = evaluation.design["x"]
        study.tell(evaluation, x * next(readings) if evaluation.objective == "a" else 4 - x, cost=1.0)
        seen.append(study.trace()[-1].hypervolume)
    assert len(seen) == 10
    assert [row.hypervolume for row in study.trace()] == seen


def test_a_mapping_of_objectives_is_refused() -> None:
    with pytest.raises(InvalidTypeError, match="give a list"):
        Study({"x": (0.0, 1.0)}, {"a": "max", "b": "min"})  # type: ignore[arg-type]


def test_the_trace_holds_every_value_of_a_purchase(tmp_path: Path) -> None:
    study = Study({"x": (0.0, 1.0)}, ["a", Objective("b", measured_with="a")], n_initial=2, seed=0, budget=4)
    study.run({"a": lambda d: ({"a": d["x"], "b": 1 - d["x"]}, 1.0)})
    frame = study.trace().to_pandas()
    assert np.allclose(frame["value:a"] + frame["value:b"], 1.0)
    assert study.summary().evaluations == {"a": 4, "b": 4}
    study.front().to_csv(tmp_path / "front.csv")
    assert (tmp_path / "front.csv").read_text().startswith("number,value:a,value:b,measured:a")
    assert len(study.front().to_pandas()) == len(study.front())


def test_a_front_of_measured_designs_only_can_be_had(make_study: Make, functions: Functions) -> None:
    study = make_study(budget=50, n_initial=4, candidates=50)
    study.run(functions)
    sure = study.front()
    assert sure
    assert all(all(row.measured.values()) for row in sure)


def test_random_search_stays_random_whatever_things_cost() -> None:
    study = line(method="random", cost="ratio", n_initial=2, stop={"max_evaluations": 60})
    study.run({"a": lambda d: (d["x"], 10.0), "b": lambda d: (1.0 - d["x"], 1.0)})
    assert study.summary().evaluations["a"] > 15


def test_what_was_left_pending_is_given_back_when_it_is_known_or_too_dear() -> None:
    storage = MemoryStorage()
    first = line(storage=storage, n_initial=4)
    for _ in range(4):
        evaluation = first.ask()
        assert evaluation is not None
        first.tell(evaluation, 0.5, cost=5.0)
    lost = [first.ask() for _ in range(4)]
    first.close()
    again = line(storage=storage, n_initial=4, budget=26)
    assert lost[0] is not None
    again.add(lost[0].design, {"a": 0.4})
    again.run({"a": lambda d: (d["x"], 5.0), "b": lambda d: (1.0 - d["x"], 5.0)})
    assert again.spent == 25
    assert again.pending == ()


def test_a_negative_reading_after_many_positive_ones_is_believed() -> None:
    noisy = Objective("a", noisy=True)
    study = Study({"x": (0.0, 1.0)}, [noisy, "b"], seed=0, n_initial=1)
    for i in range(30):
        study.add({"x": (i + 1) / 31}, {"a": 0.5 + (i + 1) / 31, "b": 1.0 - i / 31})
    study.add({"x": 0.0}, {"a": -5.0, "b": 1.5})
    row = min(study.front(), key=lambda row: row.values["a"])
    assert row.design["x"] == 0.0
    assert row.values["a"] < 0.3


def test_a_budget_that_nothing_is_charged_to_ends_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.optimizer.stop.MOST_FREE", 12)
    study = line(budget=10)
    study.run({"a": lambda d: (d["x"] ** 2, 0.0), "b": lambda d: (1.0 - d["x"], 0.0)})
    assert study.stop_kind is StopKind.FREE
    assert len(study.trace()) == 12


def test_a_pool_without_columns_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="no columns"):
        Space.from_designs([{}])


def test_a_fault_of_the_machine_stops_a_study_that_goes_on_once_it_is_mended(tmp_path: Path) -> None:
    def study() -> Study:
        storage = f"sqlite:///{tmp_path / 's.db'}"
        return Study({"x": (0.0, 1.0)}, ["a", "b"], budget=8, seed=0, n_initial=3, candidates=50, storage=storage)

    def broken(design: Any) -> float:
        raise MachineError("No meter.")

    begun = study()
    with pytest.raises(MachineError, match="No meter"):
        begun.run({"a": lambda design: (design["x"], 1.0), "b": broken})
    assert not begun.pending
    again = study()
    assert again.summary().evaluations["b"] == 0
    again.run({"a": lambda design: (design["x"], 1.0), "b": lambda design: (1 - design["x"], 1.0)})
    assert again.spent == 8.0
    assert again.front()
