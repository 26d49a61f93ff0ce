"""Changing a study: the settings that follow from a request, what must not change, and the events that say so."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from flexibo._internal.checks import checked_delta, whole_number
from flexibo.belief.candidates import filling_designs
from flexibo.belief.candidates import initial_designs as drawn_designs
from flexibo.belief.costs import check_cost
from flexibo.errors import FlexiBOError, InvalidTypeError, InvalidValueError, unknown_name
from flexibo.history import History
from flexibo.history.events import BudgetSet, Changed, Dequeued, Event, ReferenceFixed
from flexibo.methods.table import check_method, find_method
from flexibo.objectives import OWN, Objective, check_objectives
from flexibo.space import Design, Rule, Space
from flexibo.space.changes import changed_space, is_same_space, present_space
from flexibo.study._arguments import checked_budget, checked_reference
from flexibo.study.changes import UNSET, Change, ChangeRequest, Changes, option_text
from flexibo.study.settings import MOST_CANDIDATES, Settings, choice_name
from flexibo.surrogates.table import find_surrogate

OUTSIDE = "The study was changed: its space does not have this design any more."
MEANINGS = {
    "direction": "which values are better",
    "measured_with": "how it is measured",
    "options": "which designs share a value",
}
"""The fields that must not change, with what they decide."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The events of a change and what they change."""

    events: tuple[Event, ...]
    changes: Changes


class Replay:
    """The history with the settings of a request, kept from one `plan` to the next: only new events are added to it."""

    def __init__(self) -> None:
        self._made: History | None = None
        self._of: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})

    def made(self, history: History, stored: Mapping[str, Any], request: ChangeRequest) -> History:
        """The history with these settings: what cannot be replayed must not be stored."""
        before, known = history.rule, self._made
        is_same = known is not None and self._of[0] is history.settings and self._of[1] == stored
        self._made = None
        try:
            history.rule = rule_of(request, before)
            if known is not None and is_same:
                known.follow(history)
            else:
                known = history.changed_to(stored)
        except FlexiBOError as error:
            raise InvalidValueError(f"What was measured would not fit the study any more. {error}") from None
        finally:
            history.rule = before
        self._made, self._of = known, (history.settings, stored)
        return known


def plan(history: History, settings: Settings, request: ChangeRequest, replay: Replay | None = None) -> Plan:
    """What follows from a request for a study as it is now; an error if it would make readings wrong.

    Who plans again after some more events gives the same `replay`.
    """
    after = _applied(history, settings, request)
    rows = _differences(settings, after, request)
    stored, events, outside = after.to_dict(), list[Event](), 0
    seen = len(history.known_designs)
    if rows:
        made = (replay or Replay()).made(history, stored, request)
        outside = seen - len(made.space.legal(made.known_designs).nonzero()[0])
        # With more retries, a design is queued again that had failed for good.
        gone = [q.number for q in made.queue if not made.space.legal(made.space.known_designs([q.design]))[0]]
        if gone:
            rows.append(Change("queue", f"{len(made.queue)} designs", f"{len(made.queue) - len(gone)} designs"))
        lines = tuple(row.line for row in rows)
        events = [
            *(Dequeued(number, OUTSIDE) for number in gone),
            Changed(stored, lines, request.origin, rule=_has_other_rule(settings, after, request)),
        ]
    for row, event in (_budget(history, request), _reference(history, after, request)):
        rows += [] if row is None else [row]
        events += [] if event is None else [event]
    return Plan(tuple(events), Changes(tuple(rows), outside, seen))


def _has_other_rule(before: Settings, after: Settings, request: ChangeRequest) -> bool:
    is_given = request.valid is not UNSET and after.space is not before.space
    return is_given or (after.space.valid is None) != (before.space.valid is None)


def rule_of(request: ChangeRequest, before: Rule | None) -> Rule | None:
    """The rule of the space after a change."""
    if request.valid is not UNSET:
        return request.valid
    return before if request.space is None else request.space.valid


def _applied(history: History, settings: Settings, request: ChangeRequest) -> Settings:
    space = _space(settings.space, request)
    objectives = _objectives(history, settings, request, space)
    method = settings.method if request.method is None else find_method(request.method).name
    check_method(find_method(method), objectives)
    changed = replace(
        settings,
        space=space,
        objectives=objectives,
        method=method,
        cost=settings.cost if request.cost is UNSET else _choice(request.cost, check_cost),
        surrogate=settings.surrogate if request.surrogate is UNSET else _choice(request.surrogate, find_surrogate),
        delta=settings.delta if request.delta is None else checked_delta(request.delta),
    )
    if request.candidates is not None:
        changed = replace(
            changed, candidates=whole_number("candidates", request.candidates, least=1, most=MOST_CANDIDATES)
        )
    return changed if space is settings.space else _with_initial(changed, settings)


def _choice(given: Any, check: Callable[[Any], object]) -> str:
    if given is not None:
        check(given)
    return choice_name(given)


def _space(old: Space, request: ChangeRequest) -> Space:
    """The space that is requested, which also knows the designs of the old one; the old one if it is the same."""
    rule = old.valid if request.valid is UNSET else request.valid
    if request.space is not None:
        new = request.space
    elif request.options or request.conditions is not None or request.valid is not UNSET or request.defaults:
        now = present_space(old)
        if now.pool is not None:
            raise InvalidValueError(
                "The designs of this study are listed in a table, which changes as a whole; give "
                "space=Space.from_designs(...)."
            )
        conditions = now.conditions if request.conditions is None else request.conditions
        new = Space({**now.options, **request.options}, valid=rule, conditions=conditions)
    else:
        return old
    is_same_rule = request.valid is UNSET or request.valid is old.valid
    if is_same_space(present_space(old).to_dict(), new.to_dict()) and is_same_rule and not request.defaults:
        return old
    made = changed_space(old, new, request.defaults)
    try:
        made.sample(1, np.random.default_rng(0))
    except FlexiBOError as error:
        raise InvalidValueError(f"No design would be legal any more. {error}") from None
    return made


def _with_initial(settings: Settings, before: Settings) -> Settings:
    """The initial designs that the new space still has, or others if it has none of them."""
    space = settings.space
    known = space.known_designs(before.initial_designs)
    legal = space.legal(known)
    kept: tuple[Design, ...] = tuple(known[legal])
    if kept:
        return replace(settings, initial_designs=kept, n_given=int(legal[: before.n_given].sum()))
    count = len(before.initial_designs)
    draw = drawn_designs if before.full_start else filling_designs
    return replace(settings, initial_designs=draw(space, count, before.seed), n_given=0)


def _objectives(history: History, settings: Settings, request: ChangeRequest, space: Space) -> tuple[Objective, ...]:
    """All objectives from now on."""
    given = {}
    for one in (Objective(o) if isinstance(o, str) else o for o in request.objectives):
        if not isinstance(one, Objective):
            raise InvalidTypeError(f"An objective is {one!r}; give Objective(...) or a name.")
        if one.name in given:
            raise InvalidValueError(f"Two objectives are named {one.name!r}; names must differ.")
        given[one.name] = one
    before = {objective.name: objective for objective in settings.objectives}
    removed = [name for name in before if name not in given] if request.only_these else []
    if removed:
        raise InvalidValueError(
            f"Objective {removed[0]!r} is missing, which the study has; add it under this name, because its readings "
            "belong to the study, or start another study that knows them (known=...)."
        )
    after = dict(given) if request.only_these else {**before, **given}
    for name, limit in request.limits.items():
        if name not in after:
            raise unknown_name("objective", name, after)
        after[name] = _limited(after[name], limit)
    checked = check_objectives(after.values(), space.names)
    added = [name for name in space.names if name not in settings.space.names]
    for objective in checked:
        if objective.name in before:
            _check_meaning(before[objective.name], objective, added)
            _check_readings(history, objective)
    return checked


def _limited(objective: Objective, limit: float | None) -> Objective:
    """The objective with another limit in its direction; it is optimised if it was."""
    if limit is None and not objective.optimise:
        raise InvalidValueError(
            f"Objective {objective.name!r} is a constraint and nothing else; to optimise it without a limit, give "
            f"objectives=[Objective({objective.name!r}, ...)]."
        )
    return replace(objective, at_most=limit) if objective.direction == "min" else replace(objective, at_least=limit)


def _check_meaning(before: Objective, after: Objective, added: Sequence[str]) -> None:
    """Refuse a change with which readings of an objective would mean something else."""
    for field, what in MEANINGS.items():
        old, new = getattr(before, field), getattr(after, field)
        if field == "options" and old is not None and new is not None:
            new = tuple(name for name in new if name not in added)  # earlier designs all have the default
            old, new = set(old), set(new)
        if old != new:
            raise InvalidValueError(
                f"The {field} of objective {before.name!r} cannot change from {_shown(getattr(before, field))} to "
                f"{_shown(getattr(after, field))}, because it decides {what}; add an objective of another name."
            )
    if before.unit and before.unit != after.unit:
        raise InvalidValueError(
            f"The unit of objective {before.name!r} cannot change from {before.unit!r} to {after.unit!r}, because its "
            "readings are in the former; add an objective of another name."
        )
    if before.stops and before.stops[-1:] != after.stops[-1:]:
        raise InvalidValueError(
            f"The last step of objective {before.name!r} cannot change from {before.stops[-1]} to "
            f"{after.stops[-1] if after.stops else 'none'}, because only values there count as measured; add an "
            "objective of another name."
        )
    if before.noisy and not after.noisy:
        raise InvalidValueError(
            f"Objective {before.name!r} is noisy and cannot be exact from now on, because its readings differ."
        )


def _check_readings(history: History, objective: Objective) -> None:
    """Refuse bounds of what is possible that a reading is beyond."""
    least, most = objective.possible_losses
    losses = history.data(history.names.index(objective.name))[1]
    wrong = losses[(losses < least) | (losses > most)]
    if len(wrong):
        raise InvalidValueError(
            f"Objective {objective.name!r} was {objective.value(float(wrong[0])):.10g} for a design, so it cannot be "
            f"said to be {objective.range_text}."
        )


def _budget(history: History, request: ChangeRequest) -> tuple[Change | None, Event | None]:
    if request.budget is UNSET:
        return None, None
    budget = checked_budget(request.budget)
    if budget == history.budget:
        return None, None
    texts = ["none" if amount is None else f"{amount:.10g}" for amount in (history.budget, budget)]
    is_larger = budget is None or (history.budget is not None and budget > history.budget)
    return Change("budget", *texts, minor=is_larger), BudgetSet(budget)


def _reference(history: History, after: Settings, request: ChangeRequest) -> tuple[Change | None, Event | None]:
    if request.reference is None:
        return None, None
    fixed = checked_reference(request.reference, [objective for objective in after.objectives if objective.optimise])
    before = history.reference_values()
    if fixed == before and not history.is_reference_found:
        return None, None
    texts = ["" if some is None else ", ".join(f"{n} {v:.10g}" for n, v in some.items()) for some in (before, fixed)]
    texts[0] += " (found by the study)" if history.is_reference_found else ""
    return Change("reference", *texts), ReferenceFixed(fixed)


def _differences(before: Settings, after: Settings, request: ChangeRequest) -> list[Change]:
    rows = _differing_options(before.space, after.space)
    if _has_other_rule(before, after, request):
        rows.append(Change("rule", *("a rule" if space.valid else "none" for space in (before.space, after.space))))
        if rows[-1].before == rows[-1].after:
            rows[-1] = Change("rule", "", "another rule")
    for objective in after.objectives:
        old = next((one for one in before.objectives if one.name == objective.name), None)
        rows += [Change(objective.name, "", _described(objective))] if old is None else _changed_fields(old, objective)
    for field in ("method", "cost", "surrogate", "candidates", "delta"):
        old_value, new_value = getattr(before, field), getattr(after, field)
        if old_value != new_value:
            rows.append(Change(field, *(str(value) or "the method's own" for value in (old_value, new_value))))
    return rows


def _differing_options(before: Space, after: Space) -> list[Change]:
    rows, old, new = [], present_space(before), present_space(after)
    for name, option in new.options.items():
        if name not in old.options:
            default = (after._table.defaults or {})[name]
            rows.append(Change(f"option {name}", "", f"{option_text(option)}; earlier designs have {default}"))
        elif option != old.options[name]:
            rows.append(Change(name, option_text(old.options[name]), option_text(option)))
    if old.conditions != new.conditions:
        changed = [n for n in new.names if old.conditions.get(n) != new.conditions.get(n)]
        rows += [Change(f"condition of {n}", *(_when(space, n) for space in (old, new))) for n in changed]
    if old.pool is not None or new.pool is not None:
        sizes = ["none" if space.pool is None else f"{len(space.pool)} designs" for space in (old, new)]
        if sizes[0] != sizes[1] or (not rows and old.to_dict() != new.to_dict()):
            rows.append(Change("table of designs", *sizes))
    return rows


def _when(space: Space, name: str) -> str:
    parents = space.conditions.get(name, {})
    return "; ".join(f"{parent} in {', '.join(map(str, values))}" for parent, values in parents.items()) or "none"


def _changed_fields(before: Objective, after: Objective) -> list[Change]:
    names = [field.name for field in fields(Objective) if field.name != "name"]
    return [
        Change(
            f"{name} of {after.name}", _shown(getattr(before, name)), _shown(getattr(after, name)), minor=name in OWN
        )
        for name in names
        if getattr(before, name) != getattr(after, name)
    ]


def _described(objective: Objective) -> str:
    bound = "" if not objective.is_constraint else f", {'at most' if objective.at_most is not None else 'at least'} "
    limit = objective.value(objective.limit)
    kind = "a new objective" if objective.optimise else "a new constraint"
    return f"{kind} ({objective.direction}{bound}{f'{limit:.10g}' if bound and math.isfinite(limit) else ''})"


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {amount:g}" for name, amount in value.items()) or "none"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return f"{value:.10g}" if isinstance(value, float) else str(value) or "none"
