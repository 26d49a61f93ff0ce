"""Tests of objectives with steps: what is asked, told, known, stored and changed."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.study.small_studies import asked

from flexibo import Design, Objective, Steps, Study
from flexibo.belief.step_costs import whole_costs
from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.history import History
from flexibo.history.events import Evaluation, FailureKind
from flexibo.history.state import packed, restore
from flexibo.storage import MemoryStorage
from flexibo.storage.base import DamagedStudyError

ERROR = Objective("error", steps=9)
SPACE = {"x": (0.0, 1.0)}


def opened(storage: Any = None, objective: Objective = ERROR, **given: Any) -> Study:
    settings = {"seed": 1, "n_initial": 3, "candidates": 40, "method": "random", **given}
    return Study(SPACE, [objective, "joules"], storage=storage, **settings)


def shorter(study: Study, stop: int, start: int = 0) -> Evaluation:
    """The pending question as one that goes only to this step, as it is stored."""
    evaluation = asked(study, only=["error"])
    own = replace(evaluation, start=start, stop=stop)
    history = study.history
    history.pending[own.number] = own
    event = history.events[history.asked.at[own.number]]
    object.__setattr__(event, "evaluation", own)
    return own


def test_an_objective_with_steps_is_asked_to_its_last_step() -> None:
    study = opened()
    evaluation = asked(study, only=["error"])
    assert (evaluation.start, evaluation.stop) == (0, 9)
    other = asked(study, only=["joules"])
    assert (other.start, other.stop) == (0, None)


def test_only_the_last_step_counts_as_measured() -> None:
    study = opened()
    early = shorter(study, 3)
    study.tell(early, 0.5, cost=3.0, reports=[(1, 0.7)])
    assert study.curve(early.design, "error") == ((1, 0.7), (3, 0.5))
    assert not study.history.measurements
    assert study.history.count(0) == 0
    again = asked(study, only=["error"])
    assert (again.design, again.start, again.stop) == (early.design, 3, 9)
    assert again.cost == pytest.approx(6.0)  # three steps cost 3, and six are left
    study.tell(again, 0.2, cost=6.0, reports={5: 0.4})
    assert study.curve(early.design, "error") == ((1, 0.7), (3, 0.5), (5, 0.4), (9, 0.2))
    assert study.history.reached(early.design, "error") == 9
    assert [m.values for m in study.history.measurements] == [{"error": 0.2}]
    assert whole_costs(study.history, 0)[1] == pytest.approx([9.0, 9.0])


def test_what_cannot_resume_begins_anew_and_pays_for_everything() -> None:
    study = opened(objective=replace(ERROR, resumable=False))
    early = shorter(study, 3)
    study.tell(early, 0.5, cost=3.0)
    again = asked(study, only=["error"])
    assert (again.design, again.start, again.stop, again.cost) == (early.design, 0, 9, 9.0)


def test_a_failed_attempt_goes_on_from_the_step_that_it_reached() -> None:
    study = opened(objective=replace(ERROR, retries=3))
    evaluation = asked(study, only=["error"])
    study.fail(evaluation, "no power", cost=4.0, reports=[(1, 0.9), (4, 0.6)])
    again = asked(study, only=["error"])
    while again.design != evaluation.design:
        study.tell(again, 0.1, cost=9.0)
        again = asked(study, only=["error"])
    assert (again.start, again.stop) == (4, 9)
    assert again.cost == pytest.approx(5.0)


def test_a_maximised_objective_reports_the_users_values() -> None:
    study = opened(objective=Objective("error", "max", steps=[2, 5]))
    evaluation = asked(study, only=["error"])
    study.tell(evaluation, 0.8, reports=[(2, 0.3)])
    assert study.curve(evaluation.design, "error") == ((2, 0.3), (5, 0.8))
    assert study.history.points(0)[2].tolist() == [-0.3, -0.8]


@pytest.mark.parametrize(
    ("reports", "facts"),
    [
        ([(1, math.nan)], "'error'.*nan.*finite"),
        ([(1, "low")], "'error'.*'low'.*number"),
        ([(0, 0.5)], "step 0;.*from step 0 to 9.*1 to 9"),
        ([(12, 0.5)], "step 12;.*1 to 9"),
        ([(3, 0.5), (2, 0.5)], "step 2 after step 3.*ascending"),
        ([(3, 0.5), (3, 0.5)], "step 3 after step 3.*once"),
        ([(1.5, 0.5)], "step 1.5.*whole number"),
        ([0.5], "report of 'error' is 0.5.*step and a value"),
        ("0.5", "reports is '0.5'.*pairs"),
        ([(9, 0.3)], "0.2 at step 9.*0.3 in its reports"),
    ],
)
def test_reports_that_are_wrong_get_one_sentence_and_change_nothing(reports: Any, facts: str) -> None:
    study = opened()
    evaluation = asked(study, only=["error"])
    with pytest.raises((InvalidValueError, InvalidTypeError), match=facts):
        study.tell(evaluation, 0.2, reports=reports)
    assert study.pending == (evaluation,)
    study.tell(evaluation, 0.2, reports=[(9, 0.2)])  # the value again is no contradiction
    assert study.curve(evaluation.design, "error") == ((9, 0.2),)


def test_an_objective_without_steps_has_no_reports_and_no_curve() -> None:
    study = opened()
    evaluation = asked(study, only=["joules"])
    with pytest.raises(InvalidValueError, match=r"'joules' has no steps; .*steps="):
        study.tell(evaluation, 0.2, reports=[(1, 0.3)])
    study.tell(evaluation, 0.2)
    assert study.curve(evaluation.design, "joules") == ()
    with pytest.raises(InvalidValueError, match="'watts'"):
        study.curve(evaluation.design, "watts")


def test_what_stops_early_tells_its_own_value_alone() -> None:
    study = opened()
    with pytest.raises(InvalidValueError, match=r"stops at step 3.*alone"):
        study.tell(shorter(study, 3), {"error": 0.5, "joules": 1.0})


def test_an_executors_wrong_report_is_a_failure_that_keeps_the_reports_before_it() -> None:
    from flexibo.executors import Outcome

    study = opened()
    evaluation = asked(study, only=["error"])
    wrong = ((1, 0.5), (2, math.nan))
    study.tell_outcome(Outcome(evaluation, {"error": 0.2}, 1.0, reports=wrong))
    (failed,) = [event for event in study.events if type(event).__name__ == "Failed"]
    assert failed.kind is FailureKind.VALUE  # type: ignore[union-attr]
    assert study.curve(evaluation.design, "error") == ((1, 0.5),)


def test_a_study_with_steps_is_stored_and_resumed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    with opened(url) as study:
        first = asked(study, only=["error"])
        study.tell(first, 0.2, cost=9.0, reports=[(1, 0.9), (3, 0.5)])
        second = asked(study, only=["error"])
        study.fail(second, "no power", cost=1.0, reports=[(2, 0.6)])
        events = study.events
    with opened(url) as again:
        assert again.events == events
        assert again.curve(first.design, "error") == ((1, 0.9), (3, 0.5), (9, 0.2))
        assert again.history.reached(second.design, "error") == 2


def test_a_snapshot_holds_the_curves() -> None:
    study = opened()
    for reports in ([(1, 0.9), (3, 0.5)], [(4, 0.6)]):
        study.tell(asked(study, only=["error"]), 0.2, cost=9.0, reports=reports)
    history = study.history
    found = History(study.space, study.objectives)
    found.settings = history.settings
    restore(found, packed(history), events=len(history.events), load=lambda a, b: history.events[a:b])
    for evaluation in history.asked:
        assert found.curve(evaluation.design, "error") == history.curve(evaluation.design, "error")
    assert [some.tolist() for some in found.points(0)[1:]] == [some.tolist() for some in history.points(0)[1:]]


def test_readings_from_before_an_objective_had_steps_are_readings_of_the_last_step() -> None:
    study = opened(objective=Objective("error"))
    evaluation = asked(study, only=["error"])
    study.tell(evaluation, 0.2, cost=9.0)
    changes = study.change(objectives=[ERROR])
    assert [row.line for row in changes.rows] == ["steps of error: none -> 9"]
    assert study.curve(evaluation.design, "error") == ((9, 0.2),)
    assert asked(study, only=["error"]).stop == 9


def test_the_last_step_stays_and_other_stops_may_change() -> None:
    study = opened()
    for other in (Objective("error"), Objective("error", steps=27)):
        with pytest.raises(InvalidValueError, match="'error' cannot change from 9"):
            study.change(objectives=[other])
    study.change(objectives=[Objective("error", steps=[2, 9])])
    assert study.objectives[0].stops == (2, 9)


def test_a_stored_question_or_report_beyond_the_last_step_is_damage() -> None:
    for changes in ({"stop": 12}, {"start": 9}, {"stop": None, "start": 3}):
        storage = MemoryStorage()
        study = opened(storage)
        asked(study, only=["error"])
        stored = [dict(content) for content in storage.read()]
        stored[-1] |= changes
        copy = MemoryStorage()
        copy.commit(0, lambda none, stored=stored: stored)
        with pytest.raises(DamagedStudyError, match="goes from step"):
            opened(copy)


def joules(design: Design) -> tuple[float, float]:
    return 10.0 - design["x"], 1.0


def test_an_answer_that_a_broken_function_reported_in_its_first_call_is_measured_again(tmp_path: Path) -> None:
    study = Study({"x": [1, 2, 3]}, [ERROR, "joules"], budget=100, n_initial=3, seed=0, checkpoints=tmp_path)
    starts: list[int] = []

    def broken(steps: Steps) -> None:
        for step in range(steps.start + 1, steps.stop + 1):
            steps.report(step, 1e-4)
        raise NameError("undefined_name")

    def mended(steps: Steps) -> tuple[float, float]:
        starts.append(steps.start)
        return 3.0 + steps.design["x"], 9.0

    with pytest.raises(NameError) as raised:
        study.run({"error": broken, "joules": joules}, progress=False)
    folder = study.checkpoint(study.history.asked[0].design, "error")
    if sys.version_info >= (3, 11):
        assert raised.value.__notes__[-1].endswith(f"if they are wrong, remove {folder}.")
    assert study.try_out({"error": broken, "joules": joules})[0].values is None
    study.run({"error": mended, "joules": joules}, progress=False)
    assert starts == [8, 0, 0]  # the first one resumes
    assert sorted(row.values["error"] for row in study.front()) == [4.0, 5.0, 6.0]


def test_a_training_that_fails_pays_the_steps_that_it_reported_where_functions_say_what_they_cost(
    tmp_path: Path,
) -> None:
    study = Study({"x": [1, 2, 3]}, [ERROR, "joules"], budget=100, n_initial=3, seed=0, checkpoints=tmp_path)
    starts: list[int] = []

    def fails_once(steps: Steps) -> tuple[float, float]:
        starts.append(steps.start)
        for step in range(steps.start + 1, 9):
            steps.report(step, 1.0 / step)
        if len(starts) == 2:
            raise RuntimeError("the network is down")
        return 0.1 * steps.design["x"], float(steps.stop - steps.start)

    study.run({"error": fails_once, "joules": joules}, progress=False)
    assert sorted(starts) == [0, 0, 0, 8]
    assert study.spent == pytest.approx(27.0 + 3.0)
