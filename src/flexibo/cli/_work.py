"""What ``flexibo worker`` does: choose its objectives and functions, measure, and print a line for each evaluation."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from flexibo.cli._advice import StudyPlace
from flexibo.cli._build_system import rebuild_system
from flexibo.cli._logs import failures_logged_once, logger, logs_json_lines, waiting_said
from flexibo.cli._measure import leading_objectives
from flexibo.cli._options import StudyOptions, SystemOptions
from flexibo.cli._progress_lines import step_text
from flexibo.cli._run_file import join_study, note_change, note_folder
from flexibo.cli._signals import StopRequest, stop_requests
from flexibo.cli._storage import is_stored, load_study, storage_url
from flexibo.cli._system_file import chosen_storage
from flexibo.cli._text import counted, design_line, squeezed
from flexibo.errors import InvalidValueError
from flexibo.executors import InlineExecutor, Measure, Outcome
from flexibo.history import History
from flexibo.history.events import Evaluation
from flexibo.objectives import Objective
from flexibo.study import Study
from flexibo.study.stored import stored_study
from flexibo.studyfile import StudyFile, read_any_file
from flexibo.studyfile.functions import imported

POLL_SECONDS = 1.0  # how often to look for a study that does not exist yet


def find_study(
    given: StudyOptions,
    file: Path | None,
    system: SystemOptions,
    only: Collection[str],
    *,
    needs_file: bool,
    lease: float,
    patience: float,
) -> tuple[Study, StudyFile | None, StudyPlace]:
    """The study to work for, waited for if necessary, its study file if that measures, and how commands name it.

    A system that the file names is built with these options, to measure only these objectives.
    """
    url, name = storage_url(given.storage) if file is None else "", given.name
    if file is not None:
        read = read_any_file(file)
        url, name = chosen_storage(read, given), name or read.name
    name = _await_study(url, name, patience)
    place = replace(given, storage=url, name=name, is_storage_typed=True)
    if needs_file and (joined := join_study(place, file, system, only)):
        study, found, _ = joined
        if change := note_change(study, found):
            say(change)
        if file is None and (elsewhere := note_folder(found, url)):
            say(elsewhere)
        return study, found, StudyPlace(url, name)
    return load_study(url, name, lease=lease, checkpoints=given.checkpoints), None, StudyPlace(url, name)


def chosen_objectives(
    study: Study, only: Collection[str], resources: Mapping[str, float], file: StudyFile | None, place: StudyPlace
) -> list[str]:
    """The objectives that are measured here; says why the others are not."""
    mine, reasons = measurable_objectives(study.history, leading_objectives(study.history, only), resources)
    manual = [name for name in mine if file is not None and name in file.by_hand]
    mine = [name for name in mine if name not in manual]
    for reason in reasons:
        say(reason)
    for name in manual:
        say(f"{name} is measured by hand: {place.command('ask', options={'--only': name})}")
    if not mine:
        raise InvalidValueError(f"Study {study.name!r} has nothing to measure here; see --only and --resources.")
    return mine


def measurable_objectives(
    history: History, objectives: Collection[str], resources: Mapping[str, float]
) -> tuple[list[str], list[str]]:
    """The objectives that a worker with these resources can measure, and a sentence for each other one."""
    mine, sentences = [], []
    for name in objectives:
        needs = history.objectives[history.names.index(name)].resources
        lacking = [f"{what}={amount:g}" for what, amount in needs.items() if resources.get(what, 0.0) < amount]
        if lacking:
            sentences.append(f"{name} is left to other workers: it needs --resources {','.join(lacking)}.")
        else:
            mine.append(name)
    return mine, sentences


def chosen_functions(
    study: Study,
    objectives: Collection[str],
    options: SystemOptions,
    *,
    system: str,
    functions: str,
    file: StudyFile | None,
) -> dict[str, Measure]:
    """The functions of these objectives: of the file, as named with --functions, or of the system."""
    found: Mapping[str, Measure]
    if file is not None:
        here, _ = file.on_this_machine(objectives)
        here.check_same_meters(study.history.origin)
        found = here.measures
    elif functions:
        found = imported_functions(functions)
    elif system or study.history.origin.get("system"):
        whole = set(objectives) == {purchase.objective for purchase in study.history.purchases}
        only = () if whole else objectives
        found = rebuild_system(study, options, only, system=system, budget=study.budget).system.functions
    else:
        raise InvalidValueError(
            f"Study {study.name!r} was made by a program, which has its functions; name them with --functions "
            "MODULE:NAME, or name a --system or a --file."
        )
    for objective in objectives:
        if objective not in found:
            raise InvalidValueError(
                f"There is no function of {objective!r} among {', '.join(map(str, found)) or 'none'}; give one, or "
                "choose with --only what is measured here."
            )
    return {objective: found[objective] for objective in objectives}


def imported_functions(place: str) -> Mapping[str, Measure]:
    """The functions by objective that ``module:attribute`` names: a mapping, or a function that returns one.

    The module is looked for in the working folder too. An object with `functions`, such as a system, is also accepted.
    """
    found: Any = imported(place, os.getcwd())
    if callable(found) and not isinstance(found, Mapping):
        try:
            found = found()
        except TypeError as error:
            raise InvalidValueError(
                f"{place} cannot be called without arguments ({error}); give a mapping from objective to function, or "
                "a function that returns one."
            ) from None
    found = getattr(found, "functions", found)
    if not isinstance(found, Mapping) or not all(map(callable, found.values())):
        raise InvalidValueError(f"{place} is {found!r}; it must be a mapping from objective to function.")
    return found


def work(study: Study, measures: Mapping[str, Measure], *, idle: float | None) -> None:
    """Measure until the study is finished or idle; after a signal, release what is held and exit."""
    executor = AnnouncingExecutor()
    so_far = len(study.history.measurements)
    known = counted(so_far, "measurement")
    about = {"study": study.name, "objectives": list(measures)}
    say(f"Measuring {', '.join(measures)} for study {study.name!r}, which has {known}.", event="started", **about)
    stopped = 0
    try:
        with stop_requests(), failures_logged_once(), waiting_said(say):
            study.run(measures, executor=executor, progress=False, idle=idle, raise_first=False)
    except StopRequest as request:
        stopped = request.number
    finally:
        study.close()
    counts = f"{executor.measured} measured, {executor.failed} failed"
    if stopped:
        held = f"released evaluation {', '.join(map(str, executor.held))}" if executor.held else "nothing was held"
        name = "Ctrl-C" if stopped == signal.SIGINT else signal.Signals(stopped).name
        say(f"Stopped by {name}: {held}; {counts}.", event="ended", **_counts(executor), stop_kind=None)
        raise typer.Exit(128 + stopped)
    say(f"{study.stopped} Here: {counts}.", event="ended", **_counts(executor), stop_kind=study.stop_kind)


def _counts(executor: AnnouncingExecutor) -> dict[str, object]:
    return {"measured": executor.measured, "failed": executor.failed}


class AnnouncingExecutor(InlineExecutor):
    """Measures here, and prints a line for each evaluation after its outcome was stored; until then it is `held`."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[int, Evaluation] = {}
        self.measured = 0
        self.failed = 0

    def submit(self, evaluation: Evaluation, objective: Objective, measure: Measure) -> None:
        self.held[evaluation.number] = evaluation
        super().submit(evaluation, objective, measure)

    def finished(self, wait: float | None = None) -> Iterator[Outcome]:
        """The outcomes so far; each is announced when the next one is requested, that is, once it is stored."""
        for outcome in super().finished(wait):
            yield outcome
            self.held.pop(outcome.evaluation.number, None)
            self.measured += outcome.values is not None
            self.failed += outcome.values is None
            say(outcome_line(outcome), **_outcome_facts(outcome))


def _outcome_facts(outcome: Outcome) -> dict[str, object]:
    evaluation = outcome.evaluation
    found: dict[str, object] = {"number": evaluation.number, "objective": evaluation.objective, "cost": outcome.cost}
    if outcome.values is None:
        return {"event": "failed", **found, "reason": outcome.reason}
    return {"event": "measured", **found, "values": dict(outcome.values)}


def outcome_line(outcome: Outcome) -> str:
    evaluation = outcome.evaluation
    values = outcome.values or {}
    given = ", ".join(f"{name} {value:.5g}" for name, value in values.items())
    given += step_text(outcome) if values else ""
    what = f"{given}, cost {outcome.cost:.3g}" if values else f"{evaluation.objective} failed: {outcome.reason}"
    return squeezed(f"{evaluation.number} {what}, for {design_line(dict(evaluation.design))}")


def say(text: str, **facts: object) -> None:
    """Print a line with the time; where logs are JSON lines, log it with these facts."""
    if logs_json_lines():
        logger.info("%s", squeezed(text), extra={"facts": facts})
        return
    typer.echo(f"{time.strftime('%H:%M:%S')} {squeezed(text)}")


def _await_study(url: str, name: str, patience: float) -> str:
    """The name of the study, after waiting for it to be created."""
    until, has_said = time.monotonic() + patience, False
    while not is_stored(url, name) and time.monotonic() < until:
        if not has_said:
            say(f"Waiting for the study{f' {name!r}' if name else ''} to be created.")
        has_said = True
        time.sleep(min(POLL_SECONDS, patience))
    return stored_study(url, name or None)[1]
