"""How the command line shows a study that has run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from flexibo.study import Study


def show(study: Study, console: Console) -> None:
    """Print the front, and what was measured at which cost."""
    from rich.table import Table

    from flexibo.progress import front_table

    if front := study.front():
        console.print(front_table(study.history, front))
    summary = study.summary()
    table = Table(title="What was measured")
    for title in ("objective", "evaluations", "cost (s)", "mean cost (s)", "share of cost"):
        table.add_column(title, justify="left" if title == "objective" else "right")
    for name, number in summary.evaluations.items():
        cost = summary.costs[name]
        mean = f"{cost / number:.3g}" if number else "-"
        share = f"{cost / summary.spent:.0%}" if summary.spent else "-"
        table.add_row(name, str(number), f"{cost:.1f}", mean, share)
    console.print(table)
    console.print(f"Stopped: {summary.stopped}", highlight=False)


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
