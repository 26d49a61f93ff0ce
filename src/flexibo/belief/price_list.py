"""What may be asked of a set of designs, what it costs, and what the budget still pays for."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo.belief.costs import Costs, failure_costs, mean_costs
from flexibo.belief.failures import chances, combined
from flexibo.belief.proxies import asked_proxies, proxy_purchases
from flexibo.history import History
from flexibo.history.events import Evaluation
from flexibo.history.measurements import QueuedDesign
from flexibo.space import Designs

MANY_DESIGNS = 2000  # among more, prices are predicted only of what may be asked
ROUNDING = 1e-9  # this share of the budget is rounding: ten tenths pay for one


@dataclass(frozen=True, slots=True)
class QueuedPart:
    """An objective of a queued design that lacks readings, besides one that is being taken."""

    queued: QueuedDesign
    objective: str
    price: float  # of a reading
    readings: int  # how many
    in_flight: bool  # whether it must wait for the reading that is being taken


def queued_parts(history: History, costs: Costs) -> list[QueuedPart]:
    """What is queued and is not being measured now, in the order in which it is asked."""
    if not history.queue:
        return []
    prices = costs.prices(history, history.space.known_designs([queued.design for queued in history.queue]))
    found = []
    for i, queued in enumerate(history.queue):
        for name in queued.objectives:
            p = history.purchase_of(name)
            in_flight = history.is_pending(p, queued.design)
            missing = history.readings_missing(p, queued.design, queued.readings) - in_flight
            if missing:
                found.append(QueuedPart(queued, name, float(prices[i, p]), missing, in_flight))
    return found


def payable_parts(history: History, costs: Costs, limit: float = math.inf) -> list[QueuedPart]:
    """What of the queue may be asked now and can be paid; at most `limit` is spent on the queue."""
    return [part for part in _paid_parts(history, costs, limit) if not part.in_flight]


def _paid_parts(history: History, costs: Costs, limit: float = math.inf) -> list[QueuedPart]:
    """What is queued, as far as the budget pays a reading of it after all before it."""
    left, found = min(unreserved(history, costs), limit), []
    slack = ROUNDING * min(limit, math.inf if history.budget is None else history.budget)
    for part in queued_parts(history, costs):
        if left == math.inf or (part.price <= left + slack and left > slack):
            found.append(part)
            left -= min(left, part.readings * part.price)
    return found


def remaining(history: History, costs: Costs) -> float:
    """What is left of the budget for the method.

    That is without what was spent, what the pending evaluations are expected to cost now, and what is queued.
    """
    left = unreserved(history, costs)
    if left == math.inf or not history.queue:
        return left
    return left - min(left, sum(part.readings * part.price for part in _paid_parts(history, costs)))


def unreserved(history: History, costs: Costs) -> float:
    """What is left of the budget after what was spent and what the pending evaluations are expected to cost now."""
    if history.budget is None:
        return math.inf
    return history.budget - history.spent - reserved(history, costs, list(history.pending.values()))


def reserved(history: History, costs: Costs, pending: Sequence[Evaluation]) -> float:
    """What some pending evaluations are expected to cost now."""
    if not pending:
        return 0.0
    prices = costs.prices_of(history, pending).tolist()
    return float(sum(max(e.cost, price) for e, price in zip(pending, prices, strict=True)))


def waiting_for_costs(history: History, costs: Costs, limit: float = math.inf) -> frozenset[str]:
    """The objectives that are not asked for now: what one of their pending evaluations costs must be known first.

    Nothing can be reserved for an evaluation of unknown cost. Where a budget, or a limit of one's own, is to be kept,
    one of each such objective is measured at a time, however many workers there are.
    """
    if not history.pending or (history.budget is None and limit == math.inf):
        return frozenset()
    known = costs.known(history)
    places = {history.purchase_of(evaluation.objective) for evaluation in history.pending.values()}
    return frozenset(history.purchases[p].objective for p in places if not known[p])


def is_worth_repeating(history: History, costs: Costs, evaluation: Evaluation, *, loss: float = 0.0) -> bool:
    """Whether a pending evaluation whose worker vanished should be measured after all: still unknown, and affordable.

    `loss` is what is charged for the attempt that was lost.
    """
    if not history.is_legal(evaluation.design):
        return False
    p = history.purchase_of(evaluation.objective)
    remeasure = any(history.objectives[j].remeasure for j in history.purchases[p].members)
    if evaluation.queued is not None:
        if not history.is_wanted(evaluation):
            return False
    elif history.is_measured(p, evaluation.design) and not remeasure:
        return False
    if history.budget is None:
        return True
    price = float(costs.prices_of(history, [evaluation])[0])
    # What is left is without the reserve for this very evaluation.
    left = remaining(history, costs) + max(evaluation.cost, price) - loss
    return price <= left + ROUNDING * history.budget


@dataclass(frozen=True, slots=True)
class PriceList:
    """The prices of everything that can be measured of m designs, in b bundles of quantities.

    A decoupled method has a bundle for each purchase (one measurement, which may yield several objectives), a coupled
    one a single bundle: what is still missing of a design.
    """

    bundles: tuple[tuple[int, ...], ...]  # the quantities of each
    prices: FloatArray  # (m, b): expected real cost
    thetas: FloatArray  # (m, b): what a score is divided by
    open: BoolArray  # (m, b): not measured, not being measured, not failed for good
    left: float = math.inf  # of the budget, without what pending evaluations are expected to cost
    slack: float = 0.0  # what counts as rounding in the budget
    designs_left: float = math.inf  # how many the budget is expected to pay completely
    names: tuple[str, ...] = ()  # (p): the objective that each purchase is asked by
    open_parts: BoolArray | None = None  # (m, p): each purchase may be asked
    chances: FloatArray | None = None  # (m, b): how likely it can be measured; None is certain
    proxies: tuple[tuple[int, ...], ...] = ()  # the bundles of the proxies of each quantity
    success: FloatArray | None = None  # (m,): how likely all that a design lacks can be measured; None is certain

    @classmethod
    def of(
        cls, history: History, designs: Designs, costs: Costs, *, coupled: bool = False, proxies: bool = False
    ) -> PriceList:
        """The prices of designs (m), given what happened so far; proxies may be asked only by who looks at them."""
        is_open = open_purchases(history, designs, asked_proxies(history) if proxies else ())
        prices = costs.prices(history, designs, wanted=is_open if len(designs) > MANY_DESIGNS else None)
        chance = chances(history, designs)
        success = combined(history, chance)
        # A failure is paid for, too.
        expected = chance * prices + (1.0 - chance) * failure_costs(history, prices)
        bundles = history.bundles
        open_parts = is_open
        if coupled:  # nothing is paid for twice
            bundles = (tuple(j for members in bundles for j in members),)
            prices, expected = (np.where(is_open, some, 0.0).sum(axis=1, keepdims=True) for some in (prices, expected))
            chance = success[:, None]
            is_open = np.asarray(is_open.any(axis=1, keepdims=True))
        counted = [p for p, _ in history.counting]
        left, whole = remaining(history, costs), float(np.nan_to_num(mean_costs(history))[counted].sum())
        return cls(
            bundles=bundles,
            prices=prices,
            thetas=costs.thetas(history, expected),
            open=is_open,
            left=left,
            slack=0.0 if history.budget is None else ROUNDING * history.budget,
            designs_left=max(0.0, left) / whole if whole > 0 else math.inf,
            names=tuple(purchase.objective for purchase in history.purchases),
            open_parts=open_parts,
            chances=chance,
            success=success,
            proxies=tuple(proxy_purchases(history, j) for j in range(len(history.quantities))),
        )

    def pays(self, prices: FloatArray | float) -> BoolArray:
        """Whether the rest of the budget is expected to pay each of these prices."""
        return np.asarray((prices <= self.left + self.slack) & (self.left > self.slack))

    def affordable(self) -> BoolArray:
        """What may be asked and paid (m, b)."""
        return self.open & self.pays(self.prices)

    def buys_something(self, affordable: BoolArray) -> bool:
        """Whether the budget pays for anything; what is free counts only alone, or a study would never end."""
        affordable, priced = affordable & self.counting, self.counting & (self.prices > 0)
        return bool((affordable & priced).any() if priced.any() else affordable.any())

    @property
    def counting(self) -> BoolArray:
        """What may be asked (m, b) without proxies, which buy nothing alone."""
        return np.asarray(self.open & np.array([bool(bundle) for bundle in self.bundles]))

    def contains(self, wanted: Collection[str]) -> BoolArray:
        """Where one of these objectives may be asked (m, b)."""
        found = np.zeros(self.open.shape, dtype=bool)
        for p, name in enumerate(self.names):
            if name in wanted and self.open_parts is not None:
                found[:, self._column(p)] |= self.open_parts[:, p]
        return found

    def missing(self, i: int, b: int = 0) -> list[str]:
        """The objectives of bundle b that may be asked of design i."""
        is_open = [] if self.open_parts is None else self.open_parts[i].tolist()
        return [self.names[p] for p, may in enumerate(is_open) if may and self._column(p) == b]

    def _column(self, p: int) -> int:
        return p if len(self.bundles) == len(self.names) else 0


def is_still_open(history: History, costs: Costs, evaluation: Evaluation) -> bool:
    """Whether an evaluation that was chosen a while ago may still be asked: it is open and affordable."""
    if evaluation.objective in waiting_for_costs(history, costs):
        return False
    if evaluation.queued is not None:
        parts = payable_parts(history, costs)
        return any((p.queued.number, p.objective) == (evaluation.queued, evaluation.objective) for p in parts)
    if history.is_closed(history.purchase_of(evaluation.objective), evaluation.design):
        return False
    if not history.is_legal(evaluation.design):
        return False
    designs = history.space.designs([evaluation.design])
    return bool(PriceList.of(history, designs, costs).pays(evaluation.cost))


def open_purchases(history: History, designs: Designs, proxies: Sequence[int] = ()) -> BoolArray:
    """Which purchases may be asked of which designs (m, p): not measured, not pending, not failed for good.

    Of proxies, only these purchases; who looks at them waits for one that is being read before its objective is asked.
    """
    is_open = np.ones((len(designs), len(history.purchases)), dtype=bool)
    for p, purchase in enumerate(history.purchases):
        is_open[:, p] = bool(history.bundles[p]) or p in proxies
        closed = history.closed(p)
        if len(closed):
            is_open[:, p] &= ~np.isin(designs.keys(purchase.options), closed)
        for q in {q for j in history.bundles[p] for q in proxy_purchases(history, j)}.intersection(proxies):
            asked = [e.design for e in history.pending.values() if e.objective == history.purchases[q].objective]
            if asked:
                options = history.purchases[q].options
                is_open[:, p] &= ~np.isin(designs.keys(options), history.space.known_designs(asked).keys(options))
    return is_open
