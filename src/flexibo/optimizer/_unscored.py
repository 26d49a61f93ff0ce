"""Questions that need no score: what is queued, the rest of a bundle, the start and replacements of failed designs."""

from __future__ import annotations

import math

import numpy as np

from flexibo._internal.random_streams import Stream, generator
from flexibo.belief.costs import mean_costs
from flexibo.belief.failures import chance_of_success, possible
from flexibo.belief.price_list import payable_parts
from flexibo.belief.proxies import CHEAP_PROXY, asked_proxies, proxy_purchases, teaching
from flexibo.history import History
from flexibo.history.events import Evaluation
from flexibo.optimizer._request import Request
from flexibo.optimizer.predictor import Predictor
from flexibo.optimizer.start import start_question
from flexibo.optimizer.stop import Stop, StopKind, failing, never_measured, only_free

REPLACEMENTS = 50
"""How many further designs are drawn at a time where all initial ones failed."""


def unscored(request: Request, predictor: Predictor, *, n_given: int) -> Evaluation | Stop | None:
    """The question that comes before all scores, or why there is no question; None if scores decide.

    `n_given` is how many of the initial designs the user gave rather than drew.
    """
    history = request.history
    first = failing(history) or queued_question(request) or only_free(history) or _rest_of_bundle(request)
    first = first or start_question(request, predictor, n_given=n_given)
    if first is not None:
        return first
    for j, name in enumerate(history.counted):
        if not history.count(j):
            stop = never_measured(history, name)
            return stop if stop.kind is StopKind.WAITING else _replacement(request, name, predictor.seed) or stop
    return _teaching_question(request) if predictor.has_looks else None


def _teaching_question(request: Request) -> Evaluation | None:
    """A proxy of a design whose objective is known, as long as too few designs have both to tell what it is worth.

    It must cost at most `CHEAP_PROXY` of what its objective costs on average.
    """
    history = request.history
    for p in asked_proxies(history):
        name = history.purchases[p].objective
        designs = teaching(history, p) if name in request.wanted else history.designs[:0]
        of = [q for q, _ in history.counting if p in _proxies_of(history, q)]
        offered = request.price_list(designs, proxies=True)
        too_expensive = offered.prices[:, p] > CHEAP_PROXY * mean_costs(history)[of].max(initial=0.0)
        rows = np.flatnonzero(offered.open[:, p] & offered.pays(offered.prices[:, p]) & ~too_expensive)
        if len(rows):
            told = " and ".join(history.purchases[q].objective for q in of)
            why = f"{told} of this design is known: both together show how much the proxy tells"
            return request.question(designs[int(rows[0])], (name,), why=why)
    return None


def _proxies_of(history: History, p: int) -> list[int]:
    """The purchases of the proxies of what purchase p yields."""
    return [q for j in history.bundles[p] for q in proxy_purchases(history, j)]


def queued_question(request: Request, limit: float = math.inf) -> Evaluation | None:
    """The first queued evaluation that is wanted and that the budget and a limit of one's own pay for."""
    for part in payable_parts(request.history, request.costs, limit):
        if part.objective in request.wanted:
            queued = part.queued
            return request.question(queued.design, (part.objective,), why=queued.why, queued=queued.number)
    return None


def _rest_of_bundle(request: Request) -> Evaluation | None:
    """The next part of a bundle that was begun, as far as it is still open and affordable."""
    history = request.history
    for follow_up in history.follow_ups:
        if not follow_up.initial and not possible(history, history.space.designs([follow_up.design])).all():
            continue
        names = [n for n in follow_up.objectives if not history.is_closed(history.purchase_of(n), follow_up.design)]
        names = list(request.wanted_first(names))
        if not names or names[0] not in request.wanted:
            continue
        offered = request.prices(follow_up.design)
        if offered.pays(offered.prices[0, history.purchase_of(names[0])]):
            why = "completes what was begun for this design"
            return request.question(follow_up.design, names, initial=follow_up.initial, why=why)
    return None


def _replacement(request: Request, name: str, seed: int) -> Evaluation | None:
    """A further design to begin with, where an objective failed for good in all of the initial ones."""
    history, p = request.history, request.history.purchase_of(name)
    objective = history.purchases[p].objective
    if objective not in request.wanted:
        return None
    drawn = history.space.sample(REPLACEMENTS, generator(seed, Stream.REPLACEMENTS, len(history.asked)))
    designs = history.designs + drawn
    rows = np.flatnonzero(possible(history, designs) & request.price_list(designs).affordable()[:, p])
    if not len(rows):
        return None
    likeliest = int(rows[np.argmax(chance_of_success(history, designs)[rows])])
    why = f"{objective} failed for every initial design; of {len(rows)} others this one is most likely to succeed"
    return request.question(designs[likeliest], (objective,), initial=True, why=why)
