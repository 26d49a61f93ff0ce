"""Which designs are worth another fold, and how much of the budget is kept for their folds.

The study measures the first fold of many designs. A design of the front needs all folds, so what these are expected to
cost is kept; when the rest of the budget cannot complete another design, the front is read in more folds, one by one. A
design that another one dominates on the folds that both have is given up, unless the difference of a score may be
chance: a score that differs by less than one standard deviation of such differences counts as the better one, as long
as folds are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray
from flexibo.errors import InvalidValueError
from flexibo.history import History
from flexibo.integrations.scikit_learn._quantities import Quantities
from flexibo.pareto import non_dominated
from flexibo.space import Design

if TYPE_CHECKING:
    from flexibo.study import Study

PATIENCE = 1.0  # standard deviations of a difference that count as chance
AMPLE = 10.0  # how many times what it is expected to cost may be spent so that one design has all folds


@dataclass(frozen=True, slots=True)
class FoldTable:
    """The losses of all designs of a history, fold by fold.

    Attributes:
        designs: The designs (m) of which something was measured or failed, in the order in which they were begun.
        losses: The losses (m, folds, n) in the units of the quantities; NaN where nothing was measured. What is
            measured apart is the same in all folds.
        counts: How many folds (m,) were measured.
        failed: Whether (m,) something of a design failed for good.
        limits: The greatest feasible losses (n,).
        optimised: The places of the quantities that are optimised.
        worst: The worst losses of interest (n,); infinite unless they were given.
        scores: The places of the scores.
    """

    designs: tuple[Design, ...]
    losses: FloatArray
    counts: IntArray
    failed: BoolArray
    limits: FloatArray
    optimised: tuple[int, ...]
    worst: FloatArray
    scores: tuple[int, ...]

    @classmethod
    def of(cls, history: History, n_folds: int, quantities: Quantities) -> FoldTable:
        """The table of a history."""
        designs = history.designs
        places = {key: i for i, key in enumerate(designs.keys().tolist())}
        losses = np.full((len(designs), n_folds, len(history.objectives)), np.nan)
        counts = np.zeros((len(history.objectives), len(designs)), dtype=np.int64)
        for j, objective in enumerate(history.objectives):
            seen, y = history.data(j)
            losses_read = quantities.losses(objective.name, y)
            for key, loss in zip(seen.keys().tolist(), losses_read.tolist(), strict=True):
                i = places[key]
                if not objective.noisy:
                    losses[i, :, j] = loss
                elif counts[j, i] < n_folds:
                    losses[i, counts[j, i], j] = loss
                counts[j, i] += 1
        noisy = [j for j, objective in enumerate(history.objectives) if objective.noisy]
        hopeless = [history.hopeless(p) for p in range(len(history.purchases))]
        failed = np.zeros(len(designs), dtype=bool)
        for p, purchase in enumerate(history.purchases):
            failed |= np.isin(designs.keys(purchase.options), hopeless[p])
        read = np.minimum(counts[noisy].min(axis=0, initial=n_folds), n_folds)
        limits = [float(quantities.losses(o.name, np.asarray(o.limit))) for o in history.objectives]
        known = np.flatnonzero(failed | (counts > 0).any(axis=0))  # others were asked about and given back
        given = quantities.reference
        worst = np.array([o.loss(given[o.name]) if o.name in given else np.inf for o in history.objectives])
        parts = losses[known], read[known], failed[known]
        scores = tuple(j for j, name in enumerate(history.names) if name in quantities.scorers)
        return cls(tuple(designs[known]), *parts, np.array(limits), history.optimised, worst, scores)

    @property
    def complete(self) -> BoolArray:
        """The designs (m,) of which everything was measured, in all folds."""
        return np.asarray(~np.isnan(self.losses).any(axis=(1, 2)))

    @property
    def means(self) -> FloatArray:
        """The mean losses (m, n) over the folds that were measured; NaN without any."""
        number = np.maximum((~np.isnan(self.losses)).sum(axis=1), 1)
        means = np.nansum(self.losses, axis=1) / number
        return np.where(np.isnan(self.losses).all(axis=1), np.nan, means)

    def front(self) -> IntArray:
        """The complete designs (f,) that no other complete one dominates, ordered by the first objective.

        While none keeps every limit, the front of those that break one.
        """
        places = self._within_limits(np.flatnonzero(self.complete))
        places = places[non_dominated(self.means[places][:, list(self.optimised)])]
        return places[np.argsort(self.means[places, self.optimised[0]], kind="stable")]

    def racing(self, *, patience: float = 0.0) -> IntArray:
        """The designs (r,) that may belong to the front: none dominates them on the folds that both have.

        What is worse than the worst that is of interest is left out, unless everything is.

        Args:
            patience: By how many standard deviations of a difference scores may be worse, while folds are missing.
        """
        begun = np.flatnonzero((self.counts > 0) & ~np.isnan(self.means).any(axis=1) & (self.complete | ~self.failed))
        begun = _as_far_as_any(self._within_limits(begun), self.means, self.worst)
        optimised, n_folds = list(self.optimised), self.losses.shape[1]
        counts, sums = self.counts[begun], np.cumsum(np.nan_to_num(self.losses[begun][:, :, optimised]), axis=1)
        slack = patience * self.noise()[optimised]
        beaten = np.zeros(len(begun), dtype=bool)
        for i, count in enumerate(counts.tolist()):
            common = np.minimum(counts, count)
            chance = np.where(common < n_folds, np.sqrt(2.0 * common), 0.0)[:, None] * slack
            own, others = sums[i, common - 1] - chance, sums[np.arange(len(begun)), common - 1]
            beaten[i] = ((others <= own).all(axis=1) & (others < own).any(axis=1)).any()
        return begun[~beaten]

    def noise(self) -> FloatArray:
        """The standard deviation (n,) of the scores of a design about its mean and the effects of the folds.

        0 for anything but scores, and while no two designs have two folds.
        """
        found = np.zeros(self.losses.shape[2])
        several = self.losses[self.counts > 1]
        designs, folds = len(several), int(self.counts.max(initial=0))
        freedom = int((~np.isnan(several[:, :, 0])).sum()) - designs - (folds - 1) if designs > 1 else 0
        for j in self.scores if freedom > 0 else ():
            rest = several[:, :folds, j] - np.nanmean(several[:, :, j], axis=1, keepdims=True)
            rest = rest - np.nanmean(rest, axis=0)
            found[j] = np.sqrt(np.nansum(rest**2) / freedom)
        return found

    def _within_limits(self, places: IntArray) -> IntArray:
        return _as_far_as_any(places, self.means, self.limits)


def _as_far_as_any(places: IntArray, means: FloatArray, most: FloatArray) -> IntArray:
    """The places of means that are at most this, or all places if there is none."""
    kept = (means[places] <= most).all(axis=1)
    return places[kept] if kept.any() else places


@dataclass(frozen=True, slots=True)
class Racing:
    """The designs (r) that are worth another fold, or have all of them."""

    designs: Sequence[Design]
    missing: IntArray  # (r,): how many folds each lacks
    prices: FloatArray  # (r,): what a fold of each is expected to cost
    leads: BoolArray  # (r,): whether none is better so far; the others may be worse by chance

    @property
    def reserved(self) -> IntArray:
        """The folds (r,) that are paid for with some certainty: all of those that lead, one of the others."""
        return np.where(self.leads, self.missing, np.minimum(self.missing, 1))


@dataclass(slots=True)
class Race:
    """The stop rule of a search: it ends the search while enough is left to complete the front.

    Attributes:
        n_folds: The number of folds.
        max_fits: The most fits.
        quantities: What is measured.
        searches: Whether new designs may be asked for; otherwise only queued folds are measured.
    """

    n_folds: int
    max_fits: float
    quantities: Quantities
    searches: bool = True
    _known: tuple[int, Racing] | None = field(default=None, init=False)

    @property
    def lead(self) -> str:
        """The objective that is asked for to get a fold."""
        return self.quantities.fold_names[0]

    def __call__(self, study: Study) -> str:
        """Why to stop rather than to begin another design; empty if one more can be completed."""
        if not self.searches:
            return "Only folds of the front are measured."
        history = study.history
        racing = self._racing(history)
        begun = sum(one.objective == self.lead and one.queued is None for one in history.pending.values())
        price = self._usual_cost(history)
        kept = float((racing.reserved * racing.prices).sum()) + begun * (self.n_folds - 1) * price
        fits = int(racing.reserved.sum()) + begun * (self.n_folds - 1)
        is_dear = history.budget is not None and _left(history) < kept + self.n_folds * price
        if is_dear or self._fits_left(history) < fits + self.n_folds:
            return "The rest of the budget is kept to measure the front in all folds."
        return ""

    def enqueue(self, study: Study) -> int:
        """Queue the next fold of each racing design that can be completed; returns how many."""
        history = study.history
        racing = self._racing(history)
        left, fits, queued = _left(history), self._fits_left(history), 0
        for r in np.lexsort([racing.missing, ~racing.leads]).tolist():
            missing, design = int(racing.missing[r]), racing.designs[r]
            price = float(missing * racing.prices[r])
            if not missing or price > left * (1 + 1e-9) or missing > fits:
                continue
            read = self.n_folds - missing
            why = f"fold {read + 1} of {self.n_folds} of a design of the front"
            try:
                study.enqueue(design, [self.lead], readings=read + 1, why=why)
            except InvalidValueError:  # by its own forecast it costs more than is left, or another process has it
                continue
            left, fits, queued = left - price, fits - missing, queued + 1
        return queued

    def enqueue_one(self, study: Study) -> bool:
        """Queue all folds of one design if none has all of them, even if that costs more than the budget."""
        racing = self._racing(study.history)
        if not len(racing.designs) or not racing.missing.all() or study.queue:
            return False
        r = int(np.lexsort([racing.missing, ~racing.leads])[0])
        granted = AMPLE * float(racing.missing[r] * racing.prices[r])
        why = "one design has all folds, whatever they cost"
        study.enqueue(racing.designs[r], [self.lead], readings=self.n_folds, budget=granted or None, why=why)
        return True

    def table(self, history: History) -> FoldTable:
        """The folds that were measured so far."""
        return FoldTable.of(history, self.n_folds, self.quantities)

    def _racing(self, history: History) -> Racing:
        """The designs that are worth another fold, as of the last event."""
        if self._known is None or self._known[0] != len(history.events):
            self._known = len(history.events), self._found_racing(history)
        return self._known[1]

    def _found_racing(self, history: History) -> Racing:
        table = self.table(history)
        places, leading = table.racing(patience=PATIENCE), table.racing()
        designs = [table.designs[i] for i in places.tolist()]
        seen, costs = history.costs(history.purchase_of(self.lead))
        own = dict[int, list[float]]()
        for key, cost in zip(seen.keys().tolist(), costs.tolist(), strict=True):
            own.setdefault(key, []).append(cost)
        usual = self._usual_cost(history)
        prices = [np.mean(own.get(key, [usual])) for key in history.space.designs(designs).keys().tolist()]
        missing = self.n_folds - table.counts[places]
        return Racing(designs, missing, np.array(prices, dtype=np.float64), np.isin(places, leading))

    def _fits_left(self, history: History) -> float:
        p = history.purchase_of(self.lead)
        pending = sum(one.objective == self.lead for one in history.pending.values())
        return self.max_fits - len(history.costs(p)[1]) - len(history.failure_costs(p)) - pending

    def _usual_cost(self, history: History) -> float:
        """The mean cost of a fold so far; before the first one, what it is said to cost."""
        _, costs = history.costs(history.purchase_of(self.lead))
        return float(costs.mean()) if len(costs) else history.objectives[0].cost or 0.0


def _left(history: History) -> float:
    reserved = sum(one.cost for one in history.pending.values())
    return float("inf") if history.budget is None else history.budget - history.spent - reserved
