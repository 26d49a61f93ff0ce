"""The table of problems: all names that a comparison accepts."""

from __future__ import annotations

from functools import lru_cache

from flexibo.compare.problems import dnn_stack, lcbench, recorded_proxies, recorded_systems, synthetic
from flexibo.compare.problems import recorded_tables as recorded
from flexibo.compare.problems.base import Family, Problem
from flexibo.errors import unknown_name

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        *(*recorded_systems.FAMILIES, *recorded.FAMILIES, *dnn_stack.FAMILIES, *synthetic.FAMILIES),
        *(*lcbench.FAMILIES, *recorded_proxies.FAMILIES),
    )
}


@lru_cache(maxsize=4)
def find_problem(name: str) -> Problem:
    """The problem of this name, with its parameters after colons.

    >>> find_problem("branin-currin:ratio=10").name
    'branin-currin:ratio=10'
    """
    base, _, parameters = name.partition(":")
    if base not in FAMILIES:
        raise unknown_name("problem", base, FAMILIES)
    family = FAMILIES[base]
    return family.make(**family.parsed(parameters))


def full_name(name: str) -> str:
    """The canonical name of a problem, without creating it: parameters in order, without defaults.

    >>> full_name("branin-currin:ratio=1")
    'branin-currin'
    """
    base, _, parameters = name.partition(":")
    if base not in FAMILIES:
        raise unknown_name("problem", base, FAMILIES)
    return FAMILIES[base].full_name(FAMILIES[base].parsed(parameters))
