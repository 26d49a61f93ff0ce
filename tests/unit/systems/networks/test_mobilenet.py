"""MobileNet: its size by hand and as published, and its blocks."""

from __future__ import annotations

from itertools import pairwise

import pytest

pytest.importorskip("torch")
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
)

from flexibo.systems.networks import mobilenet  # noqa: E402


def mobilenet_count(design: dict[str, int], *, classes: int = CLASSES) -> int:
    stem, size = design["filters_stem"], design["filter_size_stem"]
    a, b, c, d = (design[f"filters_block_{group}"] for group in (1, 2, 3, 4))
    widths = [stem, a // 2, a, a, b, b, c, c, c, c, c, c, d, d]
    blocks = sum(9 * i + 2 * i + normed(1, i, o) for i, o in pairwise(widths))
    return normed(size, CHANNELS, stem) + blocks + dense(d, classes)


def test_parameters_are_as_many_as_by_hand_and_each_option_adds_some() -> None:
    check_counts("mobilenet", mobilenet_count)


def test_the_original_is_a_design_with_its_published_parameters() -> None:
    published = 4_253_864 - 21_888  # as Keras says, which counts 21,888 that do not learn
    design = original("mobilenet", 32, 3, 128, 256, 512, 1024)
    by_hand = mobilenet_count(design, classes=1000)
    assert n_parameters("mobilenet", design, classes=1000, small=False) == by_hand == published


def test_a_separable_convolution_filters_each_channel_on_its_own() -> None:
    check_separable(mobilenet.separable(4, 6))
