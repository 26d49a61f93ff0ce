"""What ``flexibo run`` and ``flexibo resume`` do with a study."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from flexibo.cli.screen import harmless_console
from flexibo.cli.words import seconds, size
from flexibo.words import harmless

if TYPE_CHECKING:
    from flexibo.study import Study
    from flexibo.systems.base import System


def introduce(system: System) -> None:
    """Say what is measured, and how."""
    from rich.console import Console

    console = Console()
    console.print(
        f"[bold]{system.name}[/]: {len(system.space.names)} options, {size(system.space.size)} designs.",
        highlight=False,
    )
    for note in system.notes:
        console.print(note, highlight=False, markup=False)


@dataclass(frozen=True, slots=True)
class Place:
    """Where and how long evaluations are measured.

    Attributes:
        executor: The name of the executor.
        workers: How many evaluations at a time; None: what the executor likes.
        address: Where a cluster is; empty: on this machine.
        idle: Stop after so long without anything to do; empty: wait for others.
    """

    executor: str = "inline"
    workers: int | None = None
    address: str = ""
    idle: str = ""

    def __post_init__(self) -> None:
        from flexibo.errors import unknown_name
        from flexibo.executors import EXECUTORS

        if self.executor not in EXECUTORS:
            raise unknown_name("executor", self.executor, EXECUTORS)
        if self.idle:
            seconds(self.idle)


def end(study: Study) -> None:
    """Leave with the status of an interrupted program, if it was."""
    if study.stopped.startswith("Interrupted"):
        raise typer.Exit(130)


def measure(study: Study, system: System, leads: Collection[str], place: Place) -> None:
    """Measure these objectives until there is nothing more to ask, and show the front."""
    from flexibo.cli.showing import show
    from flexibo.cli.stopping import terminable
    from flexibo.cli.working import opened_executor

    idle = seconds(place.idle) if place.idle else None
    others = [purchase.objective for purchase in study.history.purchases if purchase.objective not in leads]
    if others:
        typer.echo(
            harmless(
                f"Measuring {', '.join(leads)}; others must measure {', '.join(others)} of study {study.name!r}, with "
                f"flexibo worker --only {','.join(others)}."
            )
        )
    with opened_executor(place.executor, place.workers, place.address, leads) as executor, terminable():
        study.run({name: system.functions[name] for name in leads}, executor=executor, idle=idle)
    study.close()
    with harmless_console() as console:
        show(study, console)
