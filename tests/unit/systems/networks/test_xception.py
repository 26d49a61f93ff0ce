"""Xception: its size by hand and as published, and its blocks."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tests.unit.systems.networks.image_networks import (  # noqa: E402
    CHANNELS,
    CLASSES,
    check_counts,
    check_separable,
    dense,
    n_parameters,
    normed,
    original,
    smallest,
)

from flexibo.systems.networks import xception  # noqa: E402


def xception_count(design: dict[str, int], *, classes: int = CLASSES) -> int:
    e, m = design["filters_entry"], design["filters_middle"]
    ke, km, kx = (design[f"filter_size_{flow}"] for flow in ("entry", "middle", "exit"))

    def separable(k: int, i: int, o: int) -> int:
        return k**2 * i + normed(1, i, o)

    entry = normed(ke, CHANNELS, e) + normed(ke, e, 2 * e)
    for i, o in ((2 * e, 4 * e), (4 * e, 8 * e), (8 * e, m)):
        entry += separable(ke, i, o) + separable(ke, o, o) + normed(1, i, o)
    middle = 8 * 3 * separable(km, m, m)
    last = separable(kx, m, m) + separable(kx, m, 1024) + normed(1, m, 1024)
    last += separable(kx, 1024, 1536) + separable(kx, 1536, 2048)
    return entry + middle + last + dense(2048, classes)


def test_parameters_are_as_many_as_by_hand_and_each_option_adds_some() -> None:
    check_counts("xception", xception_count)


def test_the_original_is_a_design_with_its_published_parameters() -> None:
    published = 22_910_480 - 54_528  # as Keras says, which counts 54,528 that do not learn
    design = original("xception", 32, 3, 728, 3, 3)
    by_hand = xception_count(design, classes=1000)
    assert n_parameters("xception", design, classes=1000, small=False) == by_hand == published


def test_a_block_without_residual_is_its_shortcut() -> None:
    x = torch.randn(2, 8, 6, 6)
    middle = xception.SeparableBlock([8, 8, 8], 3, halve=False).eval()
    torch.nn.init.zeros_(middle.residual[-1][-1][1].weight)
    assert torch.equal(middle(x.clone()), x)


def test_only_the_first_block_of_xception_has_no_rectifier_before_its_first_convolution() -> None:
    model = xception.build(smallest("xception"), channels=CHANNELS, classes=CLASSES)
    blocks = [module for module in model if isinstance(module, xception.SeparableBlock)]
    assert [isinstance(block.residual[0], torch.nn.ReLU) for block in blocks] == [False] + 11 * [True]


def test_a_separable_convolution_filters_each_channel_on_its_own() -> None:
    check_separable(xception.separable(4, 6, 3))
