"""Everything that is known of the designs of a history: readings, what the models say, failures, prices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray
from flexibo.belief.belief import Belief, Predictions
from flexibo.belief.costs import mean_costs
from flexibo.belief.price_list import PriceList
from flexibo.history import History
from flexibo.history.events import Added, Told
from flexibo.history.readings import Readings, readings
from flexibo.optimizer.predictor import Predictor
from flexibo.results.confidence import Confidence, confidence, standings_of
from flexibo.results.rows import DesignRow, Standing

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KnownDesigns:
    """What is known of the m designs of a history, in its order. Every objective has a value.

    Attributes:
        history: Their history.
        predictor: The models.
        read: Their readings.
        models: What the models say about them.
        estimates: The same, with everything that was read at the mean of its readings; designs of which something
            failed are not usable.
        sure: The boxes of the candidates, these designs first.
        standings: Whether each is on the front of the candidates.
    """

    history: History
    predictor: Predictor
    read: Readings
    models: Predictions
    estimates: Predictions
    sure: Confidence
    standings: list[Standing]

    @classmethod
    def of(cls, predictor: Predictor, history: History) -> KnownDesigns:
        """What is known of the designs of a history."""
        read, models = readings(history), predictor.estimates(history)
        usable = ~failed(history, read.known)
        usable = usable if models.usable is None else usable & models.usable
        estimates = replace(models, mu=np.where(read.known, read.mean, models.mu), usable=usable)
        sure = confidence(predictor, history, delta=predictor.delta)
        return cls(history, predictor, read, models, estimates, sure, standings_of(sure, history, models))

    @property
    def reference(self) -> FloatArray:
        """The reference point (k,)."""
        return self.predictor.reference(self.history)

    def belief(self) -> Belief:
        """The belief in these designs, without prices; what is being measured counts as unknown."""
        history = self.history
        return Belief.of(
            history,
            history.designs,
            self.estimates,
            reference=self.reference,
            tolerances=np.zeros(len(history.quantities)),
            price_list=PriceList.of(history, history.designs[:0], self.predictor.costs),
        )

    def row(self, i: int, number: int = 0) -> DesignRow:
        """Design i as a row of a table."""
        return DesignRow(**self.facts(i, number))

    def facts(self, i: int, number: int = 0) -> dict[str, Any]:
        """The attributes of design i that every row has, in the users' values."""
        signs = np.array([objective.value(1.0) for objective in self.history.quantities])
        spreads = [spread if np.isfinite(spread) else None for spread in self.read.spread[i].tolist()]
        return {
            "number": number,
            "design": self.history.designs[i],
            "values": self._named((self.estimates.mu[i] * signs).tolist()),
            "readings": self._named(self.read.count[i].tolist()),
            "spreads": self._named(spreads),
            "estimates": self._named((self.models.mu[i] * signs).tolist()),
            "deviations": self._named(self.models.sigma[i].tolist()),
            "probability": float(self.models.legal[i].prod()),
            "standing": self.standings[i],
            "reached": self._reached(i),
            "repeats": self._repeats(i),
        }

    def _reached(self, i: int) -> dict[str, int]:
        """The step that design i reached of each objective with steps that is not measured to its last one."""
        history, lacking = self.history, (self.read.count[i] == 0).tolist()
        names = [own.name for own, lacks in zip(history.quantities, lacking, strict=True) if own.stops and lacks]
        found = {name: history.reached(history.designs[i], name) for name in names}
        return {name: step for name, step in found.items() if step}

    def _repeats(self, i: int) -> dict[str, int]:
        """How many repeats each single reading of design i sums up, where it was told with an error bar."""
        history, found = self.history, {}
        single = (self.read.count[i] == 1) & np.isfinite(self.read.spread[i])
        for j in np.flatnonzero(single).tolist():
            objective = history.quantities[j]
            key = int(history.designs[[i]].keys(objective.depends_on)[0])
            event = history.events[history.first(j)[key][0] - 1]
            if isinstance(event, Told | Added) and objective.name in event.noise:
                found[objective.name] = event.noise[objective.name][1]
        return found

    def _named(self, cells: Iterable[T]) -> dict[str, T]:
        return dict(zip(self.history.counted, cells, strict=True))

    def missing_prices(self, places: IntArray) -> FloatArray:
        """The expected cost (f, p) of each purchase that some designs lack; 0 for others, NaN where none is known."""
        history = self.history
        known = self.read.known[places]
        lacking = np.stack([~known[:, list(bundle)].all(axis=1) for bundle in history.bundles], axis=1)
        prices = self.predictor.costs.prices(history, history.designs[places])
        if isinstance(self.predictor.costs.cost, str):
            prices = np.where(np.isnan(mean_costs(history)), np.nan, prices)
        return np.where(lacking, prices, 0.0)

    def price_of_all(self, places: IntArray) -> float | None:
        """The expected cost of everything that some designs lack, what they share counted once; None if unknown."""
        prices, total = self.missing_prices(places), 0.0
        for p, purchase in enumerate(self.history.purchases):
            keys = self.history.designs[places].keys(purchase.options)
            total += float(prices[np.unique(keys, return_index=True)[1], p].sum())
        return None if np.isnan(total) else total


def failed(history: History, known: BoolArray) -> BoolArray:
    """The designs (m,) of which something was tried that gave no value, given what is known (m, n)."""
    found = np.zeros(len(known), dtype=bool)
    for p, purchase in history.counting:
        if history.failed_attempts[purchase.objective]:
            lacking = np.flatnonzero(~known[:, list(purchase.members)].all(axis=1))
            for i in lacking.tolist():
                found[i] |= history.attempts(p, history.designs[i]) > 0
    return found
