"""What networks share: options, a few layers, and how weights begin."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from flexibo.errors import InvalidValueError  # noqa: E402
from flexibo.systems.networks.layers import (  # noqa: E402
    GlobalAverage,
    classifier,
    convolution,
    dropout,
    filter_size,
    filters,
    he_initialised,
    option,
)


def test_an_option_that_a_design_has_not_is_named_even_if_another_is_none() -> None:
    assert option({"width": None}, "width") is None
    with pytest.raises(InvalidValueError, match="no option 'depth'"):
        option({"width": None}, "depth")


def test_filters_are_whole_numbers_from_one_on_and_sides_of_filters_are_odd() -> None:
    assert (filters({"f": 1}, "f"), filter_size({"k": 1}, "k"), filter_size({"k": 9}, "k")) == (1, 1, 9)
    with pytest.raises(InvalidValueError, match="'f' is 0;"):
        filters({"f": 0}, "f")
    with pytest.raises(InvalidValueError, match="'k' is 2;"):
        filter_size({"k": 2}, "k")
    with pytest.raises(InvalidValueError, match="'k' is -1;"):
        filter_size({"k": -1}, "k")


@pytest.mark.parametrize("value", [1, 1.0, -0.1, True, "0.5", math.nan])
def test_a_dropout_is_a_share_below_one(value: object) -> None:
    assert dropout({"dropout": 0}) == 0.0
    assert dropout({"dropout": 0.9}) == 0.9
    with pytest.raises(InvalidValueError, match=f"'dropout' is {value!r};"):
        dropout({"dropout": value})


def test_the_head_sees_the_average_of_each_channel() -> None:
    x = torch.arange(24.0).reshape(1, 2, 3, 4)
    assert GlobalAverage()(x).tolist() == [[sum(range(12)) / 12, sum(range(12, 24)) / 12]]


def test_a_convolution_is_normalised_and_then_rectified_if_asked() -> None:
    x = torch.randn(4, 3, 6, 6)
    plain, rectified = convolution(3, 5, 3, activate=False), convolution(3, 5, 3)
    rectified.load_state_dict(plain.state_dict())
    filtered = torch.nn.functional.conv2d(x, plain[0].weight, padding=1)
    mean, variance = filtered.mean((0, 2, 3), keepdim=True), filtered.var((0, 2, 3), keepdim=True, unbiased=False)
    expected = (filtered - mean) / (variance + 1e-5).sqrt()
    assert torch.allclose(plain(x), expected, atol=1e-5)
    assert torch.allclose(rectified(x), expected.clamp(min=0), atol=1e-5)


def test_a_convolution_keeps_the_sides_of_an_image_or_divides_them_by_its_stride() -> None:
    for size in (1, 3, 9):
        assert convolution(2, 4, size)(torch.randn(2, 2, 8, 8)).shape == (2, 4, 8, 8)
        assert convolution(2, 4, size, stride=2)(torch.randn(2, 2, 8, 8)).shape == (2, 4, 4, 4)
    assert convolution(4, 4, 3, groups=4)[0].weight.shape == (4, 1, 3, 3)


def test_convolutions_begin_with_the_deviation_that_rectifiers_need_and_without_bias() -> None:
    network = he_initialised(torch.nn.Sequential(torch.nn.Conv2d(16, 64, 3), torch.nn.Conv2d(64, 8, 1, bias=False)))
    first, second = network
    assert first.weight.std().item() == pytest.approx(math.sqrt(2 / (9 * 16)), rel=0.05)
    assert second.weight.std().item() == pytest.approx(math.sqrt(2 / 64), rel=0.2)
    assert not first.bias.any()


def test_a_classifier_ends_with_averages_and_one_output_per_class() -> None:
    network = classifier([convolution(3, 6, 3)], 6, 4)
    assert network(torch.randn(2, 3, 5, 7)).shape == (2, 4)
    assert isinstance(network[-2], GlobalAverage)
