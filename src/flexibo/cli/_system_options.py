"""Options that the commands on real systems share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from flexibo.cli._completion import file_and_system_names, system_names

FOR_SYSTEMS = "Only for systems"
"""The part of the help in which the options stand that study files do without."""


def filled(context: typer.Context, parameter: typer.CallbackParam, text: str) -> str:
    """What was typed for an option, which must not be blank: an empty variable of a shell is a mistake."""
    from flexibo.cli._study_file import is_typed
    from flexibo.errors import InvalidValueError

    if not text.strip() and is_typed(context, parameter.name or ""):
        raise InvalidValueError(f"{parameter.opts[0]} is empty; give it a value, or leave it out.")
    return text


What: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="FILE|SYSTEM",
        help="A study file, such as study.yaml, or a name that 'flexibo systems' lists.",
        show_default=False,
        autocompletion=file_and_system_names,
    ),
]
System: TypeAlias = Annotated[
    str,
    typer.Argument(help="A name that 'flexibo systems' lists.", show_default=False, autocompletion=system_names),
]
Data: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="The folder with the training data.", envvar="FLEXIBO_DATA", show_envvar=True, rich_help_panel=FOR_SYSTEMS
    ),
]
Dataset: TypeAlias = Annotated[
    str,
    typer.Option(
        help="What the network learns from; by default the first of its datasets that is there.",
        rich_help_panel=FOR_SYSTEMS,
    ),
]
PlatformName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--platform", help="auto, nvidia-gpu, linux-cpu, jetson-xavier or jetson-tx2.", rich_help_panel=FOR_SYSTEMS
    ),
]
Limit: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="At most so many training examples.", rich_help_panel=FOR_SYSTEMS)
]
Epochs: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="How often each training example is seen.", rich_help_panel=FOR_SYSTEMS)
]
Models: TypeAlias = Annotated[
    Path, typer.Option(help="Where trained models are kept, for all who share the folder.", rich_help_panel=FOR_SYSTEMS)
]
MeterName: TypeAlias = Annotated[
    str, typer.Option("--meter", help="auto, nvml, rapl or ina3221.", rich_help_panel=FOR_SYSTEMS)
]
Estimate: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="Where there is no meter: estimate energy as this power (W) times time. The values are called estimates.",
        rich_help_panel=FOR_SYSTEMS,
    ),
]
Only: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="Measure only these objectives here; other processes or machines measure the others."),
]
ExecutorName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--executor",
        help="Where evaluations are measured: inline, processes, dask or ray.",
        show_default="the file's, or inline",
    ),
]
Workers: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="How many evaluations at a time, with another executor than inline.")
]
Address: TypeAlias = Annotated[
    str, typer.Option(help="HOST:PORT of a Dask or Ray cluster; without one, a local one is started.")
]
CertifiedError: TypeAlias = Annotated[
    str,
    typer.Option(
        help="Stop when the front surely misses at most this share of the best hypervolume, as in 5%; with "
        "probability 1 - delta, over the candidates, if the models are right.",
        show_default=False,
        callback=filled,
    ),
]
Lease: TypeAlias = Annotated[
    str,
    typer.Option(
        help="Others may take over what is measured here after so long without a sign of life.",
        show_default="the file's, or 60s",
        callback=filled,
    ),
]
Idle: TypeAlias = Annotated[
    str,
    typer.Option(
        help="Stop after so long without anything to do here; by default wait for the others.",
        show_default=False,
        callback=filled,
    ),
]
Longest: TypeAlias = Annotated[
    str,
    typer.Option(
        help="Designs that would take longer to measure are left out, as in 10m. On a processor it is by default a "
        "quarter of the budget and at least a minute; on a GPU there is no limit.",
        show_default=False,
        rich_help_panel=FOR_SYSTEMS,
        callback=filled,
    ),
]
Outcome: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the outcome as JSON, and nothing else.")]
Seed: TypeAlias = Annotated[int, typer.Option(min=0, max=2**63 - 1, help="The same seed draws the same designs.")]


def data_folder(data: Path | None, *, trains: bool = True, recorded: bool = False) -> Path:
    """The folder of the data, which must be given, also to who only reads energy.

    Args:
        data: The folder that was named.
        trains: Whether networks are trained.
        recorded: Whether a recorded table could answer instead.
    """
    from flexibo.errors import InvalidValueError

    if data is None:
        why = "" if trains else ", which decides the shape of the network"
        instead = ", or let a recorded table answer with --recorded" if recorded else ""
        raise InvalidValueError(
            f"No folder with training data was named{why}; give --data FOLDER or set FLEXIBO_DATA{instead}."
        )
    if not data.is_dir():
        raise InvalidValueError(f"The folder with training data, {data}, does not exist; give another --data.")
    return data
