"""The baseline: FlexiBO as its paper describes it, written the straightforward way.

Scikit-learn's Gaussian process with the paper's hyperparameters (squared-exponential kernel, alpha 1e-10, 20 restarts)
and a length scale per option, refitted on the objective whose data changed; then a loop over designs for boxes, U and
fronts, and one over designs and objectives that rebuilds both fronts for every gain. NumPy is used inside the loops
where anybody would use it. It computes the same gains as the library does from the same boxes.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from flexibo._internal.arrays import FloatArray

RESTARTS = 20


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that an iteration of any method needs to know; losses are minimised.

    Attributes:
        X: The measured designs of each objective, shapes (s_j, 17), in the unit cube.
        y: Their losses, shapes (s_j,).
        changed: The objective that was measured last.
        candidates: The designs to choose from, shape (m, 17).
        reference: The reference point, shape (n,).
        thetas: What the gain of each objective is divided by, shape (n,).
        costs: What an evaluation of each objective costs, shape (n,).
        beta: Square of the boxes' half width in deviations.
    """

    X: tuple[FloatArray, ...]
    y: tuple[FloatArray, ...]
    changed: int
    candidates: FloatArray
    reference: FloatArray
    thetas: FloatArray
    costs: FloatArray
    beta: float


def fitted(X: FloatArray, y: FloatArray, restarts: int = RESTARTS) -> GaussianProcessRegressor:
    """Scikit-learn's Gaussian process with the paper's hyperparameters."""
    kernel = ConstantKernel(1.0) * RBF(np.ones(X.shape[1]))
    model = GaussianProcessRegressor(
        kernel, alpha=1e-10, n_restarts_optimizer=restarts, normalize_y=True, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def iteration(snapshot: Snapshot, models: list[GaussianProcessRegressor]) -> tuple[int, int]:
    """The candidate and the objective to measure next; refits the model whose data changed, in place."""
    j = snapshot.changed
    models[j] = fitted(snapshot.X[j], snapshot.y[j])
    mu, sigma = boxes(snapshot, models)
    gains = region_gains(mu, math.sqrt(snapshot.beta) * sigma, snapshot.reference)
    best, choice = -1.0, (0, 0)
    for (i, j), gain in gains.items():
        if gain / snapshot.thetas[j] > best:
            best, choice = gain / snapshot.thetas[j], (i, j)
    return choice


def boxes(snapshot: Snapshot, models: list[GaussianProcessRegressor]) -> tuple[FloatArray, FloatArray]:
    """Means and deviations (m, n); a measured design has its value and no deviation."""
    shape = (len(snapshot.candidates), len(models))
    mu, sigma = np.zeros(shape), np.zeros(shape)
    for j, model in enumerate(models):
        mu[:, j], sigma[:, j] = model.predict(snapshot.candidates, return_std=True)
        measured = {tuple(x): loss for x, loss in zip(snapshot.X[j], snapshot.y[j], strict=True)}
        for i, x in enumerate(snapshot.candidates):
            if tuple(x) in measured:
                mu[i, j], sigma[i, j] = measured[tuple(x)], 0.0
    return mu, sigma


def region_gains(mu: FloatArray, half: FloatArray, reference: FloatArray) -> dict[tuple[int, int], float]:
    """How much of the Pareto region each design and objective would remove, where any can."""
    lower, upper = mu - half, mu + half
    alive = [i for i in range(len(mu)) if not _dominated(lower[i], upper)]
    mu, half, lower, upper = mu[alive], half[alive], lower[alive], upper[alive]
    optimistic, pessimistic = front(lower), front(upper)
    volume = area(lower[optimistic], reference) - area(upper[pessimistic], reference)
    on_a_front = {*optimistic, *pessimistic}
    gains = {}
    for i in range(len(alive)):
        for j in range(mu.shape[1]):
            if half[i, j] == 0.0:
                continue
            raised = upper[i].copy()
            raised[j] = mu[i, j]
            if i not in on_a_front and _weakly_dominated(raised, upper[pessimistic]):
                continue
            low, high = lower.copy(), upper.copy()
            low[i, j] = high[i, j] = mu[i, j]
            left = area(low[front(low)], reference) - area(high[front(high)], reference)
            gains[alive[i], j] = volume - left
    return gains


def front(points: FloatArray) -> list[int]:
    """The indices of the points in the plane that no other point dominates, from left to right."""
    found: list[int] = []
    lowest = math.inf
    for i in np.lexsort((points[:, 1], points[:, 0])):
        if points[i, 1] < lowest:
            found.append(int(i))
            lowest = points[i, 1]
    return found


def area(points: FloatArray, reference: FloatArray) -> float:
    """The area between a front in the plane, given from left to right, and the reference point."""
    total, edge = 0.0, reference[1]
    for x, y in points:
        if x < reference[0] and y < edge:
            total += (reference[0] - x) * (edge - y)
            edge = y
    return float(total)


def _dominated(point: FloatArray, others: FloatArray) -> bool:
    """Whether some other point is at least as good everywhere and better somewhere."""
    return bool(np.any(np.all(others <= point, axis=1) & np.any(others < point, axis=1)))


def _weakly_dominated(point: FloatArray, others: FloatArray) -> bool:
    """Whether some other point is at least as good everywhere."""
    return bool(np.any(np.all(others <= point, axis=1)))
