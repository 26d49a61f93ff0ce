"""The executor that a study file names, and its arguments."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from flexibo.errors import FlexiBOError
from flexibo.executors import EXECUTORS, JOB_ARGUMENTS
from flexibo.executors.jobs import checked_options
from flexibo.studyfile._fields import Fields
from flexibo.studyfile._yaml_nodes import Node, YamlList, YamlMapping, YamlScalar
from flexibo.studyfile.mistakes import nearest

ARGUMENTS = {"workers": "n"} | {
    key: key for key in ("address", "slots", "resources", "patience", "lease", *JOB_ARGUMENTS)
}
"""The keys of an executor, and the matching arguments of `flexibo.executors.find_executor`."""
FOLDER = "flexibo-jobs"  # beside the file, where jobs are kept
EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ExecutorChoice:
    """An executor by name, with its arguments: None or empty stands for its default."""

    name: str = "inline"  # one of `flexibo.executors.EXECUTORS`
    workers: int | None = None  # how many evaluations at a time
    address: str = ""  # where a cluster is, if not on this machine
    slots: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    resources: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    patience: float | None = None  # seconds to wait for a worker that offers what an objective needs
    lease: float | None = None  # seconds without a sign of life until a worker of a cluster counts as lost
    jobs: Mapping[str, Any] = field(default_factory=lambda: EMPTY)  # arguments of an executor that submits jobs


def executor_of(fields: Fields, leads: Collection[str], folder: Path) -> ExecutorChoice:
    """The executor, for these objectives; the folder is that of the file."""
    if not fields.has("executor"):
        return ExecutorChoice()
    node = fields.table.get("executor")
    if not isinstance(node, YamlMapping):
        known = fields.one_of("executor", EXECUTORS) or "inline"
        return ExecutorChoice(known, jobs=_default_folder(known, folder))
    inner = Fields(node, fields.mistakes, " of executor")
    inner.check_keys(("name", *ARGUMENTS))
    if not inner.has("name"):
        fields.note("executor", f"executor lacks the key name; it is one of {', '.join(EXECUTORS)}.")
    name = inner.one_of("name", EXECUTORS)
    for key, argument in ARGUMENTS.items():
        if name is not None and inner.has(key) and argument not in EXECUTORS[name].takes:
            able = [other for other, kind in EXECUTORS.items() if argument in kind.takes]
            inner.note(key, f"Executor {name!r} takes no {key}; leave it out, or choose {' or '.join(able)}.")
    slots = inner.inner("slots", " of slots", "a mapping of objectives to whole numbers")
    given: dict[str, Any] = {
        "workers": inner.whole("workers", 1),
        "address": inner.text("address"),
        "slots": None if slots is None else _slots(slots, inner, leads),
        "resources": inner.amounts("resources", None, "resource"),
        "patience": inner.duration("patience"),
        "lease": inner.duration("lease"),
        "jobs": _default_folder(name, folder) | _jobs(inner, leads, folder),
    }
    return ExecutorChoice(name or "inline", **{key: value for key, value in given.items() if value is not None})


def _slots(slots: Fields, executor: Fields, leads: Collection[str]) -> dict[str, int]:
    executor.amounts("slots", leads, "objective")
    counts = {entry.key: slots.whole(entry.key, 1) for entry in slots.table.entries}
    return {name: count for name, count in counts.items() if count is not None}


def _default_folder(name: str | None, folder: Path) -> dict[str, Any]:
    """Where an executor keeps its jobs, if it has some: the same folder wherever flexibo is started."""
    return {"folder": str(folder / FOLDER)} if name is not None and "folder" in EXECUTORS[name].takes else {}


def _jobs(executor: Fields, leads: Collection[str], folder: Path) -> dict[str, Any]:
    """What an executor is told about its jobs; a relative folder is beside the file."""
    kept = executor.text("folder")
    found = {
        "job": _options(executor, "job"),
        "objectives": _by_objective(executor, leads),
        "folder": None if kept is None else str(folder / kept),
        "start_timeout": executor.duration("start_timeout"),
        "poll": executor.duration("poll"),
        "cluster": executor.one_of("cluster", ("slurm", "local")),
    }
    return {key: value for key, value in found.items() if value is not None}


def _by_objective(executor: Fields, leads: Collection[str]) -> dict[str, Any] | None:
    inner = executor.inner("objectives", " of objectives of executor", "a mapping of objectives to what jobs ask for")
    if inner is None:
        return None
    for entry in inner.table.entries:
        if entry.key not in leads:
            hint = nearest(entry.key, leads)
            inner.mistakes.add(entry.place, f"Unknown objective {entry.key!r} in objectives of executor{hint}")
    found = {entry.key: _options(inner, entry.key) for entry in inner.table.entries}
    return {name: options for name, options in found.items() if options is not None}


def _options(fields: Fields, key: str) -> dict[str, Any] | None:
    """What jobs ask for; each option that is wrong is noted at its place."""
    inner = fields.inner(key, f" of {key}", "a mapping such as {partition: gpu, time: 4h}")
    if inner is None:
        return None
    found: dict[str, Any] = {}
    for entry in inner.table.entries:
        try:
            checked_options({entry.key: _plain(entry.node)}, f"{key}{fields.of}")
        except FlexiBOError as error:
            inner.note(entry.key, str(error))
        else:
            found[entry.key] = _plain(entry.node)
    return found


def _plain(node: Node) -> Any:
    if isinstance(node, YamlScalar):
        return node.value
    return [_plain(item) for item in node.items] if isinstance(node, YamlList) else {}
