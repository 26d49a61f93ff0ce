"""The networks for images, their smallest designs, and how their parameters are counted by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from flexibo.systems.networks import lenet, mobilenet, resnet, squeezenet, xception  # noqa: E402
from flexibo.systems.options import NETWORKS  # noqa: E402

BUILDERS: dict[str, Callable[..., Any]] = {
    "lenet": lenet.build,
    "squeezenet": squeezenet.build,
    "resnet": resnet.build,
    "mobilenet": mobilenet.build,
    "xception": xception.build,
}
CHANNELS, CLASSES = 3, 10


def smallest(network: str, **changes: int) -> dict[str, Any]:
    """The design with the smallest value of each option, but 3 x 3 filters, with some changes."""
    design = {name: 3 if "size" in name else min(values) for name, values in NETWORKS[network].items()}
    return design | changes


def n_parameters(network: str, design: dict[str, Any], **settings: Any) -> int:
    with torch.device("meta"):
        model = BUILDERS[network](design, **({"channels": CHANNELS, "classes": CLASSES} | settings))
    return sum(weight.numel() for weight in model.parameters())


def images(count: int, side: int) -> Any:
    return torch.randn(count, CHANNELS, side, side)


def dense(inputs: int, outputs: int) -> int:
    return inputs * outputs + outputs


def normed(size: int, inputs: int, outputs: int) -> int:
    """A convolution without bias and the two numbers per channel of batch normalisation."""
    return size**2 * inputs * outputs + 2 * outputs


def without_dropout(model: Any) -> Any:
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.eval()
    return model


def check_counts(network: str, by_hand: Callable[[dict[str, Any]], int]) -> None:
    """The smallest design and an uneven one have as many parameters as by hand, and each option changes them."""
    base, options = smallest(network), NETWORKS[network]
    uneven = {name: values[(2 + place) % len(values)] for place, (name, values) in enumerate(options.items())}
    for design in (base, uneven):
        assert n_parameters(network, design) == by_hand(design)
    n_base = n_parameters(network, base)
    for name, values in options.items():
        design = base | {name: values[-1] if values[-1] > base[name] else values[0]}
        count = n_parameters(network, design)
        assert count == by_hand(design)
        assert (count > n_base) == (design[name] > base[name]), f"{name} must add parameters"
        assert count != n_base


def original(network: str, *values: int) -> dict[str, Any]:
    """The design of the published network, by the values of its options in their order."""
    return dict(zip(NETWORKS[network], values, strict=True))


def check_separable(block: Any) -> None:
    """The first part of a separable convolution of four channels filters each of them on its own."""
    x = torch.zeros(1, 4, 5, 5)
    x[0, 2] = torch.randn(5, 5)
    touched = block[0].eval()(x).abs().sum((0, 2, 3)) > 0
    assert not touched[[0, 1, 3]].any()
