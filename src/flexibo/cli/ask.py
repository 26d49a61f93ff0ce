"""``flexibo ask``: one evaluation for a person, a shell or any program, to be answered with ``flexibo tell``."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flexibo._internal.numbers import cost_unit, format_spent
from flexibo.cli._exit_status import ExitStatus
from flexibo.cli._parse import names, seconds
from flexibo.cli._storage_options import VARIABLE, JSONFlag, StorageURL, StudyName, storage_url
from flexibo.cli._text import duration, in_words, print_json

if TYPE_CHECKING:
    from flexibo.history.events import Evaluation
    from flexibo.optimizer import Stop
    from flexibo.study import Study


HAND = "FLEXIBO_HAND"
"""The variable that says who was asked."""


def ask(
    storage: StorageURL = "",
    name: StudyName = "",
    only: Annotated[
        list[str] | None, typer.Option(help="Ask only for these objectives; others must measure the rest.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="So many evaluations at once, if there are so many.")] = 1,
    lease: Annotated[
        str, typer.Option(help="How long nobody else is asked the same, as in 90m, 24h or 7d; then others may be.")
    ] = "24h",
    shell: Annotated[bool, typer.Option("--shell", help="Print variables for a shell to eval instead.")] = False,
    json: JSONFlag = False,
) -> None:
    """Ask what to measure next and claim it for you; answer with 'flexibo tell NUMBER VALUE'.

    The command ends at once, and the evaluation stays out until it is told or its lease is over. Exit status 1 means
    that there is nothing to ask; standard error says why.
    """
    from flexibo.cli._workers import leads_of
    from flexibo.errors import FlexiBOError, InvalidValueError
    from flexibo.storage.heartbeat import new_detached_worker

    if shell and (json or count > 1):
        raise InvalidValueError("--shell prints one evaluation for a shell; leave out --json and --count.")
    url, may_take = storage_url(storage), seconds(lease)
    hand = new_detached_worker()
    study = study_by_hand(url, name, hand=hand, lease=may_take)
    leads = leads_of(study.history, names(only or [])) if only else None
    claimed: list[Evaluation] = []
    try:
        stop = _claim(study, leads, count, claimed)
        if json:
            print_json({"study": study.name, "hand": hand, **_facts(claimed, stop, may_take)})
        elif claimed:
            where = _where(storage, name)
            lines = _variables(claimed[0], hand) if shell else _lines(study, claimed, may_take, hand, where)
            typer.echo("\n".join(lines))
    except BaseException:  # nobody knows of them
        with suppress(FlexiBOError):
            for evaluation in claimed:
                study.release(evaluation)
        raise
    finally:
        study.close()
    if not claimed and stop is not None:
        later = " Others still measure; ask again later." if stop.waits else ""
        typer.echo(f"Nothing to ask: {in_words(stop.reason)}{later}", err=True)
        raise typer.Exit(ExitStatus.NOTHING)


def study_by_hand(url: str, name: str, *, hand: str, lease: float) -> Study:
    """The stored study, asked and answered by a hand."""
    from flexibo.errors import InvalidValueError
    from flexibo.study import Study
    from flexibo.study.stored import stored_study
    from flexibo.transfer import not_stored

    place, found, settings = stored_study(url, name or None)
    if missing := not_stored(settings):
        raise InvalidValueError(
            f"Study {found!r} has a {' and a '.join(missing)} of its own, which only its program has; ask there."
        )
    return Study.load(place, found, detached_worker=hand, lease=lease)


def _claim(study: Study, leads: Sequence[str] | None, count: int, claimed: list[Evaluation]) -> Stop | None:
    """Claim the next evaluations, one after the other; why there are no more, if there are not so many."""
    from flexibo.optimizer import Stop

    while len(claimed) < count:
        answer = study.ask_or_stop(leads)
        if isinstance(answer, Stop):
            return answer
        claimed.append(answer)
    return None


def _facts(claimed: Sequence[Evaluation], stop: Stop | None, lease: float) -> dict[str, Any]:
    return {
        "lease_seconds": lease,
        "stopped": "" if stop is None else stop.reason,
        "stop_kind": None if stop is None else stop.kind,
        "wait": stop is not None and stop.waits,
        "evaluations": [
            {
                "number": evaluation.number,
                "objective": evaluation.objective,
                "yields": list(evaluation.yields),
                "design": dict(evaluation.design),
                "attempt": evaluation.attempt,
                "initial": evaluation.initial,
                "gain": evaluation.gain,
                "expected_cost": evaluation.cost,
                "why": evaluation.why,
            }
            for evaluation in claimed
        ],
    }


def _lines(study: Study, claimed: Sequence[Evaluation], lease: float, hand: str, where: str) -> Iterator[str]:
    """Evaluations for people: what to measure, of which design, why, and how to answer."""
    units = {objective.name: objective.unit for objective in study.objectives}
    unit = cost_unit(study.history.origin)
    for evaluation in claimed:
        wanted = ", ".join(f"{one} [{units[one]}]" if units[one] else one for one in evaluation.yields)
        again = f", attempt {evaluation.attempt}" if evaluation.attempt > 1 else ""
        yield in_words(f"Evaluation {evaluation.number}: measure {wanted}{again}, of this design:")
        width = max(len(in_words(option)) for option in evaluation.design)
        for option, value in evaluation.design.items():
            yield f"  {in_words(option).ljust(width)}  {'-' if value is None else in_words(_exact(value))}"
        price = f"; expected cost {format_spent(evaluation.cost, None, unit)}" if evaluation.cost else ""
        yield in_words(f"Why: {evaluation.why}{price}.")
        several = " ".join(f"{shlex.quote(one)}=VALUE" for one in evaluation.yields)
        value = "VALUE" if len(evaluation.yields) == 1 else several
        # Another hand may still answer what it was asked before this one.
        who = f" --hand {hand}" if study.history.reissues[evaluation.number] else ""
        yield in_words(f"Answer with: flexibo tell {evaluation.number} {value} --cost COST{who}{where}")
        yield ""
    try:
        until = f" (until {(datetime.now() + timedelta(seconds=lease)).strftime('%Y-%m-%d %H:%M')})"
    except OverflowError:
        until = ""
    yield f"Nobody else is asked the same for {duration(lease)}{until}."


def _where(storage: str, name: str) -> str:
    """The options that name the study again, where they were typed."""
    from flexibo.storage import shown_url

    typed = f" --storage {shlex.quote(shown_url(storage))}" if storage and storage != os.environ.get(VARIABLE) else ""
    return typed + (f" --name {shlex.quote(name)}" if name else "")


def _variables(evaluation: Evaluation, hand: str) -> list[str]:
    """Lines for a shell to eval: the variables that a command of a study file gets too."""
    from flexibo.errors import InvalidValueError
    from flexibo.studyfile.template import in_words as as_text
    from flexibo.studyfile.template import variable

    values = {
        "FLEXIBO_NUMBER": str(evaluation.number),
        HAND: hand,
        "FLEXIBO_OBJECTIVE": evaluation.objective,
        "FLEXIBO_ATTEMPT": str(evaluation.attempt),
        "FLEXIBO_DESIGN": dumps(dict(evaluation.design)),
    }
    for option, value in evaluation.design.items():
        if variable(option) in values:
            raise InvalidValueError(
                f"Two options are both {variable(option)} in a shell; use --json instead of --shell."
            )
        values[variable(option)] = as_text(value)
    return [f"export {name}={shlex.quote(text)}" for name, text in values.items()]


def _exact(value: object) -> str:
    """A value that gives the same when it is read again."""
    return repr(value) if isinstance(value, float) else str(value)
