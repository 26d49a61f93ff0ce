"""Choosing a cell of the score table, and the questions that need no score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexibo.arrays import BoolArray, FloatArray
from flexibo.belief import Belief
from flexibo.history import MAX_ATTEMPTS, History
from flexibo.pareto import Region
from flexibo.space import Design

HOPELESS = 6
"""An objective that failed this often and never gave a value stops the study."""


def choose(
    scores: FloatArray, belief: Belief, affordable: BoolArray, region: Region | None, rng: np.random.Generator
) -> tuple[int, int] | None:
    """The candidate and the bundle with the best score per cost, among the affordable.

    If pinning any one box changes nothing although a region is left (tied corners), it is the widest open interval per
    cost, on the optimistic front if there is one.

    Args:
        scores: What the method says (m, b).
        belief: What is thought of the candidates.
        affordable: What may be asked and paid (m, b).
        region: The Pareto region; None for a method without models.
        rng: Breaks ties, after the lowest cost.
    """
    tables = [np.where(affordable, scores / belief.thetas, -np.inf)]
    if region is not None:
        width = np.stack([belief.sigma[:, list(bundle)].sum(axis=1) for bundle in belief.bundles], axis=1)
        fallbacks = (region.optimistic, region.alive)
        tables += [np.where(affordable & among[:, None], width / belief.thetas, -np.inf) for among in fallbacks]
    for table in tables:
        if table.max() > 0:
            ties = np.argwhere(table == table.max())
            prices = belief.prices[ties[:, 0], ties[:, 1]]
            ties = ties[prices == prices.min()]
            i, b = ties[rng.integers(len(ties))]
            return int(i), int(b)
    return None


def missing_initial(history: History, initial: Sequence[Design], *, coupled: bool) -> list[tuple[Design, list[int]]]:
    """The initial designs that are not measured yet, each with the purchases to ask together; retries come last.

    A result that was brought in spares one initial design its measurement.
    """
    spared = [
        sum(m.number is None and purchase.objective in m.values for m in history.measurements)
        for purchase in history.purchases
    ]
    fresh: list[tuple[Design, list[int]]] = []
    again: list[tuple[Design, list[int]]] = []
    for index, design in enumerate(initial):
        wanted = [
            p
            for p in range(len(history.purchases))
            if index < len(initial) - spared[p]
            and not history.is_measured(p, design)
            and not history.is_pending(p, design)
            and history.attempts(p, design) < MAX_ATTEMPTS
        ]
        new = [p for p in wanted if not history.attempts(p, design)]
        fresh += [(design, new)] if coupled and new else [(design, [p]) for p in new]
        again += [(design, [p]) for p in wanted if p not in new]
    return fresh + again


def hopeless(history: History) -> str:
    """Why the study cannot go on: an objective that never gave a value. Empty if there is none."""
    for purchase in history.purchases:
        name = purchase.objective
        if history.failed_attempts[name] >= HOPELESS and not history.count(purchase.members[0]):
            return (
                f"Objective {name!r} failed in all of its {history.failed_attempts[name]} attempts; "
                f"the last reason was: {history.last_reason[name]}"
            )
    return ""
