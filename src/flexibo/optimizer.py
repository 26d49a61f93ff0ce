"""The core loop: believe, score, choose. Same history, same question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flexibo.arrays import BoolArray, FloatArray
from flexibo.belief import Belief, Predictions, exploration, feasibility, no_predictions, offers, predictions
from flexibo.budget import affords, buys_something, designs_left, remaining, still_wanted, why_nothing
from flexibo.candidates import candidates, fixed_candidates
from flexibo.catalogue import Method, find_surrogate
from flexibo.choice import choose, hopeless, missing_initial
from flexibo.costs import CostCallable, Costs
from flexibo.events import Evaluation
from flexibo.history import History
from flexibo.pareto import Region, non_dominated, pareto_region
from flexibo.proposals import Proposal
from flexibo.replay import Kept
from flexibo.space import Design, Designs
from flexibo.surrogates import Refits, Surrogate
from flexibo.threads import single_thread

DRAWS = 3
"""How many fresh draws of candidates must show no region before the study ends."""
MOST_FREE = 1000
"""After so many evaluations in a row that cost nothing a budget is taken for a mistake."""
NO_REGION = 1e-12
"""The region counts as gone below this share of the optimistic front's volume."""
NOTHING_BETTER = "No candidate may be feasible and better than the reference point in every objective."
NO_REGION_LEFT = "No Pareto region is left: every design that may be on the front is known."


@dataclass(frozen=True, slots=True)
class Stop:
    """There is nothing to ask, and why."""

    reason: str


class Optimizer:
    """Chooses what to measure next. Same history, same question.

    Args:
        method: How to choose.
        initial: The designs that are measured first, in all objectives.
        n_given: How many of these were given by the user rather than drawn.
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
        n_given: int,
        seed: int,
        m: int,
        delta: float,
        surrogate: str | Surrogate | None = None,
        cost: str | CostCallable | None = None,
    ) -> None:
        self.method = method
        self.initial = tuple(initial)
        self.n_given = n_given
        self.seed = seed
        self.m = m
        self.delta = delta
        self.costs = Costs(method.cost if cost is None else cost, seed=seed)
        self._surrogate = find_surrogate(method.surrogate if surrogate is None else surrogate)
        self._models: dict[int, Refits] = {}
        self._proposal = None if method.proposal is None else method.proposal()
        self._kept = Kept(method.step, self._belief_in_pool) if method.step is not None else None

    def ask(self, history: History) -> Evaluation | Stop:
        """The next evaluation, or why there is none."""
        if reason := hopeless(history):
            return Stop(reason)
        if history.budget is not None and history.free_in_a_row >= MOST_FREE:
            return Stop(
                f"The last {MOST_FREE:,} evaluations cost nothing, so the budget never ends; tell what they cost, or "
                "stop by max_evaluations instead of a budget."
            )
        if promised := self._promised(history):
            return promised
        if not history.chosen:
            tasks = missing_initial(history, self.initial, self.n_given, coupled=self.method.coupled)
            if tasks:
                return self._first(history, tasks)
        for j, name in enumerate(history.names):
            if not history.count(j):
                awaited = any(name in evaluation.yields for evaluation in history.pending.values())
                what = "is known yet; tell a pending evaluation first" if awaited else "was ever measured"
                return Stop(f"No value of {name!r} {what}.")
        with single_thread():
            return self._best(history) if self._proposal is None else self._proposed(history, self._proposal)

    def still_wants(self, history: History, evaluation: Evaluation) -> bool:
        """Whether an evaluation that another process left pending should be measured after all."""
        return still_wanted(history, self.costs, evaluation)

    def believe(self, history: History, designs: Designs, *, pin_pending: bool = True) -> Belief:
        """Means, deviations, prices and what may be asked, for these candidates."""
        bundles, prices, thetas, is_open = offers(history, designs, self.costs, coupled=self.method.coupled)
        if self.method.models:
            beta = self._beta(history, len(designs))
            boxes = predictions(history, designs, self.models(history), beta=beta, pin_pending=pin_pending)
        else:
            boxes = no_predictions(history, designs)
        return Belief(
            designs=designs,
            mu=boxes.mu,
            sigma=boxes.sigma,
            lower=boxes.lower,
            upper=boxes.upper,
            keys=boxes.keys,
            known=boxes.known,
            optimised=history.optimised,
            limits=history.limits,
            reference=self.reference(history),
            tolerances=self._tolerances(history),
            left=designs_left(history, self.costs),
            bundles=bundles,
            prices=prices,
            thetas=thetas,
            open=is_open,
            joints=boxes.joints,
        )

    def models(self, history: History) -> list[Refits]:
        """The surrogates of the objectives, made on first use."""
        choice = self._surrogate
        for j in range(len(history.objectives)):
            self._models.setdefault(j, Refits(choice.settings, seed=(self.seed, 1, j), growth=choice.growth))
        return [self._models[j] for j in range(len(history.objectives))]

    def reference(self, history: History) -> FloatArray:
        """The reference point (k,): fixed before, or the worst measurement so far plus 10 % of the range."""
        if history.reference is not None:
            return np.array(history.reference)
        point = []
        for j in history.optimised:
            _, y = history.data(j)
            point.append(float(y.max()) + 0.1 * _span(y))
        return np.array(point)

    def _tolerances(self, history: History) -> FloatArray:
        """What does not matter (n,): as the objectives say, or 1 % of the range of the first measurements."""
        given = [objective.tolerance for objective in history.objectives]
        spans = [_span(history.data(j)[1][: max(2, len(self.initial))]) for j in range(len(given))]
        return np.array([0.01 * span if own is None else own for own, span in zip(given, spans, strict=True)])

    def estimates(self, history: History) -> Predictions:
        """What is thought of every design in the history, as far as it is not measured."""
        with single_thread():
            return predictions(history, history.designs, self.models(history), pin_pending=False)

    def corners(self, history: History) -> tuple[FloatArray, FloatArray]:
        """The optimistic and the pessimistic front (f, k each) that the next question would look at."""
        rng = np.random.default_rng((self.seed, 2, len(history.asked), 0))
        with single_thread():
            designs = self._candidates(history, rng)
            boxes = predictions(history, designs, self.models(history), beta=self._beta(history, len(designs)))
        columns = list(history.optimised)
        region = pareto_region(
            boxes.lower, boxes.upper, self.reference(history), optimised=columns, limits=history.limits
        )
        return boxes.lower[region.optimistic][:, columns], boxes.upper[region.pessimistic][:, columns]

    def _promised(self, history: History) -> Evaluation | None:
        """The rest of a bundle, as far as it is still wanted and paid for."""
        if not history.promised:
            return None
        design, objectives, initial = history.promised
        prices = self.costs.prices(history, history.space.designs([design]))[0]
        wanted = [name for name in objectives if not history.is_closed(history.purchase_of(name), design)]
        if not wanted or not affords(history, self.costs, prices[history.purchase_of(wanted[0])]):
            return None
        return self._evaluation(history, design, tuple(wanted), initial=initial, why="the rest of its bundle")

    def _first(self, history: History, tasks: list[tuple[Design, list[int]]]) -> Evaluation | Stop:
        """The next evaluation of the initial designs."""
        design, bundle = tasks[0]
        prices = self.costs.prices(history, history.space.designs([design]))[0]
        if not affords(history, self.costs, prices[bundle].sum()):
            missing = sum(len(purchases) for _, purchases in tasks)
            return Stop(
                f"The budget of {history.budget:g} cannot pay for the initial designs: {missing} evaluations are "
                "missing. Raise the budget or lower n_initial."
            )
        objectives = tuple(history.purchases[p].objective for p in bundle)
        return self._evaluation(history, design, objectives, initial=True, why="initial design")

    def _best(self, history: History) -> Evaluation | Stop:
        """The evaluation with the best score per cost."""
        stop = Stop("Nothing is left to measure.")
        for draw in range(DRAWS):
            rng = np.random.default_rng((self.seed, 2, len(history.asked), draw))
            belief = self._belief(history, rng)
            affordable = belief.open & affords(history, self.costs, belief.prices)
            if not buys_something(affordable, belief):
                stop = Stop(why_nothing(history, self.costs, belief))
                continue
            region = belief.region
            if region is not None and region.volume <= NO_REGION * region.optimistic_volume:
                stop = Stop(NO_REGION_LEFT if region.optimistic_volume > 0 else NOTHING_BETTER)
                continue
            scores = self._scores(belief, rng)
            per_cost = scores / belief.thetas if self.method.models else scores
            cell = choose(per_cost, belief, affordable, rng, fallbacks=self._fallbacks(region, belief))
            if cell is not None:
                return self._chosen(history, belief, cell, float(scores[cell]), region)
            stop = Stop(self.method.finished)
        return stop

    def _proposed(self, history: History, proposal: Proposal) -> Evaluation | Stop:
        """The first design that the method proposes and that is not measured yet."""
        for design in proposal(history, self.initial, self.seed):
            missing = [p for p in range(len(history.purchases)) if not history.is_closed(p, design)]
            if not missing:
                continue
            prices = self.costs.prices(history, history.space.designs([design]))[0, missing]
            if not affords(history, self.costs, prices.sum()):
                return Stop(
                    f"The budget cannot pay the next design: it is expected to cost {prices.sum():.3g}, and "
                    f"{max(remaining(history, self.costs), 0.0):.3g} is left."
                )
            objectives = tuple(history.purchases[p].objective for p in missing)
            return self._evaluation(history, design, objectives, initial=False, why="proposed by the method")
        if history.pending:
            return Stop("The method waits for what is being measured; tell the pending evaluations first.")
        return Stop(self.method.finished)

    def _belief(self, history: History, rng: np.random.Generator) -> Belief:
        """The belief that the method scores."""
        if self._kept is not None:
            belief = self._belief_in_pool(history)
            return replace(belief, kept=self._kept.after(history, belief))
        belief = self.believe(history, self._candidates(history, rng))
        return replace(belief, region=_region(belief)) if self.method.region else belief

    def _belief_in_pool(self, history: History) -> Belief:
        """The belief in the candidates that are the same at every question of the study.

        Nothing is pinned to a mean: what is kept would hold a value that nobody measured.
        """
        pool = fixed_candidates(history.space, self.m, self.initial, np.random.default_rng((self.seed, 5)))
        return self.believe(history, pool, pin_pending=False)

    def _scores(self, belief: Belief, rng: np.random.Generator) -> FloatArray:
        """What the method says (m, b), weighted by the probability of feasibility if it has no rule of its own."""
        scores = self.method.acquisition(belief, rng)
        if self.method.feasibility == "probability" and np.isfinite(belief.limits).any():
            scores = scores * belief.feasible()[:, None]
        return scores

    def _fallbacks(self, region: Region | None, belief: Belief) -> list[BoolArray]:
        """Where to look if nothing scores: where the region is, or anywhere; a method that classifies has finished."""
        if region is not None:
            return [region.optimistic, region.alive]
        return [np.ones(len(belief.designs), dtype=bool)] if self.method.models and self._kept is None else []

    def _candidates(self, history: History, rng: np.random.Generator) -> Designs:
        known = history.designs
        parents = None
        if self.method.neighbours and history.space.size > self.m:
            boxes = predictions(history, known, self.models(history))
            feasible = feasibility(boxes.mu, boxes.sigma, history.limits, corners=(boxes.lower, boxes.upper))
            likely = feasible >= min(0.5, float(feasible.max()))
            parents = known[likely][non_dominated(boxes.mu[likely][:, list(history.optimised)])]
        return candidates(history.space, self.m, known, rng, parents=parents)

    def _beta(self, history: History, m: int) -> float:
        t = max(1, len(self.initial) + history.chosen)
        return exploration(len(history.objectives), m, t, self.delta, factor=self.method.confidence)

    def _chosen(
        self, history: History, belief: Belief, cell: tuple[int, int], gain: float, region: Region | None
    ) -> Evaluation:
        """The question that a cell of the score table stands for."""
        i, b = cell
        design = belief.designs[i]
        objectives = tuple(
            purchase.objective
            for p, purchase in enumerate(history.purchases)
            if purchase.members[0] in belief.bundles[b] and not history.is_closed(p, design)
        )
        if not self.method.models:
            return self._evaluation(history, design, objectives, initial=False, why="drawn at random")
        price = float(belief.prices[cell])
        share = "" if not history.budget else f" for {price / history.budget:.1%} of the budget"
        if region is None:
            why = f"{self.method.measure} {gain:.3g}{share}"
            return self._evaluation(history, design, objectives, initial=False, why=why, gain=gain)
        why = f"expected to remove {gain / region.volume:.1%} of the Pareto region{share}"
        return self._evaluation(history, design, objectives, initial=False, why=why, gain=gain, volume=region.volume)

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
        p = history.purchase_of(objectives[0])
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


def _region(belief: Belief) -> Region:
    return pareto_region(belief.lower, belief.upper, belief.reference, optimised=belief.optimised, limits=belief.limits)


def _span(y: FloatArray) -> float:
    """The range of the losses y (s,), or what stands in for it where they are all equal."""
    return float(np.ptp(y)) or abs(float(y.max())) or 1.0
