"""Families of functions on which certificates are checked: smooth ones, hard ones, and parts of recorded tables.

Every member has two losses for each of about a hundred designs. The hard families begin as smooth ones and change them
in a way that no smooth Gaussian process draws. Apart from the single better design, the change concerns at least one
in 16 designs, which is what a study is meant to notice before it certifies (`flexibo.belief.trust`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flexibo import Objective, Space
from flexibo._internal.arrays import FloatArray
from flexibo.compare.problems.table import find_problem
from flexibo.pareto import non_dominated
from flexibo.space import Designs
from flexibo.surrogates.kernels import KERNELS, squared_distances

COLUMNS, ROWS = 16, 6  # the values of the two options
RECORDED_DESIGNS = 96  # drawn from each recorded table


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """One function of a family: the designs of a pool, and their losses (m, n) in the pool's order."""

    space: Space
    objectives: tuple[Objective, ...]
    losses: FloatArray

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
    """Two functions (m, 2) of variance 1, drawn from a Gaussian process over U (m, 2)."""
    K = KERNELS[kernel].correlation(squared_distances(U / length_scale, U / length_scale)) + 1e-8 * np.eye(len(U))
    return np.asarray(np.linalg.cholesky(K) @ rng.standard_normal((len(U), 2)))


def _rough(U: FloatArray, rng: np.random.Generator) -> FloatArray:
    return _smooth_losses(U, "matern52", rng.uniform(0.5, 1.5), rng)


def _smooth(U: FloatArray, rng: np.random.Generator) -> FloatArray:
    return _smooth_losses(U, "squared-exponential", rng.uniform(0.5, 1.5), rng)


def _aligned(U: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Widths that are no multiple of a hardware size are padded: the second loss is worse by a penalty."""
    Y, size = _smooth(U, rng), 8
    width = np.rint(U[:, 0] * (COLUMNS - 1)).astype(int) + 1
    Y[:, 1] += rng.uniform(0.5, 1.5) * (width % size != 0)
    return Y


def _single(U: FloatArray, rng: np.random.Generator) -> FloatArray:
    """One design is better than its surroundings in both losses, and on the front."""
    Y, lucky = _smooth(U, rng), int(rng.integers(len(U)))
    front = Y[non_dominated(Y)]
    Y[lucky] = front[int(rng.integers(len(front)))] - rng.uniform(0.3, 1.0, 2)
    return Y


def _valley(U: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The first loss is lower along a line across the options: at one in 16 to one in 8 of the designs."""
    Y, angle = _smooth(U, rng), rng.uniform(0.0, np.pi)
    across = U @ [np.cos(angle), np.sin(angle)]
    distance = np.abs(across - across[int(rng.integers(len(U)))])
    Y[:, 0] -= rng.uniform(1.0, 2.0) * (distance <= np.quantile(distance, rng.uniform(1 / 16, 1 / 8)))
    return Y


def _step(U: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Beyond a line across the options, a loss is lower by a constant."""
    Y, angle = _smooth(U, rng), rng.uniform(0.0, 2.0 * np.pi)
    across = U @ [np.cos(angle), np.sin(angle)]
    Y[:, int(rng.integers(2))] -= rng.uniform(1.0, 2.0) * (across > np.quantile(across, rng.uniform(3 / 4, 15 / 16)))
    return Y


def _plateau(U: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Most designs have the same first loss, the worst one: only some work at all."""
    Y = _smooth(U, rng)
    Y[:, 0] = np.minimum(Y[:, 0], np.quantile(Y[:, 0], rng.uniform(1 / 16, 1 / 4)))
    return Y


Losses = Callable[[FloatArray, np.random.Generator], FloatArray]
SMOOTH: dict[str, Losses] = {"smooth Matern": _rough, "smooth squared-exponential": _smooth}
HARD: dict[str, Losses] = {
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
    losses = {**SMOOTH, **HARD}[family](U, rng)
    return Member(space, (Objective("a"), Objective("b")), losses)


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
