"""What several networks share: reading options, a few layers, and the end of a network for images."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, TypeAlias

import torch
from torch import nn

from flexibo._internal.checks import whole_number
from flexibo.errors import InvalidValueError

Design: TypeAlias = Mapping[str, Any]


def option(design: Design, name: str) -> Any:
    """The value of an option in a design."""
    if name not in design:
        raise InvalidValueError(f"The design has no option {name!r}; give it a value.")
    return design[name]


def filters(design: Design, name: str) -> int:
    """The value of an option that is a number of filters."""
    return whole_number(f"Option {name!r}", option(design, name), least=1)


def filter_size(design: Design, name: str) -> int:
    """The value of an option that is the side of a square filter: odd, so that padding keeps an image's size."""
    size = whole_number(f"Option {name!r}", option(design, name), least=1)
    if size % 2 == 0:
        raise InvalidValueError(f"Option {name!r} is {size}; it must be odd, because an even filter has no centre.")
    return size


def dropout(design: Design) -> float:
    """The value of the option "dropout": the share of activations that training sets to zero."""
    share = option(design, "dropout")
    if isinstance(share, bool) or not isinstance(share, Real) or not 0 <= float(share) < 1:
        raise InvalidValueError(f"Option 'dropout' is {share!r}; it must be a number from 0 to below 1.")
    return float(share)


def convolution(
    inputs: int, outputs: int, size: int, *, stride: int = 1, groups: int = 1, activate: bool = True
) -> nn.Sequential:
    """A padded convolution, batch normalisation and, if `activate`, a rectifier."""
    filtered = nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2, groups=groups, bias=False)
    normalised = nn.Sequential(filtered, nn.BatchNorm2d(outputs))
    return normalised.append(nn.ReLU(inplace=True)) if activate else normalised


class GlobalAverage(nn.Module):  # type: ignore[misc]  # torch has no types here
    """The average of each channel: (b, channels, h, w) to (b, channels)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The averages of a batch."""
        # Not nn.AdaptiveAvgPool2d, whose gradient is not deterministic on a GPU.
        return x.mean((2, 3))


def classifier(layers: list[nn.Module], width: int, classes: int) -> nn.Module:
    """The layers, then the average of each of `width` channels, then a dense layer to the classes; He-initialised."""
    return he_initialised(nn.Sequential(*layers, GlobalAverage(), nn.Linear(width, classes)))


def he_initialised(network: nn.Module) -> nn.Module:
    """The network with its convolutions initialised as in He et al. 2015, which deep rectifier networks need."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d) and not module.weight.is_meta:  # there, sizes are counted without numbers
            nn.init.kaiming_normal_(module.weight, mode="fan_in", nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    return network
