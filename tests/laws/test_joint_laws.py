"""Joint beliefs: draws and covariances agree with means and deviations, for every surrogate that has them."""

from __future__ import annotations

import numpy as np
import pytest

from flexibo.errors import InvalidTypeError
from flexibo.surrogates import PAPER_GP, GaussianProcess, Joint, RandomForest, Surrogate, Warped, joint, posterior

SURROGATES: dict[str, Surrogate] = {
    "gp": GaussianProcess(),
    "paper's gp": PAPER_GP,
    "forest": RandomForest(trees=32),
    "warped": Warped(GaussianProcess()),
}


@pytest.fixture(scope="module", params=SURROGATES)
def fitted(request: pytest.FixtureRequest) -> Joint:
    rng = np.random.default_rng(0)
    X = rng.random((12, 3))
    y = np.exp(X[:, 0] + np.sin(4.0 * X[:, 1]))
    return joint(SURROGATES[request.param].fit(X, y, groups=np.arange(3), rng=rng))


def test_draws_have_the_mean_the_deviation_and_the_covariance_of_the_belief(fitted: Joint) -> None:
    X = np.random.default_rng(1).random((40, 3))
    drawn = fitted.draws(X, 4000, np.random.default_rng(2))
    middle, deviation = fitted.predict(X)  # type: ignore[attr-defined]
    assert drawn.shape == (4000, 40)
    centre = np.median(drawn, axis=0) if isinstance(fitted, Warped) else drawn.mean(axis=0)
    assert np.abs(centre - middle).max() < 0.08 * deviation.max()
    assert np.sqrt(fitted.covariance(X, X).diagonal()) == pytest.approx(deviation, rel=1e-4, abs=1e-6)
    if not isinstance(fitted, Warped):
        assert np.cov(drawn.T) == pytest.approx(fitted.covariance(X, X), abs=0.1 * deviation.max() ** 2)


def test_many_designs_are_drawn_from_the_same_belief_as_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posterior, "FEW_DESIGNS", 60)
    rng = np.random.default_rng(0)
    X = rng.random((10, 2))
    gp = GaussianProcess().fit(X, np.sin(5 * X[:, 0]) + X[:, 1], groups=np.arange(2), rng=rng)
    many = rng.random((90, 2))
    drawn = np.concatenate([gp.draws(many, 10, np.random.default_rng(seed)) for seed in range(200)])
    mean, deviation = gp.predict(many)
    assert np.abs(drawn.mean(axis=0) - mean).max() < 0.15 * deviation.max()
    assert (drawn.std(axis=0) / deviation)[deviation > 0.1 * deviation.max()] == pytest.approx(1.0, abs=0.25)
    pairs = gp.covariance(many[:30], many[30:60])
    assert np.cov(drawn[:, :60].T)[:30, 30:] == pytest.approx(pairs, abs=0.15 * deviation.max() ** 2)


def test_the_same_generator_draws_the_same(fitted: Joint) -> None:
    X = np.random.default_rng(1).random((5, 3))
    first, second = (fitted.draws(X, 3, np.random.default_rng(9)) for _ in range(2))
    assert np.array_equal(first, second)


def test_a_surrogate_without_joint_draws_is_named_in_one_sentence() -> None:
    class Plain:
        def fit(self, X: object, y: object, *, groups: object, rng: object) -> Plain:
            return self

    with pytest.raises(InvalidTypeError, match=r"Plain.*draws\(\)"):
        joint(Plain())  # type: ignore[arg-type]
