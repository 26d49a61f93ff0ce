"""The executor that a study file names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from flexibo.executors import EXECUTORS
from flexibo.studyfile._fields import Fields
from flexibo.studyfile._yaml_nodes import YamlMapping

ARGUMENTS = {"workers": "n", "address": "address", "slots": "slots", "resources": "resources", "patience": "patience"}
"""The keys of an executor, and the matching arguments of `flexibo.executors.find_executor`."""


@dataclass(frozen=True, slots=True)
class ExecutorChoice:
    """An executor by name, with its arguments.

    Attributes:
        name: One of `flexibo.executors.EXECUTORS`.
        workers: How many evaluations at a time; None: the default of the executor.
        address: Where a cluster is; empty: on this machine.
        slots: How many evaluations of an objective at a time.
        resources: The total amounts; empty: ignored.
        patience: How long to wait for a worker that offers what an objective needs; None: the default of the executor.
    """

    name: str = "inline"
    workers: int | None = None
    address: str = ""
    slots: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    resources: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    patience: float | None = None


def executor_of(fields: Fields, leads: Collection[str]) -> ExecutorChoice:
    """The executor that the key `executor` names; errors are noted."""
    if not fields.has("executor"):
        return ExecutorChoice()
    inner = _inner(fields)
    if inner is None:
        return ExecutorChoice(fields.one_of("executor", EXECUTORS) or "inline")
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
    }
    return ExecutorChoice(name or "inline", **{key: value for key, value in given.items() if value is not None})


def _inner(fields: Fields) -> Fields | None:
    node = fields.table.get("executor")
    return Fields(node, fields.mistakes, " of executor") if isinstance(node, YamlMapping) else None


def _slots(slots: Fields, executor: Fields, leads: Collection[str]) -> dict[str, int]:
    executor.amounts("slots", leads, "objective")
    counts = {entry.key: slots.whole(entry.key, 1) for entry in slots.table.entries}
    return {name: count for name, count in counts.items() if count is not None}
