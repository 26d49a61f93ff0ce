"""Ctrl-C and SIGTERM: what runs is given back, and nothing is torn apart."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import typer

from flexibo._internal.interrupts import Terminated

if TYPE_CHECKING:
    from rich.console import Console


class StopRequest(BaseException):
    """Somebody wants this process to stop; no error of a function that is measured.

    Attributes:
        number: The signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def stop_requests() -> Iterator[None]:
    """A context in which Ctrl-C and SIGTERM raise a `StopRequest`.

    A SIGTERM takes the way of Ctrl-C, which waits where what is stored and what is remembered must not part. Where
    Ctrl-C is ignored, as in the background of a shell, it stays so.
    """
    before = signal.getsignal(signal.SIGINT)

    def request(number: int, frame: FrameType | None) -> None:
        if ended or before != signal.SIG_IGN:
            raise StopRequest(ended[0] if ended else number)

    ended: list[int] = []
    with _terminable(ended, request):
        yield


@contextmanager
def interruptible(console: Console, kept: str) -> Iterator[None]:
    """A context that Ctrl-C or SIGTERM ends with a sentence on what is kept, and the status of that signal.

    Args:
        console: Where to say it.
        kept: What is kept, and where.
    """
    ended: list[int] = []
    try:
        with _terminable(ended, None):
            yield
    except KeyboardInterrupt:
        console.print(f"Interrupted; {kept}. The same command goes on.", markup=False, highlight=False)
        raise typer.Exit(128 + (ended[0] if ended else signal.SIGINT)) from None


@contextmanager
def terminable() -> Iterator[None]:
    """A context in which SIGTERM raises `Terminated`: the study keeps what was measured and stops."""
    with _terminable([], None):
        yield


@contextmanager
def _terminable(ended: list[int], interrupt: Callable[[int, FrameType | None], object] | None) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return

    def terminate(number: int, frame: FrameType | None) -> None:
        ended.append(number)
        signal.raise_signal(signal.SIGINT)

    def interrupt_or_terminate(number: int, frame: FrameType | None) -> None:
        if ended:
            raise Terminated
        handler = before[signal.SIGINT]
        if callable(handler):  # in the background of a shell, Ctrl-C is ignored but SIGTERM is not
            handler(number, frame)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGTERM, terminate)
    signal.signal(signal.SIGINT, interrupt or interrupt_or_terminate)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
