"""Studies with steps: where their checkpoints are, and that no step is lost or paid twice."""

from __future__ import annotations

import gc
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.study.small_studies import asked

from flexibo import Objective, Steps, Study
from flexibo.belief.step_costs import whole_costs
from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.executors import Outcome, measured
from flexibo.history.events import Evaluation, Failed, FailureKind, Reissued, Released
from flexibo.storage import MemoryStorage, Sign

ERROR = Objective("error", steps=9)


def opened(storage: Any = None, **given: Any) -> Study:
    settings = {"seed": 1, "n_initial": 2, "candidates": 20, "method": "random", "budget": 40.0, **given}
    return Study({"x": (0.0, 1.0)}, [ERROR, "joules"], storage=storage, **settings)


def trained(steps: Steps) -> tuple[None, float]:
    for step in range(steps.start + 1, steps.stop + 1):
        steps.report(step, steps.design["x"] + 1 / step)  # type: ignore[operator]
    return None, float(steps.stop - steps.start)


FUNCTIONS: dict[str, Any] = {"error": trained, "joules": lambda design: (1.0 - design["x"], 1.0)}


def test_a_run_gives_steps_to_functions_of_objectives_that_have_them() -> None:
    study = opened()
    study.run(FUNCTIONS)
    assert study.spent == 40.0
    done = [evaluation for evaluation in study.history.asked if evaluation.objective == "error"]
    assert done
    for evaluation in done:
        curve = study.curve(evaluation.design, "error")
        assert [step for step, _ in curve] == list(range(1, 10))
    assert study.checkpoint(done[0].design, "error").is_dir()


def test_checkpoints_are_beside_a_file_or_where_the_user_wants_them_or_temporary(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = opened(url)
    with pytest.raises(InvalidValueError, match="asked yet"):
        study.checkpoint({"x": 0.5}, "error")
    evaluation = asked(study)
    folder = study.checkpoint(evaluation.design, "error")
    assert folder.parent.parent == tmp_path / "study.db.checkpoints"
    assert pickle.loads(pickle.dumps(study)).checkpoint(evaluation.design, "error") == folder
    elsewhere = Study.load(url, checkpoints=tmp_path / "shared")
    found = elsewhere.checkpoint(evaluation.design, "error")
    assert found.parent.parent == tmp_path / "shared"
    assert found.relative_to(tmp_path / "shared") == folder.relative_to(tmp_path / "study.db.checkpoints")
    with pytest.raises(InvalidTypeError, match="checkpoints is 3"):
        opened(checkpoints=3)


def test_the_temporary_folder_of_a_study_in_memory_goes_with_it() -> None:
    study = opened()
    folder = study.checkpoint(asked(study).design, "error").parent.parent
    assert folder.is_dir()
    del study
    gc.collect()
    assert not folder.exists()


def test_another_study_of_the_same_name_has_other_checkpoints(tmp_path: Path) -> None:
    studies = [opened(f"sqlite:///{tmp_path / name}.db", checkpoints=tmp_path / "shared") for name in "ab"]
    first, second = (asked(study) for study in studies)
    assert first.design == second.design
    folders = {study.checkpoint(first.design, "error") for study in studies}
    assert len(folders) == 2


def test_a_worker_that_was_killed_tells_what_it_had_reported_through_its_folder() -> None:
    study = opened()
    evaluation = asked(study, only=["error"])
    objective = study.objectives[0]
    study._checkpoints.found.of(objective, evaluation.design).open(objective, evaluation.design)
    for step in (1, 4):
        study._checkpoints.found.of(objective, evaluation.design).add(step, 0.5)
    lost = Outcome(evaluation, None, 4.0, "Its worker process was killed.", kind=FailureKind.LOST)
    study.tell_outcome(lost)
    assert study.curve(evaluation.design, "error") == ((1, 0.5), (4, 0.5))
    again = asked(study, only=["error"])
    while again.design != evaluation.design:
        study.tell(again, 0.5, cost=9.0)
        again = asked(study, only=["error"])
    assert (again.start, again.stop) == (4, 9)


def reported(study: Study, evaluation: Evaluation, *reached: int) -> None:
    checkpoint = study._checkpoints.found.of(ERROR, evaluation.design)
    checkpoint.open(ERROR, evaluation.design)
    for step in reached:
        checkpoint.add(step, 1 / step)


def lost_worker(study: Study, evaluation: Evaluation) -> str:
    study.refresh()
    return study.history.assignments[evaluation.number].worker


def test_steps_of_lost_workers_are_paid_once_where_functions_return_costs(tmp_path: Path) -> None:
    storage = MemoryStorage()
    studies = [opened(storage, budget=None, checkpoints=tmp_path) for _ in range(4)]
    first, *_, last = studies
    first.tell_outcome(Outcome(asked(first, only=["error"]), {"error": 0.5}, 9.0, timed=False))
    lost = asked(first, only=["error"])
    for study, reached in zip(studies[1:], ((1, 3), (5,), (8,)), strict=True):
        reported(first, lost, *reached)
        storage.sign(lost_worker(study, lost), Sign(9, 3600.0, 60.0, {"host": "far"}))
        study._heartbeat._is_gone = lambda worker, sign: True  # type: ignore[method-assign]
        assert (asked(study, only=["error"]) == lost) == (study is not last)
    costs = [event.cost for event in last.events if isinstance(event, Reissued)]
    assert costs == pytest.approx([3.0, 2.0])  # of three steps, and of two more
    [failed] = [event for event in last.events if isinstance(event, Failed)]
    assert failed.cost == pytest.approx(3.0)
    assert failed.reports == tuple((step, 1 / step) for step in (1, 3, 5, 8))
    assert last.spent == pytest.approx(9.0 + 8.0)


@pytest.mark.parametrize("is_given_back", [True, False])
def test_an_attempt_that_was_lost_before_its_first_report_is_not_paid_beside_the_next_one(is_given_back: bool) -> None:
    storage = MemoryStorage()
    first, second = opened(storage, budget=None), opened(storage, budget=None)
    first.tell_outcome(Outcome(asked(first, only=["error"]), {"error": 0.5}, 9.0, timed=False))
    lost = asked(first, only=["error"])
    assert lost.cost == pytest.approx(9.0)
    if is_given_back:
        first.tell_outcome(Outcome(lost, None, 60.0, "Its machine was lost.", released=True))
        assert isinstance(first.events[-1], Released)
    else:
        storage.sign(lost_worker(second, lost), Sign(9, 3600.0, 60.0, {"host": "far"}))
    second._heartbeat._is_gone = lambda worker, sign: True  # type: ignore[method-assign]
    again = asked(second, only=["error"])
    assert again.design == lost.design
    second.tell_outcome(Outcome(again, {"error": 0.25}, 9.0, timed=False))
    assert second.spent == pytest.approx(18.0)


def test_an_attempt_that_found_a_checkpoint_teaches_the_cost_of_the_steps_that_it_went() -> None:
    study = opened(MemoryStorage(), budget=None)
    first = asked(study, only=["error"])
    study.tell_outcome(Outcome(first, {"error": 0.5}, 3.0, timed=False, begun=6))
    second = asked(study, only=["error"])
    study.tell_outcome(Outcome(second, {"error": 0.5}, 0.0, timed=False, begun=9))
    taught = whole_costs(study.history, 0)[1].tolist()
    assert taught == pytest.approx([9.0])  # three of nine steps cost three; no steps teach nothing
    assert study.spent == 3.0


@pytest.mark.parametrize("timed", [True, False])
def test_an_answer_that_was_there_says_nothing_about_how_costs_are_counted(timed: bool) -> None:
    study = opened(budget=None)
    study.tell_outcome(Outcome(asked(study, only=["error"]), {"error": 0.5}, 9.0, timed=timed))
    reported(study, found := asked(study, only=["error"]), 9)
    study.tell_outcome(measured(found, ERROR, study.with_steps(ERROR, trained)))
    assert (study.spent, study.history.timed["error"]) == (9.0, timed)


def test_a_broken_first_call_is_raised_and_goes_on_when_it_is_mended() -> None:
    study, starts = opened(), []

    def broken(steps: Steps) -> None:
        steps.report(5, 0.5)
        raise ZeroDivisionError("no data")

    def mended(steps: Steps) -> Any:
        starts.append(steps.start)
        return trained(steps)

    with pytest.raises(ZeroDivisionError):
        study.run({**FUNCTIONS, "error": broken})
    study.run({**FUNCTIONS, "error": mended})
    assert starts[0] == 5
    assert set(starts[1:]) == {0}


def test_steps_that_an_objective_gets_later_reach_its_function() -> None:
    study = Study({"x": (0.0, 1.0)}, ["error", "joules"], seed=1, n_initial=2, candidates=20, method="random", budget=9)
    study.run({**FUNCTIONS, "error": lambda design: (design["x"], 3.0)})
    study.change(objectives=[replace(ERROR)], budget=40)
    study.run(FUNCTIONS)
    last = [evaluation for evaluation in study.history.asked if evaluation.objective == "error"][-1]
    assert len(study.curve(last.design, "error")) == 9
