"""Confirming: the rows that a user wants to have completed, checked and turned into events that queue them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from flexibo._internal.arrays import FloatArray
from flexibo._internal.checks import whole_number
from flexibo._internal.numbers import format_budget, format_spent
from flexibo.belief.costs import Costs
from flexibo.belief.price_list import ROUNDING, unreserved
from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.history import History
from flexibo.history.events import BudgetSet, Dequeued, Enqueued, Event
from flexibo.history.measurements import QueuedDesign
from flexibo.objectives import Objective
from flexibo.results.confirming import in_order_of_worth
from flexibo.results.handover import HandOver
from flexibo.space import Design
from flexibo.study._arguments import checked_budget
from flexibo.study._queue import checked_readings, left_for_queue, price_of, queue_price
from flexibo.study.queue_states import QUEUED, closed_because


@dataclass(frozen=True, slots=True)
class Wish:
    """What a user wants to have confirmed: some rows, or all as far as the money lasts."""

    rows: tuple[int, ...] | None
    budget: float | None
    readings: int
    runs: bool = False  # whether the queue is measured at once: then it does not matter who queued a row
    goes_on: bool = False  # whether something was confirmed before: then it is no error if nothing more can be paid

    @classmethod
    def of(cls, rows: object, budget: float | None, readings: object, *, runs: bool) -> Wish:
        """The wish of these arguments of `Study.confirm`."""
        if rows is not None and (isinstance(rows, str) or not isinstance(rows, Collection) or not rows):
            raise InvalidTypeError(f"rows is {rows!r}; give a list of row numbers, or leave it out for all.")
        numbers = None if rows is None else tuple(dict.fromkeys(whole_number("A row", row, least=1) for row in rows))
        return cls(numbers, checked_budget(budget), checked_readings(readings), runs)

    def further(self, left: float) -> Wish | None:
        """What is wished for after everything that was queued has been read; None if nothing is.

        Further readings change which designs are on the front, and those that join it have fewer. `left` may be spent.
        """
        if self.rows is not None or self.readings == 1 or left <= 0.0:
            return None
        return replace(self, budget=None if left == math.inf else left, goes_on=True)

    @property
    def include(self) -> str:
        """Which rows are looked at: all that can be named, or those that are on the front by the best guess."""
        return "probable" if self.rows is None else "possible"


def chosen_rows(
    found: HandOver, objectives: Sequence[Objective], reference: FloatArray | None, wish: Wish
) -> dict[int, Design]:
    """The designs that are wished for by their numbers, in order; an unknown number is an error.

    Without a wish for some rows, all promising ones are confirmed, those that are expected to add most per cost first;
    confirmed ones get more readings. The reference point (k,) is None while an objective has no value.
    """
    ordered = [] if reference is None else in_order_of_worth(found.promising, found.front, objectives, reference)
    confirmed, promising = ({row.number: row.design for row in rows} for rows in (found.front, ordered))
    if wish.rows is None:
        return {**promising, **(confirmed if wish.readings > 1 else {})}
    known = {**confirmed, **promising}
    for number in wish.rows:
        if number not in known:
            last = max(known, default=0)
            listed = f"there are rows 1 to {found.last_likely}" if known else "there are no rows yet"
            more = f", and with --possible to {last}" if last > found.last_likely else ""
            raise InvalidValueError(f"Row {number} is unknown; {listed}{more}. Nothing was queued.")
    return {number: known[number] for number in wish.rows}


def confirming_events(history: History, costs: Costs, rows: Mapping[int, Design], wish: Wish) -> list[Event]:
    """The events that queue what is missing of rows, with a larger budget if that is needed and was granted.

    Of rows that were named, all are queued or none. Of all rows, those that fit into the money are.
    """
    left = left_for_queue(history, costs) if wish.budget is None else wish.budget - queue_price(history, costs)
    slack = 0.0 if left == math.inf else ROUNDING * max(left, 0.0)
    planned: set[tuple[int, int]] = set()
    found: list[Event] = []
    prices, cheapest = 0.0, math.inf
    for number, design in rows.items():
        event = _missing(history, costs, number, design, wish, planned)
        if event is None:
            continue
        price = price_of(history, costs, event)
        cheapest = min(cheapest, price)
        fits = price <= left - prices + slack and left > 0.0
        if fits or wish.rows is not None:
            found.append(event)
            prices += price
            planned |= {_part(history, name, event.design) for name in event.objectives}
    is_none_paid = not found and cheapest < math.inf
    is_too_small = is_none_paid if wish.rows is None else prices > left + slack or left <= 0.0
    if is_too_small and not wish.goes_on:
        raise _too_small(prices if found else cheapest, left, queue_price(history, costs), wish, history.cost_unit)
    return [*_raised(history, costs, wish.budget), *found] if found else []


def unpaid_events(history: History, found: Collection[QueuedDesign]) -> list[Event]:
    """The events that withdraw those of some queued designs of which nothing is being measured."""
    numbers = {queued.number for queued in found}
    return [
        Dequeued(queued.number, "The budget did not pay for it.")
        for queued in history.queue
        if queued.number in numbers
        and not any(history.is_pending(history.purchase_of(name), queued.design) for name in queued.objectives)
    ]


def _missing(
    history: History, costs: Costs, number: int, design: Design, wish: Wish, planned: Collection[tuple[int, int]]
) -> Enqueued | None:
    """The event that queues what a row lacks, the cheapest first; None if it lacks nothing, an error if it was named.

    What is planned for other rows already, and must be the same, is not queued twice.
    """
    leads = [purchase.objective for _, purchase in history.counting]
    closed = {name: closed_because(history, name, design, wish.readings) for name in leads}
    lacking = [name for name in leads if not closed[name] and _part(history, name, design) not in planned]
    if lacking:
        prices = costs.prices(history, history.space.designs([design]))[0]
        lacking.sort(key=lambda name: float(prices[history.purchase_of(name)]))
        return Enqueued(design, tuple(lacking), wish.readings, f"confirms row {number} of the front's table")
    is_queued = wish.runs and QUEUED in closed.values()
    if wish.rows is not None and all(closed.values()) and not is_queued:
        said = "; ".join(f"{name!r} {state}" for name, state in closed.items())
        raise InvalidValueError(f"Row {number} lacks nothing that could be queued: {said}. Nothing was queued.")
    return None


def _part(history: History, name: str, design: Design) -> tuple[int, int]:
    """What identifies an evaluation: equal where the outcome must be equal."""
    p = history.purchase_of(name)
    return p, history.key(p, design)


def _raised(history: History, costs: Costs, granted: float | None) -> list[Event]:
    """The event that raises the budget of a study so that what was granted for confirming can be spent."""
    if granted is None or history.budget is None:
        return []
    left = unreserved(history, costs)
    return [BudgetSet(history.budget - left + granted)] if granted > left else []


def _too_small(price: float, left: float, queued: float, wish: Wish, unit: str) -> InvalidValueError:
    what = f"The budget of {format_budget(wish.budget, unit)}" if wish.budget else "What is left of the study's budget"
    which = "the cheapest row is" if not wish.rows else "these rows are" if len(wish.rows) > 1 else "this row is"
    return InvalidValueError(
        f"{what} is too small: {which} expected to cost {format_spent(price, None, unit)}, and "
        f"{format_spent(max(0.0, left), None, unit)} can be spent"
        f"{f', as {format_spent(queued, None, unit)} is for what is queued' if queued else ''}. Nothing was queued; "
        "give a larger budget for confirming.",
        argument="budget",
    )
