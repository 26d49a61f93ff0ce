"""Questions of scoring methods where nothing scores: is a design feasible, and what do reported designs lack?"""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import BoolArray
from flexibo.belief.belief import Belief
from flexibo.belief.failures import success_weights
from flexibo.belief.reported import CONFIDENCE, reported
from flexibo.history.events import Evaluation
from flexibo.methods.feasibility import doubtful_front, feasibility_scores
from flexibo.optimizer._choice import choose
from flexibo.optimizer._request import Request
from flexibo.optimizer.predictor import Predictor


def feasibility_question(
    request: Request, belief: Belief, allowed: BoolArray, rng: np.random.Generator
) -> Evaluation | None:
    """The constraint that is most likely kept, while no feasible design is known or the front may be infeasible.

    Boxes may be too narrow, and a front is of little use before its constraints are known to be kept.
    """
    scores, because = feasibility_scores(belief), "no feasible design is known"
    scores = scores * success_weights(request.history, belief.designs)[:, None]
    if request.history.has_feasible():
        scores, because = scores * doubtful_front(belief, CONFIDENCE)[:, None], "nothing else is left to learn"
    cell = choose(scores / belief.thetas, belief, allowed, rng)
    if cell is None:
        return None
    why = f"{because}; this one is feasible with probability {belief.feasible()[cell[0]]:.2g}"
    return request.question(belief.designs[cell[0]], request.wanted_first(belief.price_list.missing(*cell)), why=why)


def confirming_question(request: Request, predictor: Predictor) -> Evaluation | None:
    """The cheapest evaluation that a reported design lacks.

    What lies beyond the reference point is reported, but is worth no question while there is a region.
    """
    history = request.history
    estimates = predictor.estimates(history)
    places = reported(history, estimates, complete=False)
    offered = request.price_list(history.designs[places])
    asks = offered.affordable()
    for p, purchase in enumerate(history.purchases):
        is_known = estimates.known[places][:, list(purchase.members)].all(axis=1)
        asks[:, p] &= ~is_known & (purchase.objective in request.wanted)
    if not asks.any():
        return None
    i, p = divmod(int(np.argmin(np.where(asks, offered.prices, np.inf))), asks.shape[1])
    objective = history.purchases[p].objective
    return request.question(history.designs[places][i], (objective,), why="confirms a design of the front")
