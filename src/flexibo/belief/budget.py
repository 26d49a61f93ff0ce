"""What is left of the budget."""

from __future__ import annotations

from flexibo.belief.costs import Costs
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


def is_worth_repeating(history: History, costs: Costs, evaluation: Evaluation, *, loss: float = 0.0) -> bool:
    """Whether a pending evaluation whose worker vanished should be measured after all: still unknown, and affordable.

    `loss` is what is charged for the attempt that was lost.
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
