"""Yes and no, learned from a few designs."""

from __future__ import annotations

import numpy as np
import pytest

from flexibo import Space
from flexibo._internal.arrays import FloatArray
from flexibo.surrogates.classification import KEPT, Classifier, hypotheses

SPACE = Space({"width": (1, 32), "depth": (1, 16), "kernel": ["a", "b", "c"], "idle": (0.0, 1.0)})
GROUPS = SPACE.groups(None)


def learned(held: object, X: FloatArray) -> Classifier:
    answers = np.asarray(held, dtype=bool)
    some = hypotheses(X, answers, groups=GROUPS, rng=np.random.default_rng(0))
    assert some.shape == (KEPT, 2, 4)
    return Classifier.fit(X, answers, groups=GROUPS, hypotheses=some)


def test_one_failure_lowers_the_chances_near_it_and_not_those_far_away() -> None:
    designs = SPACE.sample(8, np.random.default_rng(3))
    X = designs.encoded(None)
    held = np.arange(8) != 4
    chances = learned(held, X).chances(X)
    assert chances[4] < 0.4
    assert np.delete(chances, 4).min() > 0.6
    near = X[4:5].copy()
    near[:, 0] += 0.02
    assert learned(held, X).chances(near)[0] < 0.5


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("name", "works"),
    [
        ("corner", lambda d: d["width"] < 20 or d["depth"] < 9),
        ("band", lambda d: not 12 <= d["width"] <= 20),
        ("combination", lambda d: d["kernel"] != "b"),
    ],
)
def test_the_options_that_decide_are_learned(name: str, works: object, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tried, others = SPACE.sample(60, rng), SPACE.sample(300, rng)
    held = [works(design) for design in tried]  # type: ignore[operator]
    truth = np.array([works(design) for design in others])  # type: ignore[operator]
    chances = learned(held, tried.encoded(None)).chances(others.encoded(None))
    assert ((chances >= 0.5) == truth).mean() > 0.85, name


def test_a_chance_lies_between_never_and_always_and_the_weights_add_up() -> None:
    rng = np.random.default_rng(0)
    X = SPACE.sample(20, rng).encoded(None)
    for held in (np.ones(20), np.zeros(20), rng.random(20) < 0.5):
        classifier = learned(held, X)
        assert classifier.weights.sum() == pytest.approx(1.0)
        chances = classifier.chances(SPACE.sample(50, rng).encoded(None))
        assert ((chances > 0.0) & (chances < 1.0)).all()


def test_without_options_the_share_decides() -> None:
    X, groups = np.empty((10, 0)), np.empty(0, dtype=np.int64)
    held = np.arange(10) < 8
    some = hypotheses(X, held, groups=groups, rng=np.random.default_rng(0))
    chance = Classifier.fit(X, held, groups=groups, hypotheses=some).chances(np.empty((1, 0)))
    assert 0.6 < chance[0] < 0.9
