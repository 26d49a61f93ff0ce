"""The command line."""

from __future__ import annotations

import sys
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import flexibo
from flexibo.errors import FlexiBOError

if TYPE_CHECKING:
    from rich.console import Console

    from flexibo.catalogue import Method
    from flexibo.study import Study

app = typer.Typer(
    name="flexibo",
    help="Choose which design and which single objective to measure next.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line; a mistake of the user is one sentence on standard error and exit status 2."""
    try:
        app()
    except FlexiBOError as error:
        typer.echo(f"flexibo: {error}", err=True)
        sys.exit(2)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"flexibo {flexibo.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Multi-objective optimisation under a budget, one objective of one design at a time."""


@app.command()
def methods(
    json: Annotated[bool, typer.Option("--json", help="Print a list of objects instead.")] = False,
) -> None:
    """List the methods that a study can use."""
    if json:
        typer.echo(dumps([_described(method) for method in flexibo.methods()], indent=2))
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console()
    for method in flexibo.methods():
        aware = ", cost-aware" if method.cost_aware else ""
        default = " (default)" if method.name == "flexibo" else ""
        console.print(Text.assemble((method.name, "bold"), f"{default}  {method.measures}{aware}"))
        paper = f" {method.paper}." if method.paper else ""
        limits = f"{method.limits[0].upper()}{method.limits[1:]}."
        console.print(Padding(Text(f"{method.summary}{paper} {limits}"), (0, 0, 0, 4)))
    console.print("\nAdd /cost to any but nsga2, sobol and random (ehvi/cost) to divide scores by expected costs.")


def _described(method: Method) -> dict[str, object]:
    return {
        "name": method.name,
        "summary": method.summary,
        "paper": method.paper,
        "measures": method.measures,
        "cost_aware": method.cost_aware,
        "limits": method.limits,
    }


@app.command()
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
    console.print(f"[bold]{system.name}[/]: {len(system.space.names)} options, {_size(system.space.size)} designs.")
    for note in system.notes:
        console.print(note, highlight=False)
    study.run(system.functions)
    _show(study, console)
    if study.front():
        _save_picture(study, out, console)


def _size(size: float) -> str:
    return "infinitely many" if size == float("inf") else f"{size:,}"


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


if __name__ == "__main__":
    main()
