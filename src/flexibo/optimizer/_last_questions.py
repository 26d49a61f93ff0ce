"""Questions without scores once the initial designs are measured.

Scoring methods ask them where nothing scores: is a design feasible, and what do reported designs lack? Methods without
models ask nothing else: they propose designs or draw at random.
"""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import BoolArray
from flexibo.belief.belief import Belief
from flexibo.belief.failures import success_weights
from flexibo.belief.reported import CONFIDENCE, reported
from flexibo.belief.trust import readings_missing
from flexibo.history.events import Evaluation
from flexibo.methods.base import Proposal
from flexibo.methods.feasibility import doubtful_front, feasibility_scores
from flexibo.optimizer._choice import best_cell, choose
from flexibo.optimizer._request import Request
from flexibo.optimizer.predictor import DRAWS, Predictor
from flexibo.optimizer.stop import NOTHING_LEFT, WAITING_FOR_PENDING, Stop, StopKind, design_too_expensive


def feasibility_question(
    request: Request, belief: Belief, allowed: BoolArray, rng: np.random.Generator
) -> Evaluation | None:
    """The constraint that is most likely kept, while no feasible design is known or the front may be infeasible.

    Boxes may be too narrow, and a front is of little use before its constraints are known to be kept.
    """
    scores, because = feasibility_scores(belief), "no feasible design is known"
    scores = scores * success_weights(belief.success)[:, None]
    if request.history.has_feasible():
        scores, because = scores * doubtful_front(belief, CONFIDENCE)[:, None], "nothing else is left to learn"
    cell = choose(scores / belief.thetas, belief, allowed, rng)
    if cell is None:
        return None
    why = f"{because}; this one is feasible with probability {belief.feasible()[cell[0]]:.2g}"
    return request.question(belief.designs[cell[0]], request.wanted_first(belief.price_list.missing(*cell)), why=why)


def confirming_question(request: Request, predictor: Predictor) -> Evaluation | None:
    """The next evaluation of the reported design that costs least to complete; None if the budget pays for none.

    Its cheapest part comes first. Where no design can be completed, it is the cheapest part that can be paid.
    """
    history = request.history
    estimates = predictor.estimates(history)
    places = reported(history, estimates, complete=False)
    offered = request.price_list(history.designs[places])
    known = estimates.known[places]
    missing = np.stack([~known[:, list(bundle)].all(axis=1) for bundle in history.bundles], axis=1)
    asks = missing & offered.affordable() & [purchase.objective in request.wanted for purchase in history.purchases]
    if not asks.any():
        return None
    prices = np.where(asks, offered.prices, np.inf)
    rest = np.where(missing & offered.open, offered.prices, 0.0).sum(axis=1)
    rest = np.where(offered.pays(rest), rest, np.inf)
    i = int(np.lexsort((prices.min(axis=1), rest, ~asks.any(axis=1)))[0])
    p = int(np.argmin(prices[i]))
    objective, lacking = history.purchases[p].objective, int(missing[i].sum())
    left = f"{lacking} objectives are missing" if lacking > 1 else "the last objective that is missing"
    why = f"the search is over; this confirms a design of the front ({left})"
    return request.question(history.designs[places][i], (objective,), why=why)


def checking_question(request: Request, predictor: Predictor, salt: int) -> Evaluation | None:
    """An affordable evaluation drawn at random, first of an objective with too few readings to check its model.

    A study that ends when its front is certified asks it when the models leave nothing to learn: they may be wrong.
    """
    history, rng = request.history, predictor.generator(request.history, 0, salt)
    designs = predictor.candidates(history, rng)
    offered = request.price_list(designs)
    allowed = request.allowed(offered)
    if isinstance(allowed, Stop):
        return None
    missing = readings_missing(history, designs)
    lacking = np.array([missing[list(bundle)].any() for bundle in history.bundles])
    first = allowed & lacking if (allowed & lacking).any() else allowed
    i, p = best_cell(np.where(first, rng.random(first.shape), -np.inf), offered.prices, rng)
    why = "the models leave nothing to learn; a design that is drawn at random checks the models"
    return request.question(designs[i], request.wanted_first(offered.missing(i, p)), why=why)


def proposed(request: Request, proposal: Proposal, predictor: Predictor) -> Evaluation | Stop:
    """All that is missing of the first design that the method proposes and that is not measured yet."""
    for design in proposal(request.history, predictor.initial, predictor.seed):
        offered = request.price_list(request.history.space.designs([design]), coupled=True)
        missing = offered.missing(0)
        if request.wanted.isdisjoint(missing):
            continue
        if not offered.affordable().any():
            return design_too_expensive(request.history, float(offered.prices[0, 0]), offered.left)
        return request.question(design, request.wanted_first(missing), why=f"proposed by {predictor.method.name}")
    if request.history.pending:
        return WAITING_FOR_PENDING
    return Stop(StopKind.FINISHED, proposal.finished)


def drawn(request: Request, predictor: Predictor, salt: int) -> Evaluation | Stop:
    """One of all affordable evaluations, each equally likely."""
    stop = NOTHING_LEFT
    for draw in range(DRAWS):
        rng = predictor.generator(request.history, draw, salt)
        designs = predictor.candidates(request.history, rng)
        offered = request.price_list(designs, coupled=predictor.method.coupled)
        allowed = request.allowed(offered)
        if isinstance(allowed, Stop):
            stop = allowed
            continue
        i, b = best_cell(np.where(allowed, rng.random(allowed.shape), -np.inf), offered.prices, rng)
        why = f"{predictor.method.name} draws at random"
        return request.question(designs[i], request.wanted_first(offered.missing(i, b)), why=why)
    return stop
