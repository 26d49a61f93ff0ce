"""Systems from what a user typed, or from what a stored study was made of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flexibo.systems.base import System
    from flexibo.systems.build import SystemRequest


@dataclass(frozen=True, slots=True)
class Built:
    """A system that is ready to be measured.

    Attributes:
        system: The system.
        origin: What is stored to build it again: no paths, which are each machine's own matter, and no secrets.
    """

    system: System
    origin: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Given:
    """What a user said of a system whose study exists already; what is None or empty comes from the study.

    Attributes:
        system: Its name.
        data: The folder with the data.
        models: The folder of trained models.
        dataset: What it learns from.
        platform: Where it runs.
        limit: At most so many training examples.
        epochs: How often each is seen.
        meter: The kind of meter.
        estimate: Estimate the energy from this power, in watts.
        longest: How many seconds an evaluation may take.
        budget: How many may be spent in all.
    """

    system: str = ""
    data: Path | None = None
    models: Path = Path("models")
    dataset: str = ""
    platform: str = ""
    limit: int | None = None
    epochs: int | None = None
    meter: str = ""
    estimate: float | None = None
    longest: float | None = None
    budget: float | None = None


def recorded(name: str) -> Built:
    """A system that answers from its recorded table."""
    from flexibo.compare.problems.recorded_systems import recorded_system

    system = recorded_system(name)
    return Built(system, {"system": system.name, "recorded": True})  # the table: a system may get a second one


def built(request: SystemRequest, beside: Collection[str] = ()) -> Built:
    """The system that a user requests, on this machine."""
    from flexibo.hardware import MeterError
    from flexibo.systems.build import build_runner
    from flexibo.systems.dnn import dnn_system, reads_energy, trains

    try:
        runner = build_runner(request)
    except MeterError as error:
        raise MeterError(
            f"{error} Without a meter, energy can only be estimated (--estimate WATTS), or measured elsewhere "
            "(--only error_percent)."
        ) from None
    system = dnn_system(runner, beside=beside, only=request.objectives)
    origin = {
        "system": request.system,
        "dataset": runner.task.data.name,
        "limit": request.limit,
        "epochs": request.epochs,
        "seed": request.seed,
        "longest": request.longest_seconds,
        "platform": runner.platform.name,
        "meter": request.meter,
        "estimate": request.estimate_watts,
        "knobs": [knob.name for knob in runner.knobs],
        "and": list(beside),
        "training": runner.task.fingerprint,
        "trains": trains(request.objectives),
        "read_from": runner.meter.name if reads_energy(request.objectives) else "",
    }
    return Built(system, origin)


def built_again(origin: Mapping[str, Any], settings: Mapping[str, Any], given: Given, only: Collection[str]) -> Built:
    """The system of a stored study, as far as it is measured here.

    Args:
        origin: What is stored with the study.
        settings: What the study was created with.
        given: What the user says of this machine.
        only: The objectives that are measured here; empty: all.
    """
    from flexibo.errors import InvalidValueError
    from flexibo.systems.dnn import reads_energy, trains

    name = given.system or str(origin.get("system", ""))
    if origin.get("system") not in (None, name):
        raise InvalidValueError(f"The study is of system {origin['system']!r}; {name!r} given. Leave --system out.")
    if origin.get("recorded"):
        return recorded(name)
    found = built(_request(name, origin, given, only), tuple(_texts(origin, "and")))
    _check_same_training(origin, found.origin, trains=trains(only))
    if reads_energy(only):
        _check_same_space(found.system, settings)
        _check_same_meter(origin, found.origin)
    return found


def _request(name: str, origin: Mapping[str, Any], given: Given, only: Collection[str]) -> SystemRequest:
    from flexibo.cli._system_options import data_folder
    from flexibo.systems.build import SystemRequest
    from flexibo.systems.dnn import reads_energy, trains

    # Who only trains does so wherever it can: the platform of a study is where energy is read.
    platform = given.platform or (_text(origin, "platform") if reads_energy(only) else "")
    return SystemRequest(
        name,
        data_folder(given.data, trains=trains(only)),
        platform=platform or "auto",
        dataset=given.dataset or _text(origin, "dataset"),
        limit=given.limit or _whole(origin, "limit"),
        epochs=given.epochs or _whole(origin, "epochs"),
        models=given.models,
        meter=given.meter or _text(origin, "meter") or "auto",
        estimate_watts=given.estimate or _number(origin, "estimate"),
        knobs=tuple(_texts(origin, "knobs")),
        seed=_whole(origin, "seed") or 0,
        objectives=tuple(only),
        longest_seconds=given.longest or _number(origin, "longest"),
        budget_seconds=given.budget,
    )


def _check_same_training(origin: Mapping[str, Any], mine: Mapping[str, Any], *, trains: bool) -> None:
    """Errors of networks that learned otherwise must not be mixed, nor networks that words make larger."""
    from flexibo.errors import InvalidValueError
    from flexibo.systems.catalogue import find_system

    shaped_by_words = find_system(str(mine["system"])).kind != "images"
    matters = shaped_by_words or (trains and bool(origin.get("trains")))
    if matters and origin.get("training") not in (None, mine["training"]):
        raise InvalidValueError(
            f"The data or the training of {mine['system']} here ({mine['dataset']}) are not those that the study was "
            "begun with; use the same files, --dataset, --limit and --epochs, or begin another study."
        )


def _check_same_space(system: System, settings: Mapping[str, Any]) -> None:
    from flexibo.errors import InvalidValueError

    stored = {option["name"]: option for option in settings["space"]["options"]}
    here = {option["name"]: option for option in system.space.to_dict()["options"]}
    differing = [name for name in dict.fromkeys([*stored, *here]) if stored.get(name) != here.get(name)]
    if differing:
        raise InvalidValueError(
            f"This machine offers other values of {', '.join(differing[:3])} than the one that the study was begun on; "
            "measure energy on that machine or one like it, and here --only error_percent."
        )
    wanted = [objective["name"] for objective in settings["objectives"]]
    measured = [objective.name for objective in system.objectives]
    if wanted != measured:
        raise InvalidValueError(
            f"The study has the objectives {', '.join(wanted)}; this machine would measure {', '.join(measured)}."
        )


def _check_same_meter(origin: Mapping[str, Any], mine: Mapping[str, Any]) -> None:
    from flexibo.errors import InvalidValueError

    if origin.get("read_from") not in (None, "", mine["read_from"]):
        raise InvalidValueError(
            f"The energy of the study is read from {origin['read_from']}; here it would be from {mine['read_from']}. "
            "Readings of two meters must not be mixed."
        )


def _text(origin: Mapping[str, Any], key: str) -> str:
    value = origin.get(key)
    return value if isinstance(value, str) else ""


def _texts(origin: Mapping[str, Any], key: str) -> list[str]:
    value = origin.get(key)
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _whole(origin: Mapping[str, Any], key: str) -> int | None:
    value = origin.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(origin: Mapping[str, Any], key: str) -> float | None:
    value = origin.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
