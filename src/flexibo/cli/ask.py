"""``flexibo ask``: claims evaluations for a person, a shell or any program; ``flexibo tell`` answers them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from json import dumps
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flexibo._internal.numbers import format_spent
from flexibo.cli._advice import StudyPlace
from flexibo.cli._exit_status import ExitStatus
from flexibo.cli._options import JSONFlag, StorageURL, StudyName, parsed_names, parsed_seconds
from flexibo.cli._signals import terminable
from flexibo.cli._storage import load_study, storage_url
from flexibo.cli._text import duration, print_json, squeezed
from flexibo.errors import FlexiBOError, InvalidValueError
from flexibo.storage.heartbeat import new_detached_worker

if TYPE_CHECKING:
    from flexibo.history.events import Evaluation
    from flexibo.optimizer import Stop
    from flexibo.study import Study


NO_STEPS: Mapping[str, Any] = MappingProxyType({})
HAND = "FLEXIBO_HAND"  # the environment variable with the identity under which an evaluation was claimed


def ask(
    storage: StorageURL = "",
    name: StudyName = "",
    only: Annotated[
        list[str] | None, typer.Option(help="Ask only for these objectives; other processes must measure the rest.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="The maximum number of evaluations.")] = 1,
    lease: Annotated[
        str, typer.Option(help="How long the evaluation is yours, as in 90m, 24h or 7d; then others may be asked.")
    ] = "24h",
    shell: Annotated[bool, typer.Option("--shell", help="Print variables for a shell to eval instead.")] = False,
    json: JSONFlag = False,
) -> None:
    """Ask what to measure next and claim it for you; answer with 'flexibo tell NAME VALUE'.

    The command returns at once; the evaluation is yours until you answer it or its lease ends. Exit status 1 means
    that there is nothing to ask; standard error says why.
    """
    if shell and (json or count > 1):
        raise InvalidValueError("--shell prints one evaluation for a shell; leave out --json and --count.")
    url, may_take = storage_url(storage), parsed_seconds(lease, "--lease")
    hand = new_detached_worker()
    study = load_study(url, name, worker=hand, lease=may_take)
    leads = _leads(study, only) if only else None
    claimed: list[Evaluation] = []
    ended: list[int] = []
    try:
        with terminable(ended):
            stop = _claim(study, leads, count, claimed)
            if json:
                print_json({"study": study.name, "hand": hand, **_facts(study, claimed, stop, may_take)})
            elif claimed:
                place = StudyPlace.typed(storage, name)
                lines = (
                    _variables(claimed[0], hand, _step_facts(study, claimed[0]))
                    if shell
                    else _lines(study, claimed, may_take, place)
                )
                typer.echo("\n".join(lines))
    except BaseException:  # the claims were not printed
        with suppress(FlexiBOError):
            for evaluation in claimed:
                study.release(evaluation)
        if ended:
            raise typer.Exit(ExitStatus.TERMINATED) from None
        raise
    finally:
        study.close()
    if not claimed and stop is not None:
        later = " Others still measure; ask again later." if stop.waits else ""
        typer.echo(f"Nothing to ask: {squeezed(stop.reason)}{later}", err=True)
        raise typer.Exit(ExitStatus.NOTHING)


def _leads(study: Study, only: Sequence[str]) -> list[str]:
    from flexibo.cli._measure import leading_objectives  # brings what measures; most questions need none of it

    return leading_objectives(study.history, parsed_names(only))


def _claim(study: Study, leads: Sequence[str] | None, count: int, claimed: list[Evaluation]) -> Stop | None:
    """Claim up to `count` evaluations; returns why there are no more, if there are fewer."""
    from flexibo.optimizer import Stop

    while len(claimed) < count:
        answer = study.ask_or_stop(leads)
        if isinstance(answer, Stop):
            return answer
        claimed.append(answer)
    return None


def _step_facts(study: Study, evaluation: Evaluation) -> dict[str, Any]:
    """From which step to which an evaluation goes, and its checkpoint folder; empty without steps."""
    if evaluation.stop is None:
        return {}
    folder = study.checkpoint(evaluation.design, evaluation.objective)
    return {"from_step": evaluation.start, "to_step": evaluation.stop, "checkpoint": str(folder)}


def _facts(study: Study, claimed: Sequence[Evaluation], stop: Stop | None, lease: float) -> dict[str, Any]:
    return {
        "lease_seconds": lease,
        "stopped": "" if stop is None else stop.reason,
        "stop_kind": None if stop is None else stop.kind,
        "wait": stop is not None and stop.waits,
        "evaluations": [
            {
                "number": evaluation.number,
                "name": evaluation.label,
                "objective": evaluation.objective,
                "yields": list(evaluation.yields),
                "design": dict(evaluation.design),
                "attempt": evaluation.attempt,
                "initial": evaluation.initial,
                "gain": evaluation.gain,
                "expected_cost": evaluation.cost,
                "why": evaluation.why,
                **_step_facts(study, evaluation),
            }
            for evaluation in claimed
        ],
    }


def _lines(study: Study, claimed: Sequence[Evaluation], lease: float, place: StudyPlace) -> Iterator[str]:
    """Evaluations for people: what to measure, of which design, why, and how to answer."""
    units = {objective.name: objective.unit for objective in study.objectives}
    unit = study.history.cost_unit
    for evaluation in claimed:
        wanted = ", ".join(f"{one} [{units[one]}]" if units[one] else one for one in evaluation.yields)
        again = f", attempt {evaluation.attempt}" if evaluation.attempt > 1 else ""
        way = "" if evaluation.stop is None else f" from step {evaluation.start} to step {evaluation.stop}"
        yield squeezed(f"Evaluation {evaluation.label}: measure {wanted}{way}{again}, of this design:")
        width = max(len(squeezed(option)) for option in evaluation.design)
        for option, value in evaluation.design.items():
            exact = "-" if value is None else repr(value) if isinstance(value, float) else squeezed(str(value))
            yield f"  {squeezed(option).ljust(width)}  {exact}"
        price = f"; expected cost {format_spent(evaluation.cost, None, unit)}" if evaluation.cost else ""
        yield squeezed(f"Why: {evaluation.why}{price}.")
        values = ["VALUE"] if len(evaluation.yields) == 1 else [f"{one}=VALUE" for one in evaluation.yields]
        if evaluation.stop is not None:
            yield squeezed(f"Checkpoint: {study.checkpoint(evaluation.design, evaluation.objective)}")
            yield "Values at steps before: add --reports STEP=VALUE,STEP=VALUE"
        yield squeezed(f"Answer with: {place.command('tell', evaluation.label, *values, '--cost', 'COST')}")
        yield ""
    try:
        until = f" (until {(datetime.now() + timedelta(seconds=lease)).strftime('%Y-%m-%d %H:%M')})"
    except OverflowError:
        until = ""
    yield f"Nobody else is asked the same for {duration(lease)}{until}."


def _variables(evaluation: Evaluation, hand: str, steps: Mapping[str, Any] = NO_STEPS) -> list[str]:
    """Lines for a shell to eval: the same variables that a command of a study file gets."""
    from flexibo.studyfile.template import in_words as template_text
    from flexibo.studyfile.template import variable

    values = {
        "FLEXIBO_NUMBER": str(evaluation.number),
        HAND: hand,
        "FLEXIBO_OBJECTIVE": evaluation.objective,
        "FLEXIBO_ATTEMPT": str(evaluation.attempt),
        "FLEXIBO_DESIGN": dumps(dict(evaluation.design)),
        **{f"FLEXIBO_{name.upper()}": str(value) for name, value in steps.items()},
    }
    for option, value in evaluation.design.items():
        if variable(option) in values:
            raise InvalidValueError(
                f"Two options are both {variable(option)} in a shell; use --json instead of --shell."
            )
        values[variable(option)] = template_text(value)
    return [f"export {name}={shlex.quote(text)}" for name, text in values.items()]
