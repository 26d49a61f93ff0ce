"""Belief: what is thought of every candidate, given the history."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from flexibo.arrays import BoolArray, FloatArray, KeyArray
from flexibo.costs import Costs
from flexibo.history import History
from flexibo.space import Designs
from flexibo.surrogates import Refits


@dataclass(frozen=True, slots=True)
class Belief:
    """What is thought of m candidates and n objectives. A bundle is a set of objectives that is measured together.

    Attributes:
        designs: The candidates (m).
        mu: Means of the losses (m, n).
        sigma: Deviations of the losses (m, n); 0 where measured exactly or being measured.
        keys: Equal where two candidates must have the same value of an objective (m, n).
        beta: Square of the boxes' half width in deviations.
        reference: The reference point (n,).
        bundles: Objectives of each column that can be asked.
        prices: Expected real cost (m, b).
        thetas: What a score is divided by (m, b).
        open: Whether it may be asked (m, b).
    """

    designs: Designs
    mu: FloatArray
    sigma: FloatArray
    keys: KeyArray
    beta: float
    reference: FloatArray
    bundles: tuple[tuple[int, ...], ...]
    prices: FloatArray
    thetas: FloatArray
    open: BoolArray

    @property
    def lower(self) -> FloatArray:
        """The optimistic corners (m, n): the best that each candidate may be."""
        return self.mu - math.sqrt(self.beta) * self.sigma

    @property
    def upper(self) -> FloatArray:
        """The pessimistic corners (m, n)."""
        return self.mu + math.sqrt(self.beta) * self.sigma


def exploration(n: int, m: int, t: int, delta: float) -> float:
    """beta_t = (2/9) log(n m pi^2 t^2 / (6 delta)), below the paper's eq. `uncertainty`.

    >>> round(exploration(2, 1000, 20, 0.05), 3)
    3.797
    """
    return max(0.0, 2.0 / 9.0 * math.log(n * m * math.pi**2 * t**2 / (6.0 * delta)))


def predictions(
    history: History, designs: Designs, models: Sequence[Refits], *, pin_pending: bool = True
) -> tuple[FloatArray, FloatArray, KeyArray]:
    """Means, deviations and keys (m, n each) of the candidates' losses.

    An exact objective that was measured has its value and deviation 0; one that is being measured is pinned to its
    mean, so that the next question looks elsewhere (unless `pin_pending` is off).
    """
    shape = (len(designs), len(history.objectives))
    mu, sigma, keys = np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.uint64)
    for j, objective in enumerate(history.objectives):
        keys[:, j] = designs.keys(objective.options)
        # One prediction per distinct key: equal keys then have bit-equal boxes, which the geometry relies on.
        distinct, first, inverse = np.unique(keys[:, j], return_index=True, return_inverse=True)
        seen, y = history.data(j)
        groups = history.space.groups(objective.options)
        model = models[j].model(seen.encoded(objective.options), y, groups=groups)
        mean, deviation = model.predict(designs[first].encoded(objective.options))
        if not objective.noisy:
            _pin_known(distinct, mean, deviation, history.known(j))
        pending = [e.design for e in history.pending.values() if objective.name in e.yields]
        if pending and pin_pending:
            deviation[np.isin(distinct, history.space.designs(pending).keys(objective.options))] = 0.0
        mu[:, j], sigma[:, j] = mean[inverse], deviation[inverse]
    return mu, sigma, keys


def _pin_known(distinct: KeyArray, mean: FloatArray, deviation: FloatArray, known: Mapping[int, float]) -> None:
    """Set mean and deviation where the loss is known; `distinct` is sorted."""
    if not known:
        return
    keys = np.fromiter(known.keys(), dtype=np.uint64, count=len(known))
    losses = np.fromiter(known.values(), dtype=float, count=len(known))
    at = np.minimum(np.searchsorted(distinct, keys), len(distinct) - 1)
    found = distinct[at] == keys
    mean[at[found]] = losses[found]
    deviation[at[found]] = 0.0


def offers(
    history: History, designs: Designs, costs: Costs, *, coupled: bool
) -> tuple[tuple[tuple[int, ...], ...], FloatArray, FloatArray, BoolArray]:
    """What can be asked of the candidates: bundles, prices, thetas and whether each is open (m, b each)."""
    prices = costs.prices(history, designs)
    thetas = costs.thetas(history, prices)
    is_open = np.ones(prices.shape, dtype=bool)
    for p, purchase in enumerate(history.purchases):
        closed = history.closed(p)
        if len(closed):
            is_open[:, p] = ~np.isin(designs.keys(purchase.options), closed)
    if not coupled:
        return tuple(purchase.members for purchase in history.purchases), prices, thetas, is_open
    # A bundle is what is still missing of a design: nothing is paid for twice.
    everything = tuple(j for purchase in history.purchases for j in purchase.members)
    price: FloatArray = np.where(is_open, prices, 0.0).sum(axis=1, keepdims=True)
    theta: FloatArray = np.where(is_open, thetas, 0.0).sum(axis=1, keepdims=True)
    any_open: BoolArray = np.asarray(is_open.any(axis=1, keepdims=True))
    return (everything,), price, np.where(theta > 0, theta, 1.0), any_open
