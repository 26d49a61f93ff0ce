"""In which order promising designs are confirmed: what each adds to those before it, per cost.

The gain of a row of `flexibo.results.promising` is what it adds to the confirmed front alone. Neighbours on the front
add much the same, so a list by that gain would spend a small budget on one corner of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.objectives import Objective
from flexibo.pareto import improvements
from flexibo.results.front import FrontRow
from flexibo.results.promising import PromisingRow


def in_order_of_worth(
    rows: Sequence[PromisingRow],
    confirmed: Sequence[FrontRow],
    objectives: Sequence[Objective],
    reference: FloatArray,
) -> list[PromisingRow]:
    """Promising rows, each the one that adds most per cost to the front (k,) of the confirmed ones and those before it.

    A row counts at its predicted values, with the chance that it can be measured and is feasible. Rows that add nothing
    to those before them come last, in their own order.
    """
    losses = _losses(rows, objectives)
    front = _losses(confirmed, objectives)
    worth = np.array([row.chance * row.probability / _price(row) for row in rows])
    left, found = list(range(len(rows))), []
    while left:
        rates = worth[left] * improvements(losses[left], front, reference)
        best = int(np.argmax(rates))
        if not rates[best] > 0.0:
            break
        found.append(left.pop(best))
        front = np.concatenate([front, losses[found[-1:]]])
    return [rows[i] for i in (*found, *left)]


def _losses(rows: Sequence[PromisingRow] | Sequence[FrontRow], objectives: Sequence[Objective]) -> FloatArray:
    """The losses (r, k) of rows in the optimised objectives."""
    optimised = [objective for objective in objectives if objective.optimise]
    table = [[objective.loss(row.values[objective.name]) for objective in optimised] for row in rows]
    return np.array(table).reshape(len(rows), len(optimised))


def _price(row: PromisingRow) -> float:
    """The price to confirm a row; one that is not known, or nothing, is taken for little."""
    return max(row.confirm_cost or 0.0, math.ulp(1.0))
