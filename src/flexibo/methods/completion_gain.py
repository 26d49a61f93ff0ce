"""What completing a design is expected to add to the measured front, per cost of completing it.

A study hands over the designs of which every quantity was measured: the confirmed front. A design adds to it only when
nothing of it is missing any more, so what counts is the hypervolume that the design, complete, is expected to add,
divided by what all its missing parts cost together. The part that decides most per price is measured first: after a
cheap reading the design may turn out not to be worth its expensive part, and another design takes its place. So cheap
objectives are measured of many designs, and expensive ones of those that remain promising. A cheap reading that the
models predict exactly decides nothing and is left for last. (Measured first, it would be bought of one design after
the other: in a large space there is always one that seems a little better and of which it is missing.)

For losses y with means mu and standard deviations sigma, D the confirmed front, P the quantities that are still missing
and c_p the expected cost of each, the rate of a design is

    E[HV(D + y) - HV(D)] / sum over p in P of c_p.

This is the expected hypervolume improvement (Emmerich, Giannakoglou, Naujoks 2006) of the rest of a design. Every part
of a design is scored with its share c_p / sum of the gain: divided by its own cost, each has the rate of the design.

Differences from that paper:
- The expectation is a sum over the outcomes mu and mu +- sqrt(3) sigma of each missing quantity, with weights 2/3, 1/6
  and 1/6 (Gauss-Hermite). It is exact for polynomials and, unlike the exact one, ends at sqrt(3) standard deviations:
  designs that would be good only if several unlikely things were true are not bought. With more than three quantities
  the outcomes lie on the axes (`surprises`).
- Beliefs may be skewed: sigma is that of the side of the mean to which a loss moves. (An energy of 900 that may be 90
  or 9,000 is never -3,000.)
- A design that the budget cannot complete adds nothing.
- A first part that is not free but costs less than 1/500 of completing its design is bought only if the design is 5 %
  better than those of which it is known. Otherwise thousands of them are: each makes its design seem a little worse,
  and the next design a little better.
- Where measurements may fail, the loop multiplies the rate by the chance that all that is missing can be measured. The
  cost of a part is the expected one, with what failures cost, and counts as often as all parts before it succeed.
- A limit is a limit on these outcomes: a design that breaks one is not on the front, so constraints are part of what
  must be measured before a design is complete. While no design is known to keep every limit, the one that seems to and
  is cheapest to complete is completed.
- Where no design is expected to add a ten-thousandth of the front's hypervolume, the search is over by the models. They
  may be overconfident, so all deviations are doubled until some design is, at most to the eightfold. If that is not
  enough, the region gain of `flexibo.methods.flexibo` decides, with boxes twice as wide.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray
from flexibo.belief.belief import Belief
from flexibo.methods.base import Candidates, Constraints, Ending, ScoringMethod
from flexibo.methods.flexibo import region_gain
from flexibo.methods.how_far import NODES, Looks, looks
from flexibo.methods.proxy_looks import proxy_looks
from flexibo.pareto import hypervolume, hypervolumes, improvements
from flexibo.pareto.goals import Goals
from flexibo.pareto.region import pareto_region

NEGLIGIBLE = 1e-4  # if nothing is expected to add more than this share of the front's volume, the models are doubted
WIDTHS = (1.0, 2.0, 4.0, 8.0)  # where models are doubted, deviations are this many times as large
DOUBT = 2.0  # where that is not enough, boxes are this many times as wide
SHORTLIST = 64  # the candidates of the best rates of which it is computed how far they are measured
TINY = 1 / 500  # a first part below this share of what completing costs is no reason to leave a design that was begun
BETTER = 1.05  # unless the other design's rate is this many times as great
LATER = 0.5  # the weight of a part that is not the first one: for workers that cannot measure that
REACH = math.sqrt(3.0)  # outcomes end at this many standard deviations
MOST_IN_A_GRID = 3  # with more quantities than this, outcomes lie on the axes


def completion_gain(belief: Belief, rng: np.random.Generator) -> FloatArray:
    """What every candidate is expected to add to the confirmed front, shared among its missing bundles (m, b)."""
    feasible = _first_feasible(belief)
    if feasible is not None:
        return _confirming_gain(belief, feasible)
    parts = missing_parts(belief)
    worth = _worth_something(belief, np.flatnonzero(_completable(belief, parts)))
    if worth is None:
        return _doubting_gain(belief, rng)
    belief, gains, effects = worth
    shares = np.where(parts, belief.thetas, 0.0)
    far = _how_far(belief, parts, gains)
    decisions = _decisions(belief, parts, gains, effects, far)
    order = decisions.order
    total = (shares * _reached(belief, parts, order)).sum(axis=1)
    rates = np.divide(gains, total, out=np.zeros_like(gains), where=total > 0.0)
    first = order[:, :1]
    is_tiny = np.take_along_axis((belief.prices > 0.0) & (shares < TINY * total[:, None]), first, axis=1)[:, 0]
    rates[is_tiny] /= BETTER
    at_once = rates.copy()
    for found in far:
        rates[found.rows] *= found.looks.lift
    weights = np.where(np.arange(parts.shape[1]) == order[:, :1], 1.0, LATER)
    if any(belief.price_list.proxies):
        proxies = proxy_looks(belief, _promising(at_once, gains > 0.0), partial(_given, belief), parts)
        for i in np.flatnonzero((proxies.bundle >= 0) & (proxies.lift * at_once > rates)).tolist():
            b, decides = int(proxies.bundle[i]), effects[i, proxies.quantity[i]] * proxies.correlation[i]
            rates[i], shares[i, b] = proxies.lift[i] * at_once[i], belief.thetas[i, b]
            if decides >= decisions.rates[i].max() * belief.prices[i, b]:  # it decides most per price
                weights[i] = LATER
            weights[i, b] = 1.0 if (weights[i] == LATER).all() else LATER
    return np.asarray(rates[:, None] * shares * weights)


def missing_parts(belief: Belief) -> BoolArray:
    """The bundles (m, b) that may be asked and in which something is not known yet."""
    unknown = np.stack([~belief.known[:, bundle].all(axis=1) for bundle in belief.bundles], axis=1)
    return np.asarray(unknown & belief.open)


@dataclass(frozen=True, slots=True)
class _Far:
    """How far the most promising candidates, some rows (r,), are measured in the one objective of a bundle."""

    bundle: int
    rows: IntArray
    looks: Looks


def _how_far(belief: Belief, parts: BoolArray, gains: FloatArray) -> list[_Far]:
    """How far the candidates of the best rates are measured in each objective with steps; none without such."""
    found = []
    for b, bundle in enumerate(belief.bundles):
        if not _has_stops(belief, bundle):
            continue
        total = np.where(parts, belief.thetas, 0.0).sum(axis=1)
        rows = _promising(np.where(gains > 0.0, gains / np.where(total > 0.0, total, 1.0), 0.0), parts[:, b])
        if len(rows):
            found.append(_Far(b, rows, _looks(belief, rows, bundle[0], b, parts)))
    return found


def _has_stops(belief: Belief, bundle: Sequence[int]) -> bool:
    """Whether a bundle is a single objective that may stop early."""
    levels = belief.joints[bundle[0]].levels if len(bundle) == 1 and belief.joints else None
    return levels is not None and bool(levels.stops)


def _promising(rates: FloatArray, among: BoolArray) -> IntArray:
    """The candidates of the best rates (m,), `SHORTLIST` at most, that are above 0, among some (m,)."""
    rates = np.where(among, rates, 0.0)
    rows = np.argsort(-rates, kind="stable")[:SHORTLIST]
    return np.sort(rows[rates[rows] > 0.0])


def _looks(belief: Belief, rows: IntArray, j: int, b: int, parts: BoolArray) -> Looks:
    shares = np.where(parts[rows], belief.thetas[rows], 0.0)

    def after(places: IntArray, r: FloatArray) -> FloatArray:
        return _given(belief, rows[places], j, r)

    return looks(belief, rows, j, after, part=shares[:, b], others=shares.sum(axis=1) - shares[:, b])


def _given(belief: Belief, rows: IntArray, j: int, r: FloatArray) -> FloatArray:
    """What completing some candidates adds (q, r) after each reading of quantity j at a stop, of correlation r (r,)."""
    goals = Goals.of(len(belief.limits), belief.optimised, belief.limits)
    front, unknown = belief.front(), ~belief.known[rows]
    gains = np.zeros((len(NODES), len(rows)))
    for pattern in np.unique(unknown, axis=0):
        columns = np.flatnonzero(pattern).tolist()
        here = np.flatnonzero((unknown == pattern).all(axis=1))
        nodes, weights = surprises(len(columns), belief.known.shape[1])
        # Every reading (q), outcome of what is open (o) and candidate (h) in one table.
        shape, own = (len(NODES), len(nodes), len(here)), columns.index(j)
        surprise = np.broadcast_to(nodes.T[:, None, :, None], (len(columns), *shape)).copy()
        moved = r[here] * NODES[:, None, None] + np.sqrt(1.0 - r[here] ** 2) * nodes[:, own][:, None]
        surprise[own] = np.clip(moved, -REACH, REACH)
        every = np.tile(rows[here], len(NODES) * len(nodes))
        losses = _outcomes(belief, every, columns, surprise.reshape(len(columns), -1))
        added = _improves(goals, losses, front, belief.reference).reshape(shape)
        gains[:, here] = np.einsum("o,qoh->qh", weights, added)
    return gains


def how_far(belief: Belief, i: int, b: int) -> int | None:
    """The step to which candidate i is measured in bundle b; None if that has no steps."""
    bundle = belief.bundles[b]
    if not _has_stops(belief, bundle):
        return None
    row = np.array([i])
    worth = _worth_something(belief, row)
    return int(_looks(belief if worth is None else worth[0], row, bundle[0], b, missing_parts(belief)).stop[0])


@dataclass(frozen=True, slots=True)
class _Decisions:
    """The bundles (m, b) of candidates in the order in which they are measured, those that are not missing last."""

    order: IntArray
    rates: FloatArray  # (m, b): how much each decides per price; -1 if it is not missing


def _decisions(
    belief: Belief, parts: BoolArray, gains: FloatArray, effects: FloatArray, far: Sequence[_Far] = ()
) -> _Decisions:
    """What each part of the candidates decides per price.

    The part that decides most per price is first. A part decides by how far its quantities move what the design adds,
    and by the chance that it fails. Of parts that decide nothing the most expensive one is first.
    """
    moves = np.stack([effects[:, list(bundle)].sum(axis=1) for bundle in belief.bundles], axis=1)
    decides = np.where(parts, moves + (1.0 - belief.chances) * gains[:, None], 0.0)
    prices = belief.prices.copy()
    for found in far:  # a look decides less, for less
        decides[found.rows, found.bundle] *= found.looks.correlation
        prices[found.rows, found.bundle] *= found.looks.share
    free = np.where(decides > 0.0, np.inf, 0.0)
    rates = np.where(parts, np.divide(decides, prices, out=free, where=prices > 0.0), -1.0)
    return _Decisions(np.lexsort((-prices, -rates), axis=1), rates)


def _reached(belief: Belief, parts: BoolArray, order: IntArray) -> FloatArray:
    """The chance (m, b) that each missing part is paid for: all those before it could be measured."""
    chances = np.take_along_axis(np.where(parts, belief.chances, 1.0), order, axis=1)
    before = np.cumprod(np.concatenate([np.ones((len(chances), 1)), chances[:, :-1]], axis=1), axis=1)
    found = np.empty_like(before)
    np.put_along_axis(found, order, before, axis=1)
    return found


def improvement_of_the_front(belief: Belief, rows: IntArray) -> FloatArray:
    """The hypervolume (r,) that some candidates, once complete, are expected to add to the confirmed front."""
    return _completions(belief, rows)[0]


def _worth_something(belief: Belief, rows: IntArray) -> tuple[Belief, FloatArray, FloatArray] | None:
    """What completing some candidates adds (m,), others 0, and how far each quantity moves that (m, n).

    The deviations of the belief are the least of `WIDTHS` with which one adds something; None if that is not enough.
    """
    least = NEGLIGIBLE * hypervolume(belief.front(), belief.reference)
    for width in WIDTHS:
        wider = belief if width == 1.0 else replace(belief, sigma=width * belief.sigma)
        gains, effects = np.zeros(len(belief.mu)), np.zeros(belief.mu.shape)
        gains[rows], effects[rows] = _completions(wider, rows)
        most = float((belief.success * gains).max(initial=0.0))
        if most > 0.0 and most >= least:
            return wider, gains, effects
    return None


def _completions(belief: Belief, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """What completing some candidates is expected to add (r,), and how far each quantity alone moves that (r, n)."""
    goals = Goals.of(len(belief.limits), belief.optimised, belief.limits)
    front, unknown = belief.front(), ~belief.known[rows]
    gains, effects = np.zeros(len(rows)), np.zeros(unknown.shape)
    for pattern in np.unique(unknown, axis=0):
        columns = np.flatnonzero(pattern).tolist()
        here = np.flatnonzero((unknown == pattern).all(axis=1))
        # What does not improve the front in the best outcome does not in any other.
        best = _outcomes(belief, rows[here], columns, np.full(len(columns), -REACH))
        here = here[_improves(goals, best, front, belief.reference) > 0.0]
        nodes, weights = surprises(len(columns), belief.known.shape[1])
        outcomes = np.concatenate([_outcomes(belief, rows[here], columns, surprise) for surprise in nodes])
        added = _improves(goals, outcomes, front, belief.reference).reshape(len(nodes), -1)
        gains[here] = weights @ added
        effects[np.ix_(here, columns)] = _effects(nodes, weights, added)
    return gains, effects


def _effects(nodes: FloatArray, weights: FloatArray, added: FloatArray) -> FloatArray:
    """How far each of k surprises alone moves what is added (q, r) at the nodes (q, k): mean distances (r, k)."""
    place = {tuple(node): q for q, node in enumerate(nodes.tolist())}
    effects = np.zeros((added.shape[1], nodes.shape[1]))
    for j in range(nodes.shape[1]):
        calm = nodes.copy()
        calm[:, j] = 0.0
        effects[:, j] = weights @ np.abs(added - added[[place[tuple(node)] for node in calm.tolist()]])
    return effects


def surprises(k: int, n: int) -> tuple[FloatArray, FloatArray]:
    """Nodes (q, k) and weights (q,) of the expectation over k standard normal surprises, of n quantities.

    A grid of the three nodes of Gauss and Hermite; for many quantities, one node at 0 and two on each axis, exact for
    polynomials of degree three. A quantity whose deviation is 0 changes no expectation: the rule for k surprises is
    that for k + 1 if one of them moves nothing. (Otherwise a design of which one thing more is known would seem better
    or worse by the rule alone, and the same cheap quantity would be measured of one design after the other.)

    >>> nodes, weights = surprises(1, 2)
    >>> (nodes.round(2) + 0.0).tolist(), weights.round(2).tolist()
    ([[0.0], [1.73], [-1.73]], [0.67, 0.17, 0.17])
    >>> nodes, weights = surprises(4, 5)
    >>> len(nodes), round(float(weights.sum()), 6)
    (9, 1.0)
    """
    if n <= MOST_IN_A_GRID:
        three, own = (0.0, REACH, -REACH), (2 / 3, 1 / 6, 1 / 6)
        nodes = np.array(list(itertools.product(three, repeat=k))).reshape(-1, k)
        return nodes, np.array([math.prod(some) for some in itertools.product(own, repeat=k)])
    square = max(3.0, float(n))
    axes = math.sqrt(square) * np.eye(k)
    nodes = np.concatenate([np.zeros((1, k)), axes, -axes])
    return nodes, np.array([1.0 - k / square] + [0.5 / square] * (2 * k))


def _completable(belief: Belief, parts: BoolArray) -> BoolArray:
    """The candidates (m,) that lack something, of which all that is missing may be asked and paid."""
    reached = np.zeros(belief.known.shape, dtype=bool)
    for b, bundle in enumerate(belief.bundles):
        reached[:, list(bundle)] |= parts[:, b, None]
    price = np.where(parts, belief.prices, 0.0).sum(axis=1)
    return np.asarray(parts.any(axis=1) & (belief.known | reached).all(axis=1) & belief.price_list.pays(price))


def _outcomes(belief: Belief, rows: IntArray, columns: list[int], surprise: FloatArray) -> FloatArray:
    """The losses (r, n) of some candidates where k columns moved by multiples (k,) or (k, r) of their deviations."""
    losses: FloatArray = belief.mu[rows].copy()
    for j, z in zip(columns, surprise, strict=True):
        mu, lower, upper = belief.mu[rows, j], belief.lower[rows, j], belief.upper[rows, j]
        width = upper - lower
        unit = np.divide(2.0 * belief.sigma[rows, j], width, out=np.zeros_like(width), where=width > 0.0)
        losses[:, j] += z * unit * np.where(z < 0.0, mu - lower, upper - mu)
    return belief.possible(losses)


def _improves(goals: Goals, losses: FloatArray, front: FloatArray, reference: FloatArray) -> FloatArray:
    """What each of some losses (r, n) adds to the front (r,); nothing beyond a limit."""
    corners, gains = goals.corners(losses), np.zeros(len(losses))
    legal = np.isfinite(corners).all(axis=1)
    gains[legal] = improvements(corners[legal], front, reference)
    return gains


def _doubting_gain(belief: Belief, rng: np.random.Generator) -> FloatArray:
    """The region gain (m, b) with boxes that are `DOUBT` times as wide, shrunk as its region to the true one."""
    lower = belief.possible(belief.mu - DOUBT * (belief.mu - belief.lower))
    upper = belief.possible(belief.mu + DOUBT * (belief.upper - belief.mu))
    region = pareto_region(lower, upper, belief.reference, optimised=belief.optimised, limits=belief.limits)
    gains = region_gain(replace(belief, lower=lower, upper=upper, region=region), rng)
    if belief.region is None or belief.region.is_gone or region.is_gone:
        return gains
    return belief.region.volume / region.volume * gains


def _first_feasible(belief: Belief) -> int | None:
    """The design to complete before all others, while none is known to keep every limit; None if there is no such.

    It is the one of those that seem feasible and possible to measure, and were measured in something, that costs least
    to complete. A study with limits then has a design that is known to be good.
    """
    if not np.isfinite(belief.limits).any() or belief.incumbents().any():
        return None
    seems_good = (belief.feasible() > 0.5) & (belief.success > 0.5)
    is_open = _open_quantities(belief)
    likely = np.flatnonzero(belief.known.any(axis=1) & is_open.any(axis=1) & seems_good)
    if not len(likely):
        return None
    price = np.where(is_open[likely], belief.prices[likely], 0.0).sum(axis=1)
    return int(likely[np.argmin(price)])


def _open_quantities(belief: Belief) -> BoolArray:
    """What may be asked (m, b), without proxies."""
    return np.asarray(belief.open & [bool(bundle) for bundle in belief.bundles])


def _confirming_gain(belief: Belief, first: int) -> FloatArray:
    """What the first design that is known to be feasible is expected to add (m, b): its volume, if it is."""
    alone = hypervolumes(belief.mu[None, first : first + 1, list(belief.optimised)], belief.reference)[0]
    gains = np.zeros(belief.open.shape)
    # It comes first even if it adds little.
    gains[first] = np.where(
        _open_quantities(belief)[first], max(belief.feasible()[first] * alone, np.finfo(float).tiny), 0.0
    )
    return gains


COMPLETION_GAIN = ScoringMethod(
    name="flexibo",
    summary="What completing a design is expected to add to the measured front per cost, with our own models.",
    paper="after Iqbal et al. 2023 (JAIR 77) and Emmerich et al. 2006",
    acquisition=completion_gain,
    how_far=how_far,
    score="expected to add {} to the front",
    region=True,
    coupled=False,
    surrogate="gp",
    cost="learned-ratio",
    candidates=Candidates.AROUND_BEST,
    constraints=Constraints.OWN_RULE,
    ending=Ending(confirms=True),
    most_objectives=6,
)
