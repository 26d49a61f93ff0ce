"""ResNet: its size by hand and as published, and its blocks."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tests.unit.systems.networks.image_networks import (  # noqa: E402
    CHANNELS,
    CLASSES,
    check_counts,
    dense,
    n_parameters,
    normed,
    original,
)

from flexibo.systems.networks import resnet  # noqa: E402


def resnet_count(design: dict[str, int], *, stem_size: int = 3, classes: int = CLASSES) -> int:
    stem, p, b = (design[f"filters_{what}"] for what in ("stem", "projection", "bottleneck"))
    kp, kb = design["filter_size_projection"], design["filter_size_bottleneck"]
    total, inputs = normed(stem_size, CHANNELS, stem), stem
    for identities, scale in ((2, 1), (3, 2), (5, 4), (2, 8)):
        outputs = 4 * scale * p
        main = normed(1, inputs, scale * p) + normed(kp, scale * p, scale * p) + normed(1, scale * p, outputs)
        identity = normed(1, outputs, scale * b) + normed(kb, scale * b, scale * b) + normed(1, scale * b, outputs)
        total += main + normed(1, inputs, outputs) + identities * identity
        inputs = outputs
    return total + dense(32 * p, classes)


def test_parameters_are_as_many_as_by_hand_and_each_option_adds_some() -> None:
    check_counts("resnet", resnet_count)


def test_the_original_is_a_design_with_its_published_parameters() -> None:
    published = 25_557_032  # as torchvision says of ResNet-50
    design = original("resnet", 64, 64, 3, 64, 3)
    by_hand = resnet_count(design, classes=1000, stem_size=7)
    assert n_parameters("resnet", design, classes=1000, small=False) == by_hand == published


def test_a_block_without_residual_is_its_shortcut() -> None:
    x = torch.randn(2, 8, 6, 6)
    plain = resnet.ResidualBlock(8, 4, 8, 3, project=False).eval()
    torch.nn.init.zeros_(plain.residual[-1][1].weight)
    assert torch.equal(plain(x), x.relu())
    projecting = resnet.ResidualBlock(8, 4, 16, 3, stride=2, project=True).eval()
    torch.nn.init.zeros_(projecting.residual[-1][1].weight)
    assert torch.allclose(projecting(x), projecting.shortcut(x).relu())
