"""``flexibo record``: measure a grid of networks and deployments once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flexibo.cli._exit_status import ExitStatus
from flexibo.cli._parse import seconds
from flexibo.cli._progress_bar import bar
from flexibo.cli._signals import interruptible
from flexibo.cli._system_options import Data, Dataset, Epochs, Limit, MeterName, PlatformName, Seed, System, data_folder


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
    window: Annotated[float, typer.Option(min=0.1, help="How long a reading lasts at least, after its warm-up.")] = 2.0,
    at_most: Annotated[
        list[str] | None,
        typer.Option(metavar="OPTION=VALUE", help="Draw no larger value of this option, as in filters_1=64."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="OPTION=VALUE,VALUE", help="Draw these values of an option alone, as in batch=16,256."),
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, help="Train so many networks at a time, before the readings; needs --models.")
    ] = 1,
    time: Annotated[str, typer.Option(help="Stop after this time, as in 9m; called again, it goes on.")] = "30d",
    finish: Annotated[
        bool, typer.Option("--finish", help="Measure nothing: write the table of the networks that are complete.")
    ] = False,
    seed: Seed = 0,
) -> None:
    """Measure drawn networks in drawn deployments, all combinations: a table to replay without the hardware.

    Exit status 1 means that measurements are left: the same command goes on with them, also after Ctrl-C.
    """
    from rich.console import Console

    from flexibo.systems.build import SystemRequest
    from flexibo.systems.recording.plan import largest_values, wanted_values
    from flexibo.systems.recording.session import RecordingGrid, finished, recording

    console, may_take = Console(), seconds(time)
    if finish:
        whole, planned = finished(out)
        console.print(f"The table is {out}, of {whole} of {planned} networks.", highlight=False, markup=False)
        return
    request = SystemRequest(
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
    grid = RecordingGrid(networks, deployments, again, window, largest_values(at_most or ()), wanted_values(only or ()))
    with (
        interruptible(console, f"the measurements so far are kept in {out}.partial"),
        bar(console, "measurements") as update,
    ):
        left = recording(request, grid, out, seconds=may_take, jobs=jobs, progress=update)
    if left:
        console.print(f"{left} measurements are left; the same command goes on.", highlight=False)
        raise typer.Exit(ExitStatus.NOTHING)
    console.print(f"The table is {out}.", highlight=False, markup=False)
