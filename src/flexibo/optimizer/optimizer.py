"""The core loop: believe, score, choose. Same history, same question."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo._internal.threads import single_thread
from flexibo.belief.belief import Belief
from flexibo.belief.budget import affords, buys_something, remaining, still_wanted, too_dear, why_nothing
from flexibo.belief.failures import LIKELY, chance_of_success, possible, weights
from flexibo.belief.reported import SURE, reported
from flexibo.history import History
from flexibo.history.events import Evaluation, RunnerUp
from flexibo.methods._additive import feasibility_scores, unsure_members
from flexibo.methods.proposal import Proposal
from flexibo.optimizer.choice import choose, hopeless, missing_initial, second_best
from flexibo.optimizer.predictor import Predictor
from flexibo.optimizer.stop import Stop, StopKind
from flexibo.pareto import Region
from flexibo.space import Design

DRAWS = 3
"""How many fresh draws of candidates must show no region before the study ends."""
FURTHER = 50
"""How many further designs are drawn at a time where all initial ones failed."""
MOST_FREE = 1000
"""After so many evaluations in a row that cost nothing a budget is taken for a mistake."""
PATIENCE = 10
"""After so many failures of an objective in a row, what would probably fail too is left alone."""
ONLY_UNLIKELY = "Nothing is left to learn from the designs that can probably be measured; the last ones failed."
NOTHING_BETTER = "No candidate may be feasible."
NO_REGION_LEFT = (
    "No Pareto region is left among the candidates by the method's narrow boxes; a certificate says what may be missed."
)


class Optimizer:
    """Chooses what to measure next. Same history, same question.

    Args:
        predictor: Says what is thought of the candidates, and which method chooses.
        n_given: How many of the initial designs were given by the user rather than drawn.
    """

    def __init__(self, predictor: Predictor, *, n_given: int) -> None:
        self.predictor = predictor
        self.method = predictor.method
        self.initial = predictor.initial
        self.seed = predictor.seed
        self.costs = predictor.costs
        self.n_given = n_given
        self._proposal = None if self.method.proposal is None else self.method.proposal()

    def ask(self, history: History, *, only: Collection[str] | None = None, salt: int = 0) -> Evaluation | Stop:
        """The next evaluation, or why there is none.

        Args:
            history: What happened so far.
            only: Ask for one of these objectives, because whoever asks can measure no others; None is any.
            salt: Another number draws other candidates: workers that have come to the same question twice differ.
        """
        if reason := hopeless(history):
            return Stop(StopKind.FAILING, reason)
        wanted = frozenset(
            purchase.objective for purchase in history.purchases if only is None or purchase.objective in only
        )
        if history.budget is not None and history.free_in_a_row >= MOST_FREE:
            return Stop(
                StopKind.FREE,
                f"The last {MOST_FREE:,} evaluations cost nothing, so the budget never ends; tell what they cost, or "
                "stop by max_evaluations instead of a budget.",
            )
        if promised := self._promised(history, wanted):
            return promised
        if not history.chosen:
            tasks = missing_initial(history, self.initial, self.n_given, coupled=self.method.coupled)
            mine = [task for task in tasks if not wanted.isdisjoint(_names(history, task[1]))]
            if mine:
                return self._first(history, mine, wanted)
            if tasks:
                return Stop(StopKind.WAITING, "The initial designs wait for objectives that are measured elsewhere.")
        for j, name in enumerate(history.names):
            if not history.count(j):
                if any(name in evaluation.yields for evaluation in history.pending.values()):
                    return Stop(
                        StopKind.WAITING, f"No value of {name!r} is known yet; tell a pending evaluation first."
                    )
                return self._elsewhere(history, name, wanted) or Stop(
                    StopKind.FAILING, f"No value of {name!r} was ever measured."
                )
        with single_thread():
            if self._proposal is not None:
                return self._proposed(history, self._proposal, wanted)
            return self._best(history, wanted, salt)

    def still_wants(self, history: History, evaluation: Evaluation, *, loss: float = 0.0) -> bool:
        """Whether an evaluation that another process left pending, and lost, should be measured after all."""
        return still_wanted(history, self.costs, evaluation, loss=loss)

    def still_open(self, history: History, evaluation: Evaluation) -> bool:
        """Whether an evaluation that was thought of a while ago may still be asked: nobody else did, and it is paid."""
        if history.is_closed(history.purchase_of(evaluation.objective), evaluation.design):
            return False
        return bool(affords(history, self.costs, np.asarray(evaluation.cost)))

    def _promised(self, history: History, wanted: frozenset[str]) -> Evaluation | None:
        """The rest of a bundle, as far as it is still wanted and paid for."""
        for promise in history.promises:
            if not promise.initial and not possible(history, history.space.designs([promise.design])).all():
                continue
            left = [n for n in promise.objectives if not history.is_closed(history.purchase_of(n), promise.design)]
            left.sort(key=lambda name: name not in wanted)
            if not left or left[0] not in wanted:
                continue
            prices = self.costs.prices(history, history.space.designs([promise.design]))[0]
            if affords(history, self.costs, prices[history.purchase_of(left[0])]):
                return self._evaluation(
                    history, promise.design, tuple(left), initial=promise.initial, why="the rest of its bundle"
                )
        return None

    def _first(
        self, history: History, tasks: list[tuple[Design, list[int]]], wanted: frozenset[str]
    ) -> Evaluation | Stop:
        """The next evaluation of the initial designs."""
        design, bundle = tasks[0]
        prices = self.costs.prices(history, history.space.designs([design]))[0]
        if not affords(history, self.costs, prices[bundle].sum()):
            missing = sum(len(purchases) for _, purchases in tasks)
            return Stop(
                StopKind.BUDGET,
                f"The budget of {history.budget:g} cannot pay for the initial designs: {missing} evaluations are "
                "missing. Raise the budget or lower n_initial.",
            )
        objectives = sorted(_names(history, bundle), key=lambda name: name not in wanted)
        return self._evaluation(history, design, tuple(objectives), initial=True, why="initial design")

    def _elsewhere(self, history: History, name: str, wanted: frozenset[str]) -> Evaluation | None:
        """A further design to begin with, where an objective failed for good in all of the initial ones."""
        p = history.purchase_of(name)
        purchase = history.purchases[p]
        if purchase.objective not in wanted:
            return None
        drawn = history.space.sample(FURTHER, np.random.default_rng((self.seed, 6, len(history.asked))))
        designs = history.designs + drawn
        is_open = possible(history, designs) & ~np.isin(designs.keys(purchase.options), history.closed(p))
        prices = self.costs.prices(history, designs)[:, p]
        rows = np.flatnonzero(is_open & affords(history, self.costs, prices))
        if not len(rows):
            return None
        design = designs[int(rows[0])]
        return self._evaluation(history, design, (purchase.objective,), initial=True, why="in place of what failed")

    def _best(self, history: History, wanted: frozenset[str], salt: int) -> Evaluation | Stop:
        """The evaluation with the best score per cost; one that would probably fail only if no other is worth it.

        A score may be 0 for all but designs that seem better than anything and cannot be measured.
        """
        best = self._best_of(history, wanted, salt)
        if isinstance(best, Evaluation) and self.method.models and not self._will_do(history, best):
            other = self._best_of(history, wanted, salt, likely=True)
            if isinstance(other, Evaluation):
                return other
            if history.failed_in_a_row[best.objective] >= PATIENCE:
                best = Stop(StopKind.UNLIKELY, ONLY_UNLIKELY)
        if isinstance(best, Stop) and best.kind in (StopKind.NO_REGION, StopKind.UNLIKELY) and self.method.confirms:
            return self._confirming(history, wanted) or best
        return best

    def _will_do(self, history: History, evaluation: Evaluation) -> bool:
        """Whether an evaluation can probably be made, and all others of its design."""
        return bool(chance_of_success(history, history.space.designs([evaluation.design]))[0] >= LIKELY)

    def _best_of(
        self, history: History, wanted: frozenset[str], salt: int, *, likely: bool = False
    ) -> Evaluation | Stop:
        """The evaluation with the best score per cost, among all candidates or the `likely` ones."""
        stop = Stop(StopKind.FINISHED, "Nothing is left to measure.")
        for draw in range(DRAWS):
            rng = np.random.default_rng((self.seed, 2, len(history.asked), draw, *([salt] if salt else [])))
            belief = self.predictor.belief(history, rng, likely=likely)
            affordable = belief.open & affords(history, self.costs, belief.prices)
            if len(wanted) < len(history.purchases):
                served = _served(history, belief, wanted)
                if not served.any():
                    names = ", ".join(sorted(wanted))
                    stop = Stop(
                        StopKind.FINISHED,
                        f"Every candidate has been measured in {names}, is being measured or cannot be.",
                    )
                    continue
                affordable &= served
            if not buys_something(affordable, belief):
                kind = StopKind.BUDGET if belief.open.any() else StopKind.FINISHED
                stop = Stop(kind, why_nothing(history, self.costs, belief))
                continue
            region = belief.region
            if region is not None and region.is_gone:
                gone, unreachable = Stop(StopKind.NO_REGION, NO_REGION_LEFT), Stop(StopKind.INFEASIBLE, NOTHING_BETTER)
                stop = gone if region.optimistic_volume > 0 else unreachable
            else:
                scores = self._scores(history, belief, rng)
                per_cost = scores / belief.thetas if self.method.models else scores
                cell = choose(per_cost, belief, affordable, rng, fallbacks=self._fallbacks(region, belief))
                if cell is not None:
                    chosen = self._chosen(history, belief, cell, wanted, float(scores[cell]), region)
                    second = second_best(per_cost, belief, affordable, cell) if self.method.models else None
                    return chosen if second is None else self._against(chosen, history, belief, second, wanted, scores)
                why = too_dear(history, self.costs, belief)
                stop = Stop(StopKind.BUDGET, why) if why else Stop(StopKind.FINISHED, self.method.finished)
            if self.method.models and (hope := self._hope(history, belief, affordable, wanted, rng)):
                return hope
        return stop

    def _confirming(self, history: History, wanted: frozenset[str]) -> Evaluation | None:
        """The cheapest evaluation that a reported design lacks.

        What lies beyond the reference point is reported, but is worth no question while there is a region.
        """
        estimates = self.predictor.estimates(history)
        places = reported(history, estimates, complete=False)
        designs, known = history.designs[places], estimates.known[places]
        prices = self.costs.prices(history, designs)
        asks = np.zeros(prices.shape, dtype=bool)
        for p, purchase in enumerate(history.purchases):
            if purchase.objective in wanted:
                is_open = ~np.isin(designs.keys(purchase.options), history.closed(p))
                asks[:, p] = is_open & ~known[:, list(purchase.members)].all(axis=1)
        asks &= affords(history, self.costs, prices)
        if not asks.any():
            return None
        i, p = divmod(int(np.argmin(np.where(asks, prices, np.inf))), prices.shape[1])
        objective = history.purchases[p].objective
        return self._evaluation(history, designs[i], (objective,), initial=False, why="confirms a design of the front")

    def _hope(
        self, history: History, belief: Belief, affordable: BoolArray, wanted: frozenset[str], rng: np.random.Generator
    ) -> Evaluation | None:
        """The constraint that is most likely kept, while no feasible design is known or the front is not surely so.

        Boxes may be too narrow, and a front is of little use before its constraints are known to be kept.
        """
        scores, because = feasibility_scores(belief), "no feasible design is known"
        scores = scores * weights(history, belief.designs)[:, None]
        if history.has_feasible():
            scores, because = scores * unsure_members(belief, SURE)[:, None], "nothing else is left to learn"
        cell = choose(scores / belief.thetas, belief, affordable, rng)
        if cell is None:
            return None
        objectives = self._missing(history, belief, cell, wanted)
        why = f"{because}; this one is feasible with probability {belief.feasible()[cell[0]]:.2g}"
        return self._evaluation(history, belief.designs[cell[0]], objectives, initial=False, why=why)

    def _proposed(self, history: History, proposal: Proposal, wanted: frozenset[str]) -> Evaluation | Stop:
        """The first design that the method proposes and that is not measured yet."""
        for design in proposal(history, self.initial, self.seed):
            missing = [p for p in range(len(history.purchases)) if not history.is_closed(p, design)]
            if wanted.isdisjoint(_names(history, missing)):
                continue
            prices = self.costs.prices(history, history.space.designs([design]))[0, missing]
            if not affords(history, self.costs, prices.sum()):
                return Stop(
                    StopKind.BUDGET,
                    f"The budget cannot pay the next design: it is expected to cost {prices.sum():.3g}, and "
                    f"{max(remaining(history, self.costs), 0.0):.3g} is left.",
                )
            objectives = sorted(_names(history, missing), key=lambda name: name not in wanted)
            return self._evaluation(history, design, tuple(objectives), initial=False, why="proposed by the method")
        if history.pending:
            return Stop(
                StopKind.WAITING, "The method waits for what is being measured; tell the pending evaluations first."
            )
        return Stop(StopKind.FINISHED, self.method.finished)

    def _scores(self, history: History, belief: Belief, rng: np.random.Generator) -> FloatArray:
        """What the method says (m, b), weighted by the chance that a design can be measured in everything.

        The probability of feasibility is a weight too, if the method has no rule of its own.
        """
        scores = self.method.acquisition(belief, rng)
        if self.method.models:
            scores = scores * weights(history, belief.designs)[:, None]
        if self.method.feasibility == "probability" and np.isfinite(belief.limits).any():
            scores = scores * belief.feasible()[:, None]
        return scores

    def _fallbacks(self, region: Region | None, belief: Belief) -> list[BoolArray]:
        """Where to look if nothing scores: where the region is, or anywhere; a method that classifies has finished."""
        if region is not None:
            return [region.optimistic, region.alive]
        return [np.ones(len(belief.designs), dtype=bool)] if self.method.models and self.method.step is None else []

    def _chosen(
        self,
        history: History,
        belief: Belief,
        cell: tuple[int, int],
        wanted: frozenset[str],
        gain: float,
        region: Region | None,
    ) -> Evaluation:
        """The question that a cell of the score table stands for."""
        design, objectives = belief.designs[cell[0]], self._missing(history, belief, cell, wanted)
        if not self.method.models:
            return self._evaluation(history, design, objectives, initial=False, why="drawn at random")
        price = float(belief.prices[cell])
        share = "" if not history.budget else f" for {price / history.budget:.1%} of the budget"
        if region is None:
            why = f"{self.method.measure} {gain:.3g}{share}"
            return self._evaluation(history, design, objectives, initial=False, why=why, gain=gain)
        why = f"{self.method.measure} {gain / region.volume:.1%} of the Pareto region{share}"
        return self._evaluation(history, design, objectives, initial=False, why=why, gain=gain, volume=region.volume)

    def _against(
        self,
        chosen: Evaluation,
        history: History,
        belief: Belief,
        second: tuple[int, int],
        wanted: frozenset[str],
        scores: FloatArray,
    ) -> Evaluation:
        """The question, with what would have been asked in its place."""
        design, objectives = belief.designs[second[0]], self._missing(history, belief, second, wanted)
        rival = RunnerUp(design, objectives[0], float(scores[second]), float(belief.prices[second]))
        return replace(chosen, runner_up=rival)

    def _missing(
        self, history: History, belief: Belief, cell: tuple[int, int], wanted: frozenset[str]
    ) -> tuple[str, ...]:
        """The objectives of a bundle that can be asked of a candidate, those that are wanted first."""
        i, b = cell
        missing = [
            purchase.objective
            for p, purchase in enumerate(history.purchases)
            if purchase.members[0] in belief.bundles[b] and not history.is_closed(p, belief.designs[i])
        ]
        return tuple(sorted(missing, key=lambda name: name not in wanted))

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


def _names(history: History, purchases: Sequence[int]) -> list[str]:
    return [history.purchases[p].objective for p in purchases]


def _served(history: History, belief: Belief, wanted: frozenset[str]) -> BoolArray:
    """Of which candidates and bundles (m, b) an objective that is wanted can be asked."""
    served = np.zeros(belief.open.shape, dtype=bool)
    for p, purchase in enumerate(history.purchases):
        if purchase.objective in wanted:
            is_open = ~np.isin(belief.designs.keys(purchase.options), history.closed(p))
            columns = [purchase.members[0] in bundle for bundle in belief.bundles]
            served[:, columns] |= is_open[:, None]
    return served
