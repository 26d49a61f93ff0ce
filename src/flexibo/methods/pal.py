"""PAL: classify every design as Pareto-optimal or not, measuring where the doubt is widest.

Zuluaga, Sergent, Krause, Pueschel: Active Learning for Multi-Objective Optimization. ICML 2013 (PMLR 28).

One iteration: each design has a box Q_t(x) = mu -+ sqrt(beta_t) sigma and keeps the intersection R_t(x) of all its
boxes so far. It is at best as good as the best corner of R_t, at worst as good as the worst. A design is discarded
when the worst corner of another dominates its best; it is Pareto-optimal when no best corner of another that is left
dominates its worst. Measured next is the design with the longest diagonal of R_t among those not discarded; the study
ends when no design is open. With beta_t = 2 log(n m pi^2 t^2 / (6 delta)) and the right model, all classes are right
with probability 1 - delta.

Differences from the paper:
- Losses are minimised; the paper maximises.
- Its slack epsilon is 0 here: with a positive one, nearly equal designs could discard each other. The successor,
  `flexibo.methods.epsilon_pal`, fixes that and takes the tolerances.
- Designs with equal losses do not discard each other, and are Pareto-optimal together.
- A box that misses the region kept so far (the paper's model never changes, ours learns) refutes it: the region of that
  objective starts again from the box, as in the authors' program. Classes are read off the regions at each iteration:
  while regions only shrink they stay, as in the paper; after a refutation they are decided again.
- Widths are compared in units of the range that the regions' middles have over the candidates. The paper's objectives
  share one scale.
- With constraints, only designs whose whole box is legal discard others, and those whose whole box is illegal are
  discarded. A constraint in doubt counts in the diagonal like an objective.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray
from flexibo.belief.belief import Belief
from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.methods.base import Candidates, Ending, ScoringMethod
from flexibo.pareto.dominance import non_dominated, strictly_dominated

OPEN, PARETO, DISCARDED = 0, 1, 2  # the classes of a design: undecided (the paper's U), Pareto-optimal (P) and not (N)
_TABLE_SIZE = 1 << 18  # entries of one comparison table: small enough to stay in cache


@dataclass(frozen=True, slots=True, eq=False)
class PalMemory:
    """What PAL remembers: best and worst corners of the regions (m, k), of optimised columns, and the classes (m,)."""

    lower: FloatArray
    upper: FloatArray
    status: IntArray


def pal_step(before: PalMemory | None, belief: Belief) -> PalMemory:
    """One iteration: intersect the regions with the belief's boxes, and classify.

    Pending evaluations must not be pinned to their means in this belief: the region would keep a value that was never
    measured.
    """
    return step(before, belief, lambda lower, upper, width, status: classify(lower, upper))


def step(
    before: PalMemory | None, belief: Belief, rule: Callable[[FloatArray, FloatArray, FloatArray, IntArray], IntArray]
) -> PalMemory:
    """One iteration with a rule from lower, upper, width and old status to the new status."""
    columns = list(belief.optimised)
    lower, upper = belief.lower[:, columns], belief.upper[:, columns]
    status = np.full(len(lower), OPEN)
    if before is not None:
        lower, upper = intersected(before.lower, before.upper, lower, upper)
        status = before.status
    # What is illegal is infinitely bad.
    legal = np.all(belief.lower <= belief.limits, axis=1, keepdims=True)
    certain = np.all(belief.upper <= belief.limits, axis=1, keepdims=True)
    best, worst = np.where(legal, lower, np.inf), np.where(certain, upper, np.inf)
    status = rule(best, worst, diagonals(lower, upper), status)
    return PalMemory(lower, upper, np.where(legal[:, 0], status, DISCARDED))


def intersected(
    lower: FloatArray, upper: FloatArray, new_lower: FloatArray, new_upper: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The intersections of intervals with new ones; the new interval where they do not meet (all m, k).

    >>> intersected(np.array([[0.0, 0.0]]), np.array([[2.0, 2.0]]), np.array([[1.0, 3.0]]), np.array([[4.0, 4.0]]))
    (array([[1., 3.]]), array([[2., 4.]]))
    """
    if lower.shape != new_lower.shape:
        raise InvalidValueError(
            f"The regions have shape {lower.shape}, the boxes {new_lower.shape}; keep the candidates."
        )
    low, high = np.maximum(lower, new_lower), np.minimum(upper, new_upper)
    meet = low <= high
    return np.where(meet, low, new_lower), np.where(meet, high, new_upper)


def classify(lower: FloatArray, upper: FloatArray) -> IntArray:
    """The class (m,) of each design by the best and the worst corner (m, k) of its region.

    >>> lower = np.array([[0.0, 2.0], [2.0, 0.0], [1.5, 2.5], [4.0, 4.0]])
    >>> classify(lower, lower + 1.0).tolist()
    [1, 1, 0, 2]
    """
    status = np.where(strictly_dominated(lower, front_of(upper)), DISCARDED, OPEN)
    left = np.flatnonzero(status == OPEN)
    status[left[~dominated_by_another(upper[left], lower[left])]] = PARETO
    return status


def widest_region(belief: Belief, rng: np.random.Generator) -> FloatArray:
    """The diagonals (m, b) of kept regions and of constraints in doubt, over each bundle; 0 where there is no point.

    Discarded designs score 0, as do those that are known and cannot be asked again, and all once no design is open.
    """
    memory = belief.memory
    if not isinstance(memory, PalMemory):
        raise InvalidTypeError("The belief carries no regions; put what pal_step returns into its `memory`.")
    pure = [j for j in np.flatnonzero(np.isfinite(belief.limits)).tolist() if j not in belief.optimised]
    columns = [*belief.optimised, *pure]
    # A constraint is in doubt where its box holds the limit.
    doubt = (belief.lower <= belief.limits) & (belief.limits < belief.upper)
    lower = np.hstack([memory.lower, np.where(doubt, belief.lower, belief.mu)[:, pure]])
    upper = np.hstack([memory.upper, np.where(doubt, belief.upper, belief.mu)[:, pure]])
    known = belief.known[:, columns].all(axis=1) & ~belief.open.any(axis=1)
    wanted = (memory.status != DISCARDED) & ~known & (memory.status == OPEN).any()
    within = [[place for place, j in enumerate(columns) if j in bundle] for bundle in belief.bundles]
    scores = np.stack([diagonals(lower[:, part], upper[:, part]) for part in within], axis=1)
    return np.where(wanted[:, None], scores, 0.0)


def diagonals(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The length of each region's diagonal (m,), in units of the range of the middles of all regions.

    >>> diagonals(np.array([[0.0, 0.0], [4.0, 100.0]]), np.array([[0.0, 0.0], [4.0, 300.0]])).tolist()
    [0.0, 1.0]
    """
    width = upper - lower
    middle = lower + width / 2.0
    span = np.ptp(middle, axis=0)
    # Where all middles agree, the widest region is the unit.
    unit = np.where(span > 0, span, width.max(axis=0, initial=0.0))
    return np.asarray(np.sqrt(((width / np.where(unit > 0, unit, 1.0)) ** 2).sum(axis=1)))


def front_of(Y: FloatArray) -> FloatArray:
    """The distinct non-dominated rows (f, k) of losses (m, k)."""
    return distinct(Y[non_dominated(Y)])[0]


def dominated_by_another(Y: FloatArray, corners: FloatArray) -> BoolArray:
    """Which rows i of Y (m, k) a row of `corners` (m, k) other than i dominates: a mask (m,).

    >>> dominated_by_another(np.array([[1.0, 1.0], [3.0, 3.0]]), np.array([[0.0, 0.0], [2.0, 2.0]])).tolist()
    [False, True]
    """
    on_front = non_dominated(corners)
    front, place = distinct(corners[on_front])
    result = strictly_dominated(Y, front)
    # A design alone at its place on the front may be dominated by itself only. Then those it hides count, too.
    rows = np.flatnonzero(on_front)
    doubtful = result[rows] & (np.bincount(place)[place] == 1)
    rows, place = rows[doubtful], place[doubtful]
    result[rows] = strictly_dominated(Y[rows], front_of(corners[~on_front]))
    rest = ~result[rows]
    rows, place = rows[rest], place[rest]
    # None of these equals a row of the front: its dominator would dominate that row, too.
    size = max(1, _TABLE_SIZE // max(1, len(front)))
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        losses = Y[rows[part]]
        table = np.ones((len(losses), len(front)), dtype=np.bool_)
        for j in range(Y.shape[1]):
            table &= front[:, j] <= losses[:, j, None]
        table[np.arange(len(losses)), place[part]] = False
        result[rows[part]] = table.any(axis=1)
    return result


def distinct(Y: FloatArray) -> tuple[FloatArray, IntArray]:
    """The distinct rows (u, k) of losses (m, k) in lexicographic order, and which of them each row is (m,)."""
    order = np.lexsort(Y.T[::-1])
    ordered = Y[order]
    new = np.ones(len(Y), dtype=np.bool_)
    new[1:] = np.any(ordered[1:] != ordered[:-1], axis=1)
    place = np.empty(len(Y), dtype=np.int64)
    place[order] = np.cumsum(new) - 1
    return ordered[new], place


PAL = ScoringMethod(
    name="pal",
    summary="Classifies the designs of a fixed pool by confidence boxes, and measures the widest.",
    paper="Zuluaga et al. 2013",
    acquisition=widest_region,
    score="width of its region {}",
    candidates=Candidates.FIXED,
    step=pal_step,
    ending=Ending("Every design of the pool is classified or measured: nothing is left to learn about which are best."),
)
