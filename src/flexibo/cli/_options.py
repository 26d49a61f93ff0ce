"""Options that several commands share, groups of them as values, and values that are typed as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from flexibo._internal.durations import parse_seconds, parse_share
from flexibo.cli._completion import file_and_system_names, problem_names, study_names, system_names
from flexibo.cli._storage import STORAGE_VARIABLE
from flexibo.errors import InvalidValueError

FOR_SYSTEMS = "Only for systems"  # the section of the help with the options that study files do not have


def parsed_names(given: Iterable[str]) -> list[str]:
    """The names in an option that may be repeated and may hold several, separated by commas or spaces.

    >>> parsed_names(["a,b", "c a"])
    ['a', 'b', 'c']
    """
    return list(dict.fromkeys(name for text in given for name in text.replace(",", " ").split()))


def parsed_seconds(text: str, option: str) -> float:
    """The seconds in the duration that an option was given: a number, of seconds unless s, m, h or d follows.

    >>> parsed_seconds("30m", "--idle"), parsed_seconds("1.5h", "--idle"), parsed_seconds("90", "--idle")
    (1800.0, 5400.0, 90.0)
    """
    value = parse_seconds(text)
    if value is None:
        raise InvalidValueError(f"{option} is {text!r}; give a positive number such as 90, 30m, 2h or 1d.")
    return value


def parsed_cost(text: str, option: str) -> float:
    """The cost that an option was given: a number in the unit of the budget, or a duration; zero is allowed.

    >>> parsed_cost("0.5", "--cost"), parsed_cost("3s", "--cost"), parsed_cost("0", "--cost")
    (0.5, 3.0, 0.0)
    """
    value = parse_seconds(text, allows_zero=True)
    if value is None:
        raise InvalidValueError(
            f"{option} is {text!r}; give a number, zero or more, such as 4.5, or 90s, 30m, 2h or 1d."
        )
    return value


def parsed_share(text: str, option: str) -> float:
    """The share below 1 that an option was given, as a number or in per cent.

    >>> parsed_share("5%", "--certified-error"), parsed_share("0.1", "--certified-error")
    (0.05, 0.1)
    """
    value = parse_share(text)
    if value is None:
        raise InvalidValueError(f"{option} is {text!r}; give a share below 100 %, such as 5% or 0.05.")
    return value


def parsed_resources(given: Iterable[str]) -> Mapping[str, float]:
    """The resources in options such as ``jetson=1,GPU=2``; a name alone means an amount of 1.

    >>> dict(parsed_resources(["jetson,GPU=2"]))
    {'jetson': 1.0, 'GPU': 2.0}
    """
    from flexibo.objectives import checked_resources

    found = {}
    for text in parsed_names(given):
        name, sign, amount = text.partition("=")
        try:
            found[name] = float(amount) if sign else 1.0
        except ValueError:
            name = ""
        if not name:
            raise InvalidValueError(f"--resources has {text!r}; give NAME=AMOUNT, such as jetson=1.")
    return checked_resources(found, "--resources")


def is_typed(context: typer.Context, name: str) -> bool:
    """Whether an option was typed, rather than left at its default or found in the environment."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def not_blank(context: typer.Context, parameter: typer.CallbackParam, text: str) -> str:
    """The value of an option; a blank one, as from an empty shell variable, is refused."""
    if not text.strip() and is_typed(context, parameter.name or ""):
        raise InvalidValueError(f"{parameter.opts[0]} is empty; give it a value, or leave it out.")
    return text


def typed_option(help: str, **settings: Any) -> Any:  # noqa: A002
    """An option without a default of its own, which must not be blank."""
    return typer.Option(help=help, callback=not_blank, **{"show_default": False, **settings})


def _for_systems(*flags: str, **settings: Any) -> Any:
    return typer.Option(*flags, rich_help_panel=FOR_SYSTEMS, **settings)


def stored_in(help: str) -> Any:  # noqa: A002
    """The option that names a storage, which the environment may name too."""
    return typer.Option("--storage", help=help, envvar=STORAGE_VARIABLE, show_envvar=True, show_default=False)


StorageURL = Annotated[
    str,
    stored_in(
        "Where studies are stored: sqlite:///FILE or postgresql://USER@HOST/DATABASE. "
        "By default the only .db file in this folder."
    ),
]
_STUDY = "The study, if the storage holds several."
StudyName = Annotated[str, typer.Option("--name", help=_STUDY, show_default=False, autocompletion=study_names)]
StudyFilePath = Annotated[
    Path | None,
    typer.Option(
        "--file",
        help="The study file with the functions and commands that measure. By default the file that the study was "
        "created from, if it has not changed.",
        show_default=False,
    ),
]
JSONFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
OutcomeAsJSON = Annotated[bool, typer.Option("--json", help="Print the outcome as JSON, and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors and, at the end, the front.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print lines for each evaluation, with what its command printed.")
]
FileOrSystem = Annotated[
    str,
    typer.Argument(
        metavar="FILE|SYSTEM",
        help="A study file, such as study.yaml, or a name from 'flexibo systems'.",
        show_default=False,
        autocompletion=file_and_system_names,
    ),
]
SystemName = Annotated[
    str, typer.Argument(help="A name from 'flexibo systems'.", show_default=False, autocompletion=system_names)
]
Problems = Annotated[
    list[str] | None,
    typer.Option(help="Names from 'flexibo problems', comma-separated or repeated.", autocompletion=problem_names),
]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="The number of parallel processes; by default the number of cores.")
]
Data = Annotated[
    Path | None, _for_systems(help="The folder with the training data.", envvar="FLEXIBO_DATA", show_envvar=True)
]
Dataset = Annotated[
    str, _for_systems(help="The dataset to train on. By default the first one of the system that is found.")
]
Platform = Annotated[
    str, _for_systems("--platform", help="auto, nvidia-gpu, linux-cpu, jetson-xavier, jetson-tx2 or -orin.")
]
Limit = Annotated[int | None, _for_systems(min=1, help="The maximum number of training examples.")]
Epochs = Annotated[int | None, _for_systems(min=1, help="The number of training epochs.")]
Size = Annotated[
    str,
    _for_systems(
        "--size",
        help="full as in the paper, small (MiniLM as BERT) or tiny for a test. By default small networks from scratch.",
        show_default=False,
    ),
]
Encoder = Annotated[
    Path | None,
    _for_systems(
        help="The folder of BERT's pretrained encoder, as of Hugging Face: config.json, vocab.txt, model.safetensors.",
        show_default=False,
    ),
]
Augment = Annotated[bool, _for_systems("--augment", help="Train on images that are shifted and mirrored at random.")]
Models = Annotated[Path, _for_systems(help="The folder of trained models; several processes may share it.")]
Meter = Annotated[
    str, _for_systems("--meter", help="auto, or a name or sum of names from 'flexibo doctor', as in rapl+nvml.")
]
Estimate = Annotated[
    float | None,
    _for_systems(
        help="Without a meter: estimate energy as this power in watts times time. Values are marked as estimates."
    ),
]
Knobs = Annotated[
    list[str] | None, _for_systems(help="Machine settings to tune too ('flexibo knobs list'), or all. None by default.")
]
AllowGPU = Annotated[bool, _for_systems("--allow-gpu", help="Allow knobs of NVIDIA GPUs: clocks and the power limit.")]
Cool = Annotated[
    float | None,
    _for_systems("--cool", help="Wait before each reading until the machine is at most this warm, in Celsius."),
]
ExtraObjectives = Annotated[
    list[str] | None, _for_systems("--and", help="Objectives besides error and energy: latency_ms, power_watts.")
]
Recorded = Annotated[bool, _for_systems("--recorded", help="Replay the table recorded on real hardware; needs no GPU.")]
Longest = Annotated[
    str,
    typed_option(
        "Skip designs that would take longer to measure, as in 10m. The default on a CPU is a quarter of the "
        "budget and at least one minute; on a GPU there is no limit.",
        rich_help_panel=FOR_SYSTEMS,
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option(help="Measure only these objectives here; other processes or machines measure the others."),
]
Executor = Annotated[
    str,
    typer.Option(
        "--executor",
        help="Where evaluations run: inline, processes, dask, ray or slurm.",
        show_default="the file's, or inline",
    ),
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="The number of parallel evaluations, with an executor other than inline.")
]
Address = Annotated[str, typer.Option(help="HOST:PORT of a Dask or Ray cluster. By default a local one is started.")]
CertifiedError = Annotated[
    str,
    typed_option(
        "Stop when the front is certified to miss at most this share of the best hypervolume, as in 5%: with "
        "probability 1 - delta, over the candidates, if the models are right."
    ),
]
MaxEvaluations = Annotated[
    int | None,
    typer.Option(min=1, help="Stop when this many evaluations were asked in all.", show_default=False),
]
Lease = Annotated[
    str,
    typed_option(
        "How long this process may be silent before other processes take over its evaluations.",
        show_default="the file's, or 60s",
    ),
]
Idle = Annotated[
    str, typed_option("Stop after this time without anything to do here. By default wait for the other processes.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**63 - 1, help="The same seed draws the same designs.")]


@dataclass(frozen=True, slots=True)
class StudyOptions:
    """What was typed about a study; what is empty or None comes from the study file, the storage or a default."""

    budget: str = ""
    certified_error: str = ""
    max_evaluations: int | None = None
    method: str = ""
    seed: int | None = None
    storage: str = ""
    is_storage_typed: bool = False
    name: str = ""
    lease: str = ""
    checkpoints: str = ""

    def __post_init__(self) -> None:
        _ = self.budget_seconds, self.lease_seconds, self.stop_rules  # a mistake is reported before anything is done

    @property
    def budget_seconds(self) -> float | None:
        return parsed_seconds(self.budget, "--budget") if self.budget else None

    @property
    def lease_seconds(self) -> float | None:
        return parsed_seconds(self.lease, "--lease") if self.lease else None

    @property
    def stop_rules(self) -> dict[str, float]:
        found: dict[str, float] = {}
        if self.certified_error:
            found["certified_error"] = parsed_share(self.certified_error, "--certified-error")
        if self.max_evaluations is not None:
            found["max_evaluations"] = self.max_evaluations
        return found


@dataclass(frozen=True, slots=True)
class ExecutionOptions:
    """What was typed about measuring; what is empty or None comes from the study file or a default."""

    only: tuple[str, ...] = ()
    executor: str = ""
    workers: int | None = None
    address: str = ""
    idle: str = ""

    def __post_init__(self) -> None:
        _ = self.idle_seconds

    @property
    def idle_seconds(self) -> float | None:
        return parsed_seconds(self.idle, "--idle") if self.idle else None


@dataclass(frozen=True, slots=True)
class SystemOptions:
    """What was typed about a system; what is empty or None comes from the stored study or a default."""

    data: Path | None = None
    dataset: str = ""
    platform: str = ""
    limit: int | None = None
    epochs: int | None = None
    size: str = ""
    encoder: Path | None = None
    augment: bool = False
    models: Path = Path("models")
    meter: str = ""
    estimate: float | None = None
    knobs: tuple[str, ...] = ()
    objectives: tuple[str, ...] = ()
    recorded: bool = False
    longest: str = ""
    allow_gpu: bool = False
    cool: float | None = None
    is_data_typed: bool = False
    written_in: str = ""  # the study file that says what was not typed

    def __post_init__(self) -> None:
        _ = self.longest_seconds

    @property
    def longest_seconds(self) -> float | None:
        return parsed_seconds(self.longest, "--longest") if self.longest else None

    def data_folder(self, *, trains: bool = True, is_recorded: bool = False) -> Path:
        """The folder with the training data, which must have been given and exist, even if only energy is measured."""
        if self.data is None:
            why = "" if trains else ", which decides the shape of the network"
            recorded = spelled("recorded", "true", self.written_in)
            instead = f", or replay a recorded table with {recorded}" if is_recorded else ""
            folder = spelled("data", "FOLDER", self.written_in)
            raise InvalidValueError(
                f"No folder with training data was given{why}; give {folder} or set FLEXIBO_DATA{instead}."
            )
        if not self.data.is_dir():
            file = self.written_in
            other = f"another one, as data in {file} or as --data" if file else "another --data"
            raise InvalidValueError(f"The folder with training data, {self.data}, does not exist; give {other}.")
        return self.data


def spelled(key: str, value: str, file: str) -> str:
    """How something is said about a system: as an option, or as a key of the study file that names the system.

    >>> spelled("estimate", "WATTS", ""), spelled("estimate", "WATTS", "lenet.yaml")
    ('--estimate WATTS', 'estimate: WATTS in lenet.yaml')
    >>> spelled("allow_gpu", "true", "")
    '--allow-gpu'
    """
    if file:
        return f"{key}: {value} in {file}"
    option = f"--{key.replace('_', '-')}"
    return option if value == "true" else f"{option} {value}"


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
    if group is SystemOptions:
        values["is_data_typed"] = is_typed(context, "data")
    return group(**values)
