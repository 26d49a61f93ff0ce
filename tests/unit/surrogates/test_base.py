"""What a surrogate says of a loss, if it says nothing special, and the checks of its data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.surrogates.base import (
    Local,
    Stepwise,
    around,
    below,
    dense_groups,
    designs,
    hull,
    interval,
    is_constant,
    joint,
    location_and_scale,
    log_evidence,
    normal_below,
    offers,
    training_data,
    unfitted,
)

X = np.zeros((2, 1))


class Normal:
    """Predicts two normal losses."""

    def predict(self, X: object) -> tuple[np.ndarray, np.ndarray]:
        return np.array([1.0, 5.0]), np.array([2.0, 0.0])


class Skew(Normal):
    """Has intervals and probabilities of its own."""

    def interval(self, X: object, half: float) -> tuple[np.ndarray, ...]:
        return np.zeros(2), np.ones(2), np.full(2, half)

    def below(self, X: object, limit: float) -> np.ndarray:
        return np.full(2, 0.25)


class Mixture(Normal):
    """Has a hull of its own."""

    def hull(self, X: object, half: float) -> tuple[np.ndarray, ...]:
        return np.full(2, -9.0), np.ones(2), np.full(2, 9.0)


class Neighbour(Normal):
    """Chooses rows for a question."""

    def around(self, X: object) -> str:
        return "chosen"


def listed(arrays: Any) -> list[list[float]]:
    return [array.tolist() for array in arrays]


def test_an_interval_is_symmetric_unless_the_surrogate_has_its_own() -> None:
    assert listed(interval(Normal(), X, 3.0)) == [[-5.0, 5.0], [1.0, 5.0], [7.0, 5.0]]  # type: ignore[arg-type]
    assert listed(interval(Skew(), X, 3.0)) == [[0.0, 0.0], [1.0, 1.0], [3.0, 3.0]]  # type: ignore[arg-type]


def test_a_hull_is_the_interval_unless_there_are_several_models() -> None:
    for model in (Normal(), Skew()):
        assert listed(hull(model, X, 3.0)) == listed(interval(model, X, 3.0))  # type: ignore[arg-type]
    assert listed(hull(Mixture(), X, 3.0))[0] == [-9.0, -9.0]  # type: ignore[arg-type]


def test_the_probability_of_a_limit_is_that_of_a_normal_loss_unless_the_surrogate_has_its_own() -> None:
    assert below(Normal(), X, 3.0) == pytest.approx([0.8413447, 0.0])  # type: ignore[arg-type]
    assert below(Normal(), X, 5.0)[1] == 1.0  # type: ignore[arg-type]
    assert below(Skew(), X, 3.0).tolist() == [0.25, 0.25]  # type: ignore[arg-type]


def test_a_tiny_deviation_is_as_good_as_knowledge() -> None:
    mean, tiny = np.array([0.0, 0.0]), np.full(2, 1e-320)
    assert normal_below(mean, tiny, 1.0).tolist() == [1.0, 1.0]
    assert normal_below(mean, tiny, -1.0).tolist() == [0.0, 0.0]


def test_only_a_local_surrogate_chooses_rows() -> None:
    model = Normal()
    assert around(model, X) is model  # type: ignore[arg-type]
    assert around(Neighbour(), X) == "chosen"  # type: ignore[arg-type, comparison-overlap]


def test_what_a_surrogate_cannot_do_is_named_with_its_class() -> None:
    with pytest.raises(InvalidTypeError, match=r"Normal.*draws\(\).*covariance\(\)"):
        joint(Normal())  # type: ignore[arg-type]
    with pytest.raises(InvalidTypeError, match=r"Normal.*log_evidence"):
        log_evidence(Normal())  # type: ignore[arg-type]
    assert "Normal" in str(unfitted("Normal"))


def test_data_become_arrays_of_floats() -> None:
    designs_, losses = training_data([[1, 2]], [3])
    assert (designs_.dtype, losses.dtype) == (np.float64, np.float64)
    assert designs([[1, 2]], columns=2).tolist() == [[1.0, 2.0]]


def test_designs_of_another_width_are_refused() -> None:
    with pytest.raises(InvalidValueError, match=r"2 columns.* 3"):
        designs([[1, 2]], columns=3)


def test_the_row_that_is_not_finite_is_named() -> None:
    with pytest.raises(InvalidValueError, match=r"^X .*row 2"):
        designs([[1.0], [2.0], [np.inf]], columns=1)


def test_groups_are_numbered_from_zero_in_the_order_of_their_numbers() -> None:
    assert dense_groups([9, 4, 4, 7], columns=4).tolist() == [2, 0, 0, 1]
    assert dense_groups([], columns=0).tolist() == []


@pytest.mark.parametrize(
    ("y", "location", "scale"),
    [
        ([1.0, 3.0], 2.0, 1.0),
        ([5.0, 5.0], 5.0, 5.0),
        ([-5.0], -5.0, 5.0),
        ([0.0, 0.0], 0.0, 1.0),
        ([1.0, 1.0 + 1e-15], 1.0, 1.0),
        ([1e200, 3e200], 2e200, 1e200),
        ([1e-200, 3e-200], 2e-200, 1e-200),
    ],
)
def test_losses_have_a_location_and_a_scale_in_their_own_unit(y: list[float], location: float, scale: float) -> None:
    assert location_and_scale(np.array(y)) == pytest.approx((location, scale), rel=1e-12, abs=0.0)


@pytest.mark.parametrize("tiny", [[5e-324, 1e-323] * 4, [0.0, 5e-324] * 4])
def test_even_losses_at_the_edge_of_what_a_float_holds_have_a_scale(tiny: list[float]) -> None:
    assert location_and_scale(np.array(tiny))[1] > 0


def test_losses_that_differ_by_rounding_are_constant() -> None:
    assert is_constant(np.array([1e6, 1e6 + 1e-9]))
    assert not is_constant(np.array([1e6, 1e6 + 1e-5]))


def test_a_model_offers_what_its_class_or_the_model_itself_has_and_no_property_is_computed() -> None:
    class Careful(Normal):
        @property
        def is_stepwise(self) -> bool:
            raise AssertionError

    given = Normal()
    assert not offers(given, Stepwise)
    assert not offers(given, Local)
    given.is_stepwise = False  # type: ignore[attr-defined]
    assert offers(given, Stepwise)
    assert not offers(Normal(), Stepwise)
    assert offers(Careful(), Stepwise)
