"""Measuring for a study: its budget, the executor, the objectives, and the run until there is nothing more to ask."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import typer

from flexibo._internal.numbers import format_budget, format_spent
from flexibo._internal.text import printable, printable_line
from flexibo.cli._advice import StudyPlace
from flexibo.cli._detail import Detail
from flexibo.cli._logs import failures_logged_once, waiting_said
from flexibo.cli._options import ExecutionOptions, StudyOptions
from flexibo.cli._progress_lines import ProgressLines
from flexibo.cli._signals import terminable
from flexibo.cli._storage import is_stored
from flexibo.cli._text import counted
from flexibo.errors import InvalidValueError, unknown_name
from flexibo.executors import EXECUTORS, Executor, Measure, find_executor
from flexibo.history import History
from flexibo.history.measurements import QueuedDesign
from flexibo.optimizer import StopKind
from flexibo.study import Study
from flexibo.studyfile import ExecutorChoice
from flexibo.transfer import study_copy

ENERGY_SLOTS = {"energy_millijoules": 1, "estimated_energy_millijoules": 1}
"""Energy readings of one machine must not overlap: each would include the other."""
MANUAL_IDLE_SECONDS = 0.01  # a run does not wait for people, so it ends when only manual objectives are left


@dataclass(frozen=True, slots=True)
class Confirming:
    """What ``flexibo confirm`` was asked for: the arguments of `Study.confirm`."""

    rows: tuple[int, ...] | None
    budget: float | None
    readings: int


def chosen_executor(given: ExecutionOptions, written: ExecutorChoice) -> ExecutorChoice:
    """Where evaluations are measured: as typed, else as written in a file, as far as the executor accepts it."""
    name = given.executor or written.name
    if name not in EXECUTORS:
        raise unknown_name("executor", name, EXECUTORS)
    if name == "inline" and (given.workers or given.address):
        what = "--workers" if given.workers else "--address"
        raise InvalidValueError(
            f"{what} does not apply to the inline executor; give --executor processes, dask, ray or slurm."
        )
    takes = EXECUTORS[name].takes
    return ExecutorChoice(
        name,
        given.workers or (written.workers if "n" in takes else None),
        given.address or (written.address if "address" in takes else ""),
        slots=written.slots if "slots" in takes else {},
        resources=written.resources if "resources" in takes else {},
        patience=written.patience if "patience" in takes else None,
        lease=written.lease if "lease" in takes else None,
        jobs={argument: value for argument, value in written.jobs.items() if argument in takes},
    )


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
    chosen: ExecutorChoice,
    place: StudyPlace,
    *,
    idle: float | None,  # how long to wait for other processes; None: for ever
    manual: Collection[str] = (),  # what people measure meanwhile
    confirming: Confirming | None = None,
    detail: Detail = Detail.USUAL,
    first: Callable[[Executor, Mapping[str, Measure]], bool] | None = None,
) -> tuple[QueuedDesign, ...]:
    """Measure these objectives until there is nothing more to ask here, then close the study.

    If `confirming`, only what promising designs lack, and the rest of the queue; returns what was queued for that.
    What is done `first` says whether anything else is measured.
    """
    measured = {*objectives, *manual}
    others = [purchase.objective for purchase in study.history.purchases if purchase.objective not in measured]
    if others and detail is not Detail.QUIET:
        typer.echo(
            printable(
                f"Measuring {', '.join(objectives)}; other processes must measure {', '.join(others)} of study "
                f"{study.name!r}, with: {place.measuring('worker', options={'--only': ','.join(others)})}"
            )
        )
    with closing(_open_executor(chosen, objectives)) as opened, terminable(), waiting_said(_say_waiting):
        mine = {name: functions[name] for name in objectives}
        queued: tuple[QueuedDesign, ...] = ()
        if first is None or first(opened, mine):
            queued = _run(study, mine, opened, detail, idle=idle, confirming=confirming)
    if manual and study.stop_kind is StopKind.IDLE:
        study.record_stop(StopKind.MANUAL, f"What is left is measured by hand: {', '.join(manual)}.")
    study.close()
    return queued


def _run(
    study: Study,
    functions: Mapping[str, Measure],
    executor: Executor,
    detail: Detail,
    *,
    idle: float | None,
    confirming: Confirming | None,
) -> tuple[QueuedDesign, ...]:
    """Measure, with a bar in a terminal, lines elsewhere or on demand, or nothing."""
    has_lines = detail is Detail.VERBOSE or (detail is Detail.USUAL and not sys.stderr.isatty())
    progress = False if has_lines or detail is Detail.QUIET else None
    told: Executor = ProgressLines(executor, study, detail) if has_lines else executor
    with failures_logged_once() if has_lines else nullcontext():
        if confirming is not None:
            return study.confirm(functions, executor=told, progress=progress, idle=idle, **asdict(confirming))
        study.run(functions, executor=told, progress=progress, idle=idle, raise_first=False)
        return ()


def _say_waiting(text: str) -> None:
    typer.echo(printable_line(text), err=True)


def _open_executor(chosen: ExecutorChoice, objectives: Collection[str]) -> Executor:
    slots = {**ENERGY_SLOTS, **chosen.slots} if chosen.name == "processes" else {}
    return find_executor(
        chosen.name,
        n=chosen.workers,
        address=chosen.address or None,
        slots={name: n for name, n in slots.items() if name in objectives} if slots else None,
        resources=chosen.resources or None,
        patience=chosen.patience,
        lease=chosen.lease,
        **_jobs_of(chosen, objectives),
    )


def _jobs_of(chosen: ExecutorChoice, objectives: Collection[str]) -> dict[str, Any]:
    """What an executor is told about its jobs, without objectives that are not measured here."""
    special = {name: options for name, options in chosen.jobs.get("objectives", {}).items() if name in objectives}
    return {**chosen.jobs, "objectives": special} if "objectives" in chosen.jobs else dict(chosen.jobs)


def is_interrupted(study: Study) -> bool:
    return study.stop_kind in (StopKind.INTERRUPTED, StopKind.TERMINATED)


def opening_budget(url: str, name: str, typed: float) -> float:
    """The budget to open a study with: the typed one, or a larger stored one, which is lowered afterwards."""
    stored = study_copy(url, name).study.budget if is_stored(url, name) else None
    return typed if stored is None else max(typed, stored)


def set_budget(study: Study, given: StudyOptions, *, quiet: bool) -> None:
    """Set the budget of a study to what was typed, and say so if that lowers it or it is spent already."""
    typed, before, unit = given.budget_seconds, study.budget, study.history.cost_unit
    if typed is None:
        return
    if before != typed:
        study.budget = typed
    lines = []
    if before is None or typed < before:
        stored = "There was no budget" if before is None else f"The budget was {format_budget(before, unit)}"
        lines.append(f"{stored}; it is {format_budget(typed, unit)} now.")
    if study.spent >= typed:
        lines.append(f"It is spent already ({format_spent(study.spent, typed, unit)}), so nothing is measured.")
    if lines and not quiet:
        typer.echo(printable_line(" ".join(lines)))


def add_stop_rules(study: Study, given: StudyOptions, *, quiet: bool) -> None:
    """Add the stop rules that were typed, and say so if that lowers a limit, or if it is reached already."""
    if not given.stop_rules:
        return
    before, asked = study.stop, len(study.history.asked)
    study.stop = {**before, **given.stop_rules}
    say_limit(before.get("max_evaluations"), given.stop_rules.get("max_evaluations"), asked, quiet=quiet)


def stored_limit(url: str, name: str) -> float | None:
    """How many evaluations a stored study may ask; None if it is not stored, or has no limit."""
    stored = study_copy(url, name).study.history.stop if is_stored(url, name) else None
    return (stored or {}).get("max_evaluations")


def say_limit(before: float | None, now: float | None, asked: int, *, quiet: bool) -> None:
    """Say that a limit of evaluations is lower than before, or that it is reached already."""
    lines = []
    if now is not None and before is not None and now < before:
        lines.append(f"max_evaluations was {before:g}; it is {now:g} now.")
    if now is not None and asked >= now:
        lines.append(
            f"{counted(asked, 'evaluation')} {'was' if asked == 1 else 'were'} asked already, so only what is "
            "queued is measured."
        )
    if lines and not quiet:
        typer.echo(" ".join(lines))
