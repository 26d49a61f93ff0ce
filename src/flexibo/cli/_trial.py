"""Trying every command and function once before a study runs, the cheapest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import typer

from flexibo._internal.numbers import format_number, format_spent
from flexibo._internal.text import printable_line, shortened
from flexibo.cli._detail import Tries
from flexibo.cli._exit_status import ExitStatus
from flexibo.cli._logs import complain, failures_logged_once
from flexibo.cli._measure import is_interrupted
from flexibo.cli._outcome import Report, facts
from flexibo.cli._progress_lines import printed_lines, values_text
from flexibo.cli._storage import short_url
from flexibo.cli._text import counted, design_line, print_json
from flexibo.executors import Executor, Measure, Outcome
from flexibo.executors.steps import StepMeasure
from flexibo.history.events import Evaluation
from flexibo.objectives import Objective
from flexibo.optimizer import StopKind
from flexibo.study import Study
from flexibo.study.first_calls import untried
from flexibo.studyfile import Command, Function

MOST_TRACED = 12  # lines of a traceback
MOST_CHARACTERS = 600  # of a reason in the message on a broken objective


@dataclass
class Trial:
    """The first thing that a run does, or all that it does: each objective without a value is measured once."""

    study: Study
    about: Report
    outcomes: tuple[Outcome, ...] = field(default=(), init=False)

    @property
    def is_wanted(self) -> bool:
        return self.about.tries is not Tries.NO

    @property
    def ends_run(self) -> bool:
        """Whether nothing is to be measured after it."""
        return self.about.tries is Tries.ONLY or self.broken is not None

    @property
    def broken(self) -> Outcome | None:
        """The outcome of the objective that gave no value."""
        is_broken = bool(self.outcomes) and self.outcomes[-1].values is None and not is_interrupted(self.study)
        return self.outcomes[-1] if is_broken else None

    def __call__(self, executor: Executor, functions: Mapping[str, Measure]) -> bool:
        """Try what was never measured, and return whether the run may continue."""
        names = untried(self.study.history, functions)
        if names:
            tells = not self.about.is_quiet
            if tells:
                more = "" if self.about.tries is Tries.ONLY else " before the study runs (--no-try leaves this out)"
                typer.echo(f"Trying {counted(len(names), 'objective')} once{more}.")
            told: Executor = TellingExecutor(executor, self.study, names) if tells else executor
            with failures_logged_once():
                self.outcomes = self.study.try_out(functions, executor=told)
        if not self.ends_run and self.outcomes and not is_interrupted(self.study) and not self.about.is_quiet:
            typer.echo("Each gave a value, which counts; now the study runs.")
        return not self.ends_run and not is_interrupted(self.study)

    def lines(self) -> Iterator[str]:
        """What came of a trial after which nothing is measured, and what to do next."""
        by_hand = ", ".join(self.about.manual)
        if self.outcomes:
            where = short_url(self.about.url)
            yield f"Each gave a value; what was measured counts and is stored in {where} as study {self.study.name!r}."
        else:
            yield "There is nothing to try: no objective that is measured here is without a value."
        if by_hand:
            yield f"Measured by hand, so not tried: {by_hand}."
        yield f"Run the study with: {self.about.command}"

    def complaint(self) -> str:
        """Which objective is broken, how, and what to do; empty if none is."""
        if (outcome := self.broken) is None:
            return ""
        name, design = outcome.evaluation.objective, design_line(dict(outcome.evaluation.design))
        reason = shortened(outcome.reason, MOST_CHARACTERS)
        reason += "" if reason.endswith((".", "!", "?")) else "."
        is_counted = self.study.history.failed_attempts[name] > 0
        counts = "Its failures are counted" if is_counted else "No failure and no cost is counted"
        kept, stop = "", outcome.evaluation.stop
        if stop is not None and any(step < stop for step, _ in outcome.reports):
            folder = self.study.checkpoint(outcome.evaluation.design, name)
            kept = f" Values that it reported on the way are kept; if they are wrong, remove {folder}."
        return printable_line(
            f"Objective {name!r} gave no value ({design}). {reason} {counts}, and nothing more was measured.{kept} "
            f"Fix the cause, then type: {self.about.command} (--no-try counts such failures and continues; a command "
            "exits with 125 if only this design is impossible)."
        )

    def facts(self) -> list[dict[str, Any]]:
        """The trial, ready for JSON."""
        return [
            {
                "number": outcome.evaluation.number,
                "objective": outcome.evaluation.objective,
                "design": dict(outcome.evaluation.design),
                "values": None if outcome.values is None else dict(outcome.values),
                "reason": outcome.reason,
                "cost": outcome.cost,
                "seconds": outcome.seconds,
                "printed": outcome.printed,
            }
            for outcome in self.outcomes
        ]


def report_trial(study: Study, trial: Trial) -> NoReturn:
    """Print what came of a trial after which nothing is measured, and exit with its status."""
    about, complaint = trial.about, trial.complaint()
    if about.json:
        known = facts(study, about.url, about.command, ran=True)
        print_json({**known, "by_hand": list(about.manual), "tried": trial.facts()})
    if complaint:
        complain(f"flexibo: {complaint}")
        raise typer.Exit(ExitStatus.NOTHING)
    if is_interrupted(study):
        is_terminated = study.stop_kind is StopKind.TERMINATED
        raise typer.Exit(ExitStatus.TERMINATED if is_terminated else ExitStatus.INTERRUPTED)
    for line in () if about.is_quiet else trial.lines():
        typer.echo(printable_line(line))
    raise typer.Exit(ExitStatus.DONE)


class TellingExecutor:
    """An executor that shows what it tries: the command line, what it printed, the value, the cost and the time."""

    def __init__(self, executor: Executor, study: Study, names: Iterable[str]) -> None:
        self._executor = executor
        self._study = study
        self._names = list(names)
        self.has_room = executor.has_room
        self.is_busy = executor.is_busy
        self.close = executor.close
        self.measures_elsewhere = getattr(executor, "measures_elsewhere", False)

    def submit(self, evaluation: Evaluation, objective: Objective, measure: Measure) -> None:
        """Start one evaluation, and show how it is measured."""
        place = f"{self._names.index(evaluation.objective) + 1}/{len(self._names)}"
        typer.echo(printable_line(f"{place} {evaluation.objective} of {design_line(dict(evaluation.design))}"))
        for line in how_lines(measure, evaluation):
            typer.echo(f"  {printable_line(line)}")
        self._executor.submit(evaluation, objective, measure)

    def finished(self, wait: float | None = None) -> Iterator[Outcome]:
        """The outcomes of the executor; each is shown before it is stored."""
        for outcome in self._executor.finished(wait):
            for line in outcome_lines(self._study, outcome):
                typer.echo(f"  {line}")
            yield outcome


def how_lines(measure: Measure, evaluation: Evaluation) -> list[str]:
    measure = measure.function if isinstance(measure, StepMeasure) else measure
    if isinstance(measure, Command):
        first, *others = measure.shown(evaluation).splitlines() or [""]
        return [f"$ {first}", *(f"  {line}" for line in others)]
    return [f"function {measure.place}"] if isinstance(measure, Function) else []


def outcome_lines(study: Study, outcome: Outcome) -> Iterator[str]:
    """What was printed, or where a function failed; then the value, the cost and the time."""
    yield from printed_lines(outcome.printed)
    yield from printed_lines(outcome.mistake, MOST_TRACED)
    history = study.history
    cost = format_spent(outcome.cost, None, history.cost_unit or ("s" if outcome.timed else ""))
    took = "" if outcome.seconds is None else f", took {format_number(outcome.seconds, 3)} s"
    if outcome.values is None:  # of what is broken, the complaint says why
        is_broken = not (outcome.impossible or outcome.released)
        came = f"no value{'' if is_broken else f': {shortened(outcome.reason, MOST_CHARACTERS)}'}; "
    else:
        came = f"value read: {values_text(history, outcome.values)}, "
    yield printable_line(f"{came}cost {cost}{took}")
