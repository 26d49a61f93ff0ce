"""LeNet: its size by hand, and the sides of its images."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tests.unit.systems.networks.image_networks import CHANNELS, CLASSES, check_counts, dense, images, smallest  # noqa: E402

from flexibo.systems.networks import lenet  # noqa: E402


def lenet_count(design: dict[str, int]) -> int:
    f, k = ([design[f"{what}_{layer}"] for layer in (1, 2, 3, 4)] for what in ("filters", "filter_size"))
    convolutions = (
        k[0] ** 2 * CHANNELS * f[0] + f[0]
        + k[1] ** 2 * f[0] * f[1] + f[1]
        + k[2] ** 2 * f[1] * f[2] + f[2]
        + k[3] ** 2 * f[2] * f[3] + f[3]
    )  # fmt: skip
    return convolutions + dense(f[3], 84) + dense(84, CLASSES)


def test_parameters_are_as_many_as_by_hand_and_each_option_adds_some() -> None:
    check_counts("lenet", lenet_count)


def test_lenet_halves_the_image_after_each_of_its_first_three_layers() -> None:
    seen: list[tuple[int, int]] = []
    model = lenet.build(smallest("lenet", filters_2=32, filters_4=64), channels=CHANNELS, classes=CLASSES)
    for module in model:
        if isinstance(module, torch.nn.Conv2d):
            module.register_forward_hook(lambda _, __, output: seen.append((output.shape[1], output.shape[2])))
    model(images(1, 28))
    assert seen == [(16, 28), (32, 14), (16, 7), (64, 4)]
