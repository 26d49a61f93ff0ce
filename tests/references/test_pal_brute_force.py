"""The classes of PAL and epsilon-PAL against their rules, written as loops over pairs of designs."""

from __future__ import annotations

import numpy as np
import pytest

from flexibo.methods.epsilon_pal import epsilon_classify
from flexibo.methods.pal import DISCARDED, OPEN, PARETO, classify


def beats(a, b):
    return all(a <= b) and any(a < b)


def plain(lower, upper):
    everyone = range(len(lower))
    classes = [DISCARDED if any(beats(upper[o], lower[i]) for o in everyone if o != i) else OPEN for i in everyone]
    left = [i for i in everyone if classes[i] == OPEN]
    for i in left:
        if not any(beats(lower[o], upper[i]) for o in left if o != i):
            classes[i] = PARETO
    return classes


def discarded(lower, upper, classes, epsilon):
    everyone = range(len(lower))
    classes = list(classes)
    chosen = [i for i in everyone if classes[i] == PARETO]
    for i in everyone:
        if classes[i] == OPEN and any(beats(upper[o] - epsilon, lower[i]) for o in chosen):
            classes[i] = DISCARDED
    left = [i for i in everyone if classes[i] != DISCARDED]
    pessimistic = [i for i in left if not any(beats(upper[o], upper[i]) for o in left)]
    for i in left:
        if (
            classes[i] == OPEN
            and i not in pessimistic
            and any(beats(upper[o] - epsilon, lower[i]) for o in pessimistic)
        ):
            classes[i] = DISCARDED
    return classes


def eased(lower, upper, width, epsilon):
    """From no classes at all: discard, cover with the widest first, and again, until nothing changes."""
    everyone = range(len(lower))
    classes = [OPEN] * len(lower)
    while True:
        previous = classes
        classes = discarded(lower, upper, classes, epsilon)
        left = [i for i in everyone if classes[i] != DISCARDED]
        free = [
            i
            for i in left
            if not any(beats(lower[o] + epsilon, upper[i]) for o in left if o != i) and classes[i] == OPEN
        ]
        for i in sorted(free, key=lambda i: -width[i]):
            if classes[i] == OPEN:
                classes[i] = PARETO
                for o in free:
                    if classes[o] == OPEN and beats(upper[i] - epsilon, lower[o]):
                        classes[o] = DISCARDED
        left = [i for i in everyone if classes[i] != DISCARDED]
        for i in everyone:
            if classes[i] == DISCARDED and not any(beats(upper[o] - epsilon, lower[i]) for o in left):
                classes[i] = OPEN
        if classes == previous:
            return classes


def regions(seed, k):
    """Regions on a grid, so that corners coincide, some of them exact and some of them copies."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 40))
    lower = rng.integers(0, 12, (m, k)) / 4.0
    upper = lower + rng.integers(0, 4, (m, k)) * (rng.random((m, 1)) < 0.6) / 4.0
    copies = rng.integers(0, m, m // 4)
    lower[: m // 4], upper[: m // 4] = lower[copies], upper[copies]
    return lower, upper


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_classes_of_pal_follow_its_rules(k):
    seen = np.zeros(3, dtype=int)
    for seed in range(60):
        lower, upper = regions(seed, k)
        status = classify(lower, upper)
        assert status.tolist() == plain(lower, upper), seed
        seen += np.bincount(status, minlength=3)
    assert seen.min() > 10


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_classes_of_epsilon_pal_follow_its_rules(k):
    seen = np.zeros(3, dtype=int)
    for seed in range(60):
        lower, upper = regions(seed, k)
        rng = np.random.default_rng((seed, k))
        width, epsilon = rng.random(len(lower)), rng.integers(0, 5, k) / 4.0
        status = epsilon_classify(lower, upper, width, np.zeros(len(lower), dtype=np.int64), epsilon)
        assert status.tolist() == eased(lower, upper, width, epsilon), seed
        seen += np.bincount(status, minlength=3)
    assert seen.min() > 10
