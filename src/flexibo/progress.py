"""The progress of a running study in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from flexibo.history import History
    from flexibo.report import FrontRow


class Watched(Protocol):
    """What the bar shows of a study."""

    @property
    def history(self) -> History:
        """The events so far."""
        ...

    def front(self) -> list[FrontRow]:
        """The front so far."""
        ...


class Bar:
    """A line that says how far a study is; without a console it shows nothing."""

    def __init__(self, progress: Any = None) -> None:
        self._progress = progress
        self._task = None if progress is None else progress.add_task("", total=None)

    def update(self, study: Watched) -> None:
        """Show what changed."""
        if self._progress is None:
            return
        history = study.history
        self._progress.update(self._task, total=history.budget, completed=history.spent, description=_status(history))

    def interrupted(self, study: Watched) -> None:
        """Print the front so far."""
        from rich.console import Console

        console = Console(stderr=True) if self._progress is None else self._progress.console
        print_front(study, console)


def _status(history: History) -> str:
    volumes = [evaluation.volume for evaluation in history.asked[-5:] if evaluation.volume is not None]
    region = f"region {volumes[-1]:.3g}" if volumes else "initial designs"
    counts = ", ".join(f"{name} {history.count(j)}" for j, name in enumerate(history.names))
    return f"{region} | {counts}"


@contextmanager
def progress_bar(study: Watched, wanted: bool | None) -> Iterator[Bar]:
    """A bar while a study runs: if wanted, or by default when standard error is a terminal."""
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        yield Bar()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(bar_width=24),
        TextColumn(_spent_text(study)),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield Bar(progress)


def _spent_text(study: Watched) -> str:
    total = "" if study.history.budget is None else " / {task.total:.4g}"
    return "spent {task.completed:.4g}" + total


def print_front(study: Watched, console: Console) -> None:
    """Print the front as a table."""
    rows = study.front()
    if rows:
        console.print(front_table(study.history, rows))
    else:
        console.print("No front yet: not every objective has been measured.")


def front_table(history: History, rows: list[FrontRow]) -> Table:
    """The front as a table: what was predicted carries its deviation; options that never vary stand in the caption."""
    from rich.table import Table

    table = Table(title=f"Pareto front: {len(rows)} designs", caption_justify="left")
    for objective in history.objectives:
        unit = f" ({objective.unit})" if objective.unit else ""
        table.add_column(_escaped(objective.name + unit), justify="right", no_wrap=True)
    table.add_column("design")
    same = {name for name in history.space.names if len(rows) > 1 and len({row.design[name] for row in rows}) == 1}
    for row in rows:
        cells = []
        for name in history.names:
            known = row.measured[name]
            cells.append(f"{row.values[name]:.4g}" if known else f"~{row.values[name]:.4g} ±{row.deviations[name]:.2g}")
        table.add_row(*cells, _options(row, [name for name in history.space.names if name not in same]))
    if same:
        table.caption = "All of them: " + _options(rows[0], [name for name in history.space.names if name in same])
    return table


def _options(row: FrontRow, names: list[str]) -> str:
    return _escaped(", ".join(f"{name}={_short(row.design[name])}" for name in names))


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else "-" if value is None else str(value)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
