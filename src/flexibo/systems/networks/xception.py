"""Xception (Chollet 2017): residual blocks of depthwise separable convolutions in three flows.

    entry flow    two convolutions of e and 2 e filters, then blocks of 4 e, 8 e and m channels
    middle flow   eight blocks of three separable convolutions of m channels
    exit flow     a block of m and 1024 channels, then separable convolutions of 1536 and 2048
    head          the average of each channel, classes

    filters_entry e, filter_size_entry     the first convolution's filters; the side of every filter of the entry flow
    filters_middle m, filter_size_middle   the width and the side of the filters of the middle flow
    filter_size_exit                       the side of the filters of the exit flow, whose widths are the original's

So e = 32, m = 728 and filter sizes of 3 give the original; the option table has m up to 256. Unlike it, the two first
convolutions are padded, because small images have no pixels to lose.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn

from flexibo.systems.networks.layers import Design, classifier, convolution, filter_size, filters

N_MIDDLE = 8
EXIT_WIDTHS = (1024, 1536, 2048)


def separable(inputs: int, outputs: int, size: int) -> nn.Sequential:
    """A filter per channel, a 1 x 1 convolution and batch normalisation: (b, inputs, h, w) to (b, outputs, h, w)."""
    depthwise = nn.Conv2d(inputs, inputs, size, padding=size // 2, groups=inputs, bias=False)
    return nn.Sequential(depthwise, convolution(inputs, outputs, 1, activate=False))


class SeparableBlock(nn.Module):  # type: ignore[misc]  # torch has no types here
    """Separable convolutions between these widths, with a shortcut.

    Pooling may halve the image; the shortcut is then a convolution of stride 2, otherwise the input. All convolutions
    have a rectifier before them, the first one only if `activate`.
    """

    def __init__(self, widths: Sequence[int], size: int, *, halve: bool, activate: bool = True) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(widths):
            # Not in place: the shortcut needs the input as it came.
            layers += [nn.ReLU(), separable(inputs, outputs, size)]
        if halve:
            layers.append(nn.MaxPool2d(3, stride=2, padding=1))
        self.residual = nn.Sequential(*layers[0 if activate else 1 :])
        self.shortcut = convolution(widths[0], widths[-1], 1, stride=2, activate=False) if halve else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The block's channels for a batch."""
        return self.residual(x) + self.shortcut(x)


def build(design: Design, *, channels: int, classes: int, small: bool = True) -> nn.Module:
    """Xception for a design: images (b, channels, h, w) to logits (b, classes)."""
    middle, size = filters(design, "filters_middle"), filter_size(design, "filter_size_middle")
    layers = [
        *_entry_flow(design, channels, middle, stride=1 if small else 2),  # small: at most 64 pixels a side
        *(SeparableBlock([middle] * 4, size, halve=False) for _ in range(N_MIDDLE)),
        *_exit_flow(design, middle),
    ]
    return classifier(layers, EXIT_WIDTHS[-1], classes)


def _entry_flow(design: Design, channels: int, middle: int, *, stride: int) -> list[nn.Module]:
    width, size = filters(design, "filters_entry"), filter_size(design, "filter_size_entry")
    return [
        convolution(channels, width, size, stride=stride),
        convolution(width, 2 * width, size),
        SeparableBlock([2 * width, 4 * width, 4 * width], size, halve=True, activate=False),
        SeparableBlock([4 * width, 8 * width, 8 * width], size, halve=True),
        SeparableBlock([8 * width, middle, middle], size, halve=True),
    ]


def _exit_flow(design: Design, middle: int) -> list[nn.Module]:
    size = filter_size(design, "filter_size_exit")
    first, second, third = EXIT_WIDTHS
    return [
        SeparableBlock([middle, middle, first], size, halve=True),
        separable(first, second, size),
        nn.ReLU(inplace=True),
        separable(second, third, size),
        nn.ReLU(inplace=True),
    ]
