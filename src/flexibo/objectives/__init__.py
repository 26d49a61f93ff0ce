"""Objectives: what is measured, what one evaluation yields, and readings with their error bars.

It imports only `flexibo._internal` and `flexibo.errors`. Every package that handles values imports it.
"""

from flexibo.objectives._checks import check_objectives
from flexibo.objectives.objective import DIRECTIONS, OWN, Direction, Objective, checked_resources, with_own
from flexibo.objectives.purchase import Purchase, purchases
from flexibo.objectives.reading import LARGEST, Reading, error_bars, with_error_bars

__all__ = [
    "DIRECTIONS",
    "LARGEST",
    "OWN",
    "Direction",
    "Objective",
    "Purchase",
    "Reading",
    "check_objectives",
    "checked_resources",
    "error_bars",
    "purchases",
    "with_error_bars",
    "with_own",
]
