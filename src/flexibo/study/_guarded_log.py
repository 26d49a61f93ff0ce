"""The event log of a study for several threads; answers that its storage refuses or loses are kept in a file."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from flexibo.history.events import Evaluation, Event, Failed, Told
from flexibo.storage import LogReplacedError
from flexibo.storage.base import NewerSchemaError
from flexibo.study.answers import NeverAskedError, answer_events
from flexibo.study.event_log import EventLog, Notify
from flexibo.study.unstored import UnstoredAnswer, keep


class GuardedLog:
    """An event log that one thread at a time uses, and that loses no answer.

    Attributes:
        log: The event log.
        lock: Held while the log is used; a thread that has it may take it again.
    """

    def __init__(self, log: EventLog, *, name: str) -> None:
        self.log = log
        self.lock = threading.RLock()
        self._name = name
        self._kept: set[str] = set()

    def refresh(self, notify: Notify) -> None:
        """Learn the events that other processes wrote."""
        with self.lock, self.keeping_lost():
            self.log.refresh(notify)

    def commit(self, decide: Callable[[], Sequence[Event]], notify: Notify) -> None:
        """Write the events that `decide` returns; see `EventLog.commit`."""
        with self.lock, self.keeping_lost():
            self.log.commit(decide, notify)

    def answer(self, evaluation: Evaluation, given: Told | Failed, notify: Notify) -> None:
        """Store an answer; one that does not fit the stored study is refused, and kept in a file beside it."""
        try:
            self.commit(lambda: answer_events(self.log.history, evaluation, given), notify)
        except (NeverAskedError, LogReplacedError, NewerSchemaError) as error:
            raise type(error)(f"{error} {self.keep(evaluation, given, str(error))}".strip()) from None

    def keep(self, evaluation: Evaluation, given: Told | Failed, why: str) -> str:
        """Keep an answer in a file beside the study and say where; an empty text if the study lives in memory."""
        path = self.log.unstored
        return "" if path is None else keep(UnstoredAnswer.of(self._name, evaluation, given, why), path, self.log.place)

    @contextmanager
    def keeping_lost(self) -> Iterator[None]:
        """If the storage lost events, keep the answers among them, of any process, in a file beside it."""
        try:
            yield
        except LogReplacedError as error:
            raise LogReplacedError(f"{error} {self._keep_lost(str(error))}".strip()) from None

    def _keep_lost(self, why: str) -> str:
        """Keep the answers that the storage lost, each once, and say where; an empty text if there are none."""
        lost = [one for one in self.log.lost_answers() if one.token not in self._kept]
        said = [self.keep(self.log.history.asked[answer.number], answer, why) for answer in lost]
        self._kept.update(answer.token for answer in lost)
        return f"It lost {len(lost)} answers that this process knows. {said[-1]}" if lost else ""
