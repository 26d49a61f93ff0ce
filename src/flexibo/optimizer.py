"""The core loop: believe, score, choose. Same history, same question."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexibo.acquisition.additive import feasibility_scores
from flexibo.arrays import BoolArray, FloatArray
from flexibo.belief import Belief
from flexibo.believer import Believer
from flexibo.budget import affords, buys_something, remaining, still_wanted, why_nothing
from flexibo.choice import choose, hopeless, missing_initial
from flexibo.events import Evaluation
from flexibo.history import History
from flexibo.pareto import Region
from flexibo.proposals import Proposal
from flexibo.space import Design
from flexibo.threads import single_thread

DRAWS = 3
"""How many fresh draws of candidates must show no region before the study ends."""
MOST_FREE = 1000
"""After so many evaluations in a row that cost nothing a budget is taken for a mistake."""
NO_REGION = 1e-12
"""The region counts as gone below this share of the optimistic front's volume."""
NOTHING_BETTER = "No candidate may be feasible."
NO_REGION_LEFT = "No Pareto region is left: every design that may be on the front is known."


@dataclass(frozen=True, slots=True)
class Stop:
    """There is nothing to ask, and why."""

    reason: str


class Optimizer:
    """Chooses what to measure next. Same history, same question.

    Args:
        believer: Says what is thought of the candidates, and which method chooses.
        n_given: How many of the initial designs were given by the user rather than drawn.
    """

    def __init__(self, believer: Believer, *, n_given: int) -> None:
        self.believer = believer
        self.method = believer.method
        self.initial = believer.initial
        self.seed = believer.seed
        self.costs = believer.costs
        self.n_given = n_given
        self._proposal = None if self.method.proposal is None else self.method.proposal()

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
            belief = self.believer.belief(history, rng)
            affordable = belief.open & affords(history, self.costs, belief.prices)
            if not buys_something(affordable, belief):
                stop = Stop(why_nothing(history, self.costs, belief))
                continue
            region = belief.region
            if region is not None and region.volume <= NO_REGION * region.optimistic_volume:
                stop = Stop(NO_REGION_LEFT if region.optimistic_volume > 0 else NOTHING_BETTER)
            else:
                scores = self._scores(belief, rng)
                per_cost = scores / belief.thetas if self.method.models else scores
                cell = choose(per_cost, belief, affordable, rng, fallbacks=self._fallbacks(region, belief))
                if cell is not None:
                    return self._chosen(history, belief, cell, float(scores[cell]), region)
                stop = Stop(self.method.finished)
            if self.method.models and (hope := self._hope(history, belief, affordable, rng)):
                return hope
        return stop

    def _hope(
        self, history: History, belief: Belief, affordable: BoolArray, rng: np.random.Generator
    ) -> Evaluation | None:
        """The constraint that is most likely kept, while no feasible design is known: boxes may be too narrow."""
        if history.has_feasible():
            return None
        cell = choose(feasibility_scores(belief) / belief.thetas, belief, affordable, rng)
        if cell is None:
            return None
        i, b = cell
        why = f"no feasible design is known; this one is feasible with probability {belief.feasible()[i]:.2g}"
        return self._evaluation(
            history, belief.designs[i], self._missing(history, belief, i, b), initial=False, why=why
        )

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
        return [np.ones(len(belief.designs), dtype=bool)] if self.method.models and self.method.step is None else []

    def _chosen(
        self, history: History, belief: Belief, cell: tuple[int, int], gain: float, region: Region | None
    ) -> Evaluation:
        """The question that a cell of the score table stands for."""
        design, objectives = belief.designs[cell[0]], self._missing(history, belief, *cell)
        if not self.method.models:
            return self._evaluation(history, design, objectives, initial=False, why="drawn at random")
        price = float(belief.prices[cell])
        share = "" if not history.budget else f" for {price / history.budget:.1%} of the budget"
        if region is None:
            why = f"{self.method.measure} {gain:.3g}{share}"
            return self._evaluation(history, design, objectives, initial=False, why=why, gain=gain)
        why = f"expected to remove {gain / region.volume:.1%} of the Pareto region{share}"
        return self._evaluation(history, design, objectives, initial=False, why=why, gain=gain, volume=region.volume)

    def _missing(self, history: History, belief: Belief, i: int, b: int) -> tuple[str, ...]:
        """The objectives of a bundle that can be asked of a candidate."""
        return tuple(
            purchase.objective
            for p, purchase in enumerate(history.purchases)
            if purchase.members[0] in belief.bundles[b] and not history.is_closed(p, belief.designs[i])
        )

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
