"""A request for the next question, and how a question is written down."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from flexibo._internal.arrays import BoolArray
from flexibo.belief.costs import Costs
from flexibo.belief.price_list import PriceList, waiting_for_costs
from flexibo.belief.step_costs import paid_shares, paid_up_to
from flexibo.history import History
from flexibo.history.events import Evaluation
from flexibo.optimizer.stop import Stop, nothing_to_ask, nothing_to_buy
from flexibo.space import Design, Designs


@dataclass(frozen=True, slots=True)
class Request:
    """What a question is chosen for: the history, the costs, and the objectives that are asked for now.

    The caller could measure those that are `waiting`, too, but must first learn what they cost.
    """

    history: History
    costs: Costs
    wanted: frozenset[str]
    waiting: frozenset[str] = frozenset()

    @classmethod
    def of(cls, history: History, costs: Costs, only: Collection[str] | None, *, limit: float = math.inf) -> Request:
        """A request for one of these objectives, None is any; the caller spends at most `limit`."""
        names = frozenset(p.objective for p in history.purchases if only is None or p.objective in only)
        waiting = names & waiting_for_costs(history, costs, limit)
        return cls(history, costs, names - waiting, waiting)

    def prices(self, *designs: Design) -> PriceList:
        """What may be asked of some designs, each purchase on its own."""
        return self.price_list(self.history.space.designs(designs))

    def price_list(self, designs: Designs, *, coupled: bool = False, proxies: bool = False) -> PriceList:
        """What may be asked of designs, and what it costs; proxies only on request."""
        return PriceList.of(self.history, designs, self.costs, coupled=coupled, proxies=proxies)

    def allowed(self, offered: PriceList) -> BoolArray | Stop:
        """What may be asked (m, b): open, affordable and, at least in part, wanted; or why there is nothing."""
        wanted = np.ones_like(offered.open)
        if len(self.wanted) < len(self.history.purchases):
            wanted = offered.contains(self.wanted)
            if not wanted.any():
                return nothing_to_ask(self.wanted)
        # Who measures only what is free, or only a proxy, may go on as long as others can buy something.
        affordable = offered.affordable()
        if offered.buys_something(affordable) and (affordable & wanted).any():
            return np.asarray(affordable & wanted)
        return nothing_to_buy(self.history, offered, wanted)

    def wanted_first(self, names: Collection[str]) -> tuple[str, ...]:
        """Objectives, those that are wanted first."""
        return tuple(sorted(names, key=lambda name: name not in self.wanted))

    def question(
        self,
        design: Design,
        objectives: Sequence[str],
        *,
        why: str,
        initial: bool = False,
        gain: float | None = None,
        volume: float | None = None,
        queued: int | None = None,
        stop: int | None = None,
    ) -> Evaluation:
        """The question for the first of the objectives; the others are promised to follow.

        One with steps is measured to the step `stop`, by default to the last.
        """
        history, p = self.history, self.history.purchase_of(objectives[0])
        start, last = self._way(design, objectives[0])
        price = float(self.prices(design).prices[0, p])
        if last is not None and stop is not None and start < stop < last:
            stops = history.objectives[history.names.index(objectives[0])].stops
            paid = paid_up_to(np.array([start, stop]), stops, paid_shares(history, p)).tolist()
            price, last = price * (paid[1] - paid[0]) / (1.0 - paid[0]), stop
            why = f"{why}; first to step {stop}"
        attempt = history.attempts(p, design) + 1
        if attempt > 1:
            why = f"{why}; attempt {attempt}"
        elif history.is_measured(p, design):
            why = f"{why}; one more reading"
        return Evaluation(
            design=design,
            objective=objectives[0],
            gain=gain,
            cost=price,
            why=why,
            number=len(history.asked),
            yields=tuple(history.names[j] for j in history.purchases[p].members),
            attempt=attempt,
            volume=volume,
            then=tuple(objectives[1:]),
            initial=initial,
            queued=queued,
            start=start,
            stop=last,
        )

    def _way(self, design: Design, name: str) -> tuple[int, int | None]:
        """The steps from which and to which an objective is measured: to the last one; 0 and None without steps."""
        objective = self.history.objectives[self.history.names.index(name)]
        if not objective.stops:
            return 0, None
        return (self.history.reached(design, name) if objective.resumable else 0), objective.stops[-1]
