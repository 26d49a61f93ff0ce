"""What one evaluation is expected to add to the hypervolume of the front that the study would report.

A study reports the non-dominated designs among those it measured something of, with predictions for the rest. To
measure a quantity j of a design x does two things to that front: x joins the designs it is taken from, and the
prediction of j changes, at x and at every correlated design. The gain is how much the hypervolume of the front is
expected to grow by both: it counts what the user gets. It is a knowledge gradient (Frazier, Powell,
Dayanik: The Knowledge-Gradient Policy for Correlated Normal Beliefs. INFORMS Journal on Computing 21, 2009) of the
hypervolume, as Daulton, Balandat, Bakshy: Hypervolume Knowledge Gradient. ICML 2023 take it for single objectives.

Let z be the standard normal surprise of the outcome. The loss of x becomes mu_j(x) + z sigma_j(x), that of a design i
becomes mu_j(i) + z r sigma_j(i), where r is their correlation. The expectation over z is a sum over a few nodes.
Beliefs may be skewed: sigma is that of the side of the mean to which a loss moves. (An energy of 900 that may be 90 or
9,000 is never -3,000; with one standard deviation for both sides it would be, and seem better than anything that
exists.)

Differences from these papers:
- The front is that of the measured designs and x, not the best that any design of the space might make.
- What is not measured counts as a little worse than its mean, by `caution` standard deviations, which grow as the
  budget runs out. So the last evaluations confirm what is to be reported, without a switch.
- Nothing is searched or drawn: candidates are scored exactly up to the nodes, those that would add most if nothing
  else moved. The region gain of `flexibo.methods.flexibo` is added to every score with weight 0.1: it is a
  volume too, and shows where a better front may be that one evaluation does not reveal.
- Where no evaluation is expected to add a ten-thousandth of the front's hypervolume, the search is over
  by the models. They may be overconfident, so the rest of the budget is spent by the region gain alone, with boxes
  twice as wide: that looks where the models know least.
- A limit is a limit on these values: a design that breaks one is not on the front. A surprise moves the limited
  quantities as well, so the same gain is the value of measuring a constraint.
- While no design is known to keep every limit, the one that seems to and is cheapest to confirm is confirmed.
- An outcome is taken as exact, as if it had no noise.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.belief.belief import Belief
from flexibo.methods.base import Candidates, Constraints, Ending, ScoringMethod
from flexibo.methods.flexibo import region_gain
from flexibo.pareto import hypervolumes, improvements, non_dominated
from flexibo.pareto.goals import Goals
from flexibo.pareto.region import alive_and_fronts, pareto_region

_ALL = slice(None)
SHORT_LIST = 40  # this many measured and as many new designs of each bundle are scored; with more objectives, fewer
MANY = 1000  # among more designs, what nineteen of twenty have measured moves only at the one that is asked about
CURIOSITY = 0.1  # the weight of a volume of the Pareto region beside the same volume of the front
NEGLIGIBLE = 1e-4  # if nothing is expected to add more than this share of the front's volume, the models are doubted
DOUBT = 2.0  # where models are doubted, the boxes are this many times as wide
HALF_CAUTIOUS = 1.0  # when the budget pays for this many more designs, the caution is half a standard deviation


def front_gain(belief: Belief, rng: np.random.Generator) -> FloatArray:
    """What every candidate and bundle is expected to add to the hypervolume of the front (m, b)."""
    first = _first_feasible(belief)
    if first is not None:
        return _confirming_gain(belief, first)
    scores = CURIOSITY * region_gain(belief, rng)
    for b, bundle in enumerate(belief.bundles):
        rows = _short_list(belief, b)
        if len(rows):
            scores[rows, b] += expected_gains(belief, rows, bundle)
    if scores[belief.open].max(initial=0.0) < NEGLIGIBLE * _volume(belief):
        return _doubting_gain(belief, rng)
    return scores


def expected_gains(belief: Belief, rows: IntArray, bundle: tuple[int, ...]) -> FloatArray:
    """The expected growth of the front's hypervolume by measuring a bundle of quantities at some candidates (r,)."""
    goals = Goals.of(len(belief.limits), belief.optimised, belief.limits)
    nodes, weights = surprises(len(bundle))
    members = _members(belief, goals, float(np.abs(nodes).max()))
    losses = _cautious(belief)
    before = hypervolumes(goals.corners(losses[members])[None], belief.reference)[0]
    after = np.empty((len(rows), len(nodes), len(members) + 1, len(belief.limits)))
    after[:, :, :-1] = losses[members]
    after[:, :, -1] = losses[rows, None]
    for j, surprise in zip(bundle, nodes.T, strict=True):
        ties = _ties(belief, j, rows, members)
        doubt = caution(belief.price_list.designs_left) * np.sqrt(1.0 - ties**2) * _sides(belief, members, j)[1]
        after[:, :, :-1, j] = _moved(belief, members, j, surprise[:, None] * ties[:, None]) + doubt[:, None]
        after[:, :, -1, j] = _moved(belief, rows[:, None], j, surprise)
    fronts = goals.corners(after.reshape(-1, after.shape[-1])).reshape(-1, len(members) + 1, len(goals.optimised))
    volumes = hypervolumes(fronts, belief.reference).reshape(len(rows), len(nodes))
    return np.asarray(np.maximum(volumes @ weights - before, 0.0))


def surprises(k: int) -> tuple[FloatArray, FloatArray]:
    """Nodes (q, k) and weights (q,) of the expectation over k standard normal surprises.

    One at 0, and two on each axis; exact for polynomials of degree three. For k = 1 it is the rule of Gauss and Hermite
    with three nodes.

    >>> nodes, weights = surprises(2)
    >>> (nodes.round(2) + 0.0).tolist()
    [[0.0, 0.0], [1.73, 0.0], [0.0, 1.73], [-1.73, 0.0], [0.0, -1.73]]
    >>> weights.round(2).tolist()
    [0.33, 0.17, 0.17, 0.17, 0.17]
    """
    square = max(3.0, float(k))
    axes = math.sqrt(square) * np.eye(k)
    nodes = np.concatenate([np.zeros((1, k)), axes, -axes])
    return nodes, np.array([1.0 - k / square] + [0.5 / square] * (2 * k))


def caution(left: float) -> float:
    """By how many standard deviations an unmeasured loss counts as worse than its mean, with this many designs left.

    A study without a budget has time to find out, and takes means as they are.

    >>> [round(caution(left), 2) for left in (math.inf, 9.0, 1.0, 0.0)]
    [0.0, 0.1, 0.5, 1.0]
    """
    return 1.0 / (1.0 + max(left, 0.0) / HALF_CAUTIOUS)


def _volume(belief: Belief) -> float:
    """The hypervolume of the front as it is."""
    goals = Goals.of(len(belief.limits), belief.optimised, belief.limits)
    present = goals.corners(_cautious(belief)[belief.known.any(axis=1)])
    return float(hypervolumes(present[non_dominated(present)][None], belief.reference)[0])


def _doubting_gain(belief: Belief, rng: np.random.Generator) -> FloatArray:
    """The region gain (m, b) with boxes that are `DOUBT` times as wide, shrunk as its region to the true one."""
    lower = belief.mu - DOUBT * (belief.mu - belief.lower)
    upper = belief.mu + DOUBT * (belief.upper - belief.mu)
    region = pareto_region(lower, upper, belief.reference, optimised=belief.optimised, limits=belief.limits)
    gains = region_gain(replace(belief, lower=lower, upper=upper, region=region), rng)
    if belief.region is None or belief.region.is_gone or region.is_gone:
        return gains
    return belief.region.volume / region.volume * gains


def _first_feasible(belief: Belief) -> int | None:
    """The design to confirm before all others, while none is known to keep every limit; None if there is no such.

    It is the one of those that seem feasible, and were measured in something, that costs least to measure wholly. A
    study with limits then has a design that is known to be good.
    """
    if not np.isfinite(belief.limits).any() or belief.incumbents().any():
        return None
    likely = np.flatnonzero(belief.known.any(axis=1) & belief.open.any(axis=1) & (belief.feasible() > 0.5))
    if not len(likely):
        return None
    price = np.where(belief.open[likely], belief.prices[likely], 0.0).sum(axis=1)
    return int(likely[np.argmin(price)])


def _confirming_gain(belief: Belief, first: int) -> FloatArray:
    """What the first design that is known to be feasible is expected to add (m, b): its volume, if it is."""
    alone = hypervolumes(belief.mu[None, first : first + 1, list(belief.optimised)], belief.reference)[0]
    gains = np.zeros(belief.open.shape)
    # It comes first even if it adds little.
    gains[first] = np.where(belief.open[first], max(belief.feasible()[first] * alone, np.finfo(float).tiny), 0.0)
    return gains


def _cautious(belief: Belief) -> FloatArray:
    """The losses (m, n) that the candidates count with."""
    return belief.mu + caution(belief.price_list.designs_left) * _sides(belief)[1]


def _sides(belief: Belief, rows: IntArray | slice = _ALL, j: int | slice = _ALL) -> tuple[FloatArray, FloatArray]:
    """The standard deviations of some losses towards better and towards worse ones."""
    mu, lower, upper = belief.mu[rows, j], belief.lower[rows, j], belief.upper[rows, j]
    width = upper - lower
    unit = np.divide(2.0 * belief.sigma[rows, j], width, out=np.zeros_like(width), where=width > 0.0)
    return unit * (mu - lower), unit * (upper - mu)


def _moved(belief: Belief, rows: IntArray, j: int, deviations: FloatArray) -> FloatArray:
    """The losses j of some candidates, moved by these multiples of the standard deviation of that side."""
    better, worse = _sides(belief, rows, j)
    return np.asarray(belief.mu[rows, j] + deviations * np.where(deviations < 0.0, better, worse))


def _short_list(belief: Belief, b: int) -> IntArray:
    """The candidates (r,) that add most per cost if a bundle is measured there and nothing else moves."""
    alive = np.ones(len(belief.mu), dtype=bool) if belief.region is None else belief.region.alive
    rows = np.flatnonzero(belief.open[:, b] & alive)
    gains = _lone_gains(belief, rows, belief.bundles[b]) / belief.thetas[rows, b]
    touched = belief.known[rows].any(axis=1)
    count = max(1, SHORT_LIST >> max(0, len(belief.optimised) - 3))
    # What is measured partly is on the front already and looks better alone than it is: it has a list of its own.
    groups = [np.flatnonzero((gains > 0.0) & group) for group in (touched, ~touched)]
    best = [some[np.argsort(-gains[some], kind="stable")[:count]] for some in groups]
    return rows[np.concatenate(best)]


def _lone_gains(belief: Belief, rows: IntArray, bundle: tuple[int, ...]) -> FloatArray:
    """What the outcomes at some candidates (r,) are expected to add to the front as it is, each on its own."""
    goals = Goals.of(len(belief.limits), belief.optimised, belief.limits)
    losses = _cautious(belief)
    present = goals.corners(losses[belief.known.any(axis=1)])
    front = np.unique(present[non_dominated(present)], axis=0)
    front = front[np.isfinite(front).all(axis=1)]
    gains = np.zeros(len(rows))
    for surprise, weight in zip(*surprises(len(bundle)), strict=True):
        outcome = losses[rows]
        for j, deviations in zip(bundle, surprise, strict=True):
            outcome[:, j] = _moved(belief, rows, j, deviations)
        outcome = goals.corners(outcome)
        legal = np.isfinite(outcome).all(axis=1)
        gains[legal] += weight * improvements(outcome[legal], front, belief.reference)
    return gains


def _members(belief: Belief, goals: Goals, reach: float) -> IntArray:
    """The candidates (s,) that the front is taken from, but for those that no surprise up to `reach` brings to it."""
    touched = np.flatnonzero(belief.known.any(axis=1))
    better, worse = _sides(belief, touched)
    best = goals.corners(belief.mu[touched] - reach * better)
    worst = goals.corners(_cautious(belief)[touched] + reach * worse)
    return touched[alive_and_fronts(best, worst)[0]]


def _ties(belief: Belief, j: int, rows: IntArray, members: IntArray) -> FloatArray:
    """The correlation (r, s) of quantity j of some candidates with that of members; 0 for what is measured."""
    sigma, own = belief.sigma[rows, j, None], belief.sigma[members, j]
    joint, unknown = belief.joints[j], np.flatnonzero(own > 0.0)
    covariance = np.zeros((len(rows), len(members)))
    # What is measured stays. Among thousands of it, the few that are not are no longer worth the time.
    few = len(members) // 20 if len(members) > MANY else 0
    if joint.is_tied and len(unknown) > few:
        covariance[:, unknown] = joint.covariance(rows, members[unknown])
    both = sigma * own
    ties = np.divide(covariance, both, out=np.zeros_like(covariance), where=both > 0.0)
    # Skewed beliefs have covariances that are only nearly right.
    return np.where(belief.keys[rows, j, None] == belief.keys[members, j], 1.0, np.clip(ties, -1.0, 1.0))


FRONT_GAIN = ScoringMethod(
    name="flexibo",
    summary="What an evaluation is expected to add to the reported front per cost, with our models and candidates.",
    paper="after Iqbal et al. 2023 (JAIR 77) and Daulton et al. 2023 (ICML)",
    acquisition=front_gain,
    score="expected to add to the front",
    region=True,
    coupled=False,
    surrogate="gp",
    cost="log",
    candidates=Candidates.AROUND_FRONT,
    constraints=Constraints.OWN_RULE,
    ending=Ending(confirms=True),
    most_objectives=6,
)
