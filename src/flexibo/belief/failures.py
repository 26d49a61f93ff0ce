"""What is learned from failures: how likely an untried design can be measured at all.

If a network is too wide for the memory, or for the time that an evaluation may take, its neighbours are likely to fail
too. So designs that failed and designs that were measured train a classifier, from the first failure on: a Gaussian
process that learns which options decide, and how far a failure reaches (`flexibo.surrogates.classification`).
Candidates that would probably fail are asked about only if nothing else is worth a question, and are not reported. Once
failures took a tenth of the budget, those that fail more likely than not are not asked about at all.
Without failures nothing changes.

Each purchase has its own classifier, unless the failures of two have the same cause: the user says so (`fails_with`),
or at least `AGREEMENTS` designs failed in both and none in one alone. Then what was measured in one of them is
measurable in the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray
from flexibo.history import History
from flexibo.space import Design, Designs
from flexibo.surrogates.classification import Classifier, hypotheses
from flexibo.surrogates.refits import refit_count

FEWEST_KEPT, BLOCK = 50, 25  # a classifier learns from the latest 50 to 75 measured designs, and as many that failed
GROWTH = 1.2  # what decides, and how far it reaches, is learned again when the data has grown by this factor
PROBABLE = 0.75  # a design can probably be measured if its chance of success is at least this
IMPROBABLE_WEIGHT = 1e-6  # The greatest weight of other designs. Models promise most where nothing was ever measured.
RISKED = 0.1  # of the budget: once failures took it, designs with a chance below `EVEN` are not tried any more
EVEN = 0.5
AGREEMENTS = 2  # two purchases fail for the same cause if this many designs failed in both, and none in one alone


def possible(history: History, designs: Designs) -> BoolArray:
    """Which designs (m,) lack nothing that failed for good."""
    found = np.ones(len(designs), dtype=bool)
    for p, purchase in history.counting:
        hopeless = history.hopeless(p)
        if len(hopeless):
            found &= ~np.isin(designs.keys(purchase.options), np.setdiff1d(hopeless, history.measured(p)))
    return found


def failed_designs(history: History, designs: Designs) -> BoolArray:
    """Which designs (m,) failed in something that was never measured."""
    found = np.zeros(len(designs), dtype=bool)
    for p, purchase in history.counting:
        failed = history.failed(p)
        if len(failed):
            found |= np.isin(designs.keys(purchase.options), failed)
    return found


def chances(history: History, designs: Designs) -> FloatArray:
    """How likely each purchase of each design can be measured, or was (m, p); one for all where nothing has failed."""
    found = np.ones((len(designs), len(history.purchases)))
    for cause in causes(history):
        if not any(len(history.failed(p)) for p in cause):
            continue
        learned = _learned(history, cause, designs)
        for p in cause:
            keys = designs.keys(history.purchases[p].options)
            found[:, p] = np.where(np.isin(keys, history.hopeless(p)), 0.0, learned)
            found[np.isin(keys, history.measured(p)), p] = 1.0
    return found


def chance_of_success(history: History, designs: Designs) -> FloatArray:
    """How likely (m,) everything can be measured that a design lacks; one for all where nothing has failed."""
    return combined(history, chances(history, designs))


def combined(history: History, chance: FloatArray) -> FloatArray:
    """How likely all purchases of designs can be measured (m,), given the chance of each (m, p)."""
    found = np.ones(len(chance))
    for cause in causes(history):  # what has the same cause fails together
        if counted := [p for p in cause if history.bundles[p]]:
            found *= chance[:, counted].min(axis=1)
    return found


def will_probably_succeed(history: History, design: Design) -> bool:
    """Whether everything that a design lacks can probably be measured."""
    return bool(chance_of_success(history, history.space.designs([design]))[0] >= PROBABLE)


def is_too_risky(history: History, design: Design) -> bool:
    """Whether a design will fail more likely than not, and failures took the part of the budget that is risked.

    While no design is complete, nothing is too risky.
    """
    lost = sum(float(history.failure_costs(p).sum()) for p in range(len(history.purchases)))
    if history.budget is None or lost < RISKED * history.budget:
        return False
    complete = np.all([_tried(history, p)[1] for p, _ in history.counting], axis=0)
    return bool(complete.any() and chance_of_success(history, history.space.designs([design]))[0] < EVEN)


def success_weights(chance: FloatArray) -> FloatArray:
    """What the scores of designs (m,) are multiplied by: the chance of success, and next to nothing if it is small.

    Among those with a small chance it is the greatest that decides, not what their models promise.

    >>> success_weights(np.array([1.0, 0.8, 0.0])).tolist()
    [1.0, 0.8, 1e-12]
    """
    return np.where(chance >= PROBABLE, chance, IMPROBABLE_WEIGHT ** (2.0 - np.minimum(chance / PROBABLE, 1.0)))


def causes(history: History) -> list[tuple[int, ...]]:
    """The purchases, those together of which one cannot be measured exactly where the others cannot."""
    group = list(range(len(history.purchases)))
    for p in range(len(group)):
        for q in range(p):
            if _is_said(history, p, q) or _is_learned(history, p, q):
                group = [group[q] if g == group[p] else g for g in group]
    return [tuple(p for p, own in enumerate(group) if own == g) for g in dict.fromkeys(group)]


def _is_said(history: History, p: int, q: int) -> bool:
    names = {r: {history.names[j] for j in history.purchases[r].members} for r in (p, q)}
    others = {r: {history.objectives[j].fails_with for j in history.purchases[r].members} for r in (p, q)}
    return bool(names[p] & others[q] or names[q] & others[p])


def _is_learned(history: History, p: int, q: int) -> bool:
    if len(history.failed(p)) < AGREEMENTS or len(history.failed(q)) < AGREEMENTS:
        return False
    (failed, measured), (others, known) = _tried(history, p), _tried(history, q)
    return int((failed & others).sum()) >= AGREEMENTS and not (failed & known).any() and not (measured & others).any()


def _tried(history: History, p: int) -> tuple[BoolArray, BoolArray]:
    """Which designs of the history failed in purchase p, and which were measured (m, each)."""
    keys = history.known_designs.keys(history.purchases[p].options)
    return np.isin(keys, history.failed(p)), np.isin(keys, history.measured(p))


@dataclass(slots=True)
class _Learned:
    """The last classifier of a cause, with what it was learned from; all of it follows from the history."""

    start: bytes = b""
    hypotheses: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    data: bytes = b""
    classifier: Classifier | None = None


_cache: WeakKeyDictionary[History, dict[tuple[int, ...], _Learned]] = WeakKeyDictionary()


def _learned(history: History, cause: tuple[int, ...], designs: Designs) -> FloatArray:
    """The chance of success of designs (m,), learned from those tried so far."""
    options = _union(history, cause)
    tried = [_tried(history, p) for p in cause]
    failed, measured = (np.any(some, axis=0) for some in zip(*tried, strict=True))
    keys = history.known_designs.keys(options)
    rows = np.flatnonzero(measured | failed)
    rows = rows[np.sort(np.unique(keys[rows], return_index=True)[1])]
    rows = np.sort(np.concatenate([_latest(rows[~failed[rows]]), _latest(rows[failed[rows]])]))
    X, good, groups = history.known_designs[rows].encoded(options), ~failed[rows], history.space.groups(options)
    return _classifier(history, cause, X, good, groups).chances(designs.encoded(options))


def _classifier(
    history: History, cause: tuple[int, ...], X: FloatArray, good: BoolArray, groups: IntArray
) -> Classifier:
    """The classifier of a cause, learned from encoded designs (s, d) that were good or failed (s,)."""
    kept = _cache.setdefault(history, {}).setdefault(cause, _Learned())
    data = X.tobytes() + good.tobytes()
    if kept.classifier is None or data != kept.data:
        start = refit_count(len(X), GROWTH)
        start = start if 0 < good[:start].sum() < start else len(X)
        if (first := X[:start].tobytes() + good[:start].tobytes()) != kept.start:
            rng = np.random.default_rng(start)
            kept.hypotheses = hypotheses(X[:start], good[:start], groups=groups, rng=rng)
            kept.start = first
        kept.classifier = Classifier.fit(X, good, groups=groups, hypotheses=kept.hypotheses)
        kept.data = data
    return kept.classifier


def _union(history: History, cause: tuple[int, ...]) -> tuple[str, ...] | None:
    """The options that decide about any of these purchases; None is all."""
    some = [history.purchases[p].options for p in cause]
    if any(options is None for options in some):
        return None
    named = {name for options in some for name in options or ()}
    return tuple(name for name in history.space.names if name in named)


def _latest(rows: IntArray) -> IntArray:
    """The latest rows; older ones are dropped in blocks, so that not every question learns all of it again."""
    return rows[max(0, (len(rows) - FEWEST_KEPT) // BLOCK * BLOCK) :]
