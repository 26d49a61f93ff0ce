"""Synthetic problems with known fronts: Branin-Currin, ZDT1 to 3, DTLZ1, 2 and 7, on real and finite mixed spaces."""

from flexibo.compare.problems.synthetic.families import FAMILIES

__all__ = ["FAMILIES"]
