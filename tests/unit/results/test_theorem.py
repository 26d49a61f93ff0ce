"""The paper's Theorem 1 as an expression."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from flexibo.errors import InvalidValueError
from flexibo.results.theorem import information_gain, theorem_1_bound
from flexibo.surrogates import GaussianProcess, RandomForest, Warped

GIVEN: dict[str, Any] = {
    "a": 3.0, "beta": 2.0, "gamma": 0.5, "noise": 0.5, "total_cost": 12.0, "costs": [1.0, 2.0, 3.0]
}  # fmt: skip


def test_the_expression_is_the_papers() -> None:
    c_1, theta_x = 8.0 / math.log(1.0 + 0.5**-2), 2.0
    removed = 2.0 * (c_1 * 2.0 * 0.5 / 2.0) ** 1.5 * math.sqrt(12.0 / theta_x * 4.0) / 6.0
    assert theorem_1_bound(**GIVEN) == pytest.approx(math.sqrt(3.0) * 9.0 / 2.0 * (27.0 - removed))


def test_it_falls_below_zero_as_information_grows_so_it_bounds_nothing() -> None:
    bounds = [theorem_1_bound(**{**GIVEN, "gamma": gamma}) for gamma in (0.0, 1.0, 100.0)]
    assert bounds[0] > bounds[1] > 0.0 > bounds[2]


@pytest.mark.parametrize(
    ("name", "value"), [("a", -1.0), ("beta", math.nan), ("gamma", math.inf), ("noise", 0.0), ("total_cost", -1.0)]
)
def test_what_is_no_legal_quantity_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(InvalidValueError, match=f"^{name} is "):
        theorem_1_bound(**{**GIVEN, name: value})
    with pytest.raises(InvalidValueError, match=r"^costs is "):
        theorem_1_bound(**{**GIVEN, "costs": [1.0, 0.0]})


def test_the_information_gain_is_half_the_log_determinant() -> None:
    rng = np.random.default_rng(0)
    X, y, groups = rng.random((12, 2)), rng.random(12), np.array([0, 1])
    gp = GaussianProcess(kernel="squared-exponential", noise=0.1).fit(X, y, groups=groups, rng=rng)
    found = gp.hyperparameters
    Z = X / np.array(found.length_scales)
    K = found.variance * np.exp(-0.5 * ((Z[:, None] - Z) ** 2).sum(axis=2))
    expected = 0.5 * np.linalg.slogdet(np.eye(12) + K / found.noise)[1]
    assert information_gain(gp) == pytest.approx(expected, rel=1e-6)
    warped = Warped(GaussianProcess()).fit(X, y + 1.0, groups=groups, rng=rng)
    assert information_gain(warped) > 0.0


def test_only_a_fitted_gaussian_process_has_one() -> None:
    for model in (GaussianProcess(), RandomForest()):
        with pytest.raises(InvalidValueError, match="Gaussian process"):
            information_gain(model)
