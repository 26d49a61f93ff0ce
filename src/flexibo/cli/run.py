"""``flexibo run``: optimise one of the paper's systems on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flexibo.cli.showing import save_picture, show
from flexibo.cli.system_options import (
    Data,
    Dataset,
    Epochs,
    Estimate,
    Limit,
    MeterName,
    Models,
    PlatformName,
    Seed,
    System,
    data_folder,
)
from flexibo.cli.words import names, seconds, size


def run(
    system: System,
    budget: Annotated[str, typer.Option(help="Time for measurements, as in 90s, 30m, 2h or 1d.")] = "30m",
    data: Data = None,
    dataset: Dataset = "",
    platform: PlatformName = "auto",
    limit: Limit = None,
    epochs: Epochs = None,
    models: Models = Path("models"),
    meter: MeterName = "auto",
    estimate: Estimate = None,
    knobs: Annotated[
        list[str] | None,
        typer.Option(help="Settings of the machine to tune too ('flexibo knobs list'), or all; none by default."),
    ] = None,
    objectives: Annotated[
        list[str] | None, typer.Option("--and", help="Objectives beside error and energy: latency_ms, power_watts.")
    ] = None,
    recorded: Annotated[
        bool,
        typer.Option("--recorded", help="Answer from the table recorded on real hardware: no GPU needed."),
    ] = False,
    method: Annotated[str, typer.Option(help="One of the names that 'flexibo methods' lists.")] = "flexibo",
    seed: Seed = 0,
    storage: Annotated[
        str, typer.Option(help="Where the study is kept; called again, it goes on. By default sqlite:///SYSTEM.db.")
    ] = "",
    out: Annotated[Path | None, typer.Option(help="Where to save the picture; by default SYSTEM.png.")] = None,
) -> None:
    """Optimise a network of the paper, trained and measured on this machine: prediction error against energy."""
    from rich.console import Console

    from flexibo.errors import InvalidValueError
    from flexibo.hardware import MeterError
    from flexibo.study import Study

    allowed = seconds(budget)
    picture = out or Path(f"{system}.png")
    if picture.suffix not in (".png", ".pdf", ".svg") or picture.is_dir() or not picture.absolute().parent.is_dir():
        raise InvalidValueError(f"--out is {picture}; give a .png, .pdf or .svg file in a folder that exists.")
    if recorded:
        from flexibo.benchmarks.recorded_systems import recorded_system

        found = recorded_system(system)
    else:
        from flexibo.systems.assemble import Wishes, assembled
        from flexibo.systems.dnn import dnn_system

        wishes = Wishes(
            system,
            data_folder(data),
            platform=platform,
            dataset=dataset,
            limit=limit,
            epochs=epochs,
            models=models,
            meter=meter,
            estimate_watts=estimate,
            knobs=tuple(names(knobs or [])),
            seed=seed,
        )
        try:
            bench = assembled(wishes)
        except MeterError as error:
            raise MeterError(f"{error} Without a meter, energy can only be estimated: --estimate WATTS.") from None
        found = dnn_system(bench, beside=names(objectives or []))
    console = Console()
    console.print(
        f"[bold]{found.name}[/]: {len(found.space.names)} options, {size(found.space.size)} designs.", highlight=False
    )
    for note in found.notes:
        console.print(note, highlight=False, markup=False)
    place = storage or f"sqlite:///{found.name}.db"
    # Values that were made otherwise are another study, in the same file.
    name = f"{found.name} {found.identity}" if found.identity else found.name
    study = Study(found.space, found.objectives, method=method, budget=allowed, seed=seed, storage=place, name=name)
    study.run(found.functions)
    show(study, console)
    console.print(f"The study is kept in {place}; a larger --budget goes on with it.", highlight=False, markup=False)
    if study.front():
        save_picture(study, picture, console)
