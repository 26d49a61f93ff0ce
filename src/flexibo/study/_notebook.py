"""What a study writes down: the half of it that is told. Answers become events, and events are kept."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from flexibo.errors import InvalidTypeError
from flexibo.executors import Outcome
from flexibo.history.events import BudgetSet, Evaluation, Event, Failed, Noted, Released
from flexibo.methods.table import Method
from flexibo.objectives import Objective
from flexibo.space import Space
from flexibo.storage import MemoryStorage, Storage, StorageError, open_storage
from flexibo.storage.presence import Presence
from flexibo.study._callbacks import call, checked_callbacks, weakly
from flexibo.study._findings import Findings
from flexibo.study._tell import added, answer, check_evaluation, counted, released, told
from flexibo.study.event_log import EventLog
from flexibo.study.settings import checked_budget, checked_cost, checked_lease

logger = logging.getLogger(__name__)
Own = TypeVar("Own", bound="Notebook")


class Notebook(Findings):
    """Findings that are kept in a storage, which other processes may share.

    Args:
        space: The designs.
        objectives: The objectives.
        method: The method.
        storage: Where events are kept.
        name: The name of the study there.
        lease: How long a sign of life of this process lasts.
        hand: The name under which it asks and answers, if not as this process.
        callbacks: Called with the study and each event.
    """

    def __init__(
        self,
        space: Space,
        objectives: tuple[Objective, ...],
        method: Method,
        *,
        storage: str | Storage | None,
        name: str,
        lease: float,
        hand: str,
        callbacks: Callable[[Any, Event], object] | Iterable[Callable[[Any, Event], object]],
    ) -> None:
        super().__init__(space, objectives, method)
        if not isinstance(name, str) or not name:
            raise InvalidTypeError(f"name is {name!r}; it must be a string that is not empty.")
        self.name = name
        self._callbacks = checked_callbacks(callbacks)
        opened = open_storage(storage, name)
        self.shared = not isinstance(opened, MemoryStorage)
        self._lock = threading.RLock()
        self._presence = Presence(opened, lease=checked_lease(lease), hand=hand)
        self._log = EventLog(opened, self.history, weakly(self._notify), name=name)

    @property
    def budget(self) -> float | None:
        """What may be spent in all; set it to raise it."""
        return self.history.budget

    @budget.setter
    def budget(self, budget: float | None) -> None:
        checked = checked_budget(budget)
        self._commit(lambda: [BudgetSet(checked)])

    def tell(self, evaluation: Evaluation, value: object, *, cost: float = 0.0) -> None:
        """Answer an evaluation.

        Args:
            evaluation: What `ask` returned.
            value: The value, or a mapping of values where several objectives are measured together. Values of other
                objectives that came with them are learned too.
            cost: What it cost, in the budget's units.

        An evaluation that was released may still be answered, once.
        """
        check_evaluation(evaluation)
        given = told(self.history, evaluation, value, cost, worker=self._presence.worker)
        self._commit(lambda: counted(self.history, evaluation, given))

    def fail(self, evaluation: Evaluation, reason: object = "", *, cost: float = 0.0, impossible: bool = False) -> None:
        """Say that an attempt gave no value. The evaluation may be asked again, at most twice.

        Args:
            evaluation: What `ask` returned.
            reason: What went wrong.
            cost: What the attempt cost.
            impossible: Whether the design cannot be measured at all; it is then not asked again.
        """
        check_evaluation(evaluation)
        failed = Failed(
            evaluation.number, str(reason), checked_cost(cost), self._presence.worker, impossible=bool(impossible)
        )
        self._commit(lambda: counted(self.history, evaluation, failed))

    def release(self, evaluation: Evaluation) -> None:
        """Give an evaluation back that was not attempted; it may be asked again."""
        check_evaluation(evaluation)

        self._commit(lambda: released(self.history, evaluation))

    def take(self, outcome: Outcome) -> None:
        """Store what an executor made of an evaluation: a value that cannot be told is a failure.

        An answer that comes after another worker's counts by its cost alone.
        """
        number, worker = outcome.evaluation.number, self._presence.worker
        given = answer(self.history, outcome, worker=worker)
        # A storage that was lost while it wrote may have kept the answer, and is asked to keep it again.
        self._commit(
            lambda: (
                [] if self.history.answered.get(number) == worker else counted(self.history, outcome.evaluation, given)
            )
        )

    def note(self, text: str) -> None:
        """Write something down that people should know; it is kept with the study and decides nothing."""
        if not isinstance(text, str) or not text.strip():
            raise InvalidTypeError(f"The note is {text!r}; it must be a text that is not empty.")
        self._commit(lambda: [Noted(text)])

    def refresh(self) -> None:
        """Learn what other processes wrote to a shared study; `ask`, `tell` and `front` do so by themselves."""
        with self._lock:
            self._log.refresh()

    def close(self) -> None:
        """Take leave: what this process still holds may be given to others at once. The study can be used again."""
        self._presence.leave(holds=bool(self._held()))

    def __enter__(self: Own) -> Own:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(
        self, design: Mapping[str, Any], values: Mapping[str, float], *, cost: float | Mapping[str, float] | None = None
    ) -> None:
        """Bring in a result that was known before. It is not charged to the budget.

        Args:
            design: The option values.
            values: Some or all objectives, by name.
            cost: What it cost, by objective, or as a number where one objective is given: it teaches what evaluations
                cost.
        """
        result = added(self.history, design, values, cost)

        def decide() -> list[Event]:
            self.history.check_agrees(result.design, result.values)
            return [result]

        self._commit(decide)

    def _held(self) -> set[int]:
        """The pending evaluations that this process was asked."""
        return {n for n, holder in self.history.holders.items() if holder.worker == self._presence.worker}

    def _give_back(self, number: int) -> None:
        """Give an evaluation back, unless it was taken over meanwhile."""
        try:
            self._commit(lambda: [Released(number)] if number in self._held() else [])
        except StorageError as error:  # the lease frees it later, and what went wrong before matters more
            logger.warning("Evaluation %d could not be given back: %s", number, error)

    def _commit(self, decide: Callable[[], Sequence[Event]]) -> None:
        with self._lock:
            self._log.commit(decide)

    def _notify(self, event: Event) -> None:
        call(self._callbacks, self, event)
