"""``flexibo demo``: tunes a small network that is trained on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from flexibo.cli._completion import method_names
from flexibo.cli._exit_status import ExitStatus


def demo(
    budget: Annotated[float, typer.Option(help="Seconds of measurement.")] = 60.0,
    seed: Annotated[int, typer.Option(help="The same seed draws the same designs.")] = 0,
    method: Annotated[
        str, typer.Option(help="One of the names that 'flexibo methods' lists.", autocompletion=method_names)
    ] = "flexibo",
    out: Annotated[Path, typer.Option(help="Where to save the picture.")] = Path("flexibo-demo.png"),
) -> None:
    """Tune a small neural network on handwritten digits: prediction error against the cost of inference."""
    from flexibo.cli._measure import is_interrupted
    from flexibo.cli._outcome import save_picture, show
    from flexibo.cli._run_system import introduce_system
    from flexibo.study import Study
    from flexibo.systems.digits import digits_system

    console = Console()
    system = digits_system()
    study = Study(system.space, system.objectives, method=method, budget=budget, seed=seed, name="demo")
    introduce_system(system)
    study.run(system.functions)
    show(study, console)
    if is_interrupted(study):
        console.print("The demo stores nothing; to resume after Ctrl-C, use 'flexibo init' or 'flexibo run'.")
        raise typer.Exit(ExitStatus.INTERRUPTED)
    if study.front():
        save_picture(study, out, console)
