"""Dominance, volumes and gains straight from their definitions, slow and without any code of the library.

Volumes are counted on the grid of all coordinates that occur, dominance is checked pair by pair, and a gain is the
difference of two volumes with every box written out anew. Under constraints the volumes are moocore's.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import moocore
import numpy as np


@dataclass(frozen=True)
class Case:
    lower: np.ndarray
    mu: np.ndarray
    upper: np.ndarray
    reference: np.ndarray
    keys: np.ndarray
    bundles: list[tuple[int, ...]]


@dataclass(frozen=True)
class ConstrainedCase(Case):
    optimised: tuple[int, ...]
    limits: np.ndarray


def dominates(a, b):
    return all(p <= q for p, q in zip(a, b, strict=True)) and any(p < q for p, q in zip(a, b, strict=True))


def front(points):
    return [not any(dominates(other, point) for other in points) for point in points]


def alive(lower, upper):
    return [not any(dominates(worst, best) for worst in upper) for best in lower]


def volume(points, reference):
    points = [point for point in points if all(p < q for p, q in zip(point, reference, strict=True))]
    axes = [sorted({point[j] for point in points} | {reference[j]}) for j in range(len(reference))]
    cells = np.zeros([len(axis) - 1 for axis in axes], dtype=bool)
    for point in points:
        cells[tuple(slice(axis.index(p), None) for axis, p in zip(axes, point, strict=True))] = True
    sizes = np.ones(())
    for axis in axes:
        sizes = np.multiply.outer(sizes, np.array([b - a for a, b in pairwise(axis)]))
    return float((sizes * cells).sum())


def region_volume(lower, upper, reference):
    return volume(lower.tolist(), reference.tolist()) - volume(upper.tolist(), reference.tolist())


def pin(case, i, bundle):
    """The corners after candidate i was measured in the quantities of a bundle."""
    boxes = np.hstack([case.lower, case.mu, case.upper])
    lower, upper = case.lower.copy(), case.upper.copy()
    for j in bundle:
        same_key = boxes[case.keys[:, j] == case.keys[i, j]]
        touched = (boxes[:, None] == same_key).all(axis=2).any(axis=1)
        lower[touched, j] = upper[touched, j] = case.mu[touched, j]
    return lower, upper


def gains(case):
    before = region_volume(case.lower, case.upper, case.reference)
    table = np.empty((len(case.lower), len(case.bundles)))
    for i in range(len(case.lower)):
        for b, bundle in enumerate(case.bundles):
            table[i, b] = before - region_volume(*pin(case, i, bundle), case.reference)
    return table


def legal(Y, case):
    return (case.limits >= Y).all(axis=1)


def constrained_region(case):
    """Who is alive, on F_opt and on F_pess, straight from the definitions."""
    possible, sure = legal(case.lower, case), legal(case.upper, case)
    best, worst = (Y[:, list(case.optimised)].tolist() for Y in (case.lower, case.upper))

    def on_front(points, among):
        others = [point for point, counts in zip(points, among, strict=True) if counts]
        return [
            counts and not any(dominates(other, point) for other in others)
            for point, counts in zip(points, among, strict=True)
        ]

    safe = [point for point, counts in zip(worst, sure, strict=True) if counts]
    living = [
        counts and not any(dominates(other, point) for other in safe)
        for point, counts in zip(best, possible, strict=True)
    ]
    return living, on_front(best, possible), on_front(worst, sure)


def constrained_volumes(case, lower, upper):
    """HV(F_opt) and HV(F_pess) of legal corners."""
    columns = list(case.optimised)
    return [_legal_volume(Y[legal(Y, case)][:, columns], case.reference) for Y in (lower, upper)]


def _legal_volume(Y, reference):
    Y = Y[(reference > Y).all(axis=1)]
    if len(Y) == 0:
        return 0.0
    return float(reference[0] - Y.min()) if len(reference) == 1 else float(moocore.hypervolume(Y, ref=reference))


def constrained_gains(case):
    outer, inner = constrained_volumes(case, case.lower, case.upper)
    table = np.empty((len(case.lower), len(case.bundles)))
    for i in range(len(case.lower)):
        for b, bundle in enumerate(case.bundles):
            outer_after, inner_after = constrained_volumes(case, *pin(case, i, bundle))
            table[i, b] = (outer - inner) - (outer_after - inner_after)
    return table


def random_case(rng, n, m):
    """Boxes with ties, shared options, identical boxes, measured values and designs behind the reference point."""
    on_grid = rng.random() < 0.5
    columns, keys = [], []
    for _ in range(n):
        key = rng.integers(rng.integers(1, m + 1), size=m) if rng.random() < 0.5 else rng.permutation(m)
        columns.append(_column(rng, m, on_grid)[:, key])
        keys.append(key)
    boxes, table = np.stack(columns, axis=2), np.stack(keys, axis=1)  # (3, m, n), (m, n)
    for copy in range(rng.integers(0, m // 2 + 1)):
        source, target = rng.integers(m, size=2)
        boxes[:, target] = boxes[:, source]
        own = rng.random(n) < 0.5
        table[target] = np.where(own, m + copy, table[source])
    reference = rng.integers(3, 8, size=n).astype(float) if on_grid else rng.uniform(3.0, 8.0, size=n)
    return Case(*boxes, reference, table, _bundles(rng, n))


def crowded_case(rng, n, m):
    """Boxes along a curved front, so wide that most of them are on it; the first objective has shared options."""
    mu = np.abs(rng.normal(size=(m, n)))
    mu = 1.0 - mu / np.linalg.norm(mu, axis=1, keepdims=True)
    width = rng.uniform(0.02, 0.25, size=(2, m, n))
    keys = np.tile(np.arange(m)[:, None], n)
    keys[:, 0] = rng.integers(m // 2, size=m)
    mu[:, 0], width[:, :, 0] = mu[keys[:, 0], 0], width[:, keys[:, 0], 0]
    return Case(mu - width[0], mu, mu + width[1], np.full(n, 1.1), keys, _bundles(rng, n))


def constrained_case(rng, k, c, m, make=random_case):
    """The same boxes with k objectives and c pure constraints, in any order; now and then an objective has a limit."""
    n = k + c
    case = make(rng, n, m)
    optimised = tuple(rng.permutation(n)[:k].tolist())
    limits = np.full(n, np.inf)
    for j in range(n):
        if j not in optimised or rng.random() < 0.2:
            # Often exactly a corner or a mean of some box, for a limit itself is legal; seldom out of reach of all.
            Y = np.sort((case.lower, case.mu, case.upper)[rng.integers(3)][:, j])
            limits[j] = Y[rng.integers(m // 2, m)] if rng.random() < 0.7 else rng.uniform(Y[0] - 0.5, Y[-1] + 0.5)
    reference = case.reference[list(optimised)]
    return ConstrainedCase(case.lower, case.mu, case.upper, reference, case.keys, case.bundles, optimised, limits)


def _column(rng, m, on_grid):
    if on_grid:
        lower = rng.integers(0, 5, size=m).astype(float)
        widths = rng.integers(0, 3, size=(2, m)).astype(float)
    else:
        lower = rng.uniform(0.0, 5.0, size=m)
        widths = rng.uniform(0.0, 2.0, size=(2, m))
    widths[:, rng.random(m) < 0.25] = 0.0
    widths *= rng.random((2, m)) < 0.9  # a mean on one of its corners
    mu = lower + widths[0]
    return np.stack([lower, mu, mu + widths[1]])


def _bundles(rng, n):
    if n == 1:
        return [(0,)]
    order = rng.permutation(n).tolist()
    split = int(rng.integers(1, n))
    return [(j,) for j in range(n)] + [tuple(range(n)), tuple(order[:split]), tuple(order[split:])]
