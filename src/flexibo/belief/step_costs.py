"""What the steps of an evaluation cost: which share of the whole way is paid up to each stop.

The first epochs of a training often cost more than the later ones (data is read, kernels are compiled), or less. The
shares are learned from the designs that were measured in several pieces: of each, the pieces show how its cost is
divided among the stops, and what it would have cost in all. Both are found by turns (expectation and maximisation).
At first every step costs the same; this counts as much as `PRIOR` designs.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray, KeyArray
from flexibo.belief.reuse import paid_whole
from flexibo.history import History
from flexibo.space import Designs

PRIOR = 1.0
TURNS = 12
MOST_LOOKS = 0.1  # what early stops may cost until an evaluation is completed, in mean evaluations, at odds of 1


def paid_shares(history: History, p: int) -> FloatArray:
    """The share of what all steps of purchase p cost that is paid up to each of its stops (L,); the last is 1."""
    stops = history.objectives[history.purchases[p].members[0]].stops
    designs, costs = history.costs(p)
    keys = designs.keys(history.purchases[p].options)
    return np.array(_remembered_shares(stops, keys.tobytes(), history.spans(p).tobytes(), costs.tobytes()))


@lru_cache(maxsize=16)  # a question asks for them a dozen times
def _remembered_shares(stops: tuple[int, ...], keys: bytes, spans: bytes, costs: bytes) -> tuple[float, ...]:
    pairs = np.frombuffer(spans, dtype=np.int64).reshape(-1, 2)
    shares = learned_shares(
        np.array(stops), np.frombuffer(keys, dtype=np.uint64), pairs, np.frombuffer(costs, dtype=np.float64)
    )
    return tuple(shares.tolist())


def learned_shares(stops: IntArray, keys: KeyArray, spans: IntArray, costs: FloatArray) -> FloatArray:
    """The shares (L,) paid up to each stop, given what each piece (s,) of a design cost, from and to a step (s, 2).

    >>> keys, spans = np.array([7, 7], dtype=np.uint64), np.array([[0, 1], [1, 10]])
    >>> learned_shares(np.array([1, 10]), keys, spans, np.array([5.0, 5.0])).round(2).tolist()
    [0.3, 1.0]
    """
    equal = np.diff(stops, prepend=0) / stops[-1]
    _, design, pieces = np.unique(keys, return_inverse=True, return_counts=True)
    used = (pieces[design] > 1) & (costs > 0.0)
    if not used.any():
        return np.cumsum(equal)
    _, design = np.unique(design[used], return_inverse=True)
    covers, costs = _covers(stops, spans[used]), costs[used]
    count = int(design.max()) + 1
    covered = np.zeros((count, len(stops)))
    np.add.at(covered, design, covers)
    shares = equal
    for _ in range(TURNS):
        parts = covers * shares
        divided = np.zeros((count, len(stops)))
        np.add.at(divided, design, parts * (costs / parts.sum(axis=1))[:, None])
        total = divided.sum(axis=1) / np.minimum(covered * shares, shares).sum(axis=1)
        divided = divided / np.maximum(covered, 1.0) + np.maximum(1.0 - covered, 0.0) * shares * total[:, None]
        each = divided / divided.sum(axis=1, keepdims=True)
        shares = (PRIOR * equal + each.sum(axis=0)) / (PRIOR + count)
    return np.asarray(np.cumsum(shares) / shares.sum())


def paid_up_to(steps: IntArray, stops: tuple[int, ...], shares: FloatArray) -> FloatArray:
    """The share of the whole cost (m,) that is paid up to each of some steps (m,), given that at the stops."""
    return np.asarray(np.interp(steps, [0, *stops], [0.0, *shares.tolist()]))


def whole_costs(history: History, p: int) -> tuple[Designs, FloatArray]:
    """The designs and costs of all paid evaluations of purchase p, in order, each as if it had gone all the way.

    Those that used again what an earlier one had made are left out.
    """
    designs, costs = history.costs(p)
    first = paid_whole(history, p)
    if not first.all():
        designs, costs = designs[np.flatnonzero(first)], costs[first]
    stops = history.objectives[history.purchases[p].members[0]].stops
    if not stops or not len(costs):
        return designs, costs
    paid = paid_up_to(history.spans(p), stops, paid_shares(history, p))
    return designs, costs / (paid[:, 1] - paid[:, 0])


def may_look(history: History, j: int, odds: float) -> bool:
    """Whether an early stop of objective j may be asked for: not if looks cost much since one was completed.

    A look shows an early stop alone. How much that tells shows only in evaluations that are completed, and a rule that
    trusts it too much would look at one design after the other. So looks may cost the more, the greater the `odds` are
    that they tell something.
    """
    objective = history.objectives[j]
    if not objective.stops or math.isinf(odds):
        return True
    p = history.purchase_of(objective.name)
    _, costs = history.costs(p)
    if not len(costs):
        return True
    done = np.flatnonzero(history.spans(p)[:, 1] == objective.stops[-1])
    whole = float(whole_costs(history, p)[1].mean())
    steps = [e.stop or 0 for e in history.pending.values() if objective.name in e.yields and history.is_partial(e)]
    shares = paid_up_to(np.array([*steps, objective.looks[0]]), objective.stops, paid_shares(history, p))
    return float(costs[done.max(initial=-1) + 1 :].sum() + whole * shares.sum()) <= MOST_LOOKS * odds * whole


def _covers(stops: IntArray, spans: IntArray) -> FloatArray:
    """How much (s, L) of the way to each stop, from the one before it, lies in each of some spans (s, 2)."""
    before = np.concatenate([[0], stops[:-1]])
    overlap = np.minimum(spans[:, 1:], stops) - np.maximum(spans[:, :1], before)
    return np.asarray(np.clip(overlap, 0, None) / (stops - before))
