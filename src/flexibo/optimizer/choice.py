"""Choosing a cell of the score table, and the questions that need no score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo.belief.belief import Belief
from flexibo.history import History
from flexibo.space import Design

HOPELESS = 6
"""An objective that failed this often and never gave a value stops the study."""
HOPELESS_AFTER_SUCCESS = 30
"""So does one that gave values before, but failed this often in a row."""


def choose(
    scores: FloatArray,
    belief: Belief,
    affordable: BoolArray,
    rng: np.random.Generator,
    *,
    fallbacks: Sequence[BoolArray] = (),
) -> tuple[int, int] | None:
    """The candidate and the bundle with the best score, among the affordable; None if nothing scores.

    If no score is above 0, it is the widest open interval per cost among the first fallback that has one.

    Args:
        scores: What the method says (m, b), divided by what things cost if it is cost-aware.
        belief: What is thought of the candidates.
        affordable: What may be asked and paid (m, b).
        rng: Breaks ties, after the lowest cost.
        fallbacks: Sets of candidates (m,).
    """
    tables = [np.where(affordable, scores, -np.inf)]
    if fallbacks:
        # The quantities have units of their own; the widest of each counts as one. A decided constraint tells nothing.
        decided = (belief.lower > belief.limits) | (belief.upper <= belief.limits)
        decided[:, list(belief.optimised)] = False
        widest = belief.sigma.max(axis=0)
        spread = np.where(decided & np.isfinite(belief.limits), 0.0, belief.sigma / np.where(widest > 0, widest, 1.0))
        width = np.stack([spread[:, list(bundle)].sum(axis=1) for bundle in belief.bundles], axis=1)
        tables += [np.where(affordable & among[:, None], width / belief.thetas, -np.inf) for among in fallbacks]
    for table in tables:
        if table.max() > 0:
            ties = np.argwhere(table == table.max())
            prices = belief.prices[ties[:, 0], ties[:, 1]]
            ties = ties[prices == prices.min()]
            i, b = ties[rng.integers(len(ties))]
            return int(i), int(b)
    return None


def second_best(
    scores: FloatArray, belief: Belief, affordable: BoolArray, chosen: tuple[int, int]
) -> tuple[int, int] | None:
    """The candidate and the bundle with the best score beside the chosen one; None if nothing else scores.

    Candidates that must have the same values as the chosen one are the same question.
    """
    i, b = chosen
    members = list(belief.bundles[b])
    table = np.where(affordable, scores, -np.inf)
    table[(belief.keys[:, members] == belief.keys[i, members]).all(axis=1), b] = -np.inf
    best = divmod(int(np.argmax(table)), table.shape[1])
    return best if table[best] > 0 else None


def missing_initial(
    history: History, initial: Sequence[Design], n_given: int, *, coupled: bool
) -> list[tuple[Design, list[int]]]:
    """The initial designs that are not measured yet, each with the purchases to ask together; retries come last.

    Args:
        history: What happened so far.
        initial: The designs.
        n_given: How many of them the user gave. A result that was brought in spares one of the others, which were
            drawn, its measurement.
        coupled: Whether the purchases of a design are asked together.
    """
    needed = [max(n_given, len(initial) - _spared(history, initial, p)) for p in range(len(history.purchases))]
    fresh: list[tuple[Design, list[int]]] = []
    again: list[tuple[Design, list[int]]] = []
    for index, design in enumerate(initial):
        wanted = [
            p
            for p in range(len(history.purchases))
            if index < needed[p]
            and not history.is_measured(p, design)
            and not history.is_pending(p, design)
            and not history.is_hopeless(p, design)
        ]
        new = [p for p in wanted if not history.attempts(p, design)]
        fresh += [(design, new)] if coupled and new else [(design, [p]) for p in new]
        again += [(design, [p]) for p in wanted if p not in new]
    return fresh + again


def _spared(history: History, initial: Sequence[Design], p: int) -> int:
    """How many other designs than the initial ones purchase p is known of, all of its objectives, from before."""
    names = [history.names[j] for j in history.purchases[p].members]
    known = {history.key(p, m.design) for m in history.measurements if m.number is None and m.values.keys() >= {*names}}
    return len(known - {history.key(p, design) for design in initial})


def hopeless(history: History) -> str:
    """Why the study cannot go on: an objective that fails and fails. Empty if there is none."""
    for name in (purchase.objective for purchase in history.purchases):
        in_a_row = history.failed_in_a_row[name]
        if in_a_row >= (HOPELESS_AFTER_SUCCESS if history.told[name] else HOPELESS):
            which = f"in {in_a_row} attempts in a row" if history.told[name] else f"in all of its {in_a_row} attempts"
            return f"Objective {name!r} failed {which}; the last reason was: {history.last_reason[name]}"
    return ""
