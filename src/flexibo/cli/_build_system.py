"""Systems as typed, or as a stored study describes them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from flexibo.cli._options import SystemOptions, spelled
from flexibo.compare.problems.recorded_systems import recorded_system
from flexibo.errors import InvalidValueError, unknown_name
from flexibo.hardware import MeterError
from flexibo.hardware.knobs import NvidiaGpus, nvidia_knobs
from flexibo.results.chance import CHANCE, chance_level
from flexibo.space import Designs
from flexibo.study import Study
from flexibo.systems.base import System
from flexibo.systems.build import SystemRequest, build_runner, shape_of
from flexibo.systems.dnn import BESIDE, ERROR, dnn_system, reads_energy, trains
from flexibo.systems.network_runner import PRECISION
from flexibo.systems.platforms import find_platform

Value = TypeVar("Value", str, int, float, list)  # type: ignore[type-arg]  # JSON says no more
IN_PRECISION = "error_in_precision"  # stored if errors are those of the deployed precision, as since version 0.2


@dataclass(frozen=True, slots=True)
class BuiltSystem:
    """A system, and what is stored to build it again: no paths, which belong to each machine, and no secrets."""

    system: System
    origin: Mapping[str, Any]


def recorded_table(
    name: str, beside: Collection[str] = (), *, as_trained: bool = False, study: Study | None = None
) -> BuiltSystem:
    """The system of a recorded table; `as_trained` if its errors are not those of the deployed precision.

    What a `study` has trained is not charged again.
    """
    system = recorded_system(name, beside=beside, as_trained=as_trained)
    if study is not None:
        _check_same_table(study, system)
        system = recorded_system(name, beside=beside, as_trained=as_trained, trained=trained_designs(study))
    origin: dict[str, Any] = {"system": system.name, "recorded": True}  # the table: a system may get a second one
    if any(objective.name == ERROR and PRECISION in (objective.options or ()) for objective in system.objectives):
        origin[IN_PRECISION] = True
    if beside:
        origin["and"] = list(beside)
    if system.chance is not None:
        origin[CHANCE] = chance_level(ERROR, *system.chance)
    return BuiltSystem(system, origin)


def trained_designs(study: Study) -> Designs:
    """The designs of a study whose error was measured."""
    (j,) = (j for j, objective in enumerate(study.history.objectives) if objective.name == ERROR)
    return study.history.data(j)[0]


def _check_same_table(study: Study, system: System) -> None:
    """Refuse a table that is not the one that a study was begun with: its values belong to other measurements."""
    offered, history = system.space.to_dict(), study.history
    is_another = history.space.to_dict() != offered
    for j, objective in enumerate(history.objectives):
        if objective.name in system.functions and not is_another:
            designs, losses = history.data(j)
            told = [objective.value(loss) for loss in losses.tolist()]
            here = [_replayed(system, objective.name, design) for design in designs]
            # Not any of them: a person may have told a value.
            is_another = 2 * sum(map(math.isclose, told, here)) < len(told)
    if is_another:
        raise InvalidValueError(
            f"The study {study.name!r} was begun with another version of the table {system.name}, and its values are "
            "not those of this one; continue it with the version of flexibo that began it, or start another study: "
            "give it another name."
        )


def _replayed(system: System, name: str, design: Mapping[str, Any]) -> float:
    """The value of an objective in a table."""
    answer: Any = system.functions[name](design)
    value = answer[0]
    return float(value[name] if isinstance(value, Mapping) else value)


def demo_system() -> BuiltSystem:
    """The network that ``flexibo demo`` tunes."""
    from flexibo.systems.digits import digits_system

    system = digits_system()
    return BuiltSystem(system, {"system": system.name, "demo": True})


def system_request(
    name: str,
    options: SystemOptions,
    only: Collection[str],
    *,
    seed: int = 0,
    budget: float | None,
    origin: Mapping[str, Any] = MappingProxyType({}),
) -> SystemRequest:
    """What was typed about a system, else what is stored of it, else defaults."""
    # A machine that only trains does so wherever it can: the platform of a study is where energy is measured.
    platform = options.platform or (_stored(origin, "platform", str) if reads_energy(only) else "")
    return SystemRequest(
        name,
        options.data_folder(trains=trains(only), is_recorded=not origin),
        platform=platform or "auto",
        dataset=options.dataset or _stored(origin, "dataset", str) or "",
        limit=options.limit or _stored(origin, "limit", int),
        epochs=options.epochs or _stored(origin, "epochs", int),
        size=options.size or _stored(origin, "size", str) or "",
        encoder=options.encoder,
        augment=options.augment or bool(origin.get("augment")),
        models=options.models,
        meter=options.meter or _stored(origin, "meter", str) or "auto",
        estimate_watts=options.estimate or _number(origin, "estimate"),
        knobs=options.knobs or tuple(_texts(origin, "knobs")),
        allow_gpu=options.allow_gpu,
        cool_celsius=options.cool,
        seed=_stored(origin, "seed", int) or seed,
        objectives=tuple(only),
        longest_seconds=options.longest_seconds or _number(origin, "longest"),
        budget_seconds=budget,
    )


def build_system(
    request: SystemRequest, beside: Collection[str] = (), *, as_trained: bool = False, file: str = ""
) -> BuiltSystem:
    """The system of a request; `as_trained` if its errors are not those of the deployed precision.

    Advice names the keys of a study `file` if there is one, else options.
    """
    if reads_energy(request.objectives):
        _check_knobs(request, file)
    try:
        runner = build_runner(request)
    except MeterError as error:
        raise MeterError(
            f"{error} Without a meter, energy can only be estimated ({spelled('estimate', 'WATTS', file)}), or "
            "measured elsewhere (--only error_percent)."
        ) from None
    system = dnn_system(runner, beside=beside, only=request.objectives, as_trained=as_trained)
    origin = {
        "system": request.system,
        "dataset": runner.task.data.name,
        "limit": request.limit,
        "epochs": request.epochs,
        "size": request.size,
        "augment": request.augment,
        "seed": request.seed,
        "longest": request.longest_seconds,
        "platform": runner.platform.name,
        "meter": request.meter,
        "estimate": request.estimate_watts,
        "knobs": [knob.name for knob in runner.knobs],
        "and": list(beside),
        "training": runner.task.fingerprint,
        "shape": shape_of(runner),
        "trains": trains(request.objectives),
        "read_from": runner.meter.name if reads_energy(request.objectives) else "",
    }
    origin[CHANCE] = chance_level(ERROR, runner.task.chance_percent, len(runner.task.data.test))
    if not as_trained:
        origin[IN_PRECISION] = True
    return BuiltSystem(system, origin)


def _check_knobs(request: SystemRequest, file: str) -> None:
    """Raise an error for a knob that the platform does not have, with those that it has."""
    if not request.knobs or request.knobs == ("all",):
        return
    platform = find_platform(request.platform, allow_clocks=request.allow_gpu)
    offered = [knob.name for knob in platform.knobs()]
    of_gpus = [knob.name for knob in nvidia_knobs(NvidiaGpus())]
    for name in request.knobs:
        if name in offered:
            continue
        if name not in of_gpus and offered:
            raise unknown_name(f"knob of {platform.name}", name, offered)
        if name not in of_gpus:
            key = "knobs" if file else "--knobs"
            raise InvalidValueError(f"Platform {platform.name} has no knobs here; {name!r} given. Leave {key} out.")
        allow = spelled("allow_gpu", "true", file)
        if platform.name == "nvidia-gpu":
            raise InvalidValueError(f"Knob {name!r} sets clocks or power of the GPU; add {allow} to allow that.")
        how = f"platform: nvidia-gpu and {allow}" if file else f"--platform nvidia-gpu {allow}"
        raise InvalidValueError(
            f"Knob {name!r} is of NVIDIA GPUs ({how}), and the networks run on {platform.name}, which has the knobs "
            f"{', '.join(sorted(offered))}."
        )


def rebuild_system(
    study: Study, options: SystemOptions, only: Collection[str], *, system: str = "", budget: float | None
) -> BuiltSystem:
    """The system of a stored study, or the one that was typed, as far as `only` these objectives are measured here."""
    origin = study.history.origin
    name = system or str(origin.get("system", ""))
    if origin.get("system") not in (None, name):
        raise InvalidValueError(f"The study is of system {origin['system']!r}; {name!r} given. Leave --system out.")
    if origin.get("recorded"):
        return recorded_table(name, tuple(_texts(origin, "and")), as_trained=not origin.get(IN_PRECISION), study=study)
    if origin.get("demo"):
        found = demo_system()
        _check_same_space(found.system, study.settings.to_dict())
        return found
    request = system_request(name, options, only, budget=budget, origin=origin)
    found = build_system(request, tuple(_texts(origin, "and")), as_trained=not origin.get(IN_PRECISION))
    _check_same_measures(study, found, only)
    return found


def check_same_system(study: Study, found: BuiltSystem, only: Collection[str], *, file: str = "") -> None:
    """Raise an error if a stored study is of another system, or of what is measured otherwise, as far as `only`.

    Advice names the keys of a study `file` if there is one, else options.
    """
    origin, mine = study.history.origin, found.origin
    if (origin.get("system"), bool(origin.get("recorded"))) != (mine["system"], bool(mine.get("recorded"))):
        stored = _what(origin) if origin.get("system") else "of no system"
        raise InvalidValueError(
            f"The stored study {study.name!r} is {stored}; this is {_what(mine)}. Start another study: give it another "
            "name."
        )
    if mine.get("recorded"):
        _check_same_space(found.system, study.settings.to_dict(), file)
        return
    if reads_energy(only) and origin.get("platform") not in (None, mine["platform"]):
        raise InvalidValueError(
            f"The energy of study {study.name!r} is measured on {origin['platform']}; here it would be "
            f"{mine['platform']}. Measure it where it was begun, or start another study: give it another name."
        )
    _check_same_measures(study, found, only, file)


def _what(origin: Mapping[str, Any]) -> str:
    return f"of the {'recorded table' if origin.get('recorded') else 'system'} {origin.get('system')}"


def _check_same_measures(study: Study, found: BuiltSystem, only: Collection[str], file: str = "") -> None:
    origin = study.history.origin
    _check_same_training(origin, found.origin, trains=trains(only), file=file)
    if reads_energy(only):
        _check_same_space(found.system, study.settings.to_dict(), file)
        _check_same_meter(origin, found.origin)


def _check_same_training(origin: Mapping[str, Any], mine: Mapping[str, Any], *, trains: bool, file: str) -> None:
    """Refuse other training data: errors would not be comparable, and a vocabulary changes the size of a network.

    A machine that only measures energy loads a part of the data: what it shares with others is the network.
    """
    common = "training" if trains and origin.get("trains") else "shape"
    if origin.get(common) not in (None, mine[common]):
        mark = "" if file else "--"
        *names, last = (f"{mark}{name}" for name in ("dataset", "limit", "epochs", "size", "encoder", "augment"))
        raise InvalidValueError(
            f"The data or the training of {mine['system']} here ({mine['dataset']}) are not those that the study was "
            f"started with; use the same files, {', '.join(names)} and {last}{f' in {file}' * bool(file)}, or start "
            f"another study, with another {mark}name."
        )


def _check_same_space(system: System, settings: Mapping[str, Any], file: str = "") -> None:
    stored = {option["name"]: option for option in settings["space"]["options"]}
    here = {option["name"]: option for option in system.space.to_dict()["options"]}
    differing = [name for name in dict.fromkeys([*stored, *here]) if stored.get(name) != here.get(name)]
    if differing:
        raise InvalidValueError(
            f"This machine offers other values of {', '.join(differing[:3])} than the one the study was started on; "
            "measure energy on that machine or one like it, and here --only error_percent."
        )
    wanted = [objective["name"] for objective in settings["objectives"]]
    measured = [objective.name for objective in system.objectives]
    if wanted != measured:
        raise InvalidValueError(
            f"The study has the objectives {', '.join(wanted)}; this machine would measure {', '.join(measured)}."
            f"{_same_objectives(wanted, file)}"
        )


def _same_objectives(wanted: Sequence[str], file: str) -> str:
    """What to do to measure the objectives of a study; empty if others than those `and` names differ."""
    extra = [name for name in wanted if name in BESIDE]
    listed = f"[{', '.join(extra)}]" if file else ",".join(extra)
    if extra:
        return f" Give {spelled('and', listed, file)}, or start another study: give it another name."
    return f" Leave {'and' if file else '--and'} out, or start another study: give it another name."


def _check_same_meter(origin: Mapping[str, Any], mine: Mapping[str, Any]) -> None:
    if origin.get("read_from") not in (None, "", mine["read_from"]):
        raise InvalidValueError(
            f"The energy of the study is measured with {origin['read_from']}; here it would be {mine['read_from']}. "
            "Measurements of two meters must not be mixed."
        )


def stored_number(origin: Mapping[str, Any], key: str) -> int | None:
    """A stored whole number; None if it is missing, or no such number."""
    return _stored(origin, key, int)


def stored_texts(origin: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The texts of a stored list, without anything else that is in it."""
    return tuple(_texts(origin, key))


def _stored(origin: Mapping[str, Any], key: str, kind: type[Value]) -> Value | None:
    """A stored value of this type; None if it is missing or of another type, for others may have written it."""
    value = origin.get(key)
    return value if isinstance(value, kind) and not isinstance(value, bool) else None


def _texts(origin: Mapping[str, Any], key: str) -> list[str]:
    return [one for one in _stored(origin, key, list) or [] if isinstance(one, str)]


def _number(origin: Mapping[str, Any], key: str) -> float | None:
    value = _stored(origin, key, int) or _stored(origin, key, float)
    return None if value is None else float(value)
