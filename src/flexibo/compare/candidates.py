"""The designs among which a contestant's model names a front: one set per problem, the same for every contestant."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from flexibo.belief.candidates import neighbourhood
from flexibo.compare.problems.base import Problem, Table
from flexibo.pareto import non_dominated
from flexibo.space import Designs, Space

MOST = 20_000
"""A space of at most this many designs is listed whole."""
UNIFORM = 8_000
"""How many designs of a larger space are drawn uniformly."""
ROUNDS, PER_ROUND = 24, 500
"""How often the set grows around the best designs so far, and by how many designs each time."""


@lru_cache(maxsize=4)
def common_candidates(problem: Problem) -> Designs:
    """All designs of a space of at most `MOST`, otherwise a fixed set of at most that many.

    A uniform draw alone misses much of the front of a large space, and no model could name what is not there. So the
    judge adds designs `around_the_best` by true values. Most of them are slightly worse than the front: a model must
    tell them apart. No contestant learns which designs these are.
    """
    space = problem.space
    return space.enumerate() if space.size <= MOST else around_the_best(space, problem.losses)


def around_the_best(space: Space, losses: Table) -> Designs:
    """A fixed set of designs of a large space: a uniform draw, and what lies around the best of it by these losses.

    These are neighbours of the front, which differ in one option, and random steps away from it.
    """
    rng = np.random.default_rng((0, 29))
    found = space.sample(UNIFORM, rng)
    for _ in range(ROUNDS):
        best = found[non_dominated(losses(found))]
        near = neighbourhood(space, best, PER_ROUND // 2, rng)
        found = (found + near + space.steps_away(best, PER_ROUND - len(near), rng)).unique()
    return found
