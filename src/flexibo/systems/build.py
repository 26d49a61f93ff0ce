"""From what a user requests to a network on a platform with data, a model store and a meter."""

from __future__ import annotations

import math
import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexibo.errors import InvalidValueError, MissingExtraError, missing_extra, unknown_name
from flexibo.hardware import EnergyMeter, EstimatedMeter, MeterError, open_meter
from flexibo.hardware.knobs import Journal, Knob, check_free, default_path, state
from flexibo.hardware.thermals import Thermals, check_celsius
from flexibo.systems.catalogue import PaperSystem, find_system
from flexibo.systems.data.base import AnyDataset
from flexibo.systems.platforms import Platform, find_platform
from flexibo.systems.sizes import augmented, check_size, limit_of, sized

if TYPE_CHECKING:
    from flexibo.systems.network_runner import NetworkRunner

TINY_SECONDS = 10.0  # of an evaluation at the size tiny, where the platform has a limit


@dataclass(frozen=True, slots=True)
class SystemRequest:
    """What a user requests."""

    system: str
    data: Path  # the folder with the data
    platform: str = "auto"  # where it runs; ``"auto"``: the GPU if there is one
    dataset: str = ""  # what it learns from; empty: the first of the system's datasets that is present
    limit: int | None = None  # the largest number of training examples; None: all
    epochs: int | None = None  # the number of passes over them; None: the default of the task
    models: Path | None = Path("models")  # the folder of trained models; None stores none
    meter: str = "auto"  # the kind of meter; ``"auto"``: the platform's
    estimate_watts: float | None = None  # estimate the energy from this power instead of measuring it; None measures it
    knobs: tuple[str, ...] = ()  # the settings of the machine that are options; ``("all",)``: all that can be set
    allow_gpu: bool = False  # whether clocks and power limits of NVIDIA GPUs may be among them
    cool_celsius: float | None = None  # a reading waits until the machine is at most this warm; None: it does not wait
    seed: int = 0  # the seed of everything random
    longest_seconds: float | None = None  # what would take longer is not started; None: the platform's limit; inf: none
    budget_seconds: float | None = None  # of the study; the platform's limit is raised to at least a quarter of it
    size: str = ""  # full, small or tiny; empty: the networks of version 0.1
    encoder: Path | None = None  # the folder of a pretrained encoder for BERT; None: that of the size, if it has one
    augment: bool = False  # whether images are shifted and mirrored at random in training
    objectives: tuple[str, ...] = ()  # empty: all; the error alone needs no meter and no knobs, energy alone no store


def build_runner(request: SystemRequest) -> NetworkRunner:
    """The network on its platform; what is missing raises an error before anything is measured."""
    check_size(request.size)
    system = find_system(request.system)
    system = replace(system, traits=replace(system.traits, is_tiny=request.size == "tiny"))
    if find_spec("torch") is None:
        raise missing_extra("torch", "dnn")
    from flexibo.systems.dnn import NoMeter, reads_energy, trains
    from flexibo.systems.model_store import ModelStore
    from flexibo.systems.network_runner import NetworkRunner

    reads = reads_energy(request.objectives)
    platform = find_platform(request.platform, allow_clocks=request.allow_gpu)
    _check_device(platform)
    meter = _meter(platform, request) if reads else NoMeter()
    knobs = _knobs(platform, request.knobs) if reads else ()
    cool = _celsius(platform, request) if reads else None
    task = task_of(system, _dataset(system, request), epochs=request.epochs, size=request.size, encoder=request.encoder)
    task = augmented(system, task) if request.augment else task
    journal = Journal(default_path(os.environ, Path.home()), roots=platform.machine.roots)
    store = ModelStore(request.models) if request.models is not None and trains(request.objectives) else None
    if knobs:
        check_free(journal, machine=platform.machine)
    longest = _longest(platform, request)
    return NetworkRunner(system, task, platform, store, meter, journal, knobs, request.seed, longest, cool_celsius=cool)


def _longest(platform: Platform, request: SystemRequest) -> float | None:
    """The limit of an evaluation that was typed, or the platform's; None: there is none."""
    longest = request.longest_seconds
    if longest is None and platform.longest_seconds is not None:
        is_tiny = request.size == "tiny"  # a quick test has no use for ten repeats of a large batch
        longest = TINY_SECONDS if is_tiny else max(platform.longest_seconds, (request.budget_seconds or 0.0) / 4)
    return _limit(longest)


def _celsius(platform: Platform, request: SystemRequest) -> float | None:
    """The temperature that readings wait for, if any; an error if it is no possible one or none can be read."""
    if request.cool_celsius is not None:
        with Thermals(platform.machine.roots.sys) as thermals:
            check_celsius(request.cool_celsius, thermals)
    return request.cool_celsius


def _limit(longest: float | None) -> float | None:
    if longest is None or longest == math.inf:
        return None
    if not longest > 0:
        raise InvalidValueError(f"The longest evaluation is {longest!r} s; it must be a positive number.")
    return longest


def shape_of(runner: NetworkRunner) -> str:
    """A short hash of the sizes of a network's weights, which the data may decide: classes, letters, word pieces.

    Machines that read energy have the same network if it agrees, whatever part of the data each has loaded.
    """
    import torch

    from flexibo.systems.tasks.base import fingerprint_of

    smallest = {name: min(values) for name, values in runner.system.options.items()}
    with torch.device("meta"):
        model = runner.task.build(smallest)
    return fingerprint_of([[name, *weights.shape] for name, weights in model.named_parameters()])


def task_of(
    system: PaperSystem, data: AnyDataset, *, epochs: int | None = None, size: str = "", encoder: Path | None = None
) -> Any:
    """The task of a system on some data, at a size."""
    from flexibo.systems.tasks.answers import AnswerTask
    from flexibo.systems.tasks.images import ImageTask
    from flexibo.systems.tasks.reviews import ReviewTask
    from flexibo.systems.tasks.speech import SpeechTask

    kinds: dict[str, Any] = {
        "images": ImageTask,
        "reviews": ReviewTask,
        "questions": AnswerTask,
        "recordings": SpeechTask,
    }
    task = sized(system, kinds[system.kind](system.network, data), size, encoder)
    if epochs is None:
        return task
    if "epochs" in system.options:
        raise InvalidValueError(f"The number of epochs is an option of {system.name}; it cannot be given.")
    return replace(task, settings=replace(task.settings, epochs=epochs))


def _dataset(system: PaperSystem, request: SystemRequest) -> AnyDataset:
    from flexibo.systems.data.base import Use
    from flexibo.systems.data.catalogue import find_dataset, load_dataset
    from flexibo.systems.dnn import trains

    if request.dataset and request.dataset not in system.datasets:
        raise unknown_name(f"dataset of {system.name}", request.dataset, system.datasets)
    name = request.dataset or find_dataset(system.datasets, request.data)
    has_encoder = request.encoder is not None or request.size in ("full", "small")
    only_run = Use.RUN_ENCODER if has_encoder else Use.RUN
    use = Use.TRAIN if trains(request.objectives) else only_run
    limit = limit_of(request.size, request.limit)
    return load_dataset(name, request.data, limit=limit, seed=request.seed, use=use)


def _check_device(platform: Platform) -> None:
    import torch

    if platform.device.startswith("cuda") and not torch.cuda.is_available():
        raise InvalidValueError(
            f"Platform {platform.name!r} needs a GPU, and torch sees none here; "
            "install a torch with CUDA and a driver, or use --platform linux-cpu."
        )


def _meter(platform: Platform, request: SystemRequest) -> EnergyMeter:
    if request.estimate_watts is not None:
        return EstimatedMeter(request.estimate_watts)
    try:
        return platform.meter() if request.meter == "auto" else open_meter(request.meter)
    except MissingExtraError as error:
        raise MeterError(str(error)) from None


def _knobs(platform: Platform, names: Collection[str]) -> tuple[Knob, ...]:
    """The knobs of these names; each must exist and be settable."""
    offered = {knob.name: knob for knob in platform.knobs()}
    states = {name: state(knob, platform.machine) for name, knob in offered.items()}
    if tuple(names) == ("all",):
        return tuple(knob for name, knob in offered.items() if not states[name].refusal)
    for name in names:
        if name not in offered:
            raise unknown_name(f"knob of {platform.name}", name, offered)
        if states[name].refusal:
            raise InvalidValueError(f"Knob {name!r} cannot be set: {states[name].refusal}")
    return tuple(offered[name] for name in offered if name in names)
