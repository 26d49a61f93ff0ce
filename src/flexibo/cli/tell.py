"""``flexibo tell``: answers an evaluation that ``flexibo ask`` claimed."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flexibo._internal.numbers import format_spent
from flexibo.cli._options import JSONFlag, StorageURL, StudyName, parsed_cost
from flexibo.cli._storage import load_study, storage_url
from flexibo.cli._text import print_json, squeezed
from flexibo.cli.ask import HAND
from flexibo.errors import InvalidValueError
from flexibo.history.events import LABEL_DIGITS
from flexibo.objectives import LARGEST, Reading, error_bars
from flexibo.storage.base import parsed_object
from flexibo.storage.heartbeat import is_detached
from flexibo.study.answers import NeverAskedError

if TYPE_CHECKING:
    from flexibo.history.events import Evaluation
    from flexibo.study import Study

LEASE_SECONDS = 60.0  # never waited for: answering claims nothing


def tell(
    evaluation: Annotated[
        str,
        typer.Argument(metavar="NAME", help="What 'flexibo ask' printed, such as 12-3f9a.", show_default=False),
    ],
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="VALUE | NAME=VALUE...",
            help="The measured value, as in 3.5, or 3.5+-0.2 with its standard deviation; several values by name.",
            show_default=False,
        ),
    ] = None,
    cost: Annotated[
        str, typer.Option(help="The cost, in the unit of the budget; a duration as in 90s, 30m or 2h.")
    ] = "0",
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
    reports: Annotated[
        str,
        typer.Option(
            help="Of an objective with steps: values at earlier steps, as in 1=0.5,3=0.4.", show_default=False
        ),
    ] = "",
    released: Annotated[bool, typer.Option("--released", help="Release the evaluation; it was not attempted.")] = False,
    hand: Annotated[
        str,
        typer.Option(
            help="The identity of who asked ('flexibo ask --json' and --shell print it): then the number is enough.",
            envvar=HAND,
            show_default=False,
        ),
    ] = "",
    storage: StorageURL = "",
    name: StudyName = "",
    json: JSONFlag = False,
) -> None:
    """Answer an evaluation of 'flexibo ask': with its value, as failed, or as released."""
    given, spent = values or [], parsed_cost(cost, "--cost")
    _check_one_answer(given, failed, released, spent)
    on_the_way = parsed_reports(reports)
    if released and on_the_way:
        raise InvalidValueError("--reports has values, and --released means that nothing was measured; leave one out.")
    for flag, is_given in (("--impossible", impossible), ("--timeout", timeout)):
        if is_given and failed is None:
            raise InvalidValueError(f"{flag} needs a reason; give --failed REASON with it.")
    url = storage_url(storage)
    number, check = _parsed_name(evaluation)
    try:
        hand, token = _attempt(url, name, number, check, hand)
    except NeverAskedError as error:
        raise InvalidValueError(f"{error}{_kept(url, name, number, given, failed, spent, str(error))}") from None
    study = load_study(url, name, worker=hand, lease=LEASE_SECONDS)
    try:
        asked = _answerable(study, number, hand, token)
        if released:
            told = _release(study, asked, hand)
        elif failed is not None:
            study.fail(asked, failed, cost=spent, impossible=impossible, timeout=timeout, reports=on_the_way)
            told = f"failed: {failed}"
        else:
            measured = _numbers(asked.objective, given)
            study.tell(asked, measured, cost=spent, reports=on_the_way)
            told = ", ".join(f"{one} {_shown(value)}" for one, value in measured.items())
        counted = released or study.history.answered.get(number) == hand
    finally:
        study.close()
    _say(study, asked, told, counted=counted, cost=None if released else spent, json=json)


def parsed_reports(text: str) -> list[tuple[int, float]]:
    """Steps with their values, as they are typed.

    >>> parsed_reports("1=0.5, 3=0.4")
    [(1, 0.5), (3, 0.4)]
    """
    found = []
    for part in filter(None, map(str.strip, text.split(","))):
        step, _, value = part.partition("=")
        try:
            found.append((int(step), float(value)))
        except ValueError:
            raise InvalidValueError(
                f"--reports has {part!r}; give steps with their values, as in 1=0.5,3=0.4. The evaluation is still out."
            ) from None
    return found


def _check_one_answer(values: Sequence[str], failed: str | None, released: bool, cost: float) -> None:
    if (bool(values), failed is not None, released).count(True) != 1:
        raise InvalidValueError("Give one answer: a VALUE (or NAME=VALUE...), --failed REASON, or --released.")
    if released and cost:
        raise InvalidValueError(
            "--cost is the cost of an attempt, and --released means that there was none; leave one out."
        )


def _parsed_name(text: str) -> tuple[int, str]:
    """The number of an evaluation and the beginning of its token, as in 12-3f9a."""
    found = re.fullmatch(rf"(\d{{1,18}})(?:-([0-9a-f]{{{LABEL_DIGITS},}}))?", text.strip().lower())
    if found is None:
        raise InvalidValueError(
            f"Evaluation {text!r} has no such name; give what flexibo ask printed, such as 12-3f9a."
        )
    return int(found[1]), found[2] or ""


def _attempt(url: str, name: str, number: int, check: str, named: str) -> tuple[str, str]:
    """The identity and the token under which an evaluation was claimed.

    The number alone is not enough: a database that lost its last events may ask it again, of another design.
    """
    from flexibo.history.events import Asked, Failed, Reissued, Spent, Told

    opened = load_study(url, name, lease=LEASE_SECONDS)
    study, asked = opened.name, opened.history.asked
    since = opened.history.events[asked.at[number] :] if number < len(asked) else []
    claims = [(e.worker, e.evaluation.token) for e in since if isinstance(e, Asked) and e.evaluation.number == number]
    claims += [(e.worker, e.token) for e in since if isinstance(e, Reissued) and e.number == number]
    by_hand = [claim for claim in claims if is_detached(claim[0])]
    found = [one for one in by_hand if (one[1].startswith(check) if check else named in ("", one[0]))]
    if found and (check or named or not found[0][1]):
        answered = {e.worker for e in since if isinstance(e, Told | Failed | Spent) and e.number == number}
        return next((one for one in found if one[0] not in answered), found[-1])
    if found:
        raise InvalidValueError(
            f"Evaluation {number} of study {study!r} is named by its number alone; give the name that flexibo ask "
            f"printed, such as {number}-3f9a, or its --hand. Nothing was told."
        )
    if by_hand:
        given = f"{number}-{check}" if check else repr(named)
        raise NeverAskedError(
            f"Evaluation {number} of study {study!r} was not asked as {given}; give the name that flexibo ask printed, "
            f"and leave --hand ({HAND}) out. Nothing was told."
        )
    if claims:
        raise InvalidValueError(
            f"Evaluation {number} of study {study!r} was asked by a program and not with flexibo ask; its program "
            "answers it. Nothing was told."
        )
    known = f"the numbers so far are 0 to {len(asked) - 1}" if asked else "nothing was asked yet"
    raise NeverAskedError(
        f"Evaluation {number} of study {study!r} was never asked ({known}); give a name that flexibo ask printed."
    )


def _answerable(study: Study, number: int, hand: str, token: str) -> Evaluation:
    """The evaluation, if it has not been answered in this attempt."""
    from flexibo.history.events import Spent

    evaluation = replace(study.history.asked[number], token=token)
    if study.history.settled(Spent(number, 0.0, hand, token)) is not None:
        raise InvalidValueError(
            f"Evaluation {evaluation.label} ({evaluation.objective!r}) was told already; an answer counts once, and "
            "nothing was changed."
        )
    return evaluation


def _release(study: Study, evaluation: Evaluation, hand: str) -> str:
    holder = study.history.assignments.get(evaluation.number)
    if holder is None or holder.worker != hand:
        raise InvalidValueError(
            f"Evaluation {evaluation.label} is not out any more: its lease was over, and others may measure it. There "
            "is nothing to give back."
        )
    study.release(evaluation)
    return "given back"


def _kept(url: str, name: str, number: int, given: Sequence[str], failed: str | None, cost: float, why: str) -> str:
    """Keep values that a study refused beside it, with the design that the variables of ``ask --shell`` name."""
    from flexibo.history.event_dicts import event_to_dict
    from flexibo.history.events import Told
    from flexibo.storage.sql import SQLStorage
    from flexibo.study.stored import stored_study
    from flexibo.study.unstored import UnstoredAnswer, keep

    is_its = os.environ.get("FLEXIBO_NUMBER") == str(number)
    design = parsed_object(os.environ.get("FLEXIBO_DESIGN")) if is_its else None
    place, study, _ = stored_study(url, name or None)
    if failed is not None or not given or design is None or not isinstance(place, SQLStorage):
        return ""
    objective = os.environ.get("FLEXIBO_OBJECTIVE", "")
    values = _numbers(objective, given)
    told = event_to_dict(Told(number, values, cost, noise=error_bars(values)))
    return f" {keep(UnstoredAnswer(study, design, objective, told, why), place.unstored, place.place)}"


def _numbers(objective: str, given: Iterable[str]) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for text in given:
        name, sign, number = text.rpartition("=")
        name = name if sign else objective
        if name in found:
            raise InvalidValueError(f"{name!r} has two values; give each objective once, as NAME=VALUE.")
        value, *bar = (_finite(part) for part in re.split(r"\+-|±", number, maxsplit=1))
        if value is None:
            raise InvalidValueError(
                f"{text!r} is no finite number; tell one, such as {name}=0.5, or say --failed REASON. The "
                "evaluation is still out."
            )
        found[name] = _with_bar(value, bar[0], text) if bar else value
    return found


def _finite(text: str) -> float | None:
    """The number that is typed; None if it is no finite one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _with_bar(value: float, deviation: float | None, text: str) -> Reading:
    if deviation is None or not 0 <= deviation <= LARGEST:
        raise InvalidValueError(
            f"{text!r} has no standard deviation after the value; give one that is zero or more, as in 3.5+-0.2. The "
            "evaluation is still out."
        )
    return Reading(value, deviation=deviation)


def _shown(value: float) -> str:
    return f"{value:g} ±{value.deviation:g}" if isinstance(value, Reading) else f"{value:g}"


def _say(study: Study, evaluation: Evaluation, told: str, *, counted: bool, cost: float | None, json: bool) -> None:
    facts: dict[str, Any] = {
        "study": study.name,
        "number": evaluation.number,
        "name": evaluation.label,
        "counted": counted,
        "spent": study.spent,
        "budget": study.budget,
    }
    if json:
        print_json(facts)
        return
    unit = study.history.cost_unit
    given = "" if cost is None else f", cost {format_spent(cost, None, unit)}"
    price = ", without a cost (the budget is not charged)" if cost == 0 else given
    spent = format_spent(study.spent, study.budget, unit)
    late = "" if counted else " Another worker has it or has answered it: only the cost counts."
    typer.echo(squeezed(f"Evaluation {evaluation.label}: {told}{price}.{late} Spent {spent}."))
