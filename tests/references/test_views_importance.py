"""Importance against Sobol indices that are known in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from flexibo import Objective, Space, Study
from flexibo.space import Real
from flexibo.views import importance_view

Function = Callable[[Mapping[str, float]], float]


class Known:
    """A surrogate that predicts a function without error: what is left is the error of the indices themselves."""

    def __init__(self, function: Function, space: Space) -> None:
        self.function, self.space = function, space

    def fit(self, X: object, y: object, *, groups: object, rng: object) -> Known:
        return self

    def extend(self, X: object, y: object) -> Known:
        return self

    def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        means = np.array([self.function(design) for design in self.space.decode(X)])  # type: ignore[arg-type]
        return means, np.zeros(len(means))


def study_of(function: Function, space: Space, count: int = 8) -> Study:
    study = Study(space, ["f", "g"], surrogate=Known(function, space), seed=0, n_initial=2)
    for design in space.sample(count, np.random.default_rng(0)):
        study.add(design, {"f": function(design), "g": 1.0})  # type: ignore[arg-type]
    return study


def ishigami(design: Mapping[str, float]) -> float:
    a, b, c = design["a"], design["b"], design["c"]
    return math.sin(a) + 7.0 * math.sin(b) ** 2 + 0.1 * c**4 * math.sin(a)


def test_ishigami_has_the_indices_of_the_literature() -> None:
    side = Real(-math.pi, math.pi)
    study = study_of(ishigami, Space({"a": side, "b": side, "c": side}))
    view = importance_view(study, draws=2048)
    assert [view.main["f"][name] for name in "abc"] == pytest.approx([0.3139, 0.4424, 0.0], abs=0.02)
    assert [view.total["f"][name] for name in "abc"] == pytest.approx([0.5576, 0.4424, 0.2437], abs=0.02)


def test_a_sum_has_shares_as_its_variances_and_no_interactions() -> None:
    space = Space({"a": (0.0, 1.0), "b": (0.0, 1.0), "k": ["x", "y"], "n": (0, 2), "idle": (0.0, 1.0)})

    def total(design: Mapping[str, float]) -> float:
        return 3.0 * design["a"] - 2.0 * design["b"] + 0.5 * (design["k"] == "x") + 0.25 * design["n"]  # type: ignore[comparison-overlap]

    view = importance_view(study_of(total, space))
    variances = np.array([9 / 12, 4 / 12, 0.25 * 0.25, 0.0625 * 2 / 3, 0.0])
    shares = (variances / variances.sum()).tolist()
    assert list(view.main["f"].values()) == pytest.approx(shares, abs=0.03)
    assert list(view.total["f"].values()) == pytest.approx(shares, abs=0.03)
    assert view.total["f"]["idle"] == pytest.approx(0.0, abs=1e-9)


def test_a_product_of_two_centred_options_is_all_interaction() -> None:
    view = importance_view(study_of(lambda d: d["a"] * d["b"], Space({"a": (-1.0, 1.0), "b": (-1.0, 1.0)})), draws=1024)
    assert list(view.main["f"].values()) == pytest.approx([0.0, 0.0], abs=0.03)
    assert list(view.total["f"].values()) == pytest.approx([1.0, 1.0], abs=0.03)


def test_a_fitted_gaussian_process_finds_the_indices_of_a_smooth_function() -> None:
    space = Space({"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)})
    study = Study(space, [Objective("f", "max"), Objective("g", options=["a"])], seed=0)
    for design in space.sample(60, np.random.default_rng(1)):
        a, b = float(design["a"]), float(design["b"])  # type: ignore[arg-type]
        study.add(design, {"f": 3.0 * a + 2.0 * b, "g": a})
    view = importance_view(study)
    assert [view.main["f"][name] for name in "abc"] == pytest.approx([9 / 13, 4 / 13, 0.0], abs=0.04)
    assert view.total["g"] == {"a": pytest.approx(1.0), "b": 0.0, "c": 0.0}


def test_an_inactive_option_matters_only_as_often_as_it_is_active() -> None:
    space = Space({"mode": ["on", "off"], "level": (0.0, 1.0)}, conditions={"level": {"mode": ["on"]}})

    class LastColumn(Known):
        def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return X[:, -1], np.zeros(len(X))  # the level, and 0.5 where it is inactive

    study = Study(space, ["f", "g"], surrogate=LastColumn(lambda _: 0.0, space), seed=0, n_initial=2)
    for design in space.sample(8, np.random.default_rng(0)):
        study.add(design, {"f": 0.0, "g": 1.0})
    view = importance_view(study, draws=1024)
    # (level - 0.5) times whether it is active: half of the variance is that of its mean, half an interaction.
    assert view.main["f"]["mode"] == pytest.approx(0.0, abs=0.03)
    assert view.total["f"]["level"] == pytest.approx(1.0, abs=0.02)
    assert view.main["f"]["level"] == pytest.approx(0.5, abs=0.05)


def test_of_a_pool_the_values_that_are_in_it_count() -> None:
    rows = [{"a": 0.0, "b": 0.0}, {"a": 0.0, "b": 1.0}, {"a": 1.0, "b": 1.0}, {"a": 0.0, "b": 0.5}]
    view = importance_view(study_of(lambda d: d["a"] + d["b"], Space.from_designs(rows), count=4), draws=1024)
    variances = np.array([np.var([row[name] for row in rows]) for name in "ab"])
    assert list(view.main["f"].values()) == pytest.approx((variances / variances.sum()).tolist(), abs=0.03)
