"""The core loop, Algorithm 1 of the paper: believe, score, choose. Same history, same question.

1. Believe. The model of each objective learns from that objective's own measurements. Candidates X_m are drawn, and
   each gets a box mu - sqrt(beta_t) sigma .. mu + sqrt(beta_t) sigma that probably holds its losses (eq. uncertainty;
   mu alone where it was measured). The best and the worst front that the boxes allow enclose the Pareto region: what is
   not known about the true front (`flexibo.pareto.region`).
2. Score. The method fills a table: a row for each candidate, a column for each objective, or for each bundle of
   objectives that are measured together. FlexiBO's score is how much the volume of the region is expected to shrink if
   that objective of that candidate is measured (`flexibo.methods.flexibo`).
3. Choose. Each score is divided by theta, a function of what the evaluation is expected to cost. The best of those
   that the budget pays for, and that were not asked before, is the next question (eq. max-acq).

The private modules beside this one hold what is not the idea: initial designs and the rest of bundles (`_unscored`),
methods that score nothing (`_without_models`), questions where no score is above 0 (`_last_questions`).
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from flexibo._internal.arrays import BoolArray
from flexibo._internal.threads import single_thread
from flexibo.belief.belief import Belief
from flexibo.belief.failures import success_weights, will_probably_succeed
from flexibo.history import History
from flexibo.history.events import Evaluation
from flexibo.methods.base import Constraints, ProposingMethod, ScoringMethod
from flexibo.optimizer._choice import choose
from flexibo.optimizer._explained import explained
from flexibo.optimizer._last_questions import confirming_question, feasibility_question
from flexibo.optimizer._request import Request
from flexibo.optimizer._unscored import unscored
from flexibo.optimizer._without_models import drawn, proposed
from flexibo.optimizer.predictor import DRAWS, Predictor
from flexibo.optimizer.stop import Stop, StopKind
from flexibo.optimizer.stop_reasons import NOTHING_LEFT, ONLY_UNLIKELY, no_region, nothing_scores
from flexibo.surrogates import joint

PATIENCE = 10
"""After this many failures of an objective in a row, designs that would probably fail too are not asked about."""


class Optimizer:
    """Chooses what to measure next. Same history, same question.

    Args:
        predictor: Predicts the losses of candidates, and names the method that chooses.
        n_given: How many of the initial designs were given by the user rather than drawn.
    """

    def __init__(self, predictor: Predictor, *, n_given: int) -> None:
        self.predictor = predictor
        self.method = predictor.method
        self.costs = predictor.costs
        self.n_given = n_given
        if isinstance(self.method, ScoringMethod) and self.method.joint_draws:
            joint(predictor.surrogate.settings)  # an error here, before anything is paid for
        self._proposal = self.method.proposal() if isinstance(self.method, ProposingMethod) else None

    def ask(self, history: History, *, only: Collection[str] | None = None, salt: int = 0) -> Evaluation | Stop:
        """The next evaluation, or why there is none.

        Args:
            history: What happened so far.
            only: Ask for one of these objectives, because the caller can measure no others; None is any.
            salt: Another number draws other candidates, for workers that came to the same question.
        """
        request = Request.of(history, self.costs, only)
        first = unscored(request, self.predictor, n_given=self.n_given)
        if first is not None:
            return first
        with single_thread():
            if isinstance(self.method, ScoringMethod):
                return self._scored(request, self.method, salt)
            if self._proposal is not None:
                return proposed(request, self._proposal, self.predictor)
            return drawn(request, self.predictor, salt)

    def _scored(self, request: Request, method: ScoringMethod, salt: int) -> Evaluation | Stop:
        """The question with the best score per cost; one that would probably fail only if no other scores."""
        best = self._best(request, method, salt)
        if isinstance(best, Evaluation) and not will_probably_succeed(request.history, best.design):
            other = self._best(request, method, salt, likely=True)
            if isinstance(other, Evaluation):
                return other
            if request.history.failed_in_a_row[best.objective] >= PATIENCE:
                best = ONLY_UNLIKELY
        at_end = isinstance(best, Stop) and best.kind in (StopKind.NO_REGION, StopKind.UNLIKELY)
        if at_end and method.ending.confirms:
            return confirming_question(request, self.predictor) or best
        return best

    def _best(self, request: Request, method: ScoringMethod, salt: int, *, likely: bool = False) -> Evaluation | Stop:
        """The question with the best score per cost, among all candidates or those that will probably succeed."""
        stop = NOTHING_LEFT
        for draw in range(DRAWS):  # other candidates may have a region where these have none
            rng = self.predictor.generator(request.history, draw, salt)
            belief = self.predictor.belief(request.history, rng, likely=likely)
            allowed = request.allowed(belief.price_list)
            if isinstance(allowed, Stop):  # nothing is open, or nothing is affordable
                stop = allowed
                continue
            best = self._scored_and_chosen(request, method, belief, allowed, rng)
            if isinstance(best, Evaluation):
                return best
            stop = best
            if question := feasibility_question(request, belief, allowed, rng):
                return question
        return stop

    def _scored_and_chosen(
        self, request: Request, method: ScoringMethod, belief: Belief, allowed: BoolArray, rng: np.random.Generator
    ) -> Evaluation | Stop:
        """The candidate and the bundle with the best score per cost, as a question.

        Args:
            request: What is asked for.
            method: Fills the score table (m, b).
            belief: The boxes of the candidates (m), their Pareto region, and what each evaluation costs.
            allowed: What may be asked and paid (m, b).
            rng: Breaks ties.
        """
        region = belief.region  # None for methods that are not about it
        if region is not None and region.is_gone:
            return no_region(region)
        scores = method.acquisition(belief, rng)  # FlexiBO: V - V', the numerator of eq. 7
        scores = scores * success_weights(request.history, belief.designs)[:, None]  # 1 where nothing ever failed
        if method.constraints is Constraints.WEIGHTED and np.isfinite(belief.limits).any():
            scores = scores * belief.feasible()[:, None]
        # Tied corners can make every score 0 although there is a region. Then the widest box is measured.
        everywhere = [] if method.step else [np.ones(len(belief.designs), dtype=bool)]
        fallbacks = everywhere if region is None else [region.optimistic, region.alive]
        cell = choose(scores / belief.thetas, belief, allowed, rng, fallbacks=fallbacks)  # eq. 7 and eq. max-acq
        if cell is None:
            return nothing_scores(request.history, belief.price_list, region, method.ending.reason)
        return explained(request, belief, allowed, scores, cell, method.score)
