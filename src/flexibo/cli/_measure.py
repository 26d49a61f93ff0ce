"""Measuring for a study: the executor, the objectives, and the run until there is nothing more to ask."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import typer

from flexibo._internal.text import printable
from flexibo.cli._options import ExecutionOptions
from flexibo.cli._parse import parsed_seconds
from flexibo.cli._signals import terminable
from flexibo.errors import InvalidValueError, unknown_name
from flexibo.executors import EXECUTORS, Executor, Measure, find_executor
from flexibo.history import History
from flexibo.optimizer import StopKind
from flexibo.study import Study

ENERGY_SLOTS = {"energy_millijoules": 1, "estimated_energy_millijoules": 1}
"""Energy readings of one machine must not overlap: each would include the other."""
MANUAL_IDLE_SECONDS = 0.01
"""A run does not wait for people, so it ends when only manual objectives are left."""


@dataclass(frozen=True, slots=True)
class ExecutorSettings:
    """Where and for how long evaluations are measured.

    Attributes:
        executor: The name of the executor.
        workers: The number of parallel evaluations; None: the executor's default.
        address: The address of a cluster; empty: this machine.
        idle: Stop after this time without anything to do, in seconds; None: wait for other processes.
        slots: The number of parallel evaluations of each objective.
        resources: The resources of the machine or cluster; empty: not considered.
        patience: How long to wait for a worker with the resources an objective needs; None: the executor's default.
    """

    executor: str = "inline"
    workers: int | None = None
    address: str = ""
    idle: float | None = None
    slots: Mapping[str, int] = field(default_factory=dict)
    resources: Mapping[str, float] = field(default_factory=dict)
    patience: float | None = None

    def __post_init__(self) -> None:
        if self.executor not in EXECUTORS:
            raise unknown_name("executor", self.executor, EXECUTORS)
        if self.executor == "inline" and (self.workers or self.address):
            what = "--workers" if self.workers else "--address"
            raise InvalidValueError(
                f"{what} does not apply to the inline executor; give --executor processes, dask or ray."
            )


def executor_settings(given: ExecutionOptions) -> ExecutorSettings:
    """The settings that were typed."""
    idle = parsed_seconds(given.idle) if given.idle else None
    return ExecutorSettings(given.executor or "inline", given.workers, given.address, idle)


def leading_objectives(history: History, only: Collection[str]) -> list[str]:
    """The objectives to ask for so that these, or all if there are none, are measured."""
    for name in only:
        if name not in history.names:
            raise unknown_name("objective", name, history.names)
    wanted = {history.purchase_of(name) for name in only or history.names}
    return [purchase.objective for p, purchase in enumerate(history.purchases) if p in wanted]


def measure(
    study: Study,
    functions: Mapping[str, Measure],
    objectives: Collection[str],
    settings: ExecutorSettings,
    *,
    manual: Collection[str] = (),
    quiet: bool = False,
) -> None:
    """Measure these objectives until there is nothing more to ask, then close the study.

    Args:
        study: The study.
        functions: What measures each objective.
        objectives: The objectives that are measured here.
        settings: Where and for how long.
        manual: The objectives that people measure meanwhile.
        quiet: Print nothing.
    """
    measured = {*objectives, *manual}
    others = [purchase.objective for purchase in study.history.purchases if purchase.objective not in measured]
    if others and not quiet:
        typer.echo(
            printable(
                f"Measuring {', '.join(objectives)}; other processes must measure {', '.join(others)} of study "
                f"{study.name!r}, with flexibo worker --only {','.join(others)}."
            )
        )
    with _open_executor(settings, objectives) as executor, terminable():
        study.run({name: functions[name] for name in objectives}, executor=executor, idle=settings.idle)
    if manual and study.stop_kind is StopKind.IDLE:
        study.record_stop(StopKind.MANUAL, f"What is left is measured by hand: {', '.join(manual)}.")
    study.close()


@contextmanager
def _open_executor(settings: ExecutorSettings, objectives: Collection[str]) -> Iterator[Executor]:
    slots = {**ENERGY_SLOTS, **settings.slots} if settings.executor == "processes" else {}
    executor = find_executor(
        settings.executor,
        n=settings.workers,
        address=settings.address or None,
        slots={name: n for name, n in slots.items() if name in objectives} if slots else None,
        resources=settings.resources or None,
        patience=settings.patience,
    )
    try:
        yield executor
    finally:
        executor.close()


def is_interrupted(study: Study) -> bool:
    """Whether Ctrl-C or SIGTERM ended the last run."""
    return study.stop_kind in (StopKind.INTERRUPTED, StopKind.TERMINATED)
