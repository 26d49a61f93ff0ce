"""``flexibo demo``: the main job on a small network that is trained here and now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flexibo.cli.words import size

if TYPE_CHECKING:
    from rich.console import Console

    from flexibo.study import Study


def demo(
    budget: Annotated[float, typer.Option(help="Seconds of measurement.")] = 60.0,
    seed: Annotated[int, typer.Option(help="The same seed draws the same designs.")] = 0,
    method: Annotated[str, typer.Option(help="One of the names that 'flexibo methods' lists.")] = "flexibo",
    out: Annotated[Path, typer.Option(help="Where to save the picture.")] = Path("flexibo-demo.png"),
) -> None:
    """Tune a small neural network on handwritten digits: prediction error against the cost of inference."""
    from rich.console import Console

    from flexibo.study import Study
    from flexibo.systems.digits import digits_system

    console = Console()
    system = digits_system()
    study = Study(system.space, system.objectives, method=method, budget=budget, seed=seed, name="demo")
    console.print(f"[bold]{system.name}[/]: {len(system.space.names)} options, {size(system.space.size)} designs.")
    for note in system.notes:
        console.print(note, highlight=False)
    study.run(system.functions)
    _show(study, console)
    if study.front():
        _save_picture(study, out, console)


def _show(study: Study, console: Console) -> None:
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


def _save_picture(study: Study, out: Path, console: Console) -> None:
    from flexibo.errors import MissingExtraError

    try:
        from flexibo import plots

        axes: Any = plots.front(study)
    except MissingExtraError as error:
        console.print(f"No picture: {error}")
        return
    axes.figure.savefig(out, dpi=150)
    console.print(f"The front and the Pareto region are drawn in {out}.", highlight=False)
