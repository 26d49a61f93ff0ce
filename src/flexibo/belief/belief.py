"""Belief: what is predicted for every candidate, given the history."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray, KeyArray
from flexibo.belief.levels import LevelModel, level_model
from flexibo.belief.price_list import PriceList
from flexibo.errors import InvalidValueError
from flexibo.history import History
from flexibo.pareto import Region, non_dominated
from flexibo.space import Designs
from flexibo.surrogates import Refits, Surrogate, below, hull, interval, joint, normal_below


@dataclass(frozen=True, slots=True)
class Belief:
    """What is predicted for m candidates and n quantities, of which k are optimised.

    A quantity is an objective, a constraint, or both; a bundle is a set of quantities that is measured together.

    Attributes:
        designs: The candidates (m).
        mu: Means of the losses (m, n).
        sigma: Standard deviations of the losses (m, n); 0 where measured exactly or being measured.
        lower: The optimistic corners (m, n): the best that each candidate may be.
        upper: The pessimistic corners (m, n).
        keys: Equal where two candidates must have the same value of a quantity (m, n).
        known: What was measured, or is being measured and pinned to its mean (m, n).
        optimised: The k columns that are optimised.
        limits: The greatest loss that is feasible (n,); infinite where there is none.
        reference: The reference point of the optimised columns (k,).
        tolerances: Differences that do not matter (n,).
        price_list: What may be asked of the candidates, and what it costs.
        joints: The joint prediction of the losses of all candidates, for each quantity (n).
        legal: The probability that each quantity is within its limit (m, n); None for that of normal losses.
        least: The least possible losses (n,); None if none is known.
        most: The greatest possible losses (n,); None if none is known.
        region: The Pareto region; None for methods that are not about it.
        memory: What the method carries from question to question; None for most.
    """

    designs: Designs
    mu: FloatArray
    sigma: FloatArray
    lower: FloatArray
    upper: FloatArray
    keys: KeyArray
    known: BoolArray
    optimised: tuple[int, ...]
    limits: FloatArray
    reference: FloatArray
    tolerances: FloatArray
    price_list: PriceList
    joints: tuple[JointPrediction, ...] = ()
    legal: FloatArray | None = None
    least: FloatArray | None = None
    most: FloatArray | None = None
    region: Region | None = None
    memory: object = None

    @classmethod
    def of(
        cls,
        history: History,
        designs: Designs,
        boxes: Predictions,
        *,
        reference: FloatArray,
        tolerances: FloatArray,
        price_list: PriceList,
    ) -> Belief:
        """The belief in candidates (m), given what is predicted for them."""
        return cls(
            designs=designs,
            mu=boxes.mu,
            sigma=boxes.sigma,
            lower=boxes.lower,
            upper=boxes.upper,
            keys=boxes.keys,
            known=boxes.known,
            optimised=history.optimised,
            limits=history.limits,
            reference=reference,
            tolerances=tolerances,
            price_list=price_list,
            joints=boxes.joints,
            legal=boxes.legal,
            least=boxes.least,
            most=boxes.most,
        )

    @property
    def bundles(self) -> tuple[tuple[int, ...], ...]:
        """The quantities of each column of the score table."""
        return self.price_list.bundles

    @property
    def prices(self) -> FloatArray:
        """Expected real cost (m, b)."""
        return self.price_list.prices

    @property
    def thetas(self) -> FloatArray:
        """What a score is divided by (m, b)."""
        return self.price_list.thetas

    @property
    def open(self) -> BoolArray:
        """Whether it may be asked (m, b)."""
        return self.price_list.open

    @property
    def success(self) -> FloatArray:
        """The chance (m,) that all that a candidate lacks can be measured."""
        found = self.price_list.success
        return np.ones(len(self.mu)) if found is None else found

    @property
    def chances(self) -> FloatArray:
        """The chance (m, b) that each bundle can be measured."""
        found = self.price_list.chances
        return np.ones(self.open.shape) if found is None else found

    def feasible(self, columns: Sequence[int] | None = None) -> FloatArray:
        """The probability (m,) that all constraints hold, or those of some columns."""
        some = np.arange(len(self.limits)) if columns is None else np.asarray(columns, dtype=np.int64)
        if self.legal is not None:
            return np.asarray(self.legal[:, some].prod(axis=1))
        return feasibility(self.mu[:, some], self.sigma[:, some], self.limits[some])

    def possible(self, losses: FloatArray) -> FloatArray:
        """Losses (..., n), each moved to the nearest possible one."""
        if self.least is not None:
            losses = np.maximum(losses, self.least)
        return losses if self.most is None else np.minimum(losses, self.most)

    def incumbents(self) -> BoolArray:
        """The candidates (m,) that are known in every quantity and within every limit."""
        return np.asarray(self.known.all(axis=1) & (self.mu <= self.limits).all(axis=1))

    def front(self) -> FloatArray:
        """The distinct non-dominated losses (f, k) of the incumbents."""
        losses = self.mu[self.incumbents()][:, list(self.optimised)]
        return np.unique(losses[non_dominated(losses)], axis=0)


def feasibility(mu: FloatArray, sigma: FloatArray, limits: FloatArray) -> FloatArray:
    """The probability (m,) that normal losses, given means and standard deviations (m, n), are within the limits (n,).

    >>> feasibility(np.array([[1.0, 5.0], [3.0, 5.0]]), np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([2.0, np.inf]))
    array([1., 0.])
    """
    probability = np.ones(len(mu))
    for j in np.flatnonzero(np.isfinite(limits)):
        probability *= normal_below(mu[:, j], sigma[:, j], float(limits[j]))
    return probability


SIMULTANEOUS = 2.0  # the factor in beta_t with which all boxes hold at once; the paper's 2/9 only guides the search


def exploration(n: int, m: int, t: int, delta: float, *, factor: float = 2.0 / 9.0) -> float:
    """beta_t = (2/9) log(n m pi^2 t^2 / (6 delta)), below the paper's eq. `uncertainty`.

    >>> round(exploration(2, 1000, 20, 0.05), 3)
    3.797
    """
    return max(0.0, factor * math.log(n * m * math.pi**2 * t**2 / (6.0 * delta)))


@dataclass(frozen=True, slots=True)
class JointPrediction:
    """The joint prediction of one quantity over all candidates."""

    model: Surrogate | None  # fitted; None where nothing is left to predict
    X: FloatArray  # (u, d): the distinct candidates as the surrogate sees them
    place: IntArray  # (m,): where each candidate is among these
    mean: FloatArray  # (u,)
    pinned: BoolArray  # (u,): exactly their mean
    levels: LevelModel | None = None  # of an objective with steps or proxies; then X has the columns of the last level
    reached: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # (u,): the steps, if it has levels

    def draws(self, count: int, rng: np.random.Generator, *, rows: IntArray | None = None) -> FloatArray:
        """Joint draws (count, m) of the losses of all candidates, or (count, r) of some rows (r,)."""
        place = self.place if rows is None else self.place[rows]
        wanted, inverse = np.unique(place, return_inverse=True)
        drawn = np.tile(self.mean[wanted], (count, 1))
        free = ~self.pinned[wanted]
        if free.any() and self.model is not None:
            drawn[:, free] = joint(self.model).draws(self.X[wanted[free]], count, rng)
        return np.asarray(drawn[:, inverse.reshape(-1)])

    def correlation(self, rows: IntArray, level: int) -> FloatArray:
        """How far (r,) what would be read at a level moves what counts; 1 without levels."""
        if self.levels is None:
            return np.ones(len(rows))
        X = self.X[self.place[rows]]
        return self.levels.correlation(X[:, : X.shape[1] - self.levels.count + 1], level)

    def covariance(self, rows: IntArray, others: IntArray) -> FloatArray:
        """The covariance (r, o) between candidates; 0 where one of them is known exactly."""
        here, there = self.place[rows], self.place[others]
        if self.model is None:
            return np.zeros((len(here), len(there)))
        covariance = joint(self.model).covariance(self.X[here], self.X[there])
        covariance[self.pinned[here]] = 0.0
        covariance[:, self.pinned[there]] = 0.0
        return covariance


@dataclass(frozen=True, slots=True)
class Predictions:
    """Boxes of candidates: means, standard deviations, corners, keys, known, legal (m, n); see `Belief`."""

    mu: FloatArray
    sigma: FloatArray
    lower: FloatArray
    upper: FloatArray
    keys: KeyArray
    known: BoolArray
    legal: FloatArray
    joints: tuple[JointPrediction, ...]
    least: FloatArray | None = None
    most: FloatArray | None = None
    usable: BoolArray | None = None  # (m,): can probably be measured in everything; None is all


def predictions(
    history: History,
    designs: Designs,
    models: Sequence[Refits],
    *,
    beta: float = 1.0,
    pin_pending: bool = True,
    simultaneous: bool = False,
) -> Predictions:
    """The predicted losses of the candidates, by one model for each quantity.

    An exact quantity that was measured has its value and standard deviation 0, unless the model uses an error bar that
    its reading has; one that is being measured is pinned to its mean if `pin_pending`, so that the next question looks
    elsewhere. The half width of the boxes is sqrt(beta) standard deviations; if `simultaneous`, all of them must hold
    at once as often as beta promises for normal losses, also where models are averaged, and whether or not values are
    positive as long as all readings are.
    """
    shape = (len(designs), len(history.quantities))
    mu, sigma, lower, upper = (np.zeros(shape) for _ in range(4))
    keys, known, legal = np.zeros(shape, dtype=np.uint64), np.zeros(shape, dtype=bool), np.ones(shape)
    half, box, bounds = math.sqrt(beta), hull if simultaneous else interval, np.zeros((2, shape[1]))
    joints = []
    for j, objective in enumerate(history.quantities):
        keys[:, j] = designs.keys(objective.depends_on)
        # One prediction per distinct key: equal keys then have bit-equal boxes, which the geometry relies on.
        distinct, first, inverse = np.unique(keys[:, j], return_index=True, return_inverse=True)
        middle, measured = _known(distinct, history.known(j))
        pinned = measured & (not objective.noisy)
        if models[j].takes_variances:
            pinned &= ~np.isin(distinct, _uncertain(history, j))
        low, high = middle.copy(), middle.copy()
        model, X, levels, refits = None, designs[first].encoded(objective.depends_on), None, models[j].over_levels
        # What a certificate promises must not depend on early stops or a proxy.
        if refits is not None and not pinned.all() and not simultaneous:
            levels = level_model(history, j, refits)
        if levels is not None:
            model, X = levels.model, levels.at_last(X)
            low[~pinned], middle[~pinned], high[~pinned] = _checked(box(model, X[~pinned], half), objective.name)
        elif not pinned.all():
            seen, y = history.data(j)
            groups = history.space.groups(objective.depends_on)
            model = models[j].model(
                seen.encoded(objective.depends_on),
                y,
                groups=groups,
                variances=history.variances(j),
                sure=simultaneous,
            )
            low[~pinned], middle[~pinned], high[~pinned] = _checked(box(model, X[~pinned], half), objective.name)
        pending = [
            e.design for e in history.pending.values() if objective.name in e.yields and not history.is_partial(e)
        ]
        if pending and pin_pending:
            waiting = np.isin(distinct, history.space.known_designs(pending).keys(objective.depends_on))
            pinned, measured = pinned | waiting, measured | waiting
        low, high = np.where(pinned, middle, low), np.where(pinned, middle, high)
        mu[:, j], lower[:, j], upper[:, j] = middle[inverse], low[inverse], high[inverse]
        sigma[:, j] = ((high - low) / (2.0 * half))[inverse] if half else 0.0
        known[:, j] = measured[inverse]
        if objective.is_constraint:
            probability = (middle <= objective.limit).astype(float)
            if model is not None:
                probability[~pinned] = below(model, X[~pinned], objective.limit)
            legal[:, j] = probability[inverse]
        joints.append(
            JointPrediction(
                model,
                X,
                inverse.reshape(-1),
                middle,
                pinned,
                levels,
                history.all_reached(j, designs[first]),
            )
        )
        bounds[:, j] = models[j].possible.given(history.data(j)[1], sure=simultaneous)
    least, most = (side if np.isfinite(side).any() else None for side in bounds)
    return Predictions(mu, sigma, lower, upper, keys, known, legal, tuple(joints), least, most)


def _checked(box: tuple[FloatArray, FloatArray, FloatArray], name: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The intervals (m,) that a surrogate predicted; an error if they are not finite."""
    if not all(np.isfinite(side).all() for side in box):
        raise InvalidValueError(
            f"The surrogate of {name!r} predicted NaN or infinite losses; fix it, or use 'gp' or 'rf'."
        )
    return box


def _uncertain(history: History, j: int) -> KeyArray:
    """The keys of designs of which a reading of quantity j has an error bar."""
    variances = history.variances(j)
    if variances is None:
        return np.empty(0, dtype=np.uint64)
    return np.asarray(history.data(j)[0][variances > 0].keys(history.objectives[j].depends_on))


def _known(distinct: KeyArray, known: Mapping[int, float]) -> tuple[FloatArray, BoolArray]:
    """The known losses (u,) of the sorted keys (u,), and where there are any."""
    losses, found = np.zeros(len(distinct)), np.zeros(len(distinct), dtype=bool)
    if not len(distinct):
        return losses, found
    keys = np.fromiter(known.keys(), dtype=np.uint64, count=len(known))
    at = np.minimum(np.searchsorted(distinct, keys), len(distinct) - 1)
    here = distinct[at] == keys
    losses[at[here]] = np.fromiter(known.values(), dtype=float, count=len(known))[here]
    found[at[here]] = True
    return losses, found
