"""The landscape of a problem: values of random designs, and objectives over two options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.problems.base import Problem
from flexibo.space import Integer, Ordinal, Real, Space

N_RANDOM = 500
"""Several hundred designs, as in the paper's figure."""
SPAN = 15.0
"""Values whose largest is more than this many times the smallest are drawn on a logarithmic scale."""
GRID = 11
"""The number of values for an option that is a range."""


@dataclass(frozen=True, slots=True)
class ContourGrid:
    """The true values (a, b, n) over the levels of two options, with the others in the middle of their ranges."""

    names: tuple[str, str]
    levels: tuple[tuple[float, ...], tuple[float, ...]]
    values: FloatArray


def random_values(problem: Problem) -> FloatArray:
    """The true values (m, n) of several hundred random designs, always the same."""
    return problem.values(problem.space.sample(N_RANDOM, np.random.default_rng((0, 17))))


def logarithmic(problem: Problem) -> tuple[bool, ...]:
    """Which objectives are drawn on a logarithmic scale: those with positive values that span more than `SPAN`."""
    values = np.concatenate([random_values(problem), problem.front * problem.signs])
    least, greatest = values.min(axis=0), values.max(axis=0)
    return tuple(bool(low > 0 and high > SPAN * low) for low, high in zip(least, greatest, strict=True))


def contour_grid(problem: Problem) -> ContourGrid | None:
    """The objectives over CPU frequency and number of filters; None for a problem without these, and for a pool."""
    names = _contour_options(problem.space)
    if names is None or problem.space.pool is not None:
        return None
    levels = [_levels(problem.space, name) for name in names]
    middle = {
        name: _levels(problem.space, name)[len(_levels(problem.space, name)) // 2] for name in problem.space.names
    }
    rows = [middle | {names[0]: first, names[1]: second} for first in levels[0] for second in levels[1]]
    values = problem.values(problem.space.designs(rows)).reshape(len(levels[0]), len(levels[1]), -1)
    return ContourGrid(names, (tuple(levels[0]), tuple(levels[1])), values)


def unexplained(values: FloatArray) -> float:
    """The share of the variance of a grid (a, b) of values that a plane does not explain."""
    a, b = values.shape
    first, second = np.meshgrid(np.arange(a), np.arange(b), indexing="ij")
    X = np.column_stack([np.ones(a * b), first.ravel(), second.ravel()])
    y = values.ravel()
    rest = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    return float(rest.var() / y.var()) if y.var() > 0 else 0.0


def _contour_options(space: Space) -> tuple[str, str] | None:
    cpu = [name for name in space.names if name.startswith("cpu") and ("ghz" in name or "freq" in name)]
    filters = [name for name in space.names if name.startswith("filters")]
    return (cpu[0], filters[0]) if cpu and filters else None


def _levels(space: Space, name: str) -> Sequence[float]:
    """The values of an option, in order; a few evenly spread ones of a range."""
    option = space.options[name]
    if isinstance(option, Real):
        return list(np.linspace(option.low, option.high, GRID))
    if isinstance(option, Integer):
        return sorted({round(level) for level in np.linspace(option.low, option.high, GRID)})
    values: Sequence[float] = list(option.values)  # type: ignore[arg-type]  # numbers, for an ordered option
    return values if not isinstance(option, Ordinal) else sorted(values)
