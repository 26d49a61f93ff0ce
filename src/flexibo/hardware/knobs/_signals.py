"""Deferred signals: they wait while settings are changed or restored, and end the session in between."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, TypeAlias

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
"""SIGALRM ends a measurement that exceeds its timeout; it must not end the restoring either."""

Handler: TypeAlias = Callable[[int, FrameType | None], Any] | int | signal.Handlers


class Hold:
    """Whether signals are deferred; initially they are."""

    def __init__(self) -> None:
        self._waiting: list[int] | None = []

    def begin(self) -> None:
        if self._waiting is None:
            self._waiting = []

    def end(self) -> None:
        """Deliver the deferred signals now and later ones at once; may raise what a signal handler raises."""
        waiting, self._waiting = self._waiting, None
        for number in waiting or ():
            signal.raise_signal(number)

    def receive(self, handler: Handler, number: int, frame: FrameType | None) -> None:
        """Defer a signal, or call its handler; raise SystemExit if the default is to end the process."""
        if self._waiting is not None:
            self._waiting.append(number)
        elif callable(handler):
            handler(number, frame)
        else:
            raise SystemExit(128 + number)


@contextmanager
def held_signals() -> Iterator[Hold]:
    """A context in which signals that end a process can be deferred; initially they are.

    An ignored signal stays ignored. At the end, handlers are restored and deferred signals delivered. Python delivers
    signals to the main thread only; in another thread this has no effect.
    """
    hold = Hold()
    before: dict[signal.Signals, Handler] = {}
    if threading.current_thread() is threading.main_thread():
        for number in ENDING:
            handler = signal.getsignal(number)
            if handler is not None and handler != signal.SIG_IGN:
                before[number] = handler
                signal.signal(number, partial(hold.receive, handler))
    try:
        yield hold
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        hold.end()
