"""``flexibo enqueue``: puts a design of the user's next in line, or withdraws it."""

from __future__ import annotations

from json import JSONDecodeError, loads
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flexibo._internal.numbers import format_spent
from flexibo.cli._advice import StudyPlace
from flexibo.cli._options import JSONFlag, StorageURL, StudyName, parsed_names, parsed_seconds, typed_option
from flexibo.cli._storage import load_study, storage_url
from flexibo.cli._text import design_line, print_json, squeezed
from flexibo.errors import FlexiBOError, InvalidValueError, raise_all, unknown_name

if TYPE_CHECKING:
    from flexibo.history.measurements import QueuedDesign
    from flexibo.space import Design, Space
    from flexibo.study import Study

LEASE_SECONDS = 60.0  # never waited for: queueing claims nothing


def enqueue(
    design: Annotated[
        list[str] | None,
        typer.Argument(metavar="OPTION=VALUE...", help="The design; or one JSON object.", show_default=False),
    ] = None,
    objectives: Annotated[
        list[str] | None,
        typer.Option(help="Measure only these, in this order. By default all that is missing.", show_default=False),
    ] = None,
    readings: Annotated[int, typer.Option(min=1, help="How many readings a noisy objective shall have in all.")] = 1,
    budget: Annotated[
        str,
        typed_option(
            "What may be spent on it, as in 10m. If less is left of the study's budget, that is raised. By default "
            "what is left of it."
        ),
    ] = "",
    why: Annotated[str, typer.Option(help="The reason, for people.", show_default=False)] = "",
    withdraw: Annotated[
        str, typer.Option(metavar="NUMBER|all", help="Withdraw what was queued instead.", show_default=False)
    ] = "",
    storage: StorageURL = "",
    name: StudyName = "",
    json: JSONFlag = False,
) -> None:
    """Put a design next in line: it is measured before anything that the method would choose.

    The queue is stored with the study, and 'flexibo status' shows it. What is measured counts against the budget.
    """
    if bool(design) == bool(withdraw):
        raise InvalidValueError("Give a design as OPTION=VALUE..., or --withdraw NUMBER to take one out of the queue.")
    with load_study(storage_url(storage), name, lease=LEASE_SECONDS) as study:
        if withdraw:
            _withdraw(study, withdraw, json=json)
            return
        chosen = parsed_names(objectives or [])
        granted, values = _checked(study, design or [], chosen, budget)
        left_out = {} if chosen else _left_out(study, values, readings)
        before = study.budget
        found = study.enqueue(values, chosen or None, readings=readings, budget=granted, why=why)
        if json:
            print_json({"study": study.name, "queued": [queued_facts(found)], "left_out": left_out})
            return
        typer.echo(squeezed(queued_line(study, found)))
        from flexibo.cli._outcome import raised_line

        for line in raised_line(study, before):
            typer.echo(line)
        for one, state in left_out.items():
            typer.echo(squeezed(f"Objective {one!r} of this design {state}, so it was not queued."))
        typer.echo(squeezed(next_line(StudyPlace.typed(storage, name, study.history.origin))))


def _left_out(study: Study, design: Design, readings: int) -> dict[str, str]:
    """The objectives of a design that need not be queued, each with the reason as the end of a sentence."""
    from flexibo.study.queue_states import closed_because

    history = study.history
    states = {one.objective: closed_because(history, one.objective, design, readings) for _, one in history.counting}
    return {name: state for name, state in states.items() if state}


def next_line(place: StudyPlace) -> str:
    """Who measures what is queued; the functions of a study without an origin are in a program."""
    asking = f"whoever asks: {place.command('ask')}"
    resuming = f", or: {place.measuring('resume')}" if place.origin else ""
    return f"It is measured before anything else by the workers of the study, or {asking}{resuming}"


def _checked(study: Study, design: list[str], objectives: list[str], budget: str) -> tuple[float | None, Design]:
    """The budget and the design that were typed; all mistakes, also in the names of objectives, are one error."""
    names = study.history.names
    mistakes: list[FlexiBOError] = [unknown_name("objective", name, names) for name in objectives if name not in names]
    try:
        granted = parsed_seconds(budget, "--budget") if budget else None
    except FlexiBOError as mistake:
        mistakes.append(mistake)
    try:
        values = typed_design(study.space, design)
    except FlexiBOError as mistake:
        mistakes.insert(0, mistake)
    raise_all(mistakes)
    return granted, values


def typed_design(space: Space, typed: list[str]) -> Design:
    """The design of arguments such as ``layers=3 width=64``, or of one JSON object; all mistakes are one error."""
    from flexibo.transfer import option_value

    if len(typed) == 1 and typed[0].lstrip().startswith("{"):
        try:
            found = loads(typed[0])
        except (JSONDecodeError, RecursionError):
            raise InvalidValueError(f"The design is {typed[0]!r}; it is not JSON. Give OPTION=VALUE...") from None
        return space.design(found)
    mistakes: list[FlexiBOError] = []
    design: dict[str, Any] = {}
    for text in typed:
        option, sign, value = text.partition("=")
        try:
            if not sign:
                raise InvalidValueError(
                    f"The design has {text!r}; give OPTION=VALUE for each of {', '.join(space.names)}."
                )
            if option in design:
                raise InvalidValueError(f"Option {option!r} is given twice; give it once.")
            known = option in space.names
            design[option] = option_value(value, option, space.options[option]) if known else value
        except FlexiBOError as mistake:
            mistakes.append(mistake)
    try:
        legal = space.design(design)
    except FlexiBOError as mistake:
        mistakes.append(mistake)
    raise_all(mistakes)
    return legal


def queued_facts(queued: QueuedDesign) -> dict[str, Any]:
    """A queued design, ready for JSON."""
    return {
        "number": queued.number,
        "design": dict(queued.design),
        "objectives": list(queued.objectives),
        "readings": queued.readings,
        "why": queued.why,
    }


def queued_line(study: Study, queued: QueuedDesign) -> str:
    """What was queued, for people."""
    history = study.history
    prices = study.predictor.costs.prices(history, study.space.designs([queued.design]))[0]
    places = [history.purchase_of(name) for name in queued.objectives]
    cost = sum(float(prices[p]) * history.readings_missing(p, queued.design, queued.readings) for p in places)
    price = f"; expected cost {format_spent(cost, None, history.cost_unit)}" if cost else ""
    return f"Queued as {queued.number}: {', '.join(queued.objectives)} of {design_line(dict(queued.design))}{price}."


def _withdraw(study: Study, typed: str, *, json: bool) -> None:
    """Withdraw one queued design, or all."""
    if typed != "all" and not (typed.isascii() and typed.isdigit() and len(typed) < 10):
        raise InvalidValueError(f"--withdraw is {typed!r}; give a number from the queue of 'flexibo status', or all.")
    before = {queued.number for queued in study.queue}
    study.dequeue(None if typed == "all" else int(typed))
    gone = sorted(before - {queued.number for queued in study.queue})
    if json:
        print_json({"study": study.name, "withdrawn": gone})
    else:
        typer.echo(f"Withdrawn: {', '.join(map(str, gone)) or 'nothing was queued'}.")
