"""What the function of an objective with steps receives, and what becomes of what it reports."""

from __future__ import annotations

import math
import pickle
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from tests.unit.executors.questions import question

from flexibo import Objective, Steps
from flexibo.errors import DesignError, InvalidValueError
from flexibo.executors import Outcome, measured
from flexibo.executors.checkpoints import REPORTS, Checkpoints
from flexibo.executors.measure import TookTooLongError
from flexibo.executors.steps import StepMeasure
from flexibo.history.events import FailureKind

ERROR = Objective("error", steps=9)
ASKED = replace(question(), stop=9)


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path)


def outcome(checkpoints: Checkpoints, function: Callable[[Steps], Any], **changed: Any) -> Outcome:
    objective = changed.pop("objective", ERROR)
    asked = replace(ASKED, **changed)
    return measured(asked, objective, StepMeasure(function, objective, checkpoints))


def trained(steps: Steps) -> None:
    """Says 1 / step at every step."""
    for step in range(steps.start + 1, steps.stop + 1):
        (steps.checkpoint / "model").write_text(str(step))
        steps.report(step, 1 / step)


def killed_at(last: int, error: BaseException | None = None) -> Callable[[Steps], float]:
    def train(steps: Steps) -> float:
        for step in range(steps.start + 1, last + 1):
            steps.report(step, 1 / step)
        raise error or RuntimeError("the power is gone")

    return train


def test_a_function_goes_from_start_to_stop_and_what_it_reports_comes_with_its_answer(checkpoints: Checkpoints) -> None:
    seen: list[Any] = []

    def train(steps: Steps) -> float:
        seen.append((dict(steps.design), steps.objective, steps.start, steps.stop, steps.checkpoint.is_dir()))
        steps.report(1, 0.9)
        steps.report(4, 0.5)
        return 0.25

    found = outcome(checkpoints, train)
    assert seen == [(dict(ASKED.design), "error", 0, 9, True)]
    assert (found.values, found.reports, found.begun) == ({"error": 0.25}, ((1, 0.9), (4, 0.5), (9, 0.25)), None)


def test_the_value_reported_at_the_stop_is_the_answer_if_nothing_is_returned(checkpoints: Checkpoints) -> None:
    assert outcome(checkpoints, trained).values == {"error": 1 / 9}

    def paid(steps: Steps) -> tuple[None, float]:
        steps.report(9, 0.5)
        return None, 12.0

    priced = outcome(checkpoints, paid, design=question(1).design)
    assert (priced.values, priced.cost, priced.timed) == ({"error": 0.5}, 12.0, False)


def test_the_next_question_goes_on_where_the_last_one_stopped(checkpoints: Checkpoints) -> None:
    starts: list[int] = []

    def train(steps: Steps) -> None:
        starts.append(steps.start)
        assert not steps.start or (steps.checkpoint / "model").read_text() == str(steps.start)
        trained(steps)

    assert outcome(checkpoints, train, stop=3).values == {"error": 1 / 3}
    found = outcome(checkpoints, train, start=3)
    assert starts == [0, 3]
    assert found.begun is None
    assert [step for step, _ in found.reports] == [4, 5, 6, 7, 8, 9]


def test_an_attempt_after_a_killed_one_begins_at_the_highest_reported_step_and_tells_all(
    checkpoints: Checkpoints,
) -> None:
    failed = outcome(checkpoints, killed_at(6))
    assert failed.values is None
    assert [step for step, _ in failed.reports] == [1, 2, 3, 4, 5, 6]
    starts: list[int] = []
    again = outcome(checkpoints, lambda steps: starts.append(steps.start) or trained(steps))
    assert (starts, again.begun) == ([6], 6)
    assert again.reports == tuple((step, 1 / step) for step in range(1, 10))


def test_what_was_reported_at_the_stop_is_not_measured_again(checkpoints: Checkpoints) -> None:
    outcome(checkpoints, killed_at(9))
    found = outcome(checkpoints, killed_at(9, AssertionError("it was called")))
    assert (found.values, found.begun, found.cost) == ({"error": 1 / 9}, 9, 0.0)


def test_an_attempt_whose_evaluation_another_worker_has_ends_at_its_next_report_and_spoils_nothing(
    checkpoints: Checkpoints,
) -> None:
    folder = checkpoints.of(ERROR, ASKED.design)
    newer: list[Outcome] = []

    def slow(steps: Steps) -> None:
        steps.report(2, 0.5)
        newer.append(outcome(checkpoints, killed_at(4), token="newer"))
        steps.report(3, 0.7)

    older = outcome(checkpoints, slow, token="older")
    assert (older.values, older.kind) == (None, FailureKind.LOST)
    assert "Another worker measures 'error'" in older.reason
    assert newer[0].reports == ((2, 0.5), (3, 1 / 3), (4, 1 / 4))
    assert folder.reports() == newer[0].reports


def test_an_attempt_that_was_given_up_may_still_give_its_answer(checkpoints: Checkpoints) -> None:
    def slow(steps: Steps) -> float:
        steps.report(2, 0.5)
        outcome(checkpoints, killed_at(4), token="newer")
        return 0.125

    older = outcome(checkpoints, slow, token="older")
    assert (older.values, older.reports) == ({"error": 0.125}, ((2, 0.5), (9, 0.125)))
    assert checkpoints.of(ERROR, ASKED.design).reports()[-1] == (4, 1 / 4)  # the folder is the other's


def test_a_function_that_cannot_resume_always_begins_at_the_beginning(checkpoints: Checkpoints) -> None:
    objective = replace(ERROR, resumable=False)
    outcome(checkpoints, killed_at(6), objective=objective)
    starts: list[int] = []
    found = outcome(checkpoints, lambda steps: starts.append(steps.start) or trained(steps), objective=objective)
    assert (starts, found.begun, len(found.reports)) == ([0], None, 9)


def test_where_the_checkpoint_is_missing_it_begins_again_and_says_so(
    checkpoints: Checkpoints, caplog: pytest.LogCaptureFixture
) -> None:
    found = outcome(checkpoints, trained, start=3)
    assert (found.begun, [step for step, _ in found.reports]) == (0, [4, 5, 6, 7, 8, 9])
    assert "checkpoint of step 3 is not in" in caplog.text


def test_a_function_whose_checkpoint_is_older_may_report_known_steps_again(checkpoints: Checkpoints) -> None:
    outcome(checkpoints, killed_at(6))

    def train(steps: Steps) -> float:
        for step in (5, 6, 7):
            steps.report(step, 0.0)
        return 0.5

    known = dict(outcome(checkpoints, train).reports)
    assert (known[5], known[6], known[7], known[9]) == (1 / 5, 1 / 6, 0.0, 0.5)


@pytest.mark.parametrize(
    ("reports", "returned", "facts"),
    [
        ([(1, math.nan)], 0.5, "'error'.*nan.*finite"),
        ([(1, "low")], 0.5, "'error'.*'low'.*number"),
        ([(1, None)], 0.5, "'error'.*None.*number"),
        ([(0, 0.5)], 0.5, "step 0; this evaluation goes from step 0 to 9"),
        ([(12, 0.5)], 0.5, "step 12;.*1 to 9"),
        ([(3, 0.5), (2, 0.5)], 0.5, "step 2 after step 3.*ascending"),
        ([(3, 0.5), (3, 0.5)], 0.5, "step 3 after step 3.*once"),
        ([(2.5, 0.5)], 0.5, "step 2.5.*whole number"),
        ([(3, 0.5)], None, "neither returned nor reported a value at step 9"),
        ([(9, 0.5)], 0.4, "returned 0.4 and reported 0.5 at step 9"),
        ([(3, 0.5)], math.inf, "inf.*finite"),
    ],
)
def test_what_is_wrong_is_a_value_failure_with_a_sentence_and_loses_nothing(
    checkpoints: Checkpoints, reports: list[Any], returned: Any, facts: str
) -> None:
    def train(steps: Steps) -> Any:
        steps.report(1, 0.75) if reports[0][0] == 3 else None
        for step, value in reports:
            steps.report(step, value)
        return returned

    found = outcome(checkpoints, train)
    assert (found.values, found.kind) == (None, FailureKind.VALUE)
    assert re.search(facts, found.reason)
    if reports[0][0] == 3:
        assert found.reports[:2] == ((1, 0.75), (3, 0.5))


@pytest.mark.parametrize("wrong", [(4, math.nan), (4, "low"), (2, 0.5), (12, 0.5)])
def test_a_wrong_report_fails_the_attempt_even_if_the_function_catches_its_error(
    checkpoints: Checkpoints, wrong: tuple[int, Any]
) -> None:
    refused: list[int] = []

    def train(steps: Steps) -> float:
        for step, value in ((3, 0.75), wrong, (7, 0.5), (9, 0.25)):
            try:
                steps.report(step, value)
            except Exception:
                refused.append(step)
        return 0.25

    found = outcome(checkpoints, train)
    assert (found.values, found.kind, found.reports) == (None, FailureKind.VALUE, ((3, 0.75),))
    assert refused == [wrong[0], 7, 9]
    assert str(wrong[0]) in found.reason
    assert bool(found.mistake) == (wrong[1] == "low")


def test_what_the_function_itself_says_of_a_wrong_report_is_the_reason(checkpoints: Checkpoints) -> None:
    def train(steps: Steps) -> None:
        try:
            steps.report(1, math.nan)
        except Exception:
            raise DesignError("it diverges") from None

    found = outcome(checkpoints, train)
    assert (found.reason, found.impossible) == ("it diverges", True)


def test_a_function_of_a_design_is_told_what_it_receives(checkpoints: Checkpoints) -> None:
    found = outcome(checkpoints, lambda design: design["x"])
    assert "has steps, so its function receives flexibo.Steps; the value of 'x' is steps.design['x']" in found.reason


def test_an_answer_that_was_refused_is_measured_again(checkpoints: Checkpoints) -> None:
    def contradicting(steps: Steps) -> float:
        trained(steps)
        return 8.0

    refused = outcome(checkpoints, contradicting)
    assert "returned 8 and reported" in refused.reason
    assert [step for step, _ in refused.reports] == list(range(1, 9))
    starts: list[int] = []

    def mended(steps: Steps) -> None:
        starts.append(steps.start)
        trained(steps)

    assert outcome(checkpoints, mended).values == {"error": 1 / 9}
    assert starts == [8]


@pytest.mark.parametrize(
    "wrong", [math.nan, "abc", [1, 2], (1 / 9, -1.0), (1 / 9, 2.0, 3.0), {"error": 1 / 9, "other": math.inf}]
)
def test_an_answer_that_is_none_does_not_count_after_its_value_was_reported(
    checkpoints: Checkpoints, wrong: object
) -> None:
    def trains_and_answers(steps: Steps) -> object:
        trained(steps)
        return wrong

    refused = outcome(checkpoints, trains_and_answers)
    assert (refused.values, refused.kind) == (None, FailureKind.VALUE)
    calls: list[int] = []
    assert outcome(checkpoints, lambda steps: calls.append(steps.start) or 0.5).values == {"error": 0.5}
    assert calls == [8]


def test_what_is_no_number_is_a_mistake_of_the_function(checkpoints: Checkpoints) -> None:
    for wrong in (lambda steps: "abc", lambda steps: None, lambda steps: steps.report(1.5, 0.5)):
        assert outcome(checkpoints, wrong).mistake
    assert outcome(checkpoints, lambda steps: math.nan).mistake == ""


def test_a_mapping_may_be_returned_and_one_without_the_objective_is_an_error(checkpoints: Checkpoints) -> None:
    assert outcome(checkpoints, lambda steps: {"error": 0.5}).reports == ((9, 0.5),)
    missing = outcome(checkpoints, lambda steps: {"other": 0.5}, design=question(1).design)
    assert "no value of 'error'" in missing.reason


def test_of_many_reports_some_are_told_and_all_are_kept(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flexibo.executors.steps.MOST_REPORTS", 20)
    objective = Objective("error", steps=60)
    found = outcome(checkpoints, trained, objective=objective, stop=60)
    told = [step for step, _ in found.reports]
    assert 10 <= len(told) <= 20
    assert set(objective.stops) <= set(told)
    assert told == sorted(told)
    assert len(checkpoints.of(objective, ASKED.design).reports()) == 60


def test_a_timeout_keeps_what_was_reported(checkpoints: Checkpoints) -> None:
    def slow(steps: Steps) -> None:
        steps.report(2, 0.5)
        while True:
            pass

    found = outcome(checkpoints, slow, objective=replace(ERROR, timeout=0.5))
    assert (found.kind, found.reports) == (FailureKind.TIMEOUT, ((2, 0.5),))


def test_a_timeout_while_a_report_is_written_is_a_timeout(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: Path, line: bytes) -> None:
        raise TookTooLongError("It took too long.")

    monkeypatch.setattr("flexibo.executors.checkpoints.append_line", interrupted)
    assert outcome(checkpoints, trained).kind is FailureKind.TIMEOUT


def test_a_function_with_steps_travels_to_other_processes(checkpoints: Checkpoints) -> None:
    offset = 0.5
    measure = pickle.loads(cloudpickle.dumps(StepMeasure(lambda steps: offset, ERROR, checkpoints)))
    assert measured(ASKED, ERROR, measure).values == {"error": 0.5}


def test_it_is_measured_by_a_study_only(checkpoints: Checkpoints) -> None:
    with pytest.raises(InvalidValueError, match="'error' has steps"):
        StepMeasure(trained, ERROR, checkpoints)(ASKED.design)


def test_what_was_asked_before_there_were_steps_goes_to_the_last_one(checkpoints: Checkpoints) -> None:
    found = outcome(checkpoints, trained, stop=None)
    assert (found.values, found.reports, found.begun) == ({"error": 1 / 9}, (), None)


def test_a_function_that_removes_its_folder_loses_no_report_of_this_attempt(checkpoints: Checkpoints) -> None:
    def train(steps: Steps) -> float:
        steps.report(2, 0.5)
        shutil.rmtree(steps.checkpoint)
        steps.report(4, 0.25)
        return 0.125

    assert outcome(checkpoints, train).reports == ((2, 0.5), (4, 0.25), (9, 0.125))


def test_reports_are_on_the_disk_at_once(checkpoints: Checkpoints) -> None:
    def train(steps: Steps) -> float:
        steps.report(2, 0.5)
        assert (steps.checkpoint / REPORTS).read_text() == "[2, 0.5]\n"
        return 0.25

    assert outcome(checkpoints, train).reason == ""
