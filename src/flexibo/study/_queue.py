"""The queue of a study: designs that users put next in line, checked and turned into events."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from flexibo._internal.checks import whole_number
from flexibo._internal.numbers import format_spent
from flexibo.belief.costs import Costs
from flexibo.belief.price_list import ROUNDING, queued_parts, unreserved
from flexibo.errors import InvalidTypeError, InvalidValueError, unknown_name
from flexibo.history import History
from flexibo.history.events import BudgetSet, Dequeued, Enqueued, Event
from flexibo.space import Design
from flexibo.study._arguments import checked_budget
from flexibo.study.queue_states import MEASURED, closed_because

MOST_READINGS = 10_000
OWN = "queued by the user"
"""The reason of an evaluation that a user asked for."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a user wants to have measured next: a legal design and the purchases of some objectives, or of all."""

    design: Design
    objectives: tuple[str, ...]  # each replaced by the one whose evaluation yields it
    is_named: bool  # whether the user named the objectives: then nothing is left out
    readings: int
    why: str
    budget: float | None = None  # what may be spent on it, whatever is left of the study's budget

    @classmethod
    def of(
        cls,
        history: History,
        design: Mapping[str, Any],
        objectives: Collection[str] | None,
        *,
        readings: int,
        why: str,
        budget: float | None,
    ) -> Order:
        """The order of these arguments; an illegal design or an unknown objective is an error."""
        legal, names = history.space.design(design), history.counted if objectives is None else objectives
        if isinstance(names, str) or not isinstance(names, Collection) or not names:
            raise InvalidTypeError(f"objectives is {objectives!r}; give a list of objectives.")
        for name in names:
            if name not in history.names:
                raise unknown_name("objective", name, history.names)
        if not isinstance(why, str):
            raise InvalidTypeError(f"why is {why!r}; it must be a text.")
        leads = dict.fromkeys(history.purchases[history.purchase_of(name)].objective for name in names)
        count, granted = checked_readings(readings), checked_budget(budget)
        return cls(legal, tuple(leads), objectives is not None, count, why or OWN, granted)


def ordering_events(history: History, costs: Costs, order: Order) -> list[Event]:
    """The events that queue an order; an error if nothing of it is left to measure, or the budget is too small."""
    states = {name: closed_because(history, name, order.design, order.readings) for name in order.objectives}
    closed = {name: state for name, state in states.items() if state}
    lacking = tuple(name for name in order.objectives if name not in closed)
    if not lacking or (closed and order.is_named):
        said = "; ".join(f"{name!r} of this design {state}" for name, state in closed.items())
        noisy = [o.name for o in history.objectives if o.noisy and closed.get(o.name) == MEASURED]
        more = f" Give more readings to measure {noisy[0]!r} again." if noisy else ""
        raise InvalidValueError(f"Objective {said}; nothing was queued.{more}", argument="readings" if noisy else "")
    event = Enqueued(order.design, lacking, order.readings, order.why)
    price, left = price_of(history, costs, event), left_for_queue(history, costs)
    granted, unit = left if order.budget is None else order.budget, history.cost_unit
    if not (price <= granted * (1.0 + ROUNDING) and granted > 0.0):
        raise InvalidValueError(
            f"The budget does not pay for this design: {', '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} "
            f"expected to cost {format_spent(price, None, unit)}, and "
            f"{format_spent(max(0.0, granted), None, unit)} can be spent. Grant more with a budget for "
            "this design; nothing was queued.",
            argument="budget",
        )
    if history.budget is None or granted <= left:
        return [event]
    return [BudgetSet(history.budget + granted - left), event]


def checked_readings(readings: object) -> int:
    """How many readings are wanted; an error unless it is a sensible number."""
    count = whole_number("readings", readings, least=1)
    if count > MOST_READINGS:
        raise InvalidValueError(f"readings is {count}; at most {MOST_READINGS:,} can be wanted.", argument="readings")
    return count


def price_of(history: History, costs: Costs, event: Enqueued) -> float:
    """What the readings that an event queues are expected to cost."""
    prices = costs.prices(history, history.space.designs([event.design]))[0]
    places = [history.purchase_of(name) for name in event.objectives]
    return sum(float(prices[p]) * history.readings_missing(p, event.design, event.readings) for p in places)


def left_for_queue(history: History, costs: Costs) -> float:
    """What is left of the budget after all that is being measured or queued."""
    return unreserved(history, costs) - queue_price(history, costs)


def queue_price(history: History, costs: Costs) -> float:
    """What is queued and not being measured is expected to cost."""
    return sum(part.readings * part.price for part in queued_parts(history, costs))


def dequeued_events(history: History, number: int | None) -> list[Event]:
    """The events that withdraw a queued design, or all of them; an error if there is no such."""
    queued = [one.number for one in history.queue]
    if number is None:
        return [Dequeued(one) for one in queued]
    if whole_number("The number of a queued design", number, least=0) not in queued:
        known = f"queued now: {', '.join(map(str, queued))}" if queued else "nothing is queued"
        raise InvalidValueError(f"Design {number} is not in the queue ({known}); nothing was changed.")
    return [Dequeued(number)]
