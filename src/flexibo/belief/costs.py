"""What an evaluation is expected to cost, and what that means to the acquisition.

Two things are kept apart (algorithm: "the acquisition's cost function and the budget's unit are two settings"): the
price, in the budget's units, decides what can be afforded; theta, a transform of it, is what a score is divided by.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from scipy.special import log_ndtr

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo._internal.random_streams import Stream, entropy
from flexibo.belief.reuse import rest_prices
from flexibo.belief.step_costs import paid_shares, paid_up_to, whole_costs
from flexibo.errors import InvalidTypeError, InvalidValueError, unknown_name
from flexibo.history import History
from flexibo.history.events import Evaluation
from flexibo.space import Design, Designs
from flexibo.surrogates import GaussianProcess, Reach, Refits, Surrogate
from flexibo.surrogates.fit_memory import FitMemory

CostCallable: TypeAlias = Callable[[Design, str], float]
FLOOR = 1e-4  # nothing counts as cheaper than this share of the greatest mean cost
FEWEST_TO_LEARN = 4  # a cost model per design needs this many costs; before that the mean is used
EQUAL = 1e-12  # costs that differ by no more than this share are equal: there is nothing to learn, and the mean is used
LEAST_SHARE = 1e-9  # to a cost model nothing is cheaper than this share of the greatest cost, as zero has no logarithm
REACH = Reach(rows=400, anchors=200, nearest=32)  # a price may be less accurate than a loss
LONGEST_SHOWN = 80  # what a callable wrongly gave is shown up to this length


def log_cost(prices: FloatArray, means: FloatArray) -> FloatArray:
    """1 + log(t / min_k t_k) of prices (m, p): free of units; nothing counts as cheaper than the cheapest mean (p,)."""
    return np.asarray(1.0 + np.log(np.maximum(prices / _least(means), 1.0)))


def ratio_cost(prices: FloatArray, means: FloatArray) -> FloatArray:
    """T / min_k t_k (the paper's RC)."""
    least = _least(means)
    return np.maximum(prices / least, FLOOR)


def sqrt_cost(prices: FloatArray, means: FloatArray) -> FloatArray:
    """The square root of the ratio: between `log_cost` and `ratio_cost` for large ratios."""
    return np.sqrt(ratio_cost(prices, means))


def constant_cost(prices: FloatArray, means: FloatArray) -> FloatArray:
    """1 (the paper's CC): a method that is not cost-aware."""
    return np.ones_like(prices)


def paper_log_cost(prices: FloatArray, means: FloatArray) -> FloatArray:
    """log(t) with t in seconds (the paper's LC), t floored at e so that it is at least 1."""
    return np.log(np.maximum(prices, math.e))


def _least(means: FloatArray) -> float:
    """The cheapest purchase's mean, but not below the floor, so that a free objective does not outweigh all others."""
    greatest = float(means.max(initial=0.0))
    return max(float(means.min(initial=math.inf)), FLOOR * greatest) if greatest > 0 else 1.0


TRANSFORMS: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "log": log_cost,
    "ratio": ratio_cost,
    "sqrt": sqrt_cost,
    "constant": constant_cost,
    "paper-log": paper_log_cost,
    "learned": log_cost,
    "learned-ratio": ratio_cost,
    "learned-constant": constant_cost,
}
"""From expected costs to what scores are divided by. With "learned" costs are predicted for each design."""


def mean_costs(history: History) -> FloatArray:
    """The running mean of each purchase's own raw costs (p,); the prior where nothing was paid yet; NaN if neither."""
    means = np.full(len(history.purchases), np.nan)
    for p, purchase in enumerate(history.purchases):
        _, costs = whole_costs(history, p)
        prior = history.objectives[purchase.members[0]].cost
        if len(costs):
            means[p] = costs.mean()
        elif prior is not None:
            means[p] = prior
    return means


def failure_costs(history: History, prices: FloatArray) -> FloatArray:
    """The mean cost of a failed attempt at each purchase (m, p); its price (m, p) where none has failed."""
    found: FloatArray = prices.copy()
    for p in range(len(history.purchases)):
        costs = history.failure_costs(p)
        if len(costs):
            found[:, p] = costs.mean()
    return found


def check_cost(cost: object) -> None:
    """Raise an error if it is neither a name of a cost nor a callable of one's own."""
    if isinstance(cost, str):
        if cost not in TRANSFORMS:
            raise unknown_name("cost", cost, TRANSFORMS)
    elif not callable(cost):
        raise InvalidTypeError(f"cost is {cost!r}; give one of {', '.join(TRANSFORMS)} or a callable.")
    else:
        _check_takes_two(cost)


class Costs:
    """Prices and thetas of candidates.

    `cost` is a name in `TRANSFORMS`, or a callable that gives both price and theta. `model` predicts the logarithms of
    costs; it is refitted when the costs of a purchase have grown by the factor `growth`.
    """

    def __init__(
        self,
        cost: str | CostCallable,
        *,
        seed: int,
        model: Surrogate | None = None,
        growth: float = 1.1,
        memory: FitMemory | None = None,
    ) -> None:
        check_cost(cost)
        self.cost = cost
        self._seed = seed
        self._model = GaussianProcess(reach=REACH) if model is None else model
        self._growth = growth
        self._memory = memory
        self._refits: dict[int, Refits] = {}

    def prices(self, history: History, designs: Designs, *, wanted: BoolArray | None = None) -> FloatArray:
        """Expected real costs (m, p) of measuring what is missing of each purchase of each design; 0 if not known.

        Where it is not `wanted` (m, p), what a purchase costs on average is enough. Steps that were reached cost
        nothing again.
        """
        prices = self._whole(history, designs, wanted=wanted)
        for p, purchase in enumerate(history.purchases):
            objective = history.objectives[purchase.members[0]]
            if objective.stops and objective.resumable:
                reached = history.all_reached(purchase.members[0], designs)
                left = 1.0 - paid_up_to(reached, objective.stops, paid_shares(history, p))
                prices[:, p] *= np.where(left > 0.0, left, 1.0)
        return prices

    def prices_of(self, history: History, evaluations: Sequence[Evaluation]) -> FloatArray:
        """The expected real cost (e,) of each evaluation: of the steps that it goes."""
        places = [history.purchase_of(evaluation.objective) for evaluation in evaluations]
        whole = self._whole(history, history.space.known_designs([evaluation.design for evaluation in evaluations]))
        shares = [_share(history, p, evaluation) for p, evaluation in zip(places, evaluations, strict=True)]
        return np.asarray(whole[np.arange(len(places)), places] * shares)

    def _whole(self, history: History, designs: Designs, *, wanted: BoolArray | None = None) -> FloatArray:
        """Expected real costs (m, p) from the first step to the last."""
        if callable(self.cost):
            names = [purchase.objective for purchase in history.purchases]
            return np.array([[self._given(design, name) for name in names] for design in designs]).reshape(
                len(designs), len(names)
            )
        prices = np.tile(np.nan_to_num(mean_costs(history)), (len(designs), 1))
        if self.cost.startswith("learned"):
            for p in range(len(history.purchases)):
                rows = slice(None) if wanted is None else wanted[:, p]
                prices[rows, p] = self._learned(history, p, designs[rows], prices[rows, p])
        for p in range(len(history.purchases)):
            prices[:, p] = rest_prices(history, p, designs, prices[:, p])
        return prices

    def known(self, history: History) -> BoolArray:
        """Of which purchases (p,) anything is known about the costs: paid ones, a prior, or a callable."""
        if callable(self.cost):
            return np.ones(len(history.purchases), dtype=bool)
        return ~np.isnan(mean_costs(history))

    def thetas(self, history: History, prices: FloatArray) -> FloatArray:
        """What scores are divided by (m, p)."""
        if callable(self.cost):
            greatest = float(prices.max(initial=0.0))
            return np.maximum(prices, FLOOR * greatest if greatest > 0 else 1.0)
        means = mean_costs(history)
        known = means[~np.isnan(means)]
        guess = float(known.mean()) if len(known) else 1.0
        means = np.where(np.isnan(means), guess, means)
        return TRANSFORMS[self.cost](np.where(prices > 0, prices, 0.0), means)

    def _given(self, design: Design, objective: str) -> float:
        given = self.cost(design, objective)  # type: ignore[operator]  # only called when it is a callable
        price = _number(given)
        if not 0 <= price < math.inf:
            raise InvalidValueError(
                f"The cost callable gave {_short(given)} for {objective!r} of {design!r}; "
                "return one number, zero or more and finite."
            )
        return price

    def _learned(self, history: History, p: int, designs: Designs, fallback: FloatArray) -> FloatArray:
        """Costs predicted per design by a Gaussian process of their logarithm, kept near what was seen."""
        seen, costs = whole_costs(history, p)
        if not len(designs) or len(costs) < FEWEST_TO_LEARN or costs.max() <= 0 or np.ptp(costs) <= EQUAL * costs.max():
            return fallback
        options = history.purchases[p].options
        if p not in self._refits:
            seed = entropy(self._seed, Stream.COSTS, p)
            self._refits[p] = Refits(self._model, seed=seed, growth=self._growth, memory=self._memory)
        refits = self._refits[p]
        greatest = float(costs.max())
        highest = math.log(greatest)
        logs = np.log(costs, out=np.full(len(costs), -math.inf), where=costs > 0)
        losses = np.maximum(logs, highest + math.log(LEAST_SHARE))
        groups, X = history.space.groups(options), seen.encoded(options)
        model = refits.model(X, losses, groups=groups)
        ended, least = history.least_costs(p)
        if len(least) and least.max() > 0:
            # What took too long cost more than was spent: it enters with the mean of what it may have cost. The model
            # of what was measured stays as it is, so that it is extended rather than learned again.
            Z, bounds = ended.encoded(options)[least > 0], np.log(least[least > 0])
            expected = mean_above(bounds, *model.predict(Z))
            highest, greatest = max(highest, float(bounds.max())), max(greatest, float(least.max()))
            for z, loss in zip(Z, expected, strict=True):
                model = model.extend(z[None], np.array([loss]))
        mu, sigma = model.predict(designs.encoded(options))
        # The mean of a log-normal; far from the data it must not run away from what was ever paid. The exponent is
        # limited before it is raised, as it may be beyond what a float holds.
        exponent = np.clip(mu + 0.5 * sigma**2, logs.min() - math.log(2), highest + math.log(2))
        return np.clip(np.exp(exponent), costs.min() / 2, greatest * 2)


def _share(history: History, p: int, evaluation: Evaluation) -> float:
    """The share of what all steps cost that an evaluation of purchase p is expected to cost; 1 without steps."""
    stops = history.objectives[history.purchases[p].members[0]].stops
    if evaluation.stop is None or not stops:
        return 1.0
    paid = paid_up_to(np.array([evaluation.start, evaluation.stop]), stops, paid_shares(history, p))
    return float(paid[1] - paid[0])


def mean_above(bounds: FloatArray, mu: FloatArray, sigma: FloatArray) -> FloatArray:
    """The means (m,) of normal variables that are known to lie above bounds (m,); at least the bounds.

    >>> mean_above(np.array([0.0, 9.0]), np.array([0.0, 0.0]), np.array([1.0, 0.0])).round(3).tolist()
    [0.798, 9.0]
    """
    spread = np.where(sigma > 0, sigma, 1.0)
    z = (bounds - mu) / spread
    # phi(z) / (1 - Phi(z)), which for great z is z itself.
    hazard = np.exp(-0.5 * z**2 - 0.5 * math.log(2.0 * math.pi) - log_ndtr(-z))
    return np.maximum(bounds, np.where(sigma > 0, mu + spread * hazard, bounds))


def _check_takes_two(cost: CostCallable) -> None:
    """Refuse a callable that cannot be called with a design and the name of an objective."""
    try:
        inspect.signature(cost).bind({}, "")
    except TypeError:
        raise InvalidTypeError(
            f"cost is {_short(cost)}, which cannot be called with a design and the name of an objective; take both, "
            "cost(design, objective)."
        ) from None
    except ValueError:  # it has no signature, as some functions written in C
        return


def _number(given: object) -> float:
    """What was given as a float; NaN where it is not one number."""
    if isinstance(given, str | bytes) or getattr(given, "shape", ()) != ():
        return math.nan
    try:
        return float(given)  # type: ignore[arg-type]  # anything float() takes is a number here
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _short(given: object) -> str:
    """What was given on one line, shortened."""
    if isinstance(given, int) and given.bit_length() > LONGEST_SHOWN:
        return f"a whole number of {given.bit_length()} bits"
    text = " ".join(repr(given).split())
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."
