"""What is paid once for several designs: the trained network that others run in another precision.

An objective names the options that decide what it makes (`Objective(reuse=...)`). The first evaluation of a design pays
for it, and those of designs that agree in these options pay the rest.
"""

from __future__ import annotations

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo.history import History
from flexibo.space import Designs

SHARE = 0.1  # what the rest is assumed to cost, as a share of the whole, until one was paid


def reused_options(history: History, p: int) -> tuple[str, ...]:
    """The options that decide what purchase p makes and uses again; empty if it pays for everything each time."""
    return tuple(history.objectives[history.purchases[p].members[0]].reuse)


def paid_whole(history: History, p: int) -> BoolArray:
    """Which paid evaluations (s,) of purchase p, in order, were the first of their kind."""
    designs, costs = history.costs(p)
    first = np.ones(len(costs), dtype=bool)
    if len(costs) and (options := reused_options(history, p)):
        first[:] = False
        first[np.unique(designs.keys(options), return_index=True)[1]] = True
    return first


def rest_prices(history: History, p: int, designs: Designs, prices: FloatArray) -> FloatArray:
    """The prices (m,) of designs, which are whole, with those of the rest where what is needed was made before."""
    made, costs = history.costs(p)
    options = reused_options(history, p)
    if not options or not len(costs) or not len(designs):
        return prices
    rest = costs[~paid_whole(history, p)]
    again = np.isin(designs.keys(options), made.keys(options))
    return np.where(again, rest.mean() if len(rest) else SHARE * prices, prices)
