"""The loop of a running study: keep the executor busy, tell what comes back, wait for other processes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Protocol

from flexibo._internal.text import printable_line
from flexibo.errors import FlexiBOError
from flexibo.executors import Executor, Measure, Outcome
from flexibo.history.events import Evaluation
from flexibo.objectives import Objective
from flexibo.optimizer import Stop, StopKind
from flexibo.storage import LogReplacedError, StorageError
from flexibo.study.answers import NeverAskedError

POLL_SECONDS = 0.5  # how often to look for events of other processes
STORE_AGAIN_SECONDS = (1.0, 2.0, 5.0, 10.0, 20.0)  # pauses before storing again what the storage refused

logger = logging.getLogger(__name__)
waits = logging.getLogger("flexibo.study.waiting")


class FirstCallError(Exception):
    """An objective that was never measured gave no value: most often a mistake, and no failure of its design.

    `is_counted` says whether the outcome is stored nevertheless, as a failed evaluation.
    """

    def __init__(self, outcome: Outcome, *, is_counted: bool = False) -> None:
        super().__init__(outcome.reason)
        self.outcome = outcome
        self.is_counted = is_counted


class RunnableStudy(Protocol):
    """What the loop needs of a study."""

    def ask_or_stop(self, only: Collection[str] | None = None) -> Evaluation | Stop:
        """The next evaluation for this worker, or why there is none."""

    def tell_outcome(self, outcome: Outcome) -> None:
        """Store the outcome of an evaluation."""

    def release(self, evaluation: Evaluation, *, reason: str = "") -> None:
        """Give an evaluation back that was not attempted."""

    def keep_outcome(self, outcome: Outcome, why: str) -> str:
        """Keep an outcome that could not be stored in a file, and say where."""


@dataclass(slots=True)
class RunLoop:
    """Measures what a study asks until there is nothing more to ask, or for `idle` seconds there was nothing to do.

    It is `alone` if no other process can write to the study, and `serves_all` objectives that the study asks for, or
    only some of them. Both this and the `objectives` served may change with the study. `begin` is called before it
    waits for outcomes, and `update` after each of them. `prepare` returns a function as the executor calls it.
    """

    study: RunnableStudy
    objectives: Callable[[], Mapping[str, Objective]]
    measures: Mapping[str, Measure]
    executor: Executor
    update: Callable[[], None]
    _: KW_ONLY
    alone: bool
    serves_all: Callable[[], bool]
    idle: float | None = None
    begin: Callable[[], None] = lambda: None
    prepare: Callable[[Objective, Measure], Measure] = lambda objective, measure: measure
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _unstored: Outcome | None = field(default=None, init=False)
    _waits_for: str = field(default="", init=False)
    _fetched: Iterator[Outcome] = field(default=iter(()), init=False)

    def run(self) -> Stop:
        """Work until there is nothing more to ask, and return why; if an error ends it, stores what was measured."""
        try:
            return self._run()
        except BaseException:
            self._store_the_rest()
            raise

    def _run(self) -> Stop:
        last = self.clock()
        while True:
            stop = self._fill_executor()
            if self.executor.is_busy():
                self.begin()
                self._fetched = iter(self.executor.finished(None if self.alone else POLL_SECONDS))
                for outcome in self._fetched:
                    self._store(outcome)
                    self.update()
                last, self._waits_for = self.clock(), ""
            elif stop is not None and not stop.waits:
                return stop
            elif self.idle is not None and self.clock() - last >= self.idle:
                why = f": {stop.reason}" if stop is not None else "."
                return Stop(StopKind.IDLE, f"There was nothing to do for {self.idle:g} s{why}")
            else:
                self._tell_waiting(stop)
                self.sleep(POLL_SECONDS)

    def _tell_waiting(self, stop: Stop | None) -> None:
        """Log what is waited for, once for each reason in a row."""
        reason = "" if stop is None else stop.reason
        if reason != self._waits_for:
            waits.info("Waiting for other processes: %s", printable_line(reason))
        self._waits_for = reason

    def _fill_executor(self) -> Stop | None:
        """Submit evaluations while there is room; returns the stop if there was nothing more to ask."""
        while True:
            served = self.objectives()
            free = [name for name, objective in served.items() if self.executor.has_room(objective)]
            if not free:
                return None
            answer = self.study.ask_or_stop(None if self.serves_all() and len(free) == len(served) else free)
            if isinstance(answer, Stop):
                return answer
            if answer.objective not in self.measures:  # the study was changed while it was asked
                self.study.release(answer, reason=f"This worker has no function for {answer.objective!r}.")
                continue
            objective = self.objectives()[answer.objective]
            self.executor.submit(answer, objective, self.prepare(objective, self.measures[answer.objective]))

    def _store(self, outcome: Outcome) -> None:
        """Store an outcome; it was paid for, so storing is retried for a while."""
        self._unstored = outcome
        for seconds in (*STORE_AGAIN_SECONDS, None):
            try:
                self.study.tell_outcome(outcome)
                self._unstored = None
            except (LogReplacedError, NeverAskedError, FirstCallError):  # it is in a file beside the study, or unwanted
                self._unstored = None
                raise
            except StorageError as error:
                if seconds is None:
                    raise StorageError(f"{_described(outcome)} could not be stored. {error}") from error
                logger.error("%s could not be stored; trying again in %g s. %s", _described(outcome), seconds, error)
                self.sleep(seconds)
            else:
                return

    def _store_the_rest(self) -> None:
        """Store what was measured and not stored yet when the loop was interrupted."""
        rest = [] if self._unstored is None else [self._unstored]
        try:
            rest += self._fetched
            if getattr(self.executor, "measures_elsewhere", False):
                rest += self.executor.finished(0.0)
        except Exception as error:  # the error that ended the loop matters more
            logger.warning("Evaluations that are still running are given up: %s", printable_line(error))
        for outcome in rest:
            try:
                self.study.tell_outcome(outcome)
            except FirstCallError:
                continue
            except FlexiBOError as error:
                is_kept = isinstance(error, LogReplacedError | NeverAskedError)
                where = "" if is_kept else self.study.keep_outcome(outcome, str(error))
                logger.error("%s could not be stored: %s %s", _described(outcome), error, where)


def _described(outcome: Outcome) -> str:
    evaluation = outcome.evaluation
    what = f"{dict(outcome.values)}" if outcome.values is not None else f"the failure ({outcome.reason})"
    described = f"Evaluation {evaluation.number}, {what} of {dict(evaluation.design)} at a cost of {outcome.cost:g},"
    return printable_line(described)  # the reason may be what a program printed
