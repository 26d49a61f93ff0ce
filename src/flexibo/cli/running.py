"""What ``flexibo run`` and ``flexibo resume`` do with a study."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from flexibo.cli.screen import harmless_console
from flexibo.cli.words import seconds, size
from flexibo.words import harmless

if TYPE_CHECKING:
    from flexibo.executors import Measure
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
        slots: How many evaluations of an objective at a time.
        resources: What there is in all; empty: not looked at.
        patience: How long to wait for a worker that offers what an objective needs; None: what the executor likes.
    """

    executor: str = "inline"
    workers: int | None = None
    address: str = ""
    idle: str = ""
    slots: Mapping[str, int] = field(default_factory=dict)
    resources: Mapping[str, float] = field(default_factory=dict)
    patience: float | None = None

    def __post_init__(self) -> None:
        from flexibo.errors import unknown_name
        from flexibo.executors import EXECUTORS

        if self.executor not in EXECUTORS:
            raise unknown_name("executor", self.executor, EXECUTORS)
        if self.idle:
            seconds(self.idle)


def end(study: Study) -> None:
    """Leave with the status of an interrupted program, if it was."""
    if is_interrupted(study):
        raise typer.Exit(130)


def is_interrupted(study: Study) -> bool:
    """Whether Ctrl-C or SIGTERM ended the last run."""
    return study.stopped.startswith("Interrupted")


def report(study: Study, url: str, command: str, *, json: bool) -> None:
    """Print the outcome as JSON, or how to go on with a study that was interrupted.

    Args:
        study: The study after it ran.
        url: Where it is kept.
        command: What goes on with it.
        json: Print JSON.
    """
    if json:
        from json import dumps

        from flexibo.cli.going_on import facts

        typer.echo(dumps(facts(study, url, command), indent=2))
    elif is_interrupted(study):
        typer.echo(harmless(f"Go on with: {command}"))


def checked_picture(picture: Path) -> Path:
    """A place where a picture can be saved."""
    from flexibo.errors import InvalidValueError

    if picture.suffix not in (".png", ".pdf", ".svg") or picture.is_dir() or not picture.absolute().parent.is_dir():
        raise InvalidValueError(f"--out is {picture}; give a .png, .pdf or .svg file in a folder that exists.")
    return picture


def measure(
    study: Study, functions: Mapping[str, Measure], leads: Collection[str], place: Place, *, quiet: bool = False
) -> None:
    """Measure these objectives until there is nothing more to ask, and show the front unless `quiet`."""
    from flexibo.cli.showing import show
    from flexibo.cli.stopping import terminable
    from flexibo.cli.working import opened_executor

    idle = seconds(place.idle) if place.idle else None
    others = [purchase.objective for purchase in study.history.purchases if purchase.objective not in leads]
    if others and not quiet:
        typer.echo(
            harmless(
                f"Measuring {', '.join(leads)}; others must measure {', '.join(others)} of study {study.name!r}, with "
                f"flexibo worker --only {','.join(others)}."
            )
        )
    with opened_executor(place, leads) as executor, terminable():
        study.run({name: functions[name] for name in leads}, executor=executor, idle=idle)
    study.close()
    if quiet:
        return
    if is_interrupted(study):  # the front was printed on the standard error
        budget = "" if study.budget is None else f" of {study.budget:.4g}"
        counts = ", ".join(f"{study.history.count(j)} of {name}" for j, name in enumerate(study.history.names))
        typer.echo(harmless(f"Stopped: {study.stopped}\nSpent {study.spent:.4g}{budget}; measured {counts}."))
        return
    with harmless_console() as console:
        show(study, console)
