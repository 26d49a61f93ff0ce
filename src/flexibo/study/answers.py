"""The answers of users and executors, and results that were known before, checked and turned into events."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from flexibo._internal.text import printable_line
from flexibo.errors import InvalidTypeError, InvalidValueError, unknown_name
from flexibo.executors import Outcome
from flexibo.history import History
from flexibo.history.events import Added, Evaluation, Event, Failed, FailureKind, Released, Spent, Told
from flexibo.history.measurements import Assignment
from flexibo.history.reports import Reports, checked_reports, usable_reports
from flexibo.objectives import Objective, error_bars
from flexibo.study._arguments import checked_cost


class NeverAskedError(InvalidValueError):
    """An answer names an evaluation, or an attempt at it, that the study does not know."""


FIELDS: Mapping[str, tuple[type, ...]] = {
    "design": (Mapping,),
    "objective": (str,),
    "yields": (tuple,),
    "token": (str,),
    "start": (int,),
    "stop": (int, type(None)),
    "cost": (int, float),
    "gain": (int, float, type(None)),
}
"""The types of what identifies an evaluation."""

logger = logging.getLogger("flexibo.study.failures")


def told_event(
    history: History,
    evaluation: Evaluation,
    value: object,
    cost: object,
    *,
    worker: str,
    timed: bool = False,
    reports: object = (),
    begun: int | None = None,
) -> Told:
    """The answer to an evaluation: a value, or a mapping of values with at least those that it yields.

    `reports` are values at steps before the one at which it stops; `begun` is where it really began.
    """
    objectives = {objective.name: objective for objective in history.objectives}
    given = value if isinstance(value, Mapping) else {evaluation.objective: value}
    for name in given:
        if name not in objectives:
            raise unknown_name("objective", name, objectives)
    for name in evaluation.yields:
        if name not in given:
            raise InvalidValueError(
                f"The answer has no value of {name!r}; tell a mapping with {', '.join(evaluation.yields)}."
            )
    values = {name: _told_value(objectives[name], given[name]) for name in given}
    if len(values) > 1 and evaluation.objective in objectives and history.is_partial(evaluation):
        raise InvalidValueError(
            f"The evaluation of {evaluation.objective!r} stops at step {evaluation.stop}, before the last one; tell "
            "the value of this objective alone."
        )
    known = _checked_reports(objectives, evaluation, reports, values)
    noise = error_bars(given)
    return Told(evaluation.number, values, checked_cost(cost), worker, timed, evaluation.token, known, begun, noise)


def _told_value(objective: Objective, value: object) -> float:
    """A value that is possible; where there is none, the error names what tells a failure."""
    try:
        return objective.checked_value(value)
    except InvalidValueError as error:
        if math.isfinite(value):  # type: ignore[arg-type]  # it is a number, or the error would be another one
            raise
        raise InvalidValueError(f"{error} If the measurement failed, call fail() instead.") from None


def _checked_reports(
    objectives: Mapping[str, Objective], evaluation: Evaluation, reports: object, values: Mapping[str, float]
) -> Reports:
    if evaluation.objective not in objectives:  # it was never asked here, which is said later
        return ()
    objective = objectives[evaluation.objective]
    return checked_reports(objective, evaluation, reports, value=values.get(objective.name))


def failed_event(
    history: History,
    evaluation: Evaluation,
    reason: object,
    cost: object,
    *,
    worker: str,
    impossible: bool,
    timeout: bool,
    reports: object = (),
) -> Failed:
    """What a user says of an attempt that gave no value; `reports` are values at the steps that it reached."""
    kind = FailureKind.TIMEOUT if timeout else FailureKind.ERROR
    spent, token = checked_cost(cost), evaluation.token
    known = _checked_reports({objective.name: objective for objective in history.objectives}, evaluation, reports, {})
    return Failed(evaluation.number, str(reason), spent, worker, False, bool(impossible), kind, token, known)


def outcome_event(history: History, outcome: Outcome, *, worker: str) -> Told | Failed:
    """The event for what an executor returned: a value that cannot be told is a failure."""
    evaluation, reason, kind = outcome.evaluation, outcome.reason, outcome.kind
    if outcome.values is not None:
        try:
            return told_event(
                history,
                evaluation,
                outcome.values,
                outcome.cost,
                worker=worker,
                timed=outcome.timed,
                reports=outcome.reports,
                begun=outcome.begun,
            )
        except (InvalidValueError, InvalidTypeError) as error:
            reason, kind = str(error), FailureKind.VALUE
    # The reason may be what a program printed, and a log line may reach a terminal.
    name, shown = printable_line(evaluation.objective), printable_line(reason)
    logger.warning("Evaluation %d (%s) failed: %s", evaluation.number, name, shown)
    cost, timed, token = checked_cost(outcome.cost), outcome.timed, evaluation.token
    objective = next((one for one in history.objectives if one.name == evaluation.objective), None)
    known = () if objective is None else usable_reports(objective, evaluation, outcome.reports)
    if timed and evaluation.stop is not None and history.timed.get(evaluation.objective) is False:
        # Its seconds mean nothing where functions say what their steps cost.
        cost, timed = expected_loss(history, evaluation, known), False
    return Failed(evaluation.number, reason, cost, worker, timed, outcome.impossible, kind, token, known)


def given_back_events(history: History, outcome: Outcome, *, worker: str) -> list[Event]:
    """The release of an evaluation whose machine was lost, with what that cost; nothing if it is not held any more."""
    evaluation = outcome.evaluation
    holder = history.assignments.get(evaluation.number)
    if holder is None or holder.worker != worker:
        return []
    shown = printable_line(evaluation.objective), printable_line(outcome.reason)
    logger.warning("Evaluation %d (%s) is given back: %s", evaluation.number, *shown)
    # Seconds mean nothing where functions return their own costs, or where no cost is known yet.
    is_timed = history.timed.get(evaluation.objective)
    expected = expected_loss(history, evaluation, outcome.reports)
    cost = 0.0 if is_timed is None else checked_cost(outcome.cost) if is_timed else expected
    return [Released(evaluation.number, outcome.reason, cost)]


def expected_loss(history: History, evaluation: Evaluation, reports: Reports) -> float:
    """What a lost attempt is assumed to have cost where its time says nothing: the steps up to the last one reported.

    All of it if its objective has no steps, and nothing if it has and none was reported: the next attempt goes all of
    them, and pays them. Steps that attempts before it reported are paid already; the next pays what is left.
    """
    if evaluation.stop is None:
        return evaluation.cost
    if not reports:
        return 0.0
    part = (reports[-1][0] - evaluation.start) / (evaluation.stop - evaluation.start)
    return max(0.0, part * evaluation.cost - history.lost_cost(evaluation.number))


def answer_events(history: History, evaluation: Evaluation, given: Told | Failed) -> list[Event]:
    """The answer, or its cost alone where another attempt has answered, or measures now what failed here.

    An attempt is answered and charged once: the same answer again is nothing new.
    """
    check_asked(history, evaluation)
    number = evaluation.number
    if (settled := history.settled(given)) is not None:
        if _is_repeated(given, settled):
            return []
        raise InvalidValueError(
            f"Evaluation {number} ({evaluation.objective!r}) was answered already; tell each evaluation of ask() once."
        )
    holder = history.assignments.get(number)
    is_anothers = isinstance(given, Failed) and holder is not None and not _holds(holder, evaluation, given.worker)
    if is_anothers or number in history.answered:
        return [Spent(number, given.cost, given.worker, given.token)]
    return [given]


def release_events(history: History, evaluation: Evaluation, reason: str = "") -> list[Event]:
    """The release of an evaluation; nothing if it has been answered, or given to another worker, in the meantime."""
    check_asked(history, evaluation)
    holder = history.assignments.get(evaluation.number)
    return [] if holder is None or holder.token != evaluation.token else [Released(evaluation.number, reason)]


def added_event(
    history: History,
    design: Mapping[str, Any],
    values: Mapping[str, float],
    cost: float | Mapping[str, float] | None,
    failed: str | Mapping[str, str] | None = None,
) -> Added:
    """The event for a known result: some or all objectives of a design, and their costs if they are known.

    `failed` are objectives that cannot be measured, alone or with the reason of each.
    """
    legal = history.space.design(design)
    objectives = {objective.name: objective for objective in history.objectives}
    failed = {failed: ""} if isinstance(failed, str) else failed or {}
    if not isinstance(failed, Mapping):
        raise InvalidTypeError(f"failed is {failed!r}; give an objective, or a mapping of reasons by objective.")
    if not isinstance(values, Mapping) or not (values or failed):
        raise InvalidTypeError(f"values is {values!r}; give a mapping such as {{'error': 0.2}}.")
    named = [*values, *failed]
    if cost is not None and not isinstance(cost, Mapping):
        if len(named) > 1:
            raise InvalidTypeError(f"cost is {cost!r} for {', '.join(named)}; give a mapping of costs by objective.")
        cost = {named[0]: cost}
    for name in (*named, *(cost or ())):
        if name not in objectives:
            raise unknown_name("objective", name, objectives)
    leads = {name: history.purchases[history.purchase_of(name)].objective for name in objectives}
    for name in failed:
        if any(leads[other] == leads[name] for other in values):
            raise InvalidValueError(f"Objective {name!r} of this design has a value and failed; give one of them.")
    checked = {name: objectives[name].checked_value(value) for name, value in values.items()}
    costs = {leads[name]: checked_cost(c) for name, c in (cost or {}).items()}
    reasons = {leads[name]: str(reason) for name, reason in failed.items()}
    return Added(legal, checked, costs, reasons, error_bars(values))


def agreeing_events(history: History, result: Added) -> list[Event]:
    """The event of a known result; an error if another value of an exact objective is known."""
    history.check_agrees(result.design, result.values)
    return [result]


def new_results(history: History, results: Sequence[Added], seen: int) -> list[Event]:
    """Known results that were read when the study had `seen` events, without those that others have added since.

    An error if the study was changed since and does not have a design, or if another value is known.
    """
    since = {_identity(event) for event in history.events[seen:] if isinstance(event, Added)}
    left = [result for result in results if _identity(result) not in since]
    for result in left:
        if history.changes:
            history.space.design(result.design)
        history.check_agrees(result.design, result.values)
    return list(left)


def _identity(result: Added) -> tuple[object, ...]:
    return result.design, *(tuple(sorted(of.items())) for of in (result.values, result.costs, result.failed))


def check_evaluation(evaluation: object) -> None:
    """Refuse anything but an evaluation."""
    if not isinstance(evaluation, Evaluation):
        raise InvalidTypeError(f"{evaluation!r} is not an evaluation; give what ask() returned.")
    if type(evaluation.number) is not int:
        raise InvalidTypeError(
            f"The number of the evaluation is {evaluation.number!r}; it must be an integer. Give what ask() returned."
        )
    for field, kinds in FIELDS.items():
        value = getattr(evaluation, field)
        items = value if isinstance(value, tuple) else ()
        if not isinstance(value, kinds) or not all(isinstance(item, str) for item in items):
            raise InvalidTypeError(f"The {field} of the evaluation is {value!r}; give what ask() returned.")


def check_asked(history: History, evaluation: Evaluation) -> None:
    """Refuse an answer to what was never asked."""
    if not history.is_known(evaluation):
        raise NeverAskedError(
            f"Evaluation {evaluation.number} ({evaluation.objective!r}) of this design was never asked by this study; "
            "tell what ask() returned. Nothing was changed."
        )


def _is_repeated(given: Told | Failed, settled: Told | Failed | Spent) -> bool:
    """Whether an answer is the stored one again: its acknowledgement may have been lost."""
    if isinstance(settled, Spent):
        return given.cost == settled.cost
    return replace(given, worker=settled.worker) == settled


def _holds(holder: Assignment, evaluation: Evaluation, worker: str) -> bool:
    """Whether an attempt is the one that is measured now."""
    return holder.token == evaluation.token if evaluation.token else holder.worker == worker
