"""From a history to a belief: candidates, models, prices, and what a method remembers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo._internal.random_streams import Stream, entropy, generator
from flexibo._internal.threads import single_thread
from flexibo.belief.belief import SIMULTANEOUS, Belief, Predictions, exploration, predictions
from flexibo.belief.candidates import around, candidates, corners_are_worth_it
from flexibo.belief.costs import CostCallable, Costs
from flexibo.belief.failures import PROBABLE, chance_of_success, possible
from flexibo.belief.price_list import PriceList
from flexibo.belief.trust import widening
from flexibo.history import History
from flexibo.methods.base import Candidates, Method, ScoringMethod
from flexibo.optimizer._memory import MethodMemory
from flexibo.optimizer.reference import span, widened, worst_readings
from flexibo.pareto import Region, non_dominated, pareto_region
from flexibo.pareto.goals import goals_of_boxes
from flexibo.pareto.region import alive_and_fronts
from flexibo.space import Design, Designs
from flexibo.surrogates import Refits, Surrogate
from flexibo.surrogates.fit_memory import FitMemory
from flexibo.surrogates.table import SurrogateChoice, find_surrogate

DRAWS = 3
"""How many fresh draws of candidates must show no region before the study ends."""
NEAR = (Candidates.NEAR_FRONT, Candidates.AROUND_BEST)
"""The sources of candidates that include designs near the front."""
LEVEL_GROWTH = 1.3
"""The factor by which the readings of an objective and of its proxies grow between two refits."""
CERTIFIED = "certified_error"
"""The stop rule of studies that end when their front is certified."""


class Predictor:
    """Predicts candidates for a method, given a history. Same history, same belief.

    Args:
        method: Names the models and candidates it needs.
        initial: The designs that are measured first.
        full_start: Whether all of them are, in all objectives; otherwise as far as a share of the budget pays for them.
        seed: Decides every draw.
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
        full_start: bool = True,
        seed: int,
        m: int,
        delta: float,
        surrogate: str | Surrogate | SurrogateChoice | None = None,
        cost: str | CostCallable | None = None,
    ) -> None:
        self.method = method
        self.initial = tuple(initial)
        self.full_start = full_start
        self.seed = seed
        self.m = m
        self.delta = delta
        self.fits = FitMemory()
        self.costs = Costs(method.cost if cost is None else cost, seed=seed, memory=self.fits)
        self.surrogate = find_surrogate(method.surrogate if surrogate is None else surrogate)
        self._models: dict[int, Refits] = {}
        self._source, self._has_region, self._memory = Candidates.UNIFORM, False, None
        if isinstance(method, ScoringMethod):
            self._source, self._has_region = method.candidates, method.region
            self._memory = None if method.step is None else MethodMemory(method.step, self._belief_in_pool)

    @property
    def has_looks(self) -> bool:
        """Whether the method looks at early stops and proxies, and the models learn from them."""
        return isinstance(self.method, ScoringMethod) and self.method.how_far is not None and self.surrogate.has_levels

    def generator(self, history: History, draw: int, salt: int = 0) -> np.random.Generator:
        """The generator of the next question; each draw of candidates, and each salt, has its own."""
        return generator(self.seed, Stream.QUESTIONS, len(history.asked), draw, *([salt] if salt else []))

    def candidates(self, history: History, rng: np.random.Generator, *, likely: bool = False) -> Designs:
        """A draw of candidates that can be measured, or probably can if `likely`; all of it if there are no such."""
        return _possible(history, self._drawn(history, rng), likely=likely)

    def belief(self, history: History, rng: np.random.Generator, *, likely: bool = False) -> Belief:
        """The belief in a draw of candidates: what the method scores. Every objective has a value.

        If `likely`, what probably cannot be measured is left out, if there is anything else. A pool that is the same at
        every question stays whole.
        """
        if self._memory is not None:
            belief = self._belief_in_pool(history)
            return replace(belief, memory=self._memory.after(history, belief))
        return self._with_region(history, self._believe(history, self.candidates(history, rng, likely=likely)))

    def belief_around(
        self, history: History, belief: Belief, best: IntArray, rng: np.random.Generator, *, likely: bool = False
    ) -> Belief:
        """The belief in the designs of the history, the best candidates (rows of a belief), and others around these.

        What is left of the region is told by all candidates, so its volumes are those of the given belief.
        """
        parents = belief.designs[best]
        near = around(history.space, self.m // 2, parents, rng)
        designs = _possible(history, (history.designs + parents + near).unique(), likely=likely)
        finer = self._with_region(history, replace(self._believe(history, designs), reference=belief.reference))
        if belief.region is None or finer.region is None or finer.region.is_gone:
            return finer
        whole = belief.region
        region = replace(finer.region, volume=whole.volume, optimistic_volume=whole.optimistic_volume)
        return replace(finer, region=region)

    def _with_region(self, history: History, belief: Belief) -> Belief:
        """A belief with its Pareto region, for methods that are about it."""
        if not self._has_region:
            return belief
        region = _region(belief)
        if region.optimistic_volume <= 0.0:
            # Nothing seems to beat the reference point. Move it back to where the best designs so far have a volume.
            belief = replace(belief, reference=np.maximum(belief.reference, self._worst(history)))
            region = _region(belief)
        if region.is_gone and CERTIFIED in (history.stop or {}):
            # Nothing is left to learn by the boxes that guide the search. A certificate needs wider ones.
            beta = widening(history, self.models(history)) ** 2
            beta *= simultaneous_beta(history, len(belief.designs), self.delta)
            belief = replace(self._believe(history, belief.designs, beta=beta), reference=belief.reference)
            region = _region(belief)
        return replace(belief, region=region)

    def reference(self, history: History) -> FloatArray:
        """The reference point (k,): given, or fixed after the start and then as wide as the confirmed front needs it.

        It is fixed at the worst measurement so far plus 10 % of the range. Where the start reads an expensive objective
        of a few designs only, it is farther away (`flexibo.optimizer.reference.beyond`).
        """
        if history.reference is None:
            return self._worst(history)
        fixed = np.array(history.reference)
        return widened(fixed, history) if history.is_reference_found else fixed

    def estimates(self, history: History) -> Predictions:
        """The predictions for every design in the history, as far as it is not measured."""
        with single_thread():
            found = predictions(history, history.designs, self.models(history), pin_pending=False)
        return replace(found, usable=chance_of_success(history, history.designs) >= PROBABLE)

    def pool(self, history: History, m: int | None = None) -> Designs:
        """The candidates that the next question looks at first, the designs of the history at their head.

        It draws m, by default as many as the question does. Of a space with at most m designs, it is all.
        """
        return self._drawn(history, self.generator(history, 0), m)

    def corners(self, history: History) -> tuple[FloatArray, FloatArray]:
        """The optimistic and the pessimistic front (f, k each) that the next question would look at."""
        with single_thread():
            designs = _possible(history, self.pool(history))
            boxes = predictions(history, designs, self.models(history), beta=self._beta(history, len(designs)))
        columns = list(history.optimised)
        # Without the volumes: with many objectives they take longer than all the rest.
        goals = goals_of_boxes(boxes.lower, boxes.upper, self.reference(history), columns, history.limits)
        _, optimistic, pessimistic = alive_and_fronts(goals.corners(boxes.lower), goals.corners(boxes.upper))
        return boxes.lower[optimistic][:, columns], boxes.upper[pessimistic][:, columns]

    def _believe(
        self, history: History, designs: Designs, *, pin_pending: bool = True, beta: float | None = None
    ) -> Belief:
        """The belief in these candidates; beta is the paper's unless given."""
        square = self._beta(history, len(designs)) if beta is None else beta
        models, simultaneous = self.models(history), beta is not None
        boxes = predictions(history, designs, models, beta=square, pin_pending=pin_pending, simultaneous=simultaneous)
        return Belief.of(
            history,
            designs,
            boxes,
            reference=self.reference(history),
            tolerances=self._tolerances(history),
            price_list=PriceList.of(history, designs, self.costs, coupled=self.method.coupled, proxies=self.has_looks),
        )

    def models(self, history: History) -> list[Refits]:
        """The surrogates of the objectives, made on first use."""
        choice = self.surrogate
        for j, objective in enumerate(history.quantities):
            if j not in self._models:
                seed, possible = entropy(self.seed, Stream.SURROGATES, j), choice.possible(objective)
                make = partial(Refits, seed=seed, growth=choice.growth, possible=possible, memory=self.fits)
                families = history.space.families(objective.depends_on)
                self._models[j] = make(choice.of(objective, families))
                levels = choice.over_levels(objective, families)
                growth = LEVEL_GROWTH if objective.proxies else choice.growth
                self._models[j].over_levels = None if levels is None else make(levels, growth=growth)
        return [self._models[j] for j in range(len(history.quantities))]

    def _belief_in_pool(self, history: History) -> Belief:
        """The belief in the candidates that are the same at every question of the study.

        Nothing is pinned to a mean: the memory would hold a value that was never measured.
        """
        rng = generator(self.seed, Stream.FIXED_CANDIDATES)
        pool = candidates(history.space, self.m, history.space.designs(self.initial), rng)
        return self._believe(history, pool, pin_pending=False)

    def _drawn(self, history: History, rng: np.random.Generator, m: int | None = None) -> Designs:
        known, count = history.designs, self.m if m is None else m
        parents = None
        if self._source in NEAR and history.space.size > count and len(known):
            boxes = predictions(history, known, self.models(history))
            feasible = boxes.legal.prod(axis=1)
            feasible = np.where(possible(history, known), feasible, -1.0)
            likely = feasible >= min(0.5, max(0.0, float(feasible.max())))
            parents = known[likely][non_dominated(boxes.mu[likely][:, list(history.optimised)])]
        steps = self._source is Candidates.AROUND_BEST
        corners = steps and history.space.size > count and corners_are_worth_it(history)
        return candidates(history.space, count, known, rng, parents=parents, steps=steps, corners=corners)

    def _tolerances(self, history: History) -> FloatArray:
        """Differences that do not matter (n,): as given, or 1 % of the range of the first measurements."""
        given = [objective.tolerance for objective in history.quantities]
        spans = [span(history.data(j)[1][: max(2, self._started(history))]) for j in range(len(given))]
        return np.array([0.01 * span if own is None else own for own, span in zip(given, spans, strict=True)])

    def _beta(self, history: History, m: int) -> float:
        t = max(1, self._started(history) + history.chosen)
        return exploration(len(history.quantities), m, t, self.delta)

    def _started(self, history: History) -> int:
        """The number of designs that the start measures."""
        if self.full_start:
            return len(self.initial)
        return len(history.initial)

    def _worst(self, history: History) -> FloatArray:
        return worst_readings(history, stretched=not self.full_start)


def simultaneous_beta(history: History, m: int, delta: float) -> float:
    """The beta with which the boxes of m candidates all hold at once, after every answer of a study.

    So t counts the answers that the models have learned from.
    """
    return exploration(len(history.quantities), m, len(history.measurements), delta, factor=SIMULTANEOUS)


def _possible(history: History, designs: Designs, *, likely: bool = False) -> Designs:
    """The designs that can be measured, or probably can if `likely`; all of them if there are no others."""
    found = chance_of_success(history, designs) >= PROBABLE if likely else possible(history, designs)
    return designs[found] if found.any() else designs


def _region(belief: Belief) -> Region:
    return pareto_region(belief.lower, belief.upper, belief.reference, optimised=belief.optimised, limits=belief.limits)
