"""The progress bar of a running study."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from flexibo._internal.numbers import cost_unit, format_spent
from flexibo._internal.text import printable_line
from flexibo.results.confidence import reported_designs

if TYPE_CHECKING:
    from rich.console import Console

    from flexibo.history import History
    from flexibo.optimizer.predictor import Predictor
    from flexibo.results.front import Front
    from flexibo.results.front_layout import FrontLayout


class ShownStudy(Protocol):
    """What the progress bar needs of a study."""

    @property
    def history(self) -> History:
        """The events so far."""

    @property
    def predictor(self) -> Predictor:
        """The models of the study."""

    def front(self) -> Front:
        """The front so far."""


class Bar:
    """A line that shows how far a study is; without a console it shows nothing."""

    def __init__(self, progress: Any = None, history: History | None = None) -> None:
        self._progress = progress
        self._task = None
        if progress is not None and history is not None:
            self._task = progress.add_task("initial designs", total=history.budget, money=_money(history))

    def update(self, study: ShownStudy) -> None:
        """Show what changed."""
        if self._progress is None:
            return
        history = study.history
        self._progress.update(
            self._task,
            total=history.budget,
            completed=history.spent,
            description=_status(study),
            money=_money(history),
        )

    def interrupted(self, study: ShownStudy) -> None:
        """Print that the study was interrupted, and the front so far."""
        from rich.console import Console

        console = Console(stderr=True) if self._progress is None else self._progress.console
        console.print("Interrupted; what was measured is kept. The front so far:")
        print_front(study, console)


def _money(history: History) -> str:
    return format_spent(history.spent, history.budget, cost_unit(history.origin))


def _status(study: ShownStudy) -> str:
    """The size of the front, the remaining share of the Pareto region, and the counts per objective."""
    from rich.markup import escape

    history = study.history
    volumes = [evaluation.volume for evaluation in history.asked if evaluation.volume is not None]
    if not volumes:
        return "initial designs"
    region = f"region {volumes[-1] / volumes[0]:.0%}" if volumes[0] else "region 0%"
    counts = " ".join(f"{name} {history.count(j)}" for j, name in enumerate(history.names))
    return f"front {len(reported_designs(study.predictor, history))} | {region} | {escape(printable_line(counts))}"


@contextmanager
def progress_bar(study: ShownStudy, wanted: bool | None) -> Iterator[Bar]:
    """A bar while a study runs: if wanted, or by default when standard error is a terminal."""
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        yield Bar()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    columns = (
        BarColumn(bar_width=14),
        TextColumn("{task.fields[money]}", table_column=Column(no_wrap=True)),
        TimeElapsedColumn(),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, ratio=1)),
    )
    with Progress(*columns, console=Console(stderr=True), expand=True) as progress:
        yield Bar(progress, study.history)


def print_front(study: ShownStudy, console: Console) -> None:
    """Print the front in the form that fits the console."""
    rows = study.front()
    if rows:
        console.print(front_table(study.history, rows))
    else:
        console.print("No front yet: not every objective has been measured.")


def front_table(history: History, rows: Front) -> FrontLayout:
    """The front for a console, numbered, with a legend below."""
    from flexibo.results.front_layout import front_layout

    return front_layout(history, rows, notes=[rows.legend] if rows.legend else [])
