"""Ctrl-C and SIGTERM: what runs is released, and storage stays consistent."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import typer

from flexibo._internal.interrupts import Terminated
from flexibo.cli._logs import report
from flexibo.cli._text import duration

if TYPE_CHECKING:
    from rich.console import Console


QUIET_SECONDS = 30.0  # between two lines about progress


class StopRequest(BaseException):
    """The signal of this number asks this process to stop; not an error of a measured function."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def stop_requests() -> Iterator[None]:
    """A context in which Ctrl-C and SIGTERM raise a `StopRequest`.

    SIGTERM is raised as Ctrl-C, which waits while memory and storage must change together. Where Ctrl-C is ignored, as
    in the background of a shell, it stays ignored.
    """
    before = signal.getsignal(signal.SIGINT)

    def request(number: int, frame: FrameType | None) -> None:
        if ended or before != signal.SIG_IGN:
            raise StopRequest(ended[0] if ended else number)

    ended: list[int] = []
    with terminable(ended, request):
        yield


class CountedLines:
    """Progress where there is no terminal: now and then, a line on standard error says how much is done."""

    def __init__(self, what: str, clock: Callable[[], float]) -> None:
        self._what = what
        self._clock = clock
        self._begun: tuple[float, int] | None = None  # when, and how much was done by then
        self._said = 0.0  # when the last line was written

    def update(self, done: int, total: int) -> None:
        """Say how much is done if something is left, at most every `QUIET_SECONDS`; the first call only starts that."""
        now = self._clock()
        if self._begun is None:
            self._begun, self._said = (now, done), now
            return
        begin, before = self._begun
        if done >= total or done <= before or now - self._said < QUIET_SECONDS:
            return
        self._said = now
        left = (total - done) * (now - begin) / (done - before)
        report(f"{done:,} of {total:,} {self._what}, about {duration(left)} left", done=done, total=total)


@contextmanager
def interruptible_bar(
    console: Console, what: str, kept: str, *, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[int, int, str], None]]:
    """A progress bar, and what moves it; Ctrl-C or SIGTERM ends it with that exit status, and says what is `kept`.

    Where the console is no terminal, lines on standard error replace the bar.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    ended: list[int] = []
    try:
        with terminable(ended), Progress(*columns, console=console, disable=not console.is_terminal) as progress:
            task, lines = progress.add_task(what, total=None), CountedLines(what, clock)

            def update(done: int, total: int, last: str) -> None:
                if not console.is_terminal:
                    lines.update(done, total)
                progress.update(task, completed=done, total=total, description=last or what)

            yield update
    except KeyboardInterrupt:
        console.print(f"Interrupted; {kept}. The same command resumes.", markup=False, highlight=False)
        raise typer.Exit(128 + (ended[0] if ended else signal.SIGINT)) from None


@contextmanager
def terminable(
    ended: list[int] | None = None, interrupt: Callable[[int, FrameType | None], object] | None = None
) -> Iterator[None]:
    """A context in which SIGTERM raises `Terminated`: the study keeps what was measured and stops.

    Its number is added to `ended`; Ctrl-C calls `interrupt` instead of the handler before.
    """
    ended = [] if ended is None else ended
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread gets signals
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
