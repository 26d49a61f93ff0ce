"""Signals at the right moment: while settings are changed or put back they wait, in between they end the session."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, TypeAlias

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Handler: TypeAlias = Callable[[int, FrameType | None], Any] | int | signal.Handlers


class Hold:
    """Whether signals wait; it begins with them waiting."""

    def __init__(self) -> None:
        self._waiting: list[int] | None = []

    def begin(self) -> None:
        """From now on signals wait."""
        if self._waiting is None:
            self._waiting = []

    def end(self) -> None:
        """Those that waited arrive now, later ones at once; so this may raise what a signal raises."""
        waiting, self._waiting = self._waiting, None
        for number in waiting or ():
            signal.raise_signal(number)

    def receive(self, handler: Handler, number: int, frame: FrameType | None) -> None:
        """Keep a signal, or do what its handler would; where that is to end the process, raise SystemExit instead."""
        if self._waiting is not None:
            self._waiting.append(number)
        elif callable(handler):
            handler(number, frame)
        else:
            raise SystemExit(128 + number)


@contextmanager
def held_signals() -> Iterator[Hold]:
    """A context in which signals that end a process can be made to wait; they do when it begins.

    An ignored signal stays ignored. Handlers are put back at the end, and what waited then arrives. Python gives
    signals to the main thread only; in another thread this does nothing.
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
