"""What ``flexibo run`` and ``flexibo resume`` do with a study."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from flexibo._internal.numbers import cost_unit, format_spent
from flexibo._internal.text import printable, printable_line
from flexibo.cli._exit_status import ExitStatus
from flexibo.cli._parse import seconds, size
from flexibo.cli._text import harmless_console

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
    """Leave with the status of an interrupted program, if it was, or of one in which an objective gave no value."""
    from flexibo.optimizer import StopKind

    if study.stop_kind is StopKind.TERMINATED:
        raise typer.Exit(ExitStatus.TERMINATED)
    if is_interrupted(study):
        raise typer.Exit(ExitStatus.INTERRUPTED)
    if complaint := failure(study):
        typer.echo(printable(complaint), err=True)
        raise typer.Exit(ExitStatus.NOTHING)


def failure(study: Study) -> str:
    """What failed so often that the study could not go on or has no front, and what to do; empty if nothing did."""
    from flexibo.optimizer.stop_reasons import failing

    history = study.history
    tried = {
        purchase.objective: history.failed_attempts[purchase.objective]
        for purchase in history.purchases
        if not all(history.count(j) for j in purchase.members)
    }
    said = [
        f"Objective {name!r} gave no value: {'its only attempt' if n == 1 else f'all {n} attempts'} failed."
        for name, n in tried.items()
        if n
    ]
    if not said and not failing(history):
        return ""
    said.append("Mend what fails and run the same command again; flexibo status shows the failures and their reasons.")
    return printable_line(" ".join(said))


def is_interrupted(study: Study) -> bool:
    """Whether Ctrl-C or SIGTERM ended the last run."""
    from flexibo.optimizer import StopKind

    return study.stop_kind in (StopKind.INTERRUPTED, StopKind.TERMINATED)


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

        from flexibo.cli._outcome import facts

        typer.echo(dumps(facts(study, url, command), indent=2))
    elif is_interrupted(study):
        typer.echo(printable(f"Go on with: {command}"))


def checked_picture(picture: Path) -> Path:
    """A place where a picture can be saved."""
    from flexibo.errors import InvalidValueError

    if picture.suffix not in (".png", ".pdf", ".svg") or picture.is_dir() or not picture.absolute().parent.is_dir():
        raise InvalidValueError(f"--out is {picture}; give a .png, .pdf or .svg file in a folder that exists.")
    return picture


def measure(
    study: Study,
    functions: Mapping[str, Measure],
    leads: Collection[str],
    place: Place,
    *,
    by_hand: Collection[str] = (),
    quiet: bool = False,
) -> None:
    """Measure these objectives until there is nothing more to ask, and show the front unless `quiet`.

    Args:
        study: The study.
        functions: What measures each objective.
        leads: The objectives that are measured here.
        place: Where and how long.
        by_hand: The objectives that are asked for and answered by hand meanwhile.
        quiet: Print nothing.
    """
    from flexibo.cli._manual import say_why
    from flexibo.cli._show import show
    from flexibo.cli._signals import terminable
    from flexibo.cli._workers import opened_executor

    idle = seconds(place.idle) if place.idle else None
    served = {*leads, *by_hand}
    others = [purchase.objective for purchase in study.history.purchases if purchase.objective not in served]
    if others and not quiet:
        typer.echo(
            printable(
                f"Measuring {', '.join(leads)}; others must measure {', '.join(others)} of study {study.name!r}, with "
                f"flexibo worker --only {','.join(others)}."
            )
        )
    with opened_executor(place, leads) as executor, terminable():
        study.run({name: functions[name] for name in leads}, executor=executor, idle=idle)
    study.close()
    say_why(study, by_hand)
    if quiet:
        return
    if is_interrupted(study):  # the front was printed on the standard error
        spent = format_spent(study.spent, study.budget, cost_unit(study.history.origin))
        counts = ", ".join(f"{study.history.count(j)} of {name}" for j, name in enumerate(study.history.names))
        typer.echo(printable(f"Stopped: {study.stopped}\nSpent {spent}; measured {counts}."))
        return
    with harmless_console() as console:
        show(study, console)
