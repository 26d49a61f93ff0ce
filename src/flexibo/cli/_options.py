"""Options that several commands share, and groups of them as values."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import typer

from flexibo.cli._completion import file_and_system_names, method_names, study_names, system_names
from flexibo.cli._parse import parsed_names, parsed_seconds, parsed_share
from flexibo.cli._storage import STORAGE_VARIABLE
from flexibo.errors import InvalidValueError

FOR_SYSTEMS = "Only for systems"
"""The section of the help with the options that study files do not have."""


def is_typed(context: typer.Context, name: str) -> bool:
    """Whether an option was typed, rather than left at its default or found in the environment."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def not_blank(context: typer.Context, parameter: typer.CallbackParam, text: str) -> str:
    """The value of an option; a blank one, as from an empty shell variable, is refused."""
    if not text.strip() and is_typed(context, parameter.name or ""):
        raise InvalidValueError(f"{parameter.opts[0]} is empty; give it a value, or leave it out.")
    return text


StorageURL: TypeAlias = Annotated[
    str,
    typer.Option(
        "--storage",
        help="Where studies are stored: sqlite:///FILE or postgresql://USER@HOST/DATABASE. "
        "By default the only .db file in this folder.",
        envvar=STORAGE_VARIABLE,
        show_envvar=True,
        show_default=False,
    ),
]
StudyName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--name",
        help="The study, if the storage holds several.",
        show_default=False,
        autocompletion=study_names,
    ),
]
StudyFilePath: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--file",
        help="The study file with the functions and commands that measure. By default the file that the study was "
        "created from, if it has not changed.",
        show_default=False,
    ),
]
JSONFlag: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
OutcomeAsJSON: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the outcome as JSON, and nothing else.")]
FileOrSystem: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="FILE|SYSTEM",
        help="A study file, such as study.yaml, or a name from 'flexibo systems'.",
        show_default=False,
        autocompletion=file_and_system_names,
    ),
]
SystemName: TypeAlias = Annotated[
    str,
    typer.Argument(help="A name from 'flexibo systems'.", show_default=False, autocompletion=system_names),
]
Method: TypeAlias = Annotated[
    str, typer.Option(help="A name from 'flexibo methods'.", autocompletion=method_names, show_default="flexibo")
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
        help="The dataset to train on. By default the first one of the system that is found.",
        rich_help_panel=FOR_SYSTEMS,
    ),
]
Platform: TypeAlias = Annotated[
    str,
    typer.Option(
        "--platform", help="auto, nvidia-gpu, linux-cpu, jetson-xavier or jetson-tx2.", rich_help_panel=FOR_SYSTEMS
    ),
]
Limit: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="The maximum number of training examples.", rich_help_panel=FOR_SYSTEMS)
]
Epochs: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="The number of training epochs.", rich_help_panel=FOR_SYSTEMS)
]
Models: TypeAlias = Annotated[
    Path,
    typer.Option(help="The folder of trained models; several processes may share it.", rich_help_panel=FOR_SYSTEMS),
]
Meter: TypeAlias = Annotated[
    str, typer.Option("--meter", help="auto, nvml, rapl or ina3221.", rich_help_panel=FOR_SYSTEMS)
]
Estimate: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="Without a meter: estimate energy as this power in watts times time. Values are marked as estimates.",
        rich_help_panel=FOR_SYSTEMS,
    ),
]
Knobs: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="Machine settings to tune too ('flexibo knobs list'), or all. None by default.",
        rich_help_panel=FOR_SYSTEMS,
    ),
]
ExtraObjectives: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--and",
        help="Objectives besides error and energy: latency_ms, power_watts.",
        rich_help_panel=FOR_SYSTEMS,
    ),
]
Recorded: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--recorded",
        help="Replay the table recorded on real hardware; needs no GPU.",
        rich_help_panel=FOR_SYSTEMS,
    ),
]
Longest: TypeAlias = Annotated[
    str,
    typer.Option(
        help="Skip designs that would take longer to measure, as in 10m. The default on a CPU is a quarter of the "
        "budget and at least one minute; on a GPU there is no limit.",
        show_default=False,
        rich_help_panel=FOR_SYSTEMS,
        callback=not_blank,
    ),
]
Only: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="Measure only these objectives here; other processes or machines measure the others."),
]
Executor: TypeAlias = Annotated[
    str,
    typer.Option(
        "--executor",
        help="Where evaluations run: inline, processes, dask or ray.",
        show_default="the file's, or inline",
    ),
]
Workers: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="The number of parallel evaluations, with an executor other than inline.")
]
Address: TypeAlias = Annotated[
    str, typer.Option(help="HOST:PORT of a Dask or Ray cluster. By default a local one is started.")
]
CertifiedError: TypeAlias = Annotated[
    str,
    typer.Option(
        help="Stop when the front is certified to miss at most this share of the best hypervolume, as in 5%: with "
        "probability 1 - delta, over the candidates, if the models are right.",
        show_default=False,
        callback=not_blank,
    ),
]
Lease: TypeAlias = Annotated[
    str,
    typer.Option(
        help="How long this process may be silent before other processes take over its evaluations.",
        show_default="the file's, or 60s",
        callback=not_blank,
    ),
]
Idle: TypeAlias = Annotated[
    str,
    typer.Option(
        help="Stop after this time without anything to do here. By default wait for the other processes.",
        show_default=False,
        callback=not_blank,
    ),
]
Seed: TypeAlias = Annotated[int, typer.Option(min=0, max=2**63 - 1, help="The same seed draws the same designs.")]


@dataclass(frozen=True, slots=True)
class StudyOptions:
    """What was typed about a study; what is empty or None comes from the study file, the storage or a default.

    Attributes:
        budget: Time for measurements.
        certified_error: The share of the hypervolume at which to stop.
        method: The method.
        seed: The seed.
        storage: Where the study is stored, as typed or from the environment.
        is_storage_typed: Whether the storage was typed.
        name: The name of the study.
        lease: How long a process may be silent.
    """

    budget: str = ""
    certified_error: str = ""
    method: str = ""
    seed: int | None = None
    storage: str = ""
    is_storage_typed: bool = False
    name: str = ""
    lease: str = ""

    def __post_init__(self) -> None:
        _ = self.budget_seconds, self.lease_seconds, self.stop_rules  # a mistake is reported before anything is done

    @property
    def budget_seconds(self) -> float | None:
        """The budget that was typed."""
        return parsed_seconds(self.budget) if self.budget else None

    @property
    def lease_seconds(self) -> float | None:
        """The lease that was typed."""
        return parsed_seconds(self.lease) if self.lease else None

    @property
    def stop_rules(self) -> dict[str, float]:
        """The stop rules that were typed."""
        return {"certified_error": parsed_share(self.certified_error)} if self.certified_error else {}


@dataclass(frozen=True, slots=True)
class ExecutionOptions:
    """What was typed about measuring; what is empty or None comes from the study file or a default.

    Attributes:
        only: The objectives that are measured here; empty: all.
        executor: The name of the executor.
        workers: The number of parallel evaluations.
        address: The address of a cluster.
        idle: Stop after this time without anything to do.
    """

    only: tuple[str, ...] = ()
    executor: str = ""
    workers: int | None = None
    address: str = ""
    idle: str = ""

    def __post_init__(self) -> None:
        if self.idle:
            parsed_seconds(self.idle)


@dataclass(frozen=True, slots=True)
class SystemOptions:
    """What was typed about a system; what is empty or None comes from the stored study or a default.

    Attributes:
        data: The folder with the training data.
        dataset: The dataset to train on.
        platform: Where the system runs.
        limit: The maximum number of training examples.
        epochs: The number of training epochs.
        models: The folder of trained models.
        meter: The kind of meter.
        estimate: Estimate the energy from this power, in watts.
        knobs: Machine settings that are options.
        objectives: Objectives besides error and energy.
        recorded: Replay the recorded table.
        longest: Skip designs that would take longer to measure.
    """

    data: Path | None = None
    dataset: str = ""
    platform: str = ""
    limit: int | None = None
    epochs: int | None = None
    models: Path = Path("models")
    meter: str = ""
    estimate: float | None = None
    knobs: tuple[str, ...] = ()
    objectives: tuple[str, ...] = ()
    recorded: bool = False
    longest: str = ""

    def __post_init__(self) -> None:
        _ = self.longest_seconds

    @property
    def longest_seconds(self) -> float | None:
        """How long an evaluation may take, if that was typed."""
        return parsed_seconds(self.longest) if self.longest else None

    def data_folder(self, *, trains: bool = True, is_recorded: bool = False) -> Path:
        """The folder with the training data, which must have been given and exist, even if only energy is measured.

        Args:
            trains: Whether networks are trained.
            is_recorded: Whether a recorded table could be replayed instead.
        """
        if self.data is None:
            why = "" if trains else ", which decides the shape of the network"
            instead = ", or replay a recorded table with --recorded" if is_recorded else ""
            raise InvalidValueError(
                f"No folder with training data was given{why}; give --data FOLDER or set FLEXIBO_DATA{instead}."
            )
        if not self.data.is_dir():
            raise InvalidValueError(f"The folder with training data, {self.data}, does not exist; give another --data.")
        return self.data


OptionGroup = TypeVar("OptionGroup", StudyOptions, ExecutionOptions, SystemOptions)


def given_options(group: type[OptionGroup], context: typer.Context) -> OptionGroup:
    """The options of a group that were typed or are set in the environment; the others have the group's defaults."""
    values: dict[str, Any] = {}
    for field in fields(group):
        source = context.get_parameter_source(field.name)
        if source is not None and source.name in ("COMMANDLINE", "ENVIRONMENT"):
            value = context.params[field.name]
            values[field.name] = tuple(parsed_names(value)) if isinstance(value, list | tuple) else value
    if group is StudyOptions:
        values["is_storage_typed"] = is_typed(context, "storage")
    return group(**values)
