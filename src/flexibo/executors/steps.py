"""Steps: what the function of an objective with steps receives, and how it is called.

A function trains from one step to another and reports values on the way. What it reports is written to the disk at
once, so nothing is lost when its process is killed: the next attempt resumes there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.executors.checkpoints import Checkpoint, Checkpoints
from flexibo.executors.measure import (
    LostAttemptError,
    WrongValueError,
    check_answer,
    current_evaluation,
    note_reports,
)
from flexibo.history.events import Evaluation
from flexibo.history.reports import Reports, checked_report
from flexibo.objectives import Objective
from flexibo.space import Design

MOST_REPORTS = 1000  # how many values of one evaluation are told; all are kept in the checkpoint folder

logger = logging.getLogger(__name__)


class Steps:
    """A question to the function of an objective with steps: go from `start` to `stop`.

    Attributes:
        design: What is measured.
        objective: The name of the objective.
        start: The step that was reached before, by an earlier question or by an attempt that was killed; 0: none.
        stop: The step at which to stop. The value there is the answer: return it, or report it.
        checkpoint: A folder for this design and objective that stays: save there what is needed to go on.
    """

    __slots__ = (
        "_checkpoint",
        "_evaluation",
        "_last",
        "_new",
        "_objective",
        "_whole",
        "_wrong",
        "checkpoint",
        "design",
        "start",
        "stop",
    )

    def __init__(self, evaluation: Evaluation, objective: Objective, checkpoint: Checkpoint) -> None:
        assert evaluation.stop is not None
        self.design: Design = evaluation.design
        self.stop: int = evaluation.stop
        self.checkpoint: Path = checkpoint.folder
        self._evaluation, self._whole = evaluation, replace(evaluation, start=0)
        self._objective, self._checkpoint = objective, checkpoint
        if not objective.resumable:
            checkpoint.forget()
        known = [(step, value) for step, value in checkpoint.reports() if step <= self.stop]
        self.start: int = known[-1][0] if known else 0
        self._new: list[tuple[int, float]] = known
        self._last = 0
        self._wrong: WrongValueError | None = None  # the first report that was refused
        if self.start < evaluation.start:
            logger.warning(
                "The checkpoint of step %d is not in %s; the evaluation begins at step %d.",
                evaluation.start,
                self.checkpoint,
                self.start,
            )

    def __getitem__(self, option: object) -> Any:
        """An error: a function of an objective without steps receives the design itself."""
        raise InvalidTypeError(
            f"Objective {self.objective!r} has steps, so its function receives flexibo.Steps; the value of {option!r} "
            f"is steps.design[{option!r}]."
        )

    @property
    def objective(self) -> str:
        """The name of the objective."""
        return self._objective.name

    def report(self, step: int, value: float) -> None:
        """Report the value at a step, in ascending order, for as many steps as you like; it is kept at once.

        A checkpoint that belongs to the step should be saved before. What an earlier attempt reported is ignored, so a
        function may begin before `start` if its checkpoint is older. After a wrong report the attempt has failed, also
        if the function catches the error: each further report raises it again.
        """
        self._raise_wrong()
        try:
            found, number = checked_report(self._objective, self._whole, (step, value), after=self._last)
        except (InvalidValueError, InvalidTypeError) as error:
            self._wrong = WrongValueError(str(error))
            raise self._wrong from error
        self._last = found
        if found > self.start:
            self._keep(found, number)
            self._new.append((found, number))

    def _raise_wrong(self) -> None:
        if self._wrong is not None:
            raise self._wrong

    def _keep(self, step: int, value: float) -> None:
        """Write a report to the disk, unless another attempt has the folder: this one then ends, except at its stop."""
        token = self._evaluation.token
        if not token or self._checkpoint.holder() in ("", token):
            self._checkpoint.add(step, value)
        elif step < self.stop:
            raise LostAttemptError(
                f"Another worker measures {self.objective!r} of this design by now, as this one did not respond for "
                f"too long; this attempt ends at step {step}."
            )

    @property
    def reports(self) -> Reports:
        """The values that the study does not know yet, at most `MOST_REPORTS`; all that are at stops are among them."""
        return new_reports(self._objective, self._evaluation, self._new)

    def take_back_answer(self) -> None:
        """Forget the value at `stop` that this attempt reported: the attempt was refused, so it is no answer."""
        if self.known_value() is None or self._checkpoint.holder() not in ("", self._evaluation.token):
            return
        self._checkpoint.forget(after=self.stop - 1)
        self._new = [report for report in self._new if report[0] < self.stop]

    def known_value(self) -> float | None:
        """The value at `stop` if it was reported."""
        return dict(self._new).get(self.stop)

    def checked_answer(self, answer: Any) -> Any:
        """What the function returned, with the value at `stop` that it reported if it returned none; it is kept too."""
        self._raise_wrong()
        value, *cost = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer,)
        reported = self.known_value()
        if value is None and reported is None:
            raise InvalidTypeError(
                f"The function of {self.objective!r} neither returned nor reported a value at step {self.stop}, where "
                "its evaluation stops; return it, or report it."
            )
        given = value.get(self.objective) if isinstance(value, Mapping) else value
        if reported is None and given is not None:
            self.report(self.stop, given)
        elif given is not None and self._objective.checked_value(given) != reported:
            raise InvalidValueError(
                f"The function of {self.objective!r} returned {given:.10g} and reported {reported:.10g} at step "
                f"{self.stop}; give one of them."
            )
        return (reported if value is None else value, *cost) if cost else reported if value is None else value


def new_reports(objective: Objective, evaluation: Evaluation, known: Iterable[tuple[int, float]]) -> Reports:
    """Those of the known values that an evaluation adds, at most `MOST_REPORTS`; all that are at stops are among them.

    `known` are ascending steps with their values.
    """
    stop = objective.stops[-1] if evaluation.stop is None else evaluation.stop
    new = [report for report in known if evaluation.start < report[0] <= stop]
    if len(new) <= MOST_REPORTS:
        return tuple(new)
    every = -(-len(new) // (MOST_REPORTS - len(objective.stops)))
    return tuple(report for i, report in enumerate(new) if i % every == 0 or report[0] in objective.stops)


@dataclass(frozen=True, slots=True)
class StepMeasure:
    """Measures with a function of `Steps`; the values that it reported go with the outcome, also if it fails."""

    function: Callable[[Steps], Any]
    objective: Objective
    checkpoints: Checkpoints

    def __call__(self, design: Design) -> Any:
        """The answer of the function; it is not called, and costs nothing, if what it would measure was reported."""
        asked = current_evaluation()
        if asked is None:
            raise InvalidValueError(f"Objective {self.objective.name!r} has steps; measure it with a study.")
        # What was asked before the objective had steps goes to the last one, and has nothing to report.
        evaluation = asked if asked.stop is not None else replace(asked, stop=self.objective.stops[-1])
        checkpoint = self.checkpoints.of(self.objective, design)
        checkpoint.open(self.objective, design)
        checkpoint.take(asked.token)
        steps = Steps(evaluation, self.objective, checkpoint)
        begun = None if steps.start == evaluation.start else steps.start
        try:
            known = steps.known_value()
            return (known, 0.0) if known is not None else _checked(steps, evaluation, self.function(steps))
        except WrongValueError:
            steps.take_back_answer()
            raise
        finally:
            if asked.stop is not None:
                note_reports(steps.reports, begun)


def _checked(steps: Steps, evaluation: Evaluation, answer: Any) -> Any:
    """What the function returned, with the value that it reported; an answer that is none is a wrong value."""
    try:
        found = steps.checked_answer(answer)
        check_answer(found, evaluation)
    except (InvalidValueError, InvalidTypeError) as error:
        raise WrongValueError(str(error)) from error
    return found
