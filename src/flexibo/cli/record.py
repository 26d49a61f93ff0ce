"""``flexibo record``: measure a grid of networks and deployments once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flexibo.cli._exit_status import ExitStatus
from flexibo.cli._options import (
    Augment,
    Data,
    Dataset,
    Encoder,
    Epochs,
    Knobs,
    Limit,
    Meter,
    Platform,
    Seed,
    Size,
    SystemName,
    SystemOptions,
    parsed_names,
    parsed_seconds,
)
from flexibo.cli._signals import interruptible_bar
from flexibo.cli._text import counted, output_console


def record(
    system: SystemName,
    out: Annotated[Path, typer.Option(help="The table, as in table.csv.gz; a second call resumes the recording.")],
    data: Data = None,
    dataset: Dataset = "",
    platform: Platform = "auto",
    networks: Annotated[int, typer.Option(min=1, help="The number of networks to draw.")] = 64,
    deployments: Annotated[int, typer.Option(min=1, help="The number of deployments to draw.")] = 8,
    again: Annotated[
        int, typer.Option(min=0, help="The number of combinations to measure twice, to show the noise.")
    ] = 32,
    limit: Limit = None,
    epochs: Epochs = None,
    size: Size = "",
    encoder: Encoder = None,
    augment: Augment = False,
    models: Annotated[
        Path | None,
        typer.Option(help="Keep trained models in this folder. By default none is kept: wide networks are large."),
    ] = None,
    meter: Meter = "auto",
    knobs: Knobs = None,
    allow_gpu: Annotated[
        bool, typer.Option("--allow-gpu", help="Allow knobs of NVIDIA GPUs: clocks and the power limit.")
    ] = False,
    cool: Annotated[
        float | None, typer.Option(help="Wait before each reading until the machine is at most this warm, in Celsius.")
    ] = None,
    window: Annotated[
        float, typer.Option(min=0.1, help="The minimum duration of a reading in seconds, after its warm-up.")
    ] = 2.0,
    at_most: Annotated[
        list[str] | None,
        typer.Option(metavar="OPTION=VALUE", help="The largest value of an option to draw, as in filters_1=64."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="OPTION=VALUE,VALUE", help="Draw only these values of an option, as in batch=16,256."),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(min=1, help="The number of networks to train in parallel, before the readings; needs --models."),
    ] = 1,
    time: Annotated[str, typer.Option(help="Stop after this time, as in 9m; a second call resumes.")] = "30d",
    finish: Annotated[
        bool, typer.Option("--finish", help="Measure nothing; write the table of the complete networks.")
    ] = False,
    seed: Seed = 0,
) -> None:
    """Measure drawn networks in drawn deployments, all combinations: a table to replay without the hardware.

    Exit status 1 means that measurements are left; the same command resumes, also after Ctrl-C.
    """
    from flexibo.systems.build import SystemRequest
    from flexibo.systems.recording.plan import largest_values, wanted_values
    from flexibo.systems.recording.session import RecordingGrid, finished, recording

    console, may_take = output_console(), parsed_seconds(time, "--time")
    if finish:
        whole, planned = finished(out)
        console.print(f"The table is {out}, of {whole} of {planned} networks.", highlight=False, markup=False)
        return
    request = SystemRequest(
        system,
        SystemOptions(data=data).data_folder(),
        platform=platform,
        dataset=dataset,
        limit=limit,
        epochs=epochs,
        size=size,
        encoder=encoder,
        augment=augment,
        models=models,
        meter=meter,
        knobs=tuple(parsed_names(knobs or [])),
        allow_gpu=allow_gpu,
        cool_celsius=cool,
        seed=seed,
    )
    grid = RecordingGrid(networks, deployments, again, window, largest_values(at_most or ()), wanted_values(only or ()))
    kept = f"the measurements so far are kept in {out}.partial"
    with interruptible_bar(console, "measurements", kept) as update:
        left = recording(request, grid, out, seconds=may_take, jobs=jobs, progress=update)
    if left:
        console.print(f"{counted(left, 'measurement')} left; the same command resumes.", highlight=False)
        raise typer.Exit(ExitStatus.NOTHING)
    console.print(f"The table is {out}.", highlight=False, markup=False)
