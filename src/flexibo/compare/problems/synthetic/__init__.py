"""Synthetic problems with known fronts: Branin-Currin, ZDT1 to 3, DTLZ1, 2 and 7, on real and finite mixed spaces.

Some of them have steps or proxies, see `steps`.
"""

from flexibo.compare.problems.synthetic import families, steps

FAMILIES = (*families.FAMILIES, *steps.FAMILIES)

__all__ = ["FAMILIES"]
