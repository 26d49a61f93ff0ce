"""The loop of a running study: keep the executor's slots full, tell what comes back, wait for others."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Protocol

from flexibo.errors import FlexiBOError
from flexibo.executors import Executor, Measure, Outcome
from flexibo.history.events import Evaluation
from flexibo.objectives import Objective
from flexibo.optimizer import Stop
from flexibo.storage import StorageError

POLL_SECONDS = 0.5
"""How often to look for what others wrote."""
STORE_AGAIN_SECONDS = (1.0, 2.0, 5.0, 10.0, 20.0)
"""How long to wait before what was measured is stored again, where the storage refused it."""

logger = logging.getLogger(__name__)


class Worked(Protocol):
    """What the loop needs of a study."""

    def claim(self, only: Collection[str] | None = None) -> Evaluation | Stop:
        """The next evaluation for this worker, or why there is none."""
        ...

    def take(self, outcome: Outcome) -> None:
        """Store what became of an evaluation."""
        ...


class Loop:
    """Measures what a study asks until there is nothing more to ask.

    Args:
        study: What asks.
        objectives: The objectives that are measured here.
        measures: Their functions.
        executor: Where they are measured.
        update: Called after each outcome.
        alone: Whether nobody else can write to the study.
        serves_all: Whether these are all objectives that the study asks for.
        idle: Give up after so many seconds without work; None is never.
        clock: Gives seconds.
        sleep: Waits for so many seconds.
    """

    def __init__(
        self,
        study: Worked,
        objectives: Sequence[Objective],
        measures: Mapping[str, Measure],
        executor: Executor,
        update: Callable[[], None],
        *,
        alone: bool,
        serves_all: bool,
        idle: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._study = study
        self._objectives = {objective.name: objective for objective in objectives}
        self._measures = measures
        self._executor = executor
        self._update = update
        self._alone = alone
        self._serves_all = serves_all
        self._idle = idle
        self._clock = clock
        self._sleep = sleep
        self._unstored: Outcome | None = None
        self._fetched: Iterator[Outcome] = iter(())

    def run(self) -> str:
        """Work until there is nothing more to ask, and say why; whatever ends it, what was measured is stored."""
        try:
            return self._worked()
        except BaseException:
            self._store_the_rest()
            raise

    def _worked(self) -> str:
        last = self._clock()
        while True:
            stop = self._filled()
            if self._executor.is_busy():
                self._fetched = iter(self._executor.finished(None if self._alone else POLL_SECONDS))
                for outcome in self._fetched:
                    self._store(outcome)
                    self._update()
                last = self._clock()
            elif stop is not None and not stop.waits:
                return stop.reason
            elif self._idle is not None and self._clock() - last >= self._idle:
                return f"There was nothing to do for {self._idle:g} s."
            else:
                self._sleep(POLL_SECONDS)

    def _filled(self) -> Stop | None:
        """Submit as long as there is room; why there is nothing more to submit, if that was the reason to end."""
        while True:
            free = [name for name, objective in self._objectives.items() if self._executor.has_room(objective)]
            if not free:
                return None
            answer = self._study.claim(None if self._serves_all and len(free) == len(self._objectives) else free)
            if isinstance(answer, Stop):
                return answer
            self._executor.submit(answer, self._objectives[answer.objective], self._measures[answer.objective])

    def _store(self, outcome: Outcome) -> None:
        """Store an outcome; it was paid for, so a storage that refuses it is asked again for a while."""
        self._unstored = outcome
        for seconds in (*STORE_AGAIN_SECONDS, None):
            try:
                self._study.take(outcome)
                self._unstored = None
            except StorageError as error:
                if seconds is None:
                    raise StorageError(f"{_what_is_lost(outcome)} could not be stored. {error}") from error
                logger.error("%s could not be stored; trying again in %g s. %s", _what_is_lost(outcome), seconds, error)
                self._sleep(seconds)
            else:
                return

    def _store_the_rest(self) -> None:
        """Store what was measured and not stored yet when the loop was interrupted."""
        rest = [] if self._unstored is None else [self._unstored]
        try:
            rest += self._fetched
            if getattr(self._executor, "measures_elsewhere", False):
                rest += self._executor.finished(0.0)
        except Exception as error:  # what ended the loop matters more
            logger.warning("What is still being measured is given up: %s", error)
        for outcome in rest:
            try:
                self._study.take(outcome)
            except FlexiBOError as error:
                logger.error("%s could not be stored: %s", _what_is_lost(outcome), error)


def _what_is_lost(outcome: Outcome) -> str:
    evaluation = outcome.evaluation
    what = f"{dict(outcome.values)}" if outcome.values is not None else f"the failure ({outcome.reason})"
    return f"Evaluation {evaluation.number}, {what} of {dict(evaluation.design)} at a cost of {outcome.cost:g},"
