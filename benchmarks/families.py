"""Families of functions on which certificates are checked: smooth ones, hard ones, and parts of recorded tables.

A drawn function has two losses for each of 144 designs. The hard families begin as smooth ones and lower a loss of some
designs in a way that no smooth Gaussian process draws. How many designs (one to half of them), by how much (0.25 to 4
standard deviations of the smooth losses) and where is drawn without regard to what a study checks before it certifies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from flexibo import Objective, Space
from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.compare.problems.table import find_problem
from flexibo.pareto import non_dominated
from flexibo.space import Designs
from flexibo.surrogates.kernels import KERNELS, squared_distances

COLUMNS, ROWS = 16, 9  # the values of the two options
RECORDED_DESIGNS = 96  # drawn from each recorded table

Losses: TypeAlias = tuple[FloatArray, int]  # of all designs (m, 2), and how many of these a feature changes


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """One function of a family: the designs of a pool, and their losses (m, n) in the pool's order.

    `changed` is the number of designs that differ from a smooth function; 0 if nothing is known of it.
    """

    space: Space
    objectives: tuple[Objective, ...]
    losses: FloatArray
    changed: int = 0

    def of(self, designs: Designs) -> FloatArray:
        """The losses (k, n) of some designs of the pool."""
        at = {key: i for i, key in enumerate(self.pool.keys().tolist())}
        return self.losses[[at[key] for key in designs.keys().tolist()]]

    @property
    def pool(self) -> Designs:
        """All designs."""
        return self.space.enumerate()


def _grid() -> tuple[Space, FloatArray]:
    """All combinations of two options, and their places (m, 2) within [0, 1]."""
    space = Space({"width": list(range(1, COLUMNS + 1)), "cores": list(range(1, ROWS + 1))})
    rows = [(design["width"], design["cores"]) for design in space.enumerate()]
    return space, (np.array(rows, dtype=float) - 1.0) / [COLUMNS - 1, ROWS - 1]


def _smooth_losses(U: FloatArray, kernel: str, length_scale: float, rng: np.random.Generator) -> FloatArray:
    """Two functions (m, 2) with standard deviation 1 over U (m, 2), drawn from a Gaussian process."""
    K = KERNELS[kernel].correlation(squared_distances(U / length_scale, U / length_scale)) + 1e-10 * np.eye(len(U))
    Y = np.linalg.cholesky(K) @ rng.standard_normal((len(U), 2))
    return np.asarray(Y / Y.std(axis=0))


def _log_uniform(least: float, most: float, rng: np.random.Generator) -> float:
    return float(np.exp(rng.uniform(np.log(least), np.log(most))))


def _height(rng: np.random.Generator) -> float:
    """By how much a feature lowers a loss, in standard deviations of the smooth losses."""
    return _log_uniform(0.25, 4.0, rng)


def _count(m: int, rng: np.random.Generator) -> int:
    """The number of designs that a feature changes: one to half of them."""
    return round(_log_uniform(1.0, m / 2.0, rng))


def _smallest(score: FloatArray, k: int) -> IntArray:
    """The k designs with the smallest scores."""
    return np.asarray(np.argsort(score, kind="stable")[:k])


def _rough(U: FloatArray, rng: np.random.Generator) -> Losses:
    return _smooth_losses(U, "matern52", _log_uniform(0.3, 3.0, rng), rng), 0


def _smooth(U: FloatArray, rng: np.random.Generator) -> Losses:
    return _smooth_losses(U, "squared-exponential", _log_uniform(0.3, 3.0, rng), rng), 0


def _aligned(U: FloatArray, rng: np.random.Generator) -> Losses:
    """Only values that fit the sizes of the hardware are fast: a loss is lower where both options fit."""
    Y, _ = _smooth(U, rng)
    fits = np.ones(len(U), dtype=bool)
    while fits.all():
        for option, values in enumerate((COLUMNS, ROWS)):
            size = round(_log_uniform(1.0, values, rng))
            fits &= np.rint(U[:, option] * (values - 1)).astype(int) % size == rng.integers(size)
    Y[fits, int(rng.integers(2))] -= _height(rng)
    return Y, int(fits.sum())


def _single(U: FloatArray, rng: np.random.Generator) -> Losses:
    """One design is better in both losses than a design of the front."""
    Y, _ = _smooth(U, rng)
    front = Y[non_dominated(Y)]
    Y[int(rng.integers(len(U)))] = front[int(rng.integers(len(front)))] - _height(rng)
    return Y, 1


def _valley(U: FloatArray, rng: np.random.Generator) -> Losses:
    """A loss is lower for the designs that are nearest to a line through one of them."""
    (Y, _), angle = _smooth(U, rng), rng.uniform(0.0, np.pi)
    across = U @ [np.cos(angle), np.sin(angle)]
    lower = _smallest(np.abs(across - across[int(rng.integers(len(U)))]), _count(len(U), rng))
    Y[lower, int(rng.integers(2))] -= _height(rng)
    return Y, len(lower)


def _step(U: FloatArray, rng: np.random.Generator) -> Losses:
    """A loss is lower for the designs beyond a line."""
    (Y, _), angle = _smooth(U, rng), rng.uniform(0.0, 2.0 * np.pi)
    lower = _smallest(U @ [np.cos(angle), np.sin(angle)], _count(len(U), rng))
    Y[lower, int(rng.integers(2))] -= _height(rng)
    return Y, len(lower)


def _plateau(U: FloatArray, rng: np.random.Generator) -> Losses:
    """All but the best designs have the same first loss: only some work at all."""
    Y, _ = _smooth(U, rng)
    level = np.sort(Y[:, 0])[_count(len(U), rng)]
    depth = np.maximum(level - Y[:, 0], 0.0)
    Y[:, 0] = -depth * (_height(rng) / depth.max())
    return Y, int((depth > 0.0).sum())


Drawing = Callable[[FloatArray, np.random.Generator], Losses]
SMOOTH: dict[str, Drawing] = {"smooth Matern": _rough, "smooth squared-exponential": _smooth}
HARD: dict[str, Drawing] = {
    "aligned": _aligned,
    "single better design": _single,
    "narrow valley": _valley,
    "step": _step,
    "plateau": _plateau,
}


def drawn_member(family: str, seed: int) -> Member:
    """A function of a smooth or a hard family."""
    rng = np.random.default_rng((seed, 41))
    space, U = _grid()
    losses, changed = {**SMOOTH, **HARD}[family](U, rng)
    return Member(space, (Objective("a"), Objective("b")), losses, changed)


def recorded_member(name: str, seed: int) -> Member:
    """A random part of the pool of a recorded problem; objectives that are measured together are measured apart."""
    problem, rng = find_problem(name), np.random.default_rng((seed, 43))
    pool = problem.space.enumerate()
    chosen = pool[np.sort(rng.choice(len(pool), min(RECORDED_DESIGNS, len(pool)), replace=False))]
    rows = list(chosen)
    varying = [option for option in problem.space.names if len({str(row[option]) for row in rows}) > 1]
    space = Space.from_designs({option: [row[option] for row in rows] for option in varying})
    objectives = tuple(Objective(o.name) for o in problem.objectives)
    return Member(space, objectives, problem.losses(chosen))
