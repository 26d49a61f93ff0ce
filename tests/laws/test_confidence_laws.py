"""What the boxes say holds for all values within them, whatever they are."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.effort import examples

from flexibo._internal.arrays import FloatArray
from flexibo.pareto import hypervolume, non_dominated
from flexibo.results.certificate import volumes
from flexibo.results.confidence import Confidence, standings


def boxes(seed: int, m: int, n: int, known: float) -> tuple[Confidence, FloatArray, np.random.Generator]:
    """Random boxes with ties, and losses within them."""
    rng = np.random.default_rng(seed)
    lower = rng.integers(0, 8, (m, n)).astype(float)
    upper = lower + np.where(rng.random((m, n)) < known, 0, rng.integers(0, 4, (m, n)))
    keys = np.arange(m * n, dtype=np.uint64).reshape(m, n)
    share = rng.integers(0, 3, (m, n)) / 2
    return Confidence(lower, upper, keys, 0.05, 1.0, 1, True), lower + share * (upper - lower), rng


cases = {
    "seed": st.integers(0, 2**32 - 1),
    "m": st.integers(1, 12),
    "n": st.integers(1, 4),
    "known": st.sampled_from([0.0, 0.5, 0.9, 1.0]),
}


@settings(deadline=None, max_examples=examples(100))
@given(**cases)
def test_a_confident_design_is_on_the_front_and_one_that_is_ruled_out_is_not(
    seed: int, m: int, n: int, known: float
) -> None:
    sure, losses, _ = boxes(seed, m, n, known)
    on_front = non_dominated(losses)
    for i, standing in enumerate(standings(sure, np.arange(m), m)):
        assert standing != "confident" or on_front[i]
        assert standing != "ruled out" or not on_front[i]


@settings(deadline=None, max_examples=examples(100))
@given(**cases)
def test_what_is_not_confident_may_be_dominated_and_what_is_not_ruled_out_may_be_on_the_front(
    seed: int, m: int, n: int, known: float
) -> None:
    sure, _, _ = boxes(seed, m, n, known)
    for i, standing in enumerate(standings(sure, np.arange(m), m)):
        lucky, unlucky = sure.worst.copy(), sure.best.copy()
        lucky[i], unlucky[i] = sure.best[i], sure.worst[i]
        assert (standing != "ruled out") == non_dominated(lucky)[i]
        assert (standing == "confident") == non_dominated(unlucky)[i]


@settings(deadline=None, max_examples=examples(100))
@given(**cases)
def test_what_is_reported_misses_at_most_the_gap(seed: int, m: int, n: int, known: float) -> None:
    sure, losses, rng = boxes(seed, m, n, known)
    front, reference = np.flatnonzero(rng.random(m) < 0.5), np.full(n, 9.0)
    most, least = volumes(sure, front, reference)
    best, found = hypervolume(losses, reference), hypervolume(losses[front], reference)
    assert best - found <= most - least + 1e-9 * most
    assert best == 0 or 1 - found / best <= (most - least) / most + 1e-9
