"""The progress of a running study in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from flexibo.words import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from flexibo.front import Front, FrontRow
    from flexibo.history import History
    from flexibo.objectives import Objective


class Watched(Protocol):
    """What the bar shows of a study."""

    @property
    def history(self) -> History:
        """The events so far."""
        ...

    def front(self) -> Front:
        """The front so far."""
        ...


class Bar:
    """A line that says how far a study is; without a console it shows nothing."""

    def __init__(self, progress: Any = None, budget: float | None = None) -> None:
        self._progress = progress
        self._task = None if progress is None else progress.add_task("initial designs", total=budget)

    def update(self, study: Watched) -> None:
        """Show what changed."""
        if self._progress is None:
            return
        history = study.history
        self._progress.update(self._task, total=history.budget, completed=history.spent, description=_status(study))

    def interrupted(self, study: Watched) -> None:
        """Say that the study was interrupted, and print the front so far."""
        from rich.console import Console

        console = Console(stderr=True) if self._progress is None else self._progress.console
        console.print("Interrupted; what was measured is kept. The front so far:")
        print_front(study, console)


def _status(study: Watched) -> str:
    """Size of the front, what is left of the Pareto region, and the counts per objective."""
    history = study.history
    volumes = [evaluation.volume for evaluation in history.asked if evaluation.volume is not None]
    if not volumes:
        return "initial designs"
    region = f"region {volumes[-1] / volumes[0]:.0%}" if volumes[0] else "region 0%"
    counts = " ".join(f"{name} {history.count(j)}" for j, name in enumerate(history.names))
    return f"front {len(study.front())} | {region} | {_escaped(counts)}"


@contextmanager
def progress_bar(study: Watched, wanted: bool | None) -> Iterator[Bar]:
    """A bar while a study runs: if wanted, or by default when standard error is a terminal."""
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        yield Bar()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    total = "" if study.history.budget is None else "/{task.total:.4g}"
    columns = (
        BarColumn(bar_width=14),
        TextColumn("{task.completed:.4g}" + total, table_column=Column(no_wrap=True)),
        TimeElapsedColumn(),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, ratio=1)),
    )
    with Progress(*columns, console=Console(stderr=True), expand=True) as progress:
        yield Bar(progress, study.history.budget)


def print_front(study: Watched, console: Console) -> None:
    """Print the front as a table."""
    rows = study.front()
    if rows:
        console.print(front_table(study.history, rows))
    else:
        console.print("No front yet: not every objective has been measured.")


def front_table(history: History, rows: Front) -> Table:
    """The front as a table: what was predicted carries its deviation; options that never vary stand in the caption."""
    from rich.table import Table

    many = "1 design" if len(rows) == 1 else f"{len(rows)} designs"
    table = Table(title=f"Pareto front: {many}", caption_justify="left")
    for objective in history.objectives:
        table.add_column(_escaped(_heading(objective)), justify="right", no_wrap=True)
    constrained = any(objective.is_constraint for objective in history.objectives)
    if constrained:
        table.add_column("feasible", justify="right")
    table.add_column("design")
    same = {name for name in history.space.names if len(rows) > 1 and len({row.design[name] for row in rows}) == 1}
    for row in rows:
        table.add_row(
            *(_value(row, name) for name in history.names),
            *([_feasible(row)] if constrained else []),
            _options(row, [name for name in history.space.names if name not in same]),
        )
    notes = []
    if same:
        notes.append("All of them: " + _options(rows[0], [name for name in history.space.names if name in same]))
    if rows.legend:
        notes.append(rows.legend)
    table.caption = "\n".join(notes) or None
    return table


def _heading(objective: Objective) -> str:
    """The name with its unit and its bound."""
    bound = ""
    if objective.is_constraint:
        bound = f" <= {objective.at_most:g}" if objective.at_most is not None else f" >= {objective.at_least:g}"
    return objective.name + bound + (f" ({objective.unit})" if objective.unit else "")


def _feasible(row: FrontRow) -> str:
    """Whether the constraints are kept; the probability where that is not sure."""
    return {"feasible": "yes", "violating": "no"}.get(row.feasibility, f"maybe, {row.probability:.0%}")


def _value(row: FrontRow, name: str) -> str:
    """A value, with a mark if it is predicted and its deviation if it is not exact."""
    mark = "" if row.measured[name] else "~"
    deviation = f" ±{row.deviations[name]:.2g}" if row.deviations[name] > 0 else ""
    return f"{mark}{row.values[name]:.4g}{deviation}"


def _options(row: FrontRow, names: list[str]) -> str:
    return _escaped(", ".join(f"{name}={_short(row.design[name])}" for name in names))


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else "-" if value is None else str(value)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(one_line(text))
