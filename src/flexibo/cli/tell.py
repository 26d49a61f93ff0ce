"""``flexibo tell``: answers an evaluation that ``flexibo ask`` claimed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flexibo._internal.numbers import cost_unit, format_spent
from flexibo.cli._options import JSONFlag, StorageURL, StudyName
from flexibo.cli._storage import load_study, storage_url
from flexibo.cli._text import print_json, squeezed
from flexibo.cli.ask import HAND
from flexibo.errors import InvalidValueError
from flexibo.storage.heartbeat import is_detached

if TYPE_CHECKING:
    from flexibo.history.events import Evaluation
    from flexibo.study import Study

LEASE_SECONDS = 60.0  # never waited for: answering claims nothing


def tell(
    number: Annotated[int, typer.Argument(min=0, help="The number that 'flexibo ask' printed.", show_default=False)],
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="VALUE | NAME=VALUE...", help="The measured value; several values by name.", show_default=False
        ),
    ] = None,
    cost: Annotated[float, typer.Option(help="The cost, in units of the budget, such as seconds.")] = 0.0,
    failed: Annotated[
        str | None,
        typer.Option("--failed", metavar="REASON", help="The evaluation failed, and why.", show_default=False),
    ] = None,
    impossible: Annotated[
        bool, typer.Option("--impossible", help="With --failed: never try this design again.")
    ] = False,
    timeout: Annotated[
        bool, typer.Option("--timeout", help="With --failed: it was ended because it took too long.")
    ] = False,
    released: Annotated[bool, typer.Option("--released", help="Release the evaluation; it was not attempted.")] = False,
    hand: Annotated[
        str,
        typer.Option(
            help="The identity that 'flexibo ask' printed, if others were asked the same before.",
            envvar=HAND,
            show_default=False,
        ),
    ] = "",
    storage: StorageURL = "",
    name: StudyName = "",
    json: JSONFlag = False,
) -> None:
    """Answer an evaluation of 'flexibo ask': with its value, as failed, or as released."""
    given = values or []
    _check_one_answer(given, failed, released, cost)
    for flag, is_given in (("--impossible", impossible), ("--timeout", timeout)):
        if is_given and failed is None:
            raise InvalidValueError(f"{flag} needs a reason; give --failed REASON with it.")
    url = storage_url(storage)
    hand = _asker(url, name, number, hand)
    study = load_study(url, name, worker=hand, lease=LEASE_SECONDS)
    try:
        evaluation = _answerable(study, number, hand)
        if released:
            told = _release(study, evaluation, hand)
        elif failed is not None:
            study.fail(evaluation, failed, cost=cost, impossible=impossible, timeout=timeout)
            told = f"failed: {failed}"
        else:
            measured = _numbers(evaluation, given)
            study.tell(evaluation, measured, cost=cost)
            told = ", ".join(f"{one} {value:g}" for one, value in measured.items())
        counted = released or study.history.answered.get(number) == hand
    finally:
        study.close()
    _say(study, evaluation, told, counted=counted, cost=None if released else cost, json=json)


def _check_one_answer(values: Sequence[str], failed: str | None, released: bool, cost: float) -> None:
    if (bool(values), failed is not None, released).count(True) != 1:
        raise InvalidValueError("Give one answer: a VALUE (or NAME=VALUE...), --failed REASON, or --released.")
    if released and cost:
        raise InvalidValueError(
            "--cost is the cost of an attempt, and --released means that there was none; leave one out."
        )


def _asker(url: str, name: str, number: int, named: str) -> str:
    """The identity that claimed an evaluation: the named one, or the first that has not answered it."""
    from flexibo.study.stored import stored_study

    place, study, _ = stored_study(url, name or None)
    contents = place.read()
    handed = [content for content in contents if content.get("event") in ("asked", "reissued")]
    askers = [content.get("worker") for content in handed if content.get("number") == number]
    hands = [str(worker) for worker in askers if is_detached(worker)]
    if named and hands:
        if named not in hands:
            raise InvalidValueError(
                f"Evaluation {number} of study {study!r} was not asked by {named!r}; leave --hand ({HAND}) out, or "
                "give what flexibo ask printed with this number. Nothing was told."
            )
        return named
    if hands:
        answers = [content for content in contents if content.get("event") in ("told", "failed", "spent")]
        answered = {content.get("worker") for content in answers if content.get("number") == number}
        return next((one for one in hands if one not in answered), hands[-1])
    if askers:
        raise InvalidValueError(
            f"Evaluation {number} of study {study!r} was asked by a program and not with flexibo ask; its program "
            "answers it. Nothing was told."
        )
    last = max((content["number"] for content in handed if isinstance(content.get("number"), int)), default=None)
    known = "nothing was asked yet" if last is None else f"the numbers so far are 0 to {last}"
    raise InvalidValueError(
        f"Evaluation {number} of study {study!r} was never asked ({known}); give a number that flexibo ask printed."
    )


def _answerable(study: Study, number: int, hand: str) -> Evaluation:
    """The evaluation, if it has not been answered under this identity."""
    from flexibo.history.events import Spent

    evaluation = study.history.asked[number]
    late = any(
        isinstance(event, Spent) and (event.number, event.worker) == (number, hand) for event in study.history.events
    )
    if late or study.history.answered.get(number) == hand:
        raise InvalidValueError(
            f"Evaluation {number} ({evaluation.objective!r}) was told already; an answer counts once, and nothing was "
            "changed."
        )
    return evaluation


def _release(study: Study, evaluation: Evaluation, hand: str) -> str:
    holder = study.history.assignments.get(evaluation.number)
    if holder is None or holder.worker != hand:
        raise InvalidValueError(
            f"Evaluation {evaluation.number} is not out any more: its lease was over, and others may measure it. There "
            "is nothing to give back; who was asked it after another gives the --hand that flexibo ask printed."
        )
    study.release(evaluation)
    return "given back"


def _numbers(evaluation: Evaluation, given: Iterable[str]) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for text in given:
        name, sign, number = text.rpartition("=")
        name = name if sign else evaluation.objective
        if name in found:
            raise InvalidValueError(f"{name!r} has two values; give each objective once, as NAME=VALUE.")
        try:
            found[name] = float(number)
        except ValueError:
            found[name] = math.nan
        if not math.isfinite(found[name]):
            raise InvalidValueError(
                f"{text!r} is no finite number; tell one, such as {name}=0.5, or say --failed REASON. The "
                "evaluation is still out."
            )
    return found


def _say(study: Study, evaluation: Evaluation, told: str, *, counted: bool, cost: float | None, json: bool) -> None:
    facts: dict[str, Any] = {
        "study": study.name,
        "number": evaluation.number,
        "counted": counted,
        "spent": study.spent,
        "budget": study.budget,
    }
    if json:
        print_json(facts)
        return
    price = "" if cost is None else f", cost {cost:g}" if cost else ", without a cost (the budget is not charged)"
    spent = format_spent(study.spent, study.budget, cost_unit(study.history.origin))
    late = "" if counted else " Another worker has it or has answered it: only the cost counts."
    typer.echo(squeezed(f"Evaluation {evaluation.number}: {told}{price}.{late} Spent {spent}."))
