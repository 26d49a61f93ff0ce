"""Ctrl-C at the right moment: after what must not be torn apart."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class _Deferral:
    """What is done with a Ctrl-C at its end, and whether one came."""

    def __init__(self, before: Callable[[int, FrameType | None], Any] | int, outer: _Deferral | None) -> None:
        self.before, self.outer = before, outer
        self.waiting = False

    def defer(self, _number: int, _frame: FrameType | None) -> None:
        self.waiting = True


_innermost: _Deferral | None = None


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """A context in which Ctrl-C waits until its end. Only the main thread gets signals; elsewhere it does nothing."""
    global _innermost
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    deferral = _Deferral(before, _innermost)
    _innermost = deferral
    signal.signal(signal.SIGINT, deferral.defer)
    try:
        yield
    finally:
        _innermost = deferral.outer
        signal.signal(signal.SIGINT, before)
    if deferral.waiting:
        signal.raise_signal(signal.SIGINT)


@contextmanager
def passed_interrupts() -> Iterator[None]:
    """A context within `deferred_interrupts` for waiting: Ctrl-C gets through, also one that came before."""
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
        _innermost = deferral
        signal.signal(signal.SIGINT, deferral.defer)
