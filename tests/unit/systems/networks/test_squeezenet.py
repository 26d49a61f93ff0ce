"""SqueezeNet: its size by hand, and its fire modules."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tests.unit.systems.networks.image_networks import (  # noqa: E402
    CHANNELS,
    CLASSES,
    check_counts,
    dense,
    images,
    normed,
    without_dropout,
)

from flexibo.systems.networks import squeezenet  # noqa: E402
from flexibo.systems.options import NETWORKS  # noqa: E402


def fire(inputs: int, f: int) -> int:
    squeeze = f // 4
    return normed(1, inputs, squeeze) + normed(1, squeeze, f) + normed(3, squeeze, f)


def squeezenet_count(design: dict[str, int]) -> int:
    stem, size = design["filters_stem"], design["filter_size_stem"]
    a, b, c = design["filters_fire_1"], design["filters_fire_2"], design["filters_fire_block"]
    group_1 = fire(stem, a) + 2 * fire(2 * a, a)
    group_2 = fire(2 * a, b) + 3 * fire(2 * b, b)
    return normed(size, CHANNELS, stem) + group_1 + group_2 + fire(2 * b, c) + dense(2 * c, CLASSES)


def test_parameters_are_as_many_as_by_hand_and_each_option_adds_some() -> None:
    check_counts("squeezenet", squeezenet_count)


def test_a_fire_module_puts_its_1x1_channels_before_its_3x3_channels_and_rectifies_both() -> None:
    module = squeezenet.Fire(5, 8).eval()
    x = torch.randn(1, 5, 6, 6)
    squeezed = module.squeeze(x)
    fresh = 1 / (1 + module.normalise.eps) ** 0.5  # what a normalisation that has seen nothing multiplies by
    expected = fresh * torch.cat([module.expand_1(squeezed), module.expand_3(squeezed)], 1).clamp(min=0)
    assert squeezed.shape[1] == 2
    assert (squeezed >= 0).all()
    assert torch.allclose(module(x), expected)
    assert (module(x) == 0).any()


@pytest.mark.parametrize("seed", range(4))
def test_a_squeezenet_as_narrow_as_can_be_is_not_dead_from_the_start(seed: int) -> None:
    # One filter in every squeeze layer: nothing goes round it, and without normalisation most such networks are mute.
    torch.manual_seed(seed)
    design = {name: 3 if "size" in name else 4 for name in NETWORKS["squeezenet"]}
    model = without_dropout(squeezenet.build(design, channels=CHANNELS, classes=CLASSES))
    outputs = model(images(16, 16))
    assert (outputs.std(0) > 0.01).any()
    outputs.square().sum().backward()
    assert model[0][0].weight.grad.abs().max() > 0
