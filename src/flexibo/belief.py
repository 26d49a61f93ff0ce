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
from flexibo.surrogates import Refits, interval


@dataclass(frozen=True, slots=True)
class Belief:
    """What is thought of m candidates and n objectives. A bundle is a set of objectives that is measured together.

    Attributes:
        designs: The candidates (m).
        mu: Means of the losses (m, n).
        sigma: Deviations of the losses (m, n); 0 where measured exactly or being measured.
        lower: The optimistic corners (m, n): the best that each candidate may be.
        upper: The pessimistic corners (m, n).
        keys: Equal where two candidates must have the same value of an objective (m, n).
        reference: The reference point (n,).
        bundles: Objectives of each column that can be asked.
        prices: Expected real cost (m, b).
        thetas: What a score is divided by (m, b).
        open: Whether it may be asked (m, b).
    """

    designs: Designs
    mu: FloatArray
    sigma: FloatArray
    lower: FloatArray
    upper: FloatArray
    keys: KeyArray
    reference: FloatArray
    bundles: tuple[tuple[int, ...], ...]
    prices: FloatArray
    thetas: FloatArray
    open: BoolArray


def exploration(n: int, m: int, t: int, delta: float) -> float:
    """beta_t = (2/9) log(n m pi^2 t^2 / (6 delta)), below the paper's eq. `uncertainty`.

    >>> round(exploration(2, 1000, 20, 0.05), 3)
    3.797
    """
    return max(0.0, 2.0 / 9.0 * math.log(n * m * math.pi**2 * t**2 / (6.0 * delta)))


@dataclass(frozen=True, slots=True)
class Predictions:
    """Boxes of candidates: middle, deviation, corners and keys (m, n each); see `Belief`."""

    mu: FloatArray
    sigma: FloatArray
    lower: FloatArray
    upper: FloatArray
    keys: KeyArray


def predictions(
    history: History, designs: Designs, models: Sequence[Refits], *, beta: float = 1.0, pin_pending: bool = True
) -> Predictions:
    """What is thought of the candidates' losses.

    An exact objective that was measured has its value and deviation 0; one that is being measured is pinned to its
    mean, so that the next question looks elsewhere.

    Args:
        history: What was measured.
        designs: The candidates (m).
        models: One for each objective.
        beta: Square of the boxes' half width in deviations.
        pin_pending: Whether to pin what is being measured.
    """
    shape = (len(designs), len(history.objectives))
    mu, sigma, lower, upper = (np.zeros(shape) for _ in range(4))
    keys = np.zeros(shape, dtype=np.uint64)
    half = math.sqrt(beta)
    for j, objective in enumerate(history.objectives):
        keys[:, j] = designs.keys(objective.depends_on)
        # One prediction per distinct key: equal keys then have bit-equal boxes, which the geometry relies on.
        distinct, first, inverse = np.unique(keys[:, j], return_index=True, return_inverse=True)
        middle, pinned = _known(distinct, {} if objective.noisy else history.known(j))
        low, high = middle.copy(), middle.copy()
        if not pinned.all():
            seen, y = history.data(j)
            groups = history.space.groups(objective.depends_on)
            model = models[j].model(seen.encoded(objective.depends_on), y, groups=groups)
            X = designs[first[~pinned]].encoded(objective.depends_on)
            low[~pinned], middle[~pinned], high[~pinned] = interval(model, X, half)
        pending = [e.design for e in history.pending.values() if objective.name in e.yields]
        if pending and pin_pending:
            pinned |= np.isin(distinct, history.space.designs(pending).keys(objective.depends_on))
        low, high = np.where(pinned, middle, low), np.where(pinned, middle, high)
        mu[:, j], lower[:, j], upper[:, j] = middle[inverse], low[inverse], high[inverse]
        sigma[:, j] = ((high - low) / (2.0 * half))[inverse] if half else 0.0
    return Predictions(mu, sigma, lower, upper, keys)


def _known(distinct: KeyArray, known: Mapping[int, float]) -> tuple[FloatArray, BoolArray]:
    """The known losses (k,) of the sorted keys (k,), and where there are any."""
    losses, found = np.zeros(len(distinct)), np.zeros(len(distinct), dtype=bool)
    keys = np.fromiter(known.keys(), dtype=np.uint64, count=len(known))
    at = np.minimum(np.searchsorted(distinct, keys), len(distinct) - 1)
    here = distinct[at] == keys
    losses[at[here]] = np.fromiter(known.values(), dtype=float, count=len(known))[here]
    found[at[here]] = True
    return losses, found


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
