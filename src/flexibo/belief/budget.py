"""What the budget is expected to pay."""

from __future__ import annotations

import math

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo.belief.belief import Belief
from flexibo.belief.costs import Costs, mean_costs
from flexibo.history import History
from flexibo.history.events import Evaluation

ROUNDING = 1e-9
"""This share of the budget is rounding: ten tenths pay for one."""


def remaining(history: History, costs: Costs) -> float:
    """What is left of the budget after what was spent and what the pending evaluations are expected to cost now."""
    if history.budget is None:
        return float("inf")
    pending = list(history.pending.values())
    if not pending:
        return history.budget - history.spent
    prices = costs.prices(history, history.space.designs([evaluation.design for evaluation in pending]))
    reserved = sum(max(e.cost, prices[i, history.purchase_of(e.objective)]) for i, e in enumerate(pending))
    return float(history.budget - history.spent - reserved)


def designs_left(history: History, costs: Costs) -> float:
    """How many more designs the rest of the budget is expected to pay in all objectives; infinite without a limit."""
    price = float(np.nan_to_num(mean_costs(history)).sum())
    return max(0.0, remaining(history, costs)) / price if price > 0 else math.inf


def affords(history: History, costs: Costs, prices: FloatArray) -> BoolArray:
    """Which of the prices the rest of the budget is expected to pay."""
    left = remaining(history, costs)
    slack = 0.0 if history.budget is None else ROUNDING * history.budget
    return np.asarray((prices <= left + slack) & (left > slack))


def still_wanted(history: History, costs: Costs, evaluation: Evaluation, *, loss: float = 0.0) -> bool:
    """Whether an evaluation that was left pending is worth its price now: not known from elsewhere, and affordable.

    Args:
        history: What happened so far.
        costs: What evaluations are expected to cost.
        evaluation: One that is pending.
        loss: What is charged for the attempt that was lost.
    """
    p = history.purchase_of(evaluation.objective)
    remeasure = any(history.objectives[j].remeasure for j in history.purchases[p].members)
    if history.is_measured(p, evaluation.design) and not remeasure:
        return False
    if history.budget is None:
        return True
    price = float(costs.prices(history, history.space.designs([evaluation.design]))[0, p])
    # What is left is without the reserve for this very evaluation.
    left = remaining(history, costs) + max(evaluation.cost, price) - loss
    return price <= left + ROUNDING * history.budget


def buys_something(affordable: BoolArray, belief: Belief) -> bool:
    """Whether anything can be bought. What is free does not count beside what is not, or a study would never end."""
    priced = belief.open & (belief.prices > 0)
    return bool((affordable & priced).any() if priced.any() else affordable.any())


def why_nothing(history: History, costs: Costs, belief: Belief) -> str:
    """Why nothing can be bought."""
    if not belief.open.any():
        return "Every candidate has been measured, is being measured or cannot be."
    priced = belief.prices[belief.open & (belief.prices > 0)]
    cheapest = float(priced.min()) if len(priced) else 0.0
    return (
        f"The budget is spent: {max(remaining(history, costs), 0.0):.3g} of {history.budget:g} is left, "
        f"and the cheapest evaluation is expected to cost {cheapest:.3g}."
    )


def too_dear(history: History, costs: Costs, belief: Belief) -> str:
    """That what might still tell something about the front is more than the budget pays, or an empty string."""
    if belief.region is None:
        return ""
    dear = belief.open & belief.region.alive[:, None] & ~affords(history, costs, belief.prices)
    if not dear.any():
        return ""
    return (
        f"The budget does not pay for more about the front: {max(remaining(history, costs), 0.0):.3g} of "
        f"{history.budget:g} is left, and the cheapest evaluation that may tell something is expected to cost "
        f"{float(belief.prices[dear].min()):.3g}."
    )
