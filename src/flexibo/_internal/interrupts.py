"""Ctrl-C that waits for the end of what must not be interrupted."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Terminated(KeyboardInterrupt):
    """SIGTERM, where a program treats it as Ctrl-C."""


class _Deferral:
    """The handler to restore, the enclosing deferral, whether Ctrl-C was pressed, and whether the context has ended."""

    def __init__(self, before: Callable[[int, FrameType | None], Any] | int, outer: _Deferral | None) -> None:
        self.before, self.outer = before, outer
        self.waiting = self.over = False

    def defer(self, _number: int, _frame: FrameType | None) -> None:
        self.waiting = True


_innermost: _Deferral | None = None


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """A context that delays Ctrl-C until its end; without effect outside the main thread, which alone gets signals.

    If its body raises an error, too, that is the context of the KeyboardInterrupt.
    """
    global _innermost
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    deferral = _Deferral(before, _innermost)
    try:
        signal.signal(signal.SIGINT, deferral.defer)  # first: Ctrl-C must not leave a deferral behind that is over
        _innermost = deferral
        yield
    finally:
        deferral.over = True
        _innermost = deferral.outer
        signal.signal(signal.SIGINT, before)
        if deferral.waiting:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def allowed_interrupts() -> Iterator[None]:
    """A context inside `deferred_interrupts` in which Ctrl-C works at once, including one that was delayed before."""
    global _innermost
    deferral = _innermost
    if deferral is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    try:
        _innermost = deferral.outer
        signal.signal(signal.SIGINT, deferral.before)
        if deferral.waiting:
            deferral.waiting = False
            signal.raise_signal(signal.SIGINT)
        yield
    finally:
        # Ctrl-C at the very end of this context makes Python end it later, when it removes the generator.
        if not deferral.over:
            _innermost = deferral
            signal.signal(signal.SIGINT, deferral.defer)
