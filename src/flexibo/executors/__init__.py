"""Executors: where measurements run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from flexibo.errors import InvalidValueError, unknown_name
from flexibo.executors.base import Executor, Measure, Outcome
from flexibo.executors.measure import InlineExecutor, measured

if TYPE_CHECKING:
    from flexibo.executors.dask import DaskExecutor
    from flexibo.executors.processes import ProcessExecutor
    from flexibo.executors.ray import RayExecutor
    from flexibo.executors.slurm import SlurmExecutor

__all__ = [
    "EXECUTORS",
    "JOB_ARGUMENTS",
    "DaskExecutor",
    "Executor",
    "InlineExecutor",
    "Measure",
    "Outcome",
    "ProcessExecutor",
    "RayExecutor",
    "SlurmExecutor",
    "find_executor",
    "measured",
]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of executor, imported when it is made: some need packages that are not always there."""

    module: str
    name: str  # of its class
    takes: tuple[str, ...] = ()  # which of the arguments of `find_executor`


CLUSTER = ("n", "address", "resources", "patience", "lease")
JOB_ARGUMENTS = ("job", "objectives", "folder", "start_timeout", "poll", "cluster")
"""The arguments of an executor that submits jobs, which no other has."""
EXECUTORS: Mapping[str, Kind] = MappingProxyType(
    {
        "inline": Kind("flexibo.executors.measure", "InlineExecutor"),
        "processes": Kind("flexibo.executors.processes", "ProcessExecutor", ("n", "resources", "slots")),
        "dask": Kind("flexibo.executors.dask", "DaskExecutor", CLUSTER),
        "ray": Kind("flexibo.executors.ray", "RayExecutor", CLUSTER),
        "slurm": Kind("flexibo.executors.slurm", "SlurmExecutor", ("n", "patience", *JOB_ARGUMENTS)),
    }
)


def __getattr__(name: str) -> Any:
    for kind in EXECUTORS.values():
        if kind.name == name:
            return getattr(import_module(kind.module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def find_executor(
    name: str,
    *,
    n: int | None = None,
    address: str | None = None,
    resources: Mapping[str, float] | None = None,
    slots: Mapping[str, int] | None = None,
    patience: float | None = None,
    lease: float | None = None,
    job: Mapping[str, Any] | None = None,
    objectives: Mapping[str, Mapping[str, Any]] | None = None,
    folder: str | None = None,
    start_timeout: float | None = None,
    poll: float | None = None,
    cluster: str | None = None,
) -> Executor:
    """The executor of that name; close it when it is no longer needed.

    Args:
        name: One of `EXECUTORS`.
        n: How many evaluations run at a time.
        address: Where a cluster is; without one, a local cluster is started.
        resources: The total amounts, as in ``{"GPU": 1}``.
        slots: How many evaluations of an objective may run at a time, as in ``{"energy": 1}``.
        patience: How many seconds to wait for a worker of a cluster that offers what an objective needs, or for SLURM
            to answer.
        lease: After how many seconds without a sign of life from a worker of a cluster its evaluation is given back.
        job: What every job of SLURM asks for, as in ``{"partition": "cpu"}``.
        objectives: What the jobs of an objective ask for instead, as in ``{"error": {"partition": "gpu"}}``.
        folder: Where the jobs of SLURM are kept.
        start_timeout: How many seconds a job of SLURM may wait in the queue.
        poll: How often to ask SLURM for the states of jobs, in seconds.
        cluster: ``"slurm"``, or ``"local"`` for jobs on this machine.

    >>> find_executor("inline").is_busy()
    False
    """
    given = {key: value for key, value in locals().items() if key != "name" and value is not None}
    if name not in EXECUTORS:
        raise unknown_name("executor", name, EXECUTORS)
    for argument in given:
        if argument not in EXECUTORS[name].takes:
            able = [other for other, kind in EXECUTORS.items() if argument in kind.takes]
            raise InvalidValueError(
                f"Executor {name!r} takes no {argument}; leave it out, or choose another executor: {', '.join(able)}."
            )
    executor: Executor = getattr(import_module(EXECUTORS[name].module), EXECUTORS[name].name)(**given)
    return executor
