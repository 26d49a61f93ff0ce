"""How far a running study is: a bar in a terminal, a cell that is updated in place in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from flexibo._internal.checks import checked_flag
from flexibo._internal.numbers import format_spent
from flexibo._internal.text import printable_line
from flexibo.history.readings import confirmed_front, readings
from flexibo.results.chance import chance_sentence
from flexibo.results.region_rises import comparable_volumes
from flexibo.study._notebook import LiveCell, ShownStudy, notebook_display

if TYPE_CHECKING:
    from rich.console import Console

    from flexibo.history import History
    from flexibo.results.handover import HandOver


class Bar:
    """A line that shows how far a study is; without a console it shows nothing."""

    def __init__(self, progress: Any = None, history: History | None = None, place: str = "") -> None:
        self._place = place
        self._progress = progress
        self._task = None
        if progress is not None and history is not None:
            self._task = progress.add_task("initial designs", total=history.budget, money=_money(history))

    def begin(self, study: ShownStudy) -> None:
        """Something is being measured: a line has no room for that."""

    def finish(self, study: ShownStudy, stopped: str) -> None:
        """The run ended: whoever runs it says so."""

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

        if (display := notebook_display()) is not None:
            LiveCell(study, display, self._place).interrupted(study)
            return
        console = Console(stderr=True) if self._progress is None else self._progress.console
        console.print("Interrupted; what was measured is kept. The front so far:")
        print_front(study, console)


def _money(history: History) -> str:
    return format_spent(history.spent, history.budget, history.cost_unit)


def _status(study: ShownStudy) -> str:
    """The number of confirmed designs, the remaining share of the Pareto region, and the counts per objective."""
    from rich.markup import escape

    history = study.history
    if not history.chosen:
        return "initial designs"
    said = [f"front {len(confirmed_front(history, readings(history)))}"]
    if volumes := comparable_volumes(history):
        said.append(f"region {volumes[-1] / volumes[0]:.0%}" if volumes[0] else "region 0%")
    counts = " ".join(f"{name} {history.count(j)}" for j, name in enumerate(history.names))
    return " | ".join([*said, escape(printable_line(counts))])


@contextmanager
def progress_bar(study: ShownStudy, wanted: bool | None, place: str = "") -> Iterator[Bar | LiveCell]:
    """What shows a running study: if wanted, or by default in a notebook and where standard error is a terminal."""
    display = notebook_display()
    by_default = display is not None or sys.stderr.isatty()
    if not (by_default if wanted is None else checked_flag("progress", wanted)):
        yield Bar(place=place)
        return
    if display is not None:
        yield LiveCell(study, display, place)
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
    """Print the confirmed designs, those that are worth confirming, and how far the front is from the best one."""
    print_hand_over(study.history, study.hand_over(), console)


def print_hand_over(history: History, found: HandOver, console: Console) -> None:
    """Print confirmed and promising designs in the form that fits the console, and a closing sentence."""
    from rich.text import Text

    from flexibo.results.front_layout import confirmed_layout, promising_layout

    unit = history.cost_unit
    (front, promising), (others, possible) = found.likely, found.possible
    if front:
        console.print(confirmed_layout(history, front))
    else:
        console.print(Text(no_front(history)))
    if promising:
        console.print()
        console.print(promising_layout(history, promising, unit=unit))
    if others:
        console.print()
        console.print(confirmed_layout(history, others, is_front=False))
    if possible:
        console.print()
        console.print(promising_layout(history, possible, unit=unit, is_likely=False))
    for sentence in (found.sentence(unit), chance_sentence(history, [*front, *others])):
        if sentence:
            console.print(Text(sentence))


def no_front(history: History) -> str:
    """Why no design is confirmed yet."""
    lacking = [name for j, name in enumerate(history.counted) if not history.count(j)]
    if lacking:
        verb = "have" if lacking[1:] else "has"
        return printable_line(f"No confirmed design yet: {', '.join(lacking)} {verb} not been measured.")
    return "No confirmed design yet: none was measured in every quantity."
