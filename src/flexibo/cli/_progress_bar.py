"""A progress bar for long work on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


@contextmanager
def bar(console: Console, what: str) -> Iterator[Callable[[int, int, str], None]]:
    """A bar, and the function that moves it: how many are done, how many in total, and what was done last."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=None)

        def update(done: int, total: int, last: str) -> None:
            progress.update(task, completed=done, total=total, description=last or what)

        yield update
