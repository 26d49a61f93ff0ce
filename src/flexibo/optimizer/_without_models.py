"""The questions of methods without models: those that propose designs, and those that draw at random."""

from __future__ import annotations

import numpy as np

from flexibo.history.events import Evaluation
from flexibo.methods.base import Proposal
from flexibo.optimizer._choice import best_cell
from flexibo.optimizer._request import Request
from flexibo.optimizer.predictor import DRAWS, Predictor
from flexibo.optimizer.stop import Stop, StopKind
from flexibo.optimizer.stop_reasons import NOTHING_LEFT, WAITING_FOR_PENDING, design_too_expensive


def proposed(request: Request, proposal: Proposal, predictor: Predictor) -> Evaluation | Stop:
    """All that is missing of the first design that the method proposes and that is not measured yet."""
    for design in proposal(request.history, predictor.initial, predictor.seed):
        offered = request.price_list(request.history.space.designs([design]), coupled=True)
        missing = offered.missing(0)
        if request.wanted.isdisjoint(missing):
            continue
        if not offered.affordable().any():
            return design_too_expensive(float(offered.prices[0, 0]), offered.left)
        return request.question(design, request.wanted_first(missing), why="proposed by the method")
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
        return request.question(designs[i], request.wanted_first(offered.missing(i, b)), why="drawn at random")
    return stop
