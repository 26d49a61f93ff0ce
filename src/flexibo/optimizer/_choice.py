"""Choosing a cell of the score table, and the question that it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo._internal.numbers import format_share
from flexibo.belief.belief import Belief
from flexibo.history.events import Evaluation, RunnerUp
from flexibo.optimizer._request import Request

WIDEST = "one of the least certain for its cost"


def choose(
    scores: FloatArray,
    belief: Belief,
    allowed: BoolArray,
    rng: np.random.Generator,
    *,
    fallbacks: Sequence[BoolArray] = (),
) -> tuple[int, int] | None:
    """The candidate and the bundle with the best score, among the allowed; None if nothing scores.

    The scores (m, b) of a cost-aware method are divided by theta. If none is above 0, it is the widest open interval
    per cost among the first of the fallbacks (sets of candidates) that has one. `rng` breaks ties, after the lowest
    cost.
    """
    tables = [np.where(allowed, scores, -np.inf)]
    if fallbacks:
        # The quantities have units of their own; the widest of each counts as one. A decided constraint adds nothing.
        decided = (belief.lower > belief.limits) | (belief.upper <= belief.limits)
        decided[:, list(belief.optimised)] = False
        widest = belief.sigma.max(axis=0)
        spread = np.where(decided & np.isfinite(belief.limits), 0.0, belief.sigma / np.where(widest > 0, widest, 1.0))
        width = np.stack([spread[:, list(bundle)].sum(axis=1) for bundle in belief.bundles], axis=1)
        tables += [np.where(allowed & among[:, None], width / belief.thetas, -np.inf) for among in fallbacks]
    return next((best_cell(table, belief.prices, rng) for table in tables if table.max() > 0), None)


def best_cell(table: FloatArray, prices: FloatArray, rng: np.random.Generator) -> tuple[int, int]:
    """The row and column with the greatest entry of a table (m, b); ties: the lowest price, then a draw."""
    ties = np.argwhere(table == table.max())
    costs = prices[ties[:, 0], ties[:, 1]]
    ties = ties[costs == costs.min()]
    i, b = ties[rng.integers(len(ties))]
    return int(i), int(b)


def second_best(
    scores: FloatArray, belief: Belief, allowed: BoolArray, chosen: tuple[int, int]
) -> tuple[int, int] | None:
    """The candidate and the bundle with the best score beside the chosen one; None if nothing else scores.

    Candidates that must have the same values as the chosen one are the same question.
    """
    i, b = chosen
    members = list(belief.bundles[b])
    table = np.where(allowed, scores, -np.inf)
    table[(belief.keys[:, members] == belief.keys[i, members]).all(axis=1), b] = -np.inf
    best = divmod(int(np.argmax(table)), table.shape[1])
    return best if table[best] > 0 else None


def explained(
    request: Request,
    belief: Belief,
    allowed: BoolArray,
    scores: FloatArray,
    cell: tuple[int, int],
    measure: str,
    *,
    stop: int | None = None,
) -> Evaluation:
    """The question of the chosen cell of a score table (m, b) before its division by theta.

    `measure` is what a score is, for people, with ``{}`` in place of its amount; `stop` the step at which it stops.
    """
    region, gain, price = belief.region, float(scores[cell]), float(belief.prices[cell])
    if gain > 0.0:
        why = measure.format(f"{gain:.3g}" if region is None else _share_of_region(gain / region.volume))
    else:
        why = f"no single measurement is expected to improve the front; this value is {WIDEST}"
    share = f" for {format_share(price / request.history.budget)} of the budget" if request.history.budget else ""
    question = request.question(
        belief.designs[cell[0]],
        request.wanted_first(belief.price_list.missing(*cell)),
        why=f"{why}{share}",
        gain=gain,
        volume=None if region is None else region.volume,
        stop=stop,
    )
    second = second_best(scores / belief.thetas, belief, allowed, cell)
    if second is None:
        return question
    objective = request.wanted_first(belief.price_list.missing(*second))[0]
    rival = RunnerUp(belief.designs[second[0]], objective, float(scores[second]), float(belief.prices[second]))
    return replace(question, runner_up=rival)


def _share_of_region(share: float) -> str:
    return f"{format_share(share)} of the Pareto region" if share <= 1.0 else "more than the whole Pareto region"
