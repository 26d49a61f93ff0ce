"""Conditions: options that only matter when another option has one of some values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo.errors import InvalidTypeError, InvalidValueError, unknown_name
from flexibo.space.encoding import code_of, draw, expected, values_of
from flexibo.space.options import Level, Option, Real

Conditions = dict[str, dict[str, tuple[Level, ...]]]
"""For each conditional option, for each of its parents, the values that keep it active."""

Clause = tuple[int, FloatArray]  # the position of a parent and the codes that keep the child active


@dataclass(frozen=True, slots=True)
class Activity:
    """Which options of a design are active, in codes."""

    order: tuple[int, ...]  # the positions of all options, parents first
    clauses: Mapping[int, tuple[Clause, ...]]  # by the position of each conditional option: all must hold

    def active(self, codes: FloatArray, position: int) -> BoolArray:
        """Whether the option at a position is active in each row (m,) of codes (m, k), given its parents' codes."""
        active = np.ones(len(codes), dtype=np.bool_)
        for parent, allowed in self.clauses.get(position, ()):
            # An inactive parent is NaN, which is in no list, so its children are inactive too.
            active &= np.isin(codes[:, parent], allowed)
        return active

    def settle(self, codes: FloatArray, options: Sequence[Option], rng: np.random.Generator | None = None) -> None:
        """Make inactive options NaN in codes (m, k), in place; with an rng, newly active ones get random values."""
        for position in self.order:
            if position not in self.clauses:
                continue
            active = self.active(codes, position)
            codes[~active, position] = np.nan
            missing = active & np.isnan(codes[:, position])
            if rng is not None and missing.any():
                codes[missing, position] = draw(options[position], int(missing.sum()), rng)


def checked_conditions(given: object, options: Mapping[str, Option]) -> Conditions:
    """The conditions that a user gave, with every name and value checked.

    >>> from flexibo.space.options import Categorical, Real
    >>> options = {"optimiser": Categorical(["sgd", "adam"]), "momentum": Real(0, 1)}
    >>> checked_conditions({"momentum": {"optimiser": "sgd"}}, options)
    {'momentum': {'optimiser': ('sgd',)}}
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidTypeError(
            f"The conditions are {given!r}; give a mapping of options to the parents they depend on."
        )
    conditions: Conditions = {}
    for child, parents in given.items():
        if child not in options:
            raise unknown_name("option", child, options)
        if not isinstance(parents, Mapping) or not parents:
            raise InvalidTypeError(
                f"The condition of option {child!r} is {parents!r}; give a mapping of parents to lists of values."
            )
        conditions[child] = {parent: _checked_values(child, parent, parents[parent], options) for parent in parents}
    return conditions


def activity_of(conditions: Conditions, options: Mapping[str, Option]) -> Activity:
    """The conditions in codes, parents first; an error if they form a cycle."""
    try:
        ordered = list(
            TopologicalSorter({child: list(parents) for child, parents in conditions.items()}).static_order()
        )
    except CycleError as error:
        path = " -> ".join(error.args[1])
        raise InvalidValueError(f"The conditions form a cycle, {path}; an option cannot depend on itself.") from None
    depth = dict.fromkeys(options, 0)
    for name in ordered:
        depth[name] = 1 + max((depth[parent] for parent in conditions.get(name, ())), default=-1)
    position = {name: place for place, name in enumerate(options)}
    clauses = {
        position[child]: tuple(
            (position[parent], np.array([code_of(options[parent], value) for value in values], dtype=np.float64))
            for parent, values in parents.items()
        )
        for child, parents in conditions.items()
    }
    return Activity(tuple(position[name] for name in sorted(options, key=depth.__getitem__)), clauses)


def _checked_values(child: str, parent: str, values: object, options: Mapping[str, Option]) -> tuple[Level, ...]:
    if parent not in options:
        raise unknown_name("option", parent, options)
    option = options[parent]
    if isinstance(option, Real):
        raise InvalidValueError(
            f"The condition of option {child!r} depends on {parent!r}, a Real; a parent needs a list of values."
        )
    listed = list(values) if isinstance(values, (list, tuple, set, frozenset, range, np.ndarray)) else [values]
    if not listed:
        raise InvalidValueError(f"The condition of option {child!r} lists no values of {parent!r}; give at least one.")
    codes = []
    for value in listed:
        code = code_of(option, value)
        if code is None:
            raise InvalidValueError(
                f"The condition of option {child!r} asks for {value!r} of {parent!r}; "
                f"it must be {expected(option, value)}."
            )
        codes.append(code)
    # Sorted by code, so that equal conditions compare equal in any order.
    return tuple(values_of(option, np.unique(codes)))
