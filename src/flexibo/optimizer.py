"""The core loop: believe, score, choose. Same history, same question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexibo.arrays import BoolArray, FloatArray
from flexibo.belief import Belief, exploration, offers, predictions
from flexibo.candidates import candidates
from flexibo.catalogue import Method, find_surrogate
from flexibo.costs import CostCallable, Costs
from flexibo.history import MAX_ATTEMPTS, Evaluation, History
from flexibo.pareto import Region, non_dominated, pareto_region
from flexibo.space import Design, Designs
from flexibo.surrogates import Refits, Surrogate
from flexibo.threads import single_thread

DRAWS = 3
"""How many fresh draws of candidates must show no region before the study ends."""
HOPELESS = 6
"""An objective that failed this often and never gave a value stops the study."""
NO_REGION = 1e-12
"""The region counts as gone below this share of the optimistic front's volume."""


@dataclass(frozen=True, slots=True)
class Stop:
    """There is nothing to ask, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Choice:
    """One cell of the score table."""

    i: int
    b: int
    why: str


class Optimizer:
    """Chooses what to measure next. Same history, same question.

    Args:
        method: How to choose.
        initial: The designs that are measured first, in all objectives.
        seed: Decides every draw, together with the number of questions asked.
        m: How many candidates are drawn for each question.
        delta: The paper's confidence parameter.
        surrogate: Replaces the method's own.
        cost: Replaces the method's own.
    """

    def __init__(
        self,
        method: Method,
        initial: Sequence[Design],
        *,
        seed: int,
        m: int,
        delta: float,
        surrogate: str | Surrogate | None = None,
        cost: str | CostCallable | None = None,
    ) -> None:
        self.method = method
        self.initial = tuple(initial)
        self.seed = seed
        self.m = m
        self.delta = delta
        self.costs = Costs(method.cost if cost is None else cost, seed=seed)
        self._surrogate = find_surrogate(method.surrogate if surrogate is None else surrogate)
        self._models: list[Refits] = []

    def ask(self, history: History) -> Evaluation | Stop:
        """The next evaluation, or why there is none."""
        with single_thread():
            return self._ask(history)

    def _ask(self, history: History) -> Evaluation | Stop:
        if hopeless := self._hopeless(history):
            return Stop(hopeless)
        if history.promised:
            design, objectives, initial = history.promised
            return self._evaluation(history, design, objectives, initial=initial, why="the rest of its bundle")
        if not history.chosen and (first := self._first(history)):
            return first
        if missing := [name for j, name in enumerate(history.names) if not history.count(j)]:
            return self._blind(history, missing[0])
        return self._best(history)

    def models(self, history: History) -> list[Refits]:
        """The surrogates of the objectives, made on first use."""
        if not self._models:
            choice = self._surrogate
            self._models = [
                Refits(choice.settings, seed=(self.seed, 1, j), growth=choice.growth)
                for j in range(len(history.objectives))
            ]
        return self._models

    def reference(self, history: History) -> FloatArray:
        """The reference point (n,): fixed before, or the worst measurement so far plus 10 % of the range."""
        if history.reference is not None:
            return np.array(history.reference)
        point = []
        for j in range(len(history.objectives)):
            _, y = history.data(j)
            span = float(np.ptp(y)) or abs(float(y.max())) or 1.0
            point.append(float(y.max()) + 0.1 * span)
        return np.array(point)

    def estimates(self, history: History) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Means, deviations and whether measured (m, n each), of every design in the history."""
        designs = history.designs
        with single_thread():
            mu, sigma, keys = predictions(history, designs, self.models(history), pin_pending=False)
        measured = np.zeros(mu.shape, dtype=bool)
        for j in range(len(history.objectives)):
            measured[:, j] = [key in history.known(j) for key in keys[:, j].tolist()]
        return mu, sigma, measured

    def believe(self, history: History, designs: Designs) -> Belief:
        """Means, deviations, prices and what may be asked, for these candidates."""
        bundles, prices, thetas, is_open = offers(history, designs, self.costs, coupled=self.method.coupled)
        n = len(history.objectives)
        if self.method.models:
            mu, sigma, keys = predictions(history, designs, self.models(history))
        else:
            mu, sigma, keys = (np.zeros((len(designs), n)) for _ in range(3))
        beta = self._beta(history, len(designs))
        return Belief(
            designs, mu, sigma, keys.astype(np.uint64), beta, self.reference(history), bundles, prices, thetas, is_open
        )

    def corners(self, history: History) -> tuple[FloatArray, FloatArray]:
        """The optimistic and the pessimistic front (k, n each) that the next question would look at."""
        rng = np.random.default_rng((self.seed, 2, len(history.asked), 0))
        with single_thread():
            designs = self._candidates(history, rng)
            mu, sigma, _ = predictions(history, designs, self.models(history))
        half = np.sqrt(self._beta(history, len(designs))) * sigma
        region = pareto_region(mu - half, mu + half, self.reference(history))
        return (mu - half)[region.optimistic], (mu + half)[region.pessimistic]

    def _beta(self, history: History, m: int) -> float:
        t = max(1, len(self.initial) + history.chosen)
        return exploration(len(history.objectives), m, t, self.delta)

    def _first(self, history: History) -> Evaluation | Stop | None:
        """The next evaluation of the initial designs, or None when they are done."""
        tasks = [
            (design, p)
            for design in self.initial
            for p in range(len(history.purchases))
            if not history.is_measured(p, design)
        ]
        known = [
            sum(m.number is None and o.objective in m.values for m in history.measurements) for o in history.purchases
        ]
        wanted = [max(0, len(self.initial) - number) for number in known]
        tasks = [(d, p) for d, p in tasks if self.initial.index(d) < wanted[p]]
        fresh = [(d, p) for d, p in tasks if not history.attempts(p, d) and not history.is_pending(p, d)]
        again = [(d, p) for d, p in tasks if 0 < history.attempts(p, d) < MAX_ATTEMPTS and not history.is_pending(p, d)]
        if not (fresh or again):
            return None
        design, p = (fresh or again)[0]
        bundle = [q for d, q in fresh if d == design] if self.method.coupled and fresh else [p]
        prices = self.costs.prices(history, history.space.designs([design]))[0]
        if prices[bundle].sum() > history.remaining or history.remaining <= 0:
            return Stop(
                f"The budget of {history.budget:g} cannot pay for the initial designs: {len(tasks)} evaluations are "
                "missing. Raise the budget or lower n_initial."
            )
        objectives = tuple(history.purchases[q].objective for q in bundle)
        return self._evaluation(history, design, objectives, initial=True, why="initial design")

    def _best(self, history: History) -> Evaluation | Stop:
        """The evaluation with the best score per cost."""
        stop = Stop("Nothing is left to measure.")
        for draw in range(DRAWS):
            rng = np.random.default_rng((self.seed, 2, len(history.asked), draw))
            belief = self.believe(history, self._candidates(history, rng))
            affordable = belief.open & (belief.prices <= history.remaining) & (history.remaining > 0)
            if not affordable.any():
                stop = self._nothing_affordable(history, belief)
                continue
            region = pareto_region(belief.lower, belief.upper, belief.reference) if self.method.models else None
            if region is not None and region.volume <= NO_REGION * region.optimistic_volume:
                stop = Stop("No Pareto region is left: every design that may be on the front is known.")
                continue
            scores = self.method.acquisition(belief, rng)
            choice = self._choose(scores, belief, affordable, region, rng)
            if choice is None:
                stop = Stop("What is left of the Pareto region cannot be measured.")
                continue
            return self._chosen(history, belief, choice, scores, region)
        return stop

    def _candidates(self, history: History, rng: np.random.Generator) -> Designs:
        known = history.designs
        parents = None
        if self.method.neighbours and history.space.size > self.m:
            mu, _, _ = predictions(history, known, self.models(history))
            parents = known[non_dominated(mu)]
        return candidates(history.space, self.m, known, rng, parents=parents)

    def _choose(
        self,
        scores: FloatArray,
        belief: Belief,
        affordable: BoolArray,
        region: Region | None,
        rng: np.random.Generator,
    ) -> _Choice | None:
        """The best affordable cell. Ties: the lowest cost, then a seeded draw."""
        per_cost = np.where(affordable, scores / belief.thetas, -np.inf)
        if per_cost.max() > 0:
            return _Choice(*self._pick(per_cost, belief, rng), "")
        if region is None:
            return None
        # Tied corners: pinning one box changes nothing although a region is left.
        width = np.stack([belief.sigma[:, list(bundle)].sum(axis=1) for bundle in belief.bundles], axis=1)
        for among in (region.optimistic, region.alive):
            per_cost = np.where(affordable & among[:, None], width / belief.thetas, -np.inf)
            if per_cost.max() > 0:
                return _Choice(*self._pick(per_cost, belief, rng), "the widest open interval on the front")
        return None

    @staticmethod
    def _pick(per_cost: FloatArray, belief: Belief, rng: np.random.Generator) -> tuple[int, int]:
        ties = np.argwhere(per_cost == per_cost.max())
        prices = belief.prices[ties[:, 0], ties[:, 1]]
        ties = ties[prices == prices.min()]
        i, b = ties[rng.integers(len(ties))]
        return int(i), int(b)

    def _chosen(
        self, history: History, belief: Belief, choice: _Choice, scores: FloatArray, region: Region | None
    ) -> Evaluation:
        i, b = choice.i, choice.b
        design = belief.designs[i]
        objectives = tuple(
            purchase.objective
            for p, purchase in enumerate(history.purchases)
            if purchase.members[0] in belief.bundles[b] and not history.is_closed(p, design)
        )
        volume = None if region is None else region.volume
        gain = None if region is None else float(scores[i, b])
        why = choice.why or self._why(history, gain, volume, float(belief.prices[i, b]))
        return self._evaluation(history, design, objectives, initial=False, why=why, gain=gain, volume=volume)

    @staticmethod
    def _why(history: History, gain: float | None, volume: float | None, price: float) -> str:
        if gain is None or not volume:
            return "drawn at random"
        share = f"is expected to remove {gain / volume:.1%} of the Pareto region"
        if history.budget:
            return f"{share} for {price / history.budget:.1%} of the budget"
        return f"{share} for {price:.3g}"

    @staticmethod
    def _nothing_affordable(history: History, belief: Belief) -> Stop:
        if not belief.open.any():
            return Stop("Every candidate has been measured.")
        cheapest = float(belief.prices[belief.open].min())
        return Stop(
            f"The budget is spent: {max(history.remaining, 0.0):.3g} of {history.budget:g} is left, "
            f"and the cheapest evaluation is expected to cost {cheapest:.3g}."
        )

    @staticmethod
    def _blind(history: History, missing: str) -> Stop:
        if any(missing in evaluation.yields for evaluation in history.pending.values()):
            return Stop(f"No value of {missing!r} is known yet; tell a pending evaluation first.")
        return Stop(f"No value of {missing!r} was ever measured; the study cannot go on without one.")

    @staticmethod
    def _hopeless(history: History) -> str | None:
        for purchase in history.purchases:
            name = purchase.objective
            if history.failed_attempts[name] >= HOPELESS and not history.count(purchase.members[0]):
                return (
                    f"Objective {name!r} failed in all of its {history.failed_attempts[name]} attempts; "
                    f"the last reason was: {history.last_reason[name]}"
                )
        return None

    def _evaluation(
        self,
        history: History,
        design: Design,
        objectives: tuple[str, ...],
        *,
        initial: bool,
        why: str,
        gain: float | None = None,
        volume: float | None = None,
    ) -> Evaluation:
        """The question for the first of the objectives; the others are promised to follow."""
        p = next(p for p, purchase in enumerate(history.purchases) if purchase.objective == objectives[0])
        return Evaluation(
            design=design,
            objective=objectives[0],
            gain=gain,
            cost=float(self.costs.prices(history, history.space.designs([design]))[0, p]),
            why=why,
            number=len(history.asked),
            yields=tuple(history.names[j] for j in history.purchases[p].members),
            attempt=history.attempts(p, design) + 1,
            volume=volume,
            then=objectives[1:],
            initial=initial,
        )
