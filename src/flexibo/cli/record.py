"""``flexibo record``: measure a grid of networks and deployments once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flexibo.cli.exits import ExitStatus
from flexibo.cli.progress import bar
from flexibo.cli.stopping import interruptible
from flexibo.cli.system_options import (
    Data,
    Dataset,
    Epochs,
    Limit,
    MeterName,
    PlatformName,
    Seed,
    System,
    data_folder,
)
from flexibo.cli.words import seconds


def record(
    system: System,
    out: Annotated[Path, typer.Option(help="The table, as in table.csv.gz; called again, the recording goes on.")],
    data: Data = None,
    dataset: Dataset = "",
    platform: PlatformName = "auto",
    networks: Annotated[int, typer.Option(min=1, help="How many networks to draw.")] = 64,
    deployments: Annotated[int, typer.Option(min=1, help="How many deployments to draw.")] = 8,
    again: Annotated[int, typer.Option(min=0, help="How many combinations to read twice, which shows the noise.")] = 32,
    limit: Limit = None,
    epochs: Epochs = None,
    models: Annotated[
        Path | None, typer.Option(help="Keep trained models here; by default none is: wide networks are large.")
    ] = None,
    meter: MeterName = "auto",
    time: Annotated[str, typer.Option(help="Stop after this time, as in 9m; called again, it goes on.")] = "30d",
    seed: Seed = 0,
) -> None:
    """Measure drawn networks in drawn deployments, all combinations: a table to replay without the hardware.

    Exit status 1 means that measurements are left: the same command goes on with them, also after Ctrl-C.
    """
    from rich.console import Console

    from flexibo.systems.assemble import Wishes
    from flexibo.systems.recording.session import Grid, recording

    wishes = Wishes(
        system,
        data_folder(data),
        platform=platform,
        dataset=dataset,
        limit=limit,
        epochs=epochs,
        models=models,
        meter=meter,
        seed=seed,
    )
    console, may_take = Console(), seconds(time)
    with (
        interruptible(console, f"the measurements so far are kept in {out}.partial"),
        bar(console, "measurements") as update,
    ):
        left = recording(wishes, Grid(networks, deployments, again), out, seconds=may_take, told=update)
    if left:
        console.print(f"{left} measurements are left; the same command goes on.", highlight=False)
        raise typer.Exit(ExitStatus.NOTHING)
    console.print(f"The table is {out}.", highlight=False, markup=False)
