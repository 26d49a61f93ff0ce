"""``flexibo demo``: the main job on a small network that is trained here and now."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flexibo.cli._completion import method_names
from flexibo.cli._exit_status import ExitStatus
from flexibo.cli._parse import size
from flexibo.cli._show import save_picture, show


def demo(
    budget: Annotated[float, typer.Option(help="Seconds of measurement.")] = 60.0,
    seed: Annotated[int, typer.Option(help="The same seed draws the same designs.")] = 0,
    method: Annotated[
        str, typer.Option(help="One of the names that 'flexibo methods' lists.", autocompletion=method_names)
    ] = "flexibo",
    out: Annotated[Path, typer.Option(help="Where to save the picture.")] = Path("flexibo-demo.png"),
) -> None:
    """Tune a small neural network on handwritten digits: prediction error against the cost of inference."""
    from rich.console import Console

    from flexibo.optimizer import StopKind
    from flexibo.study import Study
    from flexibo.systems.digits import digits_system

    console = Console()
    system = digits_system()
    study = Study(system.space, system.objectives, method=method, budget=budget, seed=seed, name="demo")
    console.print(f"[bold]{system.name}[/]: {len(system.space.names)} options, {size(system.space.size)} designs.")
    for note in system.notes:
        console.print(note, highlight=False)
    study.run(system.functions)
    show(study, console)
    if study.stop_kind is StopKind.INTERRUPTED:
        console.print("The demo keeps nothing; to go on after Ctrl-C, begin with 'flexibo init' or 'flexibo run'.")
        raise typer.Exit(ExitStatus.INTERRUPTED)
    if study.front():
        save_picture(study, out, console)
