"""How the command line shows a study that has run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flexibo._internal.numbers import format_number
from flexibo._internal.text import printable_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from flexibo.results.summary import Summary
    from flexibo.study import Study

ROUNDING = 1e-9
"""A smaller share of what was spent is an error of addition."""


def show(study: Study, console: Console) -> None:
    """Print the front, and what was measured at which cost."""
    from flexibo.study.progress import front_table

    if front := study.front():
        console.print(front_table(study.history, front))
    summary = study.summary()
    console.print(_spending(summary))
    console.print(f"Stopped: {summary.stopped}", highlight=False, markup=False)


def _spending(summary: Summary) -> Table:
    """What was measured and what it cost; a row for what failed or was lost, if there is any."""
    from rich.table import Table
    from rich.text import Text

    rows = [(name, number, summary.costs[name]) for name, number in summary.evaluations.items()]
    failed, lost = sum(summary.failures.values()), summary.spent - sum(summary.costs.values())
    if failed or lost > ROUNDING * summary.spent:
        rows.append(("failed attempts" if failed else "lost attempts", failed, max(lost, 0.0)))
    table = Table(title="What was measured")
    for title in ("objective", "measured", "cost [s]", "mean cost [s]", "share of cost"):
        table.add_column(Text(title), justify="left" if title == "objective" else "right")
    for (name, number, cost), share in zip(rows, shares([cost for *_, cost in rows]), strict=True):
        mean = format_number(cost / number, 3) if number else "-"
        table.add_row(Text(printable_line(name)), str(number) if number else "-", f"{cost:.1f}", mean, share)
    return table


def shares(costs: Sequence[float]) -> list[str]:
    """The shares of costs in whole per cent, which add up to 100; those that lose most by rounding are rounded up.

    >>> shares([1.0, 1.0, 1.0]), shares([0.0])
    (['34%', '33%', '33%'], ['-'])
    """
    total = sum(costs)
    if total <= 0:
        return ["-" for _ in costs]
    exact = [100.0 * cost / total for cost in costs]
    whole = [math.floor(share) for share in exact]
    by_loss = sorted(range(len(costs)), key=lambda i: whole[i] - exact[i])
    for i in by_loss[: 100 - sum(whole)]:
        whole[i] += 1
    return [f"{share}%" for share in whole]


def save_picture(study: Study, out: Path, console: Console) -> None:
    """Draw the front into a file, and say so."""
    from flexibo.errors import MissingExtraError

    try:
        from flexibo import plots

        plots.save(study, out)
    except MissingExtraError as error:
        console.print(f"No picture: {error}", markup=False, highlight=False)
        return
    console.print(f"The front and the Pareto region are drawn in {out}.", markup=False, highlight=False)
