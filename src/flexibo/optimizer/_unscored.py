"""Questions that need no score: what is queued, the rest of a bundle, the initial designs and replacements of these."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from flexibo._internal.random_streams import Stream, generator
from flexibo.belief.failures import possible
from flexibo.belief.price_list import payable_parts
from flexibo.history import History
from flexibo.history.events import Evaluation
from flexibo.optimizer._request import Request
from flexibo.optimizer.predictor import Predictor
from flexibo.optimizer.stop import (
    WAITING_FOR_OTHERS,
    Stop,
    StopKind,
    failing,
    initial_too_expensive,
    never_measured,
    only_free,
)
from flexibo.space import Design

REPLACEMENTS = 50
"""How many further designs are drawn at a time where all initial ones failed."""


def unscored(request: Request, predictor: Predictor, *, n_given: int) -> Evaluation | Stop | None:
    """The question that comes before all scores, or why there is no question; None if scores decide.

    `n_given` is how many of the initial designs the user gave rather than drew.
    """
    history = request.history
    first = failing(history) or queued_question(request) or only_free(history) or _rest_of_bundle(request)
    if first is not None:
        return first
    if not history.chosen:
        tasks = missing_initial(history, predictor.initial, n_given, coupled=predictor.method.coupled)
        if tasks:
            return _initial(request, tasks)
    for j, name in enumerate(history.names):
        if not history.count(j):
            stop = never_measured(history, name)
            return stop if stop.kind is StopKind.WAITING else _replacement(request, name, predictor.seed) or stop
    return None


def queued_question(request: Request, limit: float = math.inf) -> Evaluation | None:
    """The first queued evaluation that is wanted and that the budget and a limit of one's own pay for."""
    for part in payable_parts(request.history, request.costs, limit):
        if part.objective in request.wanted:
            queued = part.queued
            return request.question(queued.design, (part.objective,), why=queued.why, queued=queued.number)
    return None


def missing_initial(
    history: History, initial: Sequence[Design], n_given: int, *, coupled: bool
) -> list[tuple[Design, list[int]]]:
    """The initial designs that are not measured yet, each with the purchases to ask together; retries come last.

    The user gave `n_given` of them. An imported result replaces the measurement of one of the others, which were drawn.
    """
    needed = [max(n_given, len(initial) - _imported(history, initial, p)) for p in range(len(history.purchases))]
    fresh: list[tuple[Design, list[int]]] = []
    again: list[tuple[Design, list[int]]] = []
    for index, design in enumerate(initial):
        wanted = [
            p
            for p in range(len(history.purchases))
            if index < needed[p]
            and not history.is_measured(p, design)
            and not history.is_pending(p, design)
            and not history.is_hopeless(p, design)
        ]
        new = [p for p in wanted if not history.attempts(p, design)]
        fresh += [(design, new)] if coupled and new else [(design, [p]) for p in new]
        again += [(design, [p]) for p in wanted if p not in new]
    return fresh + again


def _imported(history: History, initial: Sequence[Design], p: int) -> int:
    """How many designs besides the initial ones have imported results of all objectives of purchase p."""
    names = [history.names[j] for j in history.purchases[p].members]
    known = {history.key(p, m.design) for m in history.measurements if m.number is None and m.values.keys() >= {*names}}
    return len(known - {history.key(p, design) for design in initial})


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
            return request.question(follow_up.design, names, initial=follow_up.initial, why="the rest of its bundle")
    return None


def _initial(request: Request, tasks: list[tuple[Design, list[int]]]) -> Evaluation | Stop:
    """The next evaluation of the initial designs."""
    names = [[request.history.purchases[p].objective for p in purchases] for _, purchases in tasks]
    place = next((place for place, some in enumerate(names) if not request.wanted.isdisjoint(some)), None)
    if place is None:
        return WAITING_FOR_OTHERS
    design, purchases = tasks[place]
    offered = request.prices(design)
    if not offered.pays(offered.prices[0, purchases].sum()):
        missing = sum(len(some) for some in names if not request.wanted.isdisjoint(some))
        return initial_too_expensive(request.history, missing)
    return request.question(design, request.wanted_first(names[place]), initial=True, why="initial design")


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
    return request.question(designs[int(rows[0])], (objective,), initial=True, why="in place of what failed")
