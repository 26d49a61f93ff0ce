"""What a job asks SLURM for: partition, time, memory, CPUs, GPUs and so on, per objective."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from flexibo._internal.checks import checked_flag, whole_number
from flexibo._internal.durations import seconds_or_same
from flexibo.errors import InvalidTypeError, InvalidValueError, unknown_name
from flexibo.objectives import Objective

JobOptions: TypeAlias = Mapping[str, Any]
"""Options of a job by name, checked: texts, ``cpus`` and ``gpus``, ``time`` in seconds, ``memory`` in megabytes."""

TEXTS = ("partition", "account", "qos", "constraint", "nodelist", "exclude", "reservation", "licenses", "gres")
"""The options that are texts, named as for sbatch."""
RESOURCES = {"CPU": "cpus", "GPU": "gpus"}
"""Resources of an objective, and the options that ask for them."""
OPTIONS = (*TEXTS, "cpus", "gpus", "memory", "time", "exclusive", "setup")
LOAD_SECONDS = 300.0  # how long a job may take, beside its objective's timeout, to start and to import
MEGABYTES = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2}
_MEMORY = re.compile(r"(?P<number>\d+(\.\d+)?) ?(?P<unit>[KMGT])(i?B)?", re.IGNORECASE)


def checked_options(given: object, where: str) -> dict[str, Any]:
    """Options of a job as users write them, checked; an error names the first that cannot be used.

    >>> checked_options({"partition": "gpu", "time": "4h", "memory": "16GB"}, "job")
    {'partition': 'gpu', 'time': 14400.0, 'memory': 16384}
    """
    if not isinstance(given, Mapping):
        raise InvalidTypeError(
            f"{where} is {given!r}; give options by name, such as {{'partition': 'gpu', 'time': '4h'}}.", argument=where
        )
    for name in given:
        if name not in OPTIONS:
            raise unknown_name(f"option in {where}:", str(name), OPTIONS)
    return {name: _checked(name, value, f"{name} in {where}") for name, value in given.items() if value is not None}


def checked_by_objective(given: object, where: str) -> dict[str, dict[str, Any]]:
    """Options of jobs by objective, checked."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise InvalidTypeError(
            f"{where} is {given!r}; give options by objective, such as {{'error': {{'partition': 'gpu'}}}}.",
            argument=where,
        )
    return {name: checked_options(options, f"{where}[{name!r}]") for name, options in given.items()}


def options_of(objective: Objective, common: JobOptions, special: Mapping[str, JobOptions]) -> dict[str, Any]:
    """What a job of the objective asks for: the common options, its resources, and its own options, which win.

    >>> options_of(Objective("error", resources={"GPU": 1, "jetson": 2}), {"cpus": 2}, {"error": {"time": 60.0}})
    {'cpus': 2, 'gpus': 1, 'gres': 'jetson:2', 'time': 60.0}
    """
    found = {**common, **_of_resources(objective), **special.get(objective.name, {})}
    if objective.timeout is not None:
        found.setdefault("time", objective.timeout + LOAD_SECONDS)
    return found


def to_submitit(options: JobOptions) -> dict[str, Any]:
    """The options as parameters of submitit; SLURM counts time in minutes.

    >>> to_submitit({"time": 90.0, "memory": 500, "gpus": "a100:2"})["time"]
    2
    """
    more = {name: options[name] for name in ("reservation", "licenses") if name in options}
    found = {name: options[name] for name in TEXTS if name in options and name not in more}
    names = {"cpus": "cpus_per_task", "gpus": "gpus_per_node", "exclusive": "exclusive"}
    found |= {names[name]: options[name] for name in names if options.get(name)}
    found["time"] = math.ceil(options["time"] / 60) if "time" in options else None  # submitit would ask for 5 minutes
    if "memory" in options:
        found["mem"] = f"{options['memory']}M"
    found["setup"] = list(options.get("setup", ()))
    return found | {"additional_parameters": more}


def _of_resources(objective: Objective) -> dict[str, Any]:
    """The options for the resources of an objective: any beside CPU and GPU are generic ones of the cluster."""
    for name, amount in objective.resources.items():
        if amount != int(amount):
            raise InvalidValueError(
                f"Objective {objective.name!r} needs {amount:g} of {name!r}; SLURM counts whole ones; give 1 or more."
            )
    counts = {name: int(amount) for name, amount in objective.resources.items() if amount}
    found: dict[str, Any] = {option: counts.pop(name) for name, option in RESOURCES.items() if name in counts}
    return found | ({"gres": ",".join(f"{name}:{count}" for name, count in counts.items())} if counts else {})


def _checked(name: str, value: Any, what: str) -> Any:
    if name in TEXTS:
        return _line(value, what)
    if name == "cpus":
        return whole_number(what, value, least=1)
    if name == "gpus":  # a count, or with a kind as in a100:2
        return _line(value, what) if isinstance(value, str) else whole_number(what, value, least=1)
    if name == "exclusive":
        return checked_flag(what, value)
    if name == "memory":
        return _megabytes(value, what)
    if name == "time":
        seconds = seconds_or_same(value)
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
            raise InvalidValueError(f"{what} is {value!r}; give a duration such as '30m' or '4h'.")
        return float(seconds)
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(line, str) for line in value):
        raise InvalidTypeError(f"{what} is {value!r}; give a list of shell commands, such as ['module load cuda'].")
    return tuple(value)


def _line(value: object, what: str) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise InvalidValueError(f"{what} is {value!r}; give a text of one line.")
    return value


def _megabytes(value: object, what: str) -> int:
    match = _MEMORY.fullmatch(value.strip()) if isinstance(value, str) else None
    megabytes = 0 if match is None else math.ceil(float(match["number"]) * MEGABYTES[match["unit"].upper()])
    if not megabytes:
        raise InvalidValueError(f"{what} is {value!r}; give an amount with its unit, such as '16GB' or '500MB'.")
    return megabytes
