"""The start of an objective with steps: looks at many designs, and a few of them all the way.

Before anything is known, a design may cost many times what another one costs, and be a poor one besides. Its first stop
shows both for a fraction of the price. So the start reads the first stop of many designs. Then it completes a few: of
the cheaper half, those that were best so far. As many are completed as the model needs to learn what early values tell
(`flexibo.surrogates.co_kriging`). If that can be paid, the second one is the worst: the best alone would not show
whether early values tell good designs from poor ones. What a look cost is not paid again.

It costs what the complete evaluations would cost that the start makes without looks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.belief.step_costs import paid_shares, paid_up_to
from flexibo.history import History
from flexibo.space import Design
from flexibo.surrogates.co_kriging import FEWEST as MODELLED

MOST = 12  # designs whose first stop is read at most
WORST = 1  # the place of the worst among the designs that are completed


@dataclass(frozen=True, slots=True)
class LookingStart:
    """How an objective with steps is measured in the start: some designs at its first stop, fewer to its end.

    Attributes:
        purchase: What yields it, and nothing else.
        fewest: The number of designs that are completed whatever that costs.
        completed: The number of designs that are completed.
        looked: The number of designs whose first stop is read.
        share: What the way to the first stop costs, of the whole.
    """

    purchase: int
    fewest: int
    completed: int
    looked: int
    share: float

    @classmethod
    def of(cls, history: History, p: int, *, fewest: int, pays: int, is_counted: bool) -> LookingStart | None:
        """The plan of purchase p for the price of `pays` complete evaluations; None if it does not begin with looks.

        Looks cost half of it at most. If evaluations are what is limited (`is_counted`), a look is one of them.
        """
        if not begins_with_looks(history, p):
            return None
        objective = history.objectives[history.purchases[p].members[0]]
        share = float(paid_up_to(np.array([objective.looks[0]]), objective.stops, paid_shares(history, p))[0])
        half = pays // 2 if is_counted else int(pays / 2.0 / share)
        completed = max(fewest, min(MODELLED, pays // 2 if is_counted else pays))
        return cls(p, fewest, completed, max(completed, min(MOST, half)), share)

    def designs(
        self,
        history: History,
        among: Sequence[Design],
        prices: FloatArray,
        pays: Callable[[FloatArray], bool],
        *,
        left: float,
    ) -> list[Design]:
        """Which designs are read next, given what each still costs (m,), what the start pays, and what is left.

        These are all those of which nothing was read so far. Once there are none, or the budget could not complete
        them, they are the best of the cheaper half of those that were read at the first stop, with the worst in the
        second place if the model can learn from them.
        """
        p, begun = self.purchase, [d for d in among if history.is_pending(self.purchase, d)]
        price = dict(zip(among, prices.tolist(), strict=True))
        measured = [design for design in among if history.is_measured(p, design)]
        unseen = [d for d in among if d not in begun + measured and first_stop(history, p, d) is not None]
        seen = [d for d in among if d not in measured and first_stop(history, p, d) is None]
        looks = [d for d in unseen if d in among[: self.fewest] or pays(np.array([self.share * price[d]]))]
        looks = [d for d in looks if price[d] <= left or not seen]
        if looks:
            return looks
        done = len(measured) + sum(design in begun for design in seen)
        open_still = [design for design in seen if design not in begun]
        half = np.median([price[design] for design in open_still]) if open_still else 0.0
        open_still.sort(key=lambda design: (price[design] > half, _first_loss(history, p, design)))
        cheaper, place = sum(price[design] <= half for design in open_still), WORST - done
        if self.completed >= MODELLED and 0 <= place < cheaper:
            open_still.insert(place, open_still.pop(cheaper - 1))
        chosen = open_still[: max(0, self.completed - done)]
        return [d for i, d in enumerate(chosen) if done + i < self.fewest or pays(np.array([price[d]]))]


def begins_with_looks(history: History, p: int) -> bool:
    """Whether purchase p is one objective that can be read at several stops, each time going on from the last one."""
    members = history.purchases[p].members
    objective = history.objectives[members[0]]
    return len(members) == 1 and len(objective.looks) > 1 and objective.resumable and not objective.proxies


def first_stop(history: History, p: int, design: Design) -> int | None:
    """The first stop of purchase p if it was not read there yet; None if it goes to its end next."""
    if not begins_with_looks(history, p):
        return None
    objective = history.objectives[history.purchases[p].members[0]]
    first = objective.looks[0]
    return first if history.reached(design, objective.name) < first else None


def _first_loss(history: History, p: int, design: Design) -> float:
    """The loss at the first stop of a design that was read there."""
    objective = history.objectives[history.purchases[p].members[0]]
    return objective.loss(dict(history.curve(design, objective.name))[objective.looks[0]])
