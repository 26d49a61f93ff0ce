"""One turn of Algorithm 1 of the paper, from a history to the next question: believe, score, choose.

1. Believe. The model of each objective learns from that objective's own measurements. Candidates X_m are drawn, and
   each gets a box mu - sqrt(beta_t) sigma .. mu + sqrt(beta_t) sigma that probably holds its losses (`uncertainty`). In
   an objective that was measured exactly the box has no width: both ends are the measured value. The front of the best
   corners (F_opt) and the front of the worst corners (F_pess) enclose the Pareto region, where the true front may still
   lie (`flexibo.pareto.region`).
2. Score. The method fills a table: a row for each of m candidates, a column for each of b bundles. A bundle is what one
   evaluation measures: in the paper always one objective. FlexiBO's score is how much the volume of the region shrinks
   if that measurement comes out at the predicted mean (`flexibo.methods.flexibo`).
3. Choose. Each score, weighted by the probability of success, is divided by theta, a function of the expected cost. The
   largest quotient among evaluations that are affordable and were not asked before is the next question (`max-acq`).

The caller measures, stores the answer and asks again. Equations are named by their labels in the paper's LaTeX source;
`eq:7` is the acquisition function alpha. The modules beside this one hold the special cases: what users queued and what
is still missing of a bundle (`_unscored`), the start (`start`), and methods without scores and questions for when
scoring yields none (`_last_questions`).
"""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo._internal.threads import single_thread
from flexibo.belief.belief import Belief
from flexibo.belief.failures import is_too_risky, success_weights, will_probably_succeed
from flexibo.belief.price_list import payable_parts, queued_parts, unreserved
from flexibo.history import History
from flexibo.history.events import Evaluation
from flexibo.methods.base import Candidates, Constraints, ProposingMethod, ScoringMethod
from flexibo.optimizer._choice import choose, explained
from flexibo.optimizer._last_questions import (
    checking_question,
    confirming_question,
    drawn,
    feasibility_question,
    proposed,
)
from flexibo.optimizer._request import Request
from flexibo.optimizer._unscored import queued_question, unscored
from flexibo.optimizer.predictor import CERTIFIED, DRAWS, Predictor
from flexibo.optimizer.stop import (
    NOTHING_LEFT,
    ONLY_UNLIKELY,
    Stop,
    StopKind,
    costs_unknown,
    failing,
    no_region,
    nothing_queued,
    nothing_scores,
)
from flexibo.surrogates import joint

ENDS = (StopKind.BUDGET, StopKind.FINISHED, StopKind.NO_REGION, StopKind.UNLIKELY)
"""Kinds of stops that end the search; a method that confirms then measures what its report lacks."""
FINAL = (StopKind.FAILING, StopKind.FREE)
"""Kinds of stops that no answer to a pending evaluation changes."""
PARENTS = 8
"""The number of candidates that score best around which others are drawn."""
PATIENCE = 10
"""After this many failures of an objective in a row, no design is asked about that will probably fail too."""


class Optimizer:
    """Chooses what to measure next. The same history, `only` and `salt` give the same question.

    Args:
        predictor: Predicts the losses of candidates, and holds the method that scores them.
        n_given: How many of the initial designs were given by the user rather than drawn.
    """

    def __init__(self, predictor: Predictor, *, n_given: int) -> None:
        self.predictor = predictor
        self.method = predictor.method
        self.costs = predictor.costs
        self.n_given = n_given
        if isinstance(self.method, ScoringMethod) and self.method.joint_draws:
            joint(predictor.surrogate.settings)  # an error now is better than one after measurements were paid for
        self._proposal = self.method.proposal() if isinstance(self.method, ProposingMethod) else None

    def ask(self, history: History, *, only: Collection[str] | None = None, salt: int = 0) -> Evaluation | Stop:
        """The next evaluation, or why there is none.

        Args:
            history: What happened so far.
            only: The objectives that the caller can measure now; None means all.
            salt: Changes the draw of candidates, so that workers with the same history get different questions.
        """
        request = Request.of(history, self.costs, only)
        if not request.waiting:
            return self._answer(request, salt)
        answer = self._answer(request, salt) if request.wanted else failing(history)
        if isinstance(answer, Evaluation) or (answer is not None and answer.kind in FINAL):
            return answer
        return costs_unknown(history, request.waiting)

    def _answer(self, request: Request, salt: int) -> Evaluation | Stop:
        """The next evaluation of the objectives that are wanted, or why there is none."""
        history = request.history
        answer = unscored(request, self.predictor, n_given=self.n_given)
        if answer is None:
            with single_thread():
                answer = self._chosen(request, salt)
        if not isinstance(answer, Stop) or not isinstance(self.method, ScoringMethod):
            return answer
        if (
            self.method.ending.confirms
            and answer.kind in ENDS
            and all(map(history.count, range(len(history.quantities))))
        ):
            answer = confirming_question(request, self.predictor) or answer
        if isinstance(answer, Stop) and answer.kind is StopKind.NO_REGION and CERTIFIED in (history.stop or {}):
            answer = checking_question(request, self.predictor, salt) or answer
        return answer

    def ask_queued(
        self, history: History, *, only: Collection[str] | None = None, limit: float = math.inf
    ) -> Evaluation | Stop:
        """The next queued evaluation, or why there is none; it costs at most `limit`."""
        request = Request.of(history, self.costs, only, limit=limit)
        found = failing(history) or queued_question(request, limit)
        if found is not None:
            return found
        payable = payable_parts(history, self.costs, limit)
        if any(part.objective in request.waiting for part in payable):
            return costs_unknown(history, request.waiting)
        others = [part for part in queued_parts(history, self.costs) if not part.in_flight]
        parts, left = payable or others, min(limit, unreserved(history, self.costs))
        return nothing_queued(history, parts, left, payable=bool(payable))

    def _chosen(self, request: Request, salt: int) -> Evaluation | Stop:
        """The question that the method chooses, or why there is none."""
        if isinstance(self.method, ScoringMethod):
            return self._scored(request, self.method, salt)
        if self._proposal is not None:
            return proposed(request, self._proposal, self.predictor)
        return drawn(request, self.predictor, salt)

    def _scored(self, request: Request, method: ScoringMethod, salt: int) -> Evaluation | Stop:
        """The best question. A design that will probably fail is asked about only if there is no other question.

        After `PATIENCE` failures in a row, or if it is too risky, it is not asked about at all.
        """
        best = self._best(request, method, salt)
        if isinstance(best, Evaluation) and not will_probably_succeed(request.history, best.design):
            other = self._best(request, method, salt, likely=True)
            if isinstance(other, Evaluation):
                return other
            in_a_row = request.history.failed_in_a_row[best.objective]
            if in_a_row >= PATIENCE or is_too_risky(request.history, best.design):
                best = ONLY_UNLIKELY
        return best

    def _best(self, request: Request, method: ScoringMethod, salt: int, *, likely: bool = False) -> Evaluation | Stop:
        """Draw candidates, a few times if need be, until they yield a question; `likely`: without probable failures."""
        stop = NOTHING_LEFT
        for draw in range(DRAWS):  # another draw may have a region where this one has none
            rng = self.predictor.generator(request.history, draw, salt)
            belief = self.predictor.belief(request.history, rng, likely=likely)
            allowed = request.allowed(belief.price_list)
            if isinstance(allowed, Stop):  # nothing is open, or nothing is affordable
                stop = allowed
                continue
            if method.candidates is Candidates.AROUND_BEST:
                belief, allowed = self._refined(request, method, belief, allowed, rng, likely=likely)
            best = self._scored_and_chosen(request, method, belief, allowed, rng)
            if isinstance(best, Evaluation):
                return best
            stop = best
            if question := feasibility_question(request, belief, allowed, rng):
                return question
        return stop

    def _refined(
        self,
        request: Request,
        method: ScoringMethod,
        belief: Belief,
        allowed: BoolArray,
        rng: np.random.Generator,
        *,
        likely: bool,
    ) -> tuple[Belief, BoolArray]:
        """The belief in designs around the candidates that score best, and what may be asked of them.

        A draw of a large space seldom has the best design of all; those around its best few come closer. What is given
        is returned if all designs were drawn, or nothing scores.
        """
        history = request.history
        if history.space.size <= self.predictor.m or (belief.region is not None and belief.region.is_gone):
            return belief, allowed
        rates = np.where(allowed, _scores(method, belief, rng) / belief.thetas, 0.0).max(axis=1)
        best = np.argsort(-rates, kind="stable")[:PARENTS]
        best = np.sort(best[rates[best] > 0.0])
        if not len(best):
            return belief, allowed
        finer = self.predictor.belief_around(history, belief, best, rng, likely=likely)
        open_now = request.allowed(finer.price_list)
        if isinstance(open_now, Stop) or (finer.region is not None and finer.region.is_gone):
            return belief, allowed
        return finer, open_now

    def _scored_and_chosen(
        self, request: Request, method: ScoringMethod, belief: Belief, allowed: BoolArray, rng: np.random.Generator
    ) -> Evaluation | Stop:
        """The candidate and the bundle with the best score per cost, as a question.

        Args:
            request: What is asked for.
            method: Fills the score table (m, b).
            belief: The boxes of the candidates (m), their Pareto region, and what each evaluation costs.
            allowed: What may be asked and is affordable (m, b).
            rng: Breaks ties.
        """
        region = belief.region  # None for methods that do not use one
        if region is not None and region.is_gone:
            return no_region(region)
        scores = _scores(method, belief, rng)
        # Two candidates with the same corner hide each other: pinning one of them removes no volume, so all scores can
        # be 0 although there is a region. Then the widest box is measured, of F_opt first, then of all designs that
        # F_pess does not rule out.
        everywhere = [] if method.step else [np.ones(len(belief.designs), dtype=bool)]
        fallbacks = everywhere if region is None else [region.optimistic, region.alive]
        cell = choose(scores / belief.thetas, belief, allowed, rng, fallbacks=fallbacks)  # eq:7, max-acq
        if cell is None:
            return nothing_scores(request.history, belief.price_list, region, method.ending.reason)
        stop = None if method.how_far is None else method.how_far(belief, *cell)
        return explained(request, belief, allowed, scores, cell, method.score, stop=stop)


def _scores(method: ScoringMethod, belief: Belief, rng: np.random.Generator) -> FloatArray:
    """The score table (m, b) of a method, before its division by theta."""
    scores = method.acquisition(belief, rng)  # FlexiBO: V - V', the numerator of eq:7
    scores = scores * success_weights(belief.success)[:, None]  # all 1 if nothing has failed so far
    if method.constraints is Constraints.WEIGHTED and np.isfinite(belief.limits).any():
        scores = scores * belief.feasible()[:, None]
    return scores
