"""What a call of a study claims for this worker: returned to the caller, or given back."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TypeVar

from flexibo.history.events import Evaluation
from flexibo.optimizer import Stop
from flexibo.storage import StorageError
from flexibo.study._ask import Asking
from flexibo.study._guarded_log import GuardedLog
from flexibo.study._last_stop import LastStop

T = TypeVar("T")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of one call of a study. The study does not keep it, because it holds the study.

    If a call fails or is interrupted, whatever it claimed is given back. What is asked here is to be returned at once:
    Ctrl-C between this and the caller of the study would lose the claim.
    """

    asking: Asking
    guarded: GuardedLog
    last_stop: LastStop

    def ask(self, only: Collection[str] | None, k: int | None) -> Evaluation | list[Evaluation] | None:
        """The next evaluation, or a list of up to k of them."""
        return self._claimed(lambda: self._asked(only, k))

    def ask_or_stop(self, only: Collection[str] | None) -> Evaluation | Stop:
        """The next evaluation, or why there is none."""
        return self._claimed(lambda: self._asked_or_stop(only))

    def ask_queued_or_stop(self, only: Collection[str] | None, *, limit: float = math.inf) -> Evaluation | Stop:
        """The next queued evaluation that is expected to cost at most `limit`, or why there is none."""
        return self._claimed(lambda: self._asked_queued_or_stop(only, limit))

    def held(self) -> set[int]:
        """The pending evaluations that this worker was asked."""
        assignments, worker = self.asking.history.assignments, self.asking.heartbeat.worker
        return {number for number, holder in assignments.items() if holder.worker == worker}

    def give_back(self, numbers: Iterable[int], reason: str = "") -> None:
        """Give evaluations back, unless other workers have them by now; after an error, the next `ask` does it."""
        try:
            with self.guarded.lock:
                self.asking.give_back(numbers, reason)
        except StorageError as error:  # the error before this one matters more
            logger.warning("What was asked could not be given back: %s", error)

    def give_back_lost(self) -> None:
        """Give back what lost workers held, so that it can be queued or asked again."""
        with self.guarded.lock:
            self.asking.give_back_lost()

    def _claimed(self, ask: Callable[[], T]) -> T:
        """What `ask` returns."""
        try:
            with self.guarded.keeping_lost():
                return ask()
        except BaseException:
            self.give_back(self.asking.claims)
            raise

    def _asked(self, only: Collection[str] | None, k: int | None) -> Evaluation | list[Evaluation] | None:
        found: list[Evaluation] = []
        while len(found) < (k or 1):
            answer = self._asked_or_stop(only)
            if isinstance(answer, Stop):
                break
            found.append(answer)
        return found if k is not None else found[0] if found else None

    def _asked_or_stop(self, only: Collection[str] | None) -> Evaluation | Stop:
        with self.guarded.lock:
            answer = self.asking.ask(only)
            self.guarded.log.keep_fits(self.asking.optimizer.predictor.fits)
            self.last_stop.remember(answer if isinstance(answer, Stop) else None)
            return answer

    def _asked_queued_or_stop(self, only: Collection[str] | None, limit: float) -> Evaluation | Stop:
        with self.guarded.lock:
            return self.asking.ask_queued(only, limit=limit)
