"""SqueezeNet (Iandola et al. 2016): fire modules, which reduce the channels before they expand them.

    stem          one convolution: filters_stem filters of filter_size_stem x filter_size_stem
    fire group 1  fire modules 2 to 4 of the paper, filters_fire_1
    fire group 2  fire modules 5 to 8, filters_fire_2
    fire block    fire module 9, filters_fire_block
    head          dropout of one half, a 1 x 1 convolution to the classes, the average of each class

A fire module of f filters has f of 1 x 1 and f of 3 x 3 in its expand layer, which gives 2 f channels, and f / 4 (at
least 1) in its squeeze layer, as in the original (16 to 64 and 64). Pooling follows the stem and fire modules 4 and 8.

Differences: all modules of a group are equally wide (the original's grow from 64 to 128 and from 128 to 256). Batch
normalisation (Ioffe and Szegedy 2015) precedes every rectifier: without it, narrow squeeze layers die early, and a
quarter of the sampled networks stayed at the error of chance. No rectifier follows the last convolution, because a
network whose classes are all zero cannot learn any more.
"""

from __future__ import annotations

import torch
from torch import nn

from flexibo.systems.networks import layers
from flexibo.systems.networks.layers import Design, convolution, filter_size, filters

N_FIRE_1 = 3
N_FIRE_2 = 4
SQUEEZE = 4  # expand filters of one kind per squeeze filter
DROPOUT = 0.5


class Fire(nn.Module):  # type: ignore[misc]  # torch has no types here
    """A fire module: (b, inputs, h, w) to (b, 2 filters, h, w)."""

    def __init__(self, inputs: int, filters: int) -> None:
        super().__init__()
        squeezed = max(1, filters // SQUEEZE)
        self.squeeze = convolution(inputs, squeezed, 1)
        self.expand_1 = nn.Conv2d(squeezed, filters, 1, bias=False)
        self.expand_3 = nn.Conv2d(squeezed, filters, 3, padding=1, bias=False)
        self.normalise = nn.BatchNorm2d(2 * filters)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The module's channels for a batch."""
        squeezed = self.squeeze(x)
        expanded = torch.cat([self.expand_1(squeezed), self.expand_3(squeezed)], 1)
        return self.normalise(expanded).relu()


def build(design: Design, *, channels: int, classes: int, small: bool = True) -> nn.Module:
    """SqueezeNet for a design: images (b, channels, h, w) to logits (b, classes)."""
    stem, size = filters(design, "filters_stem"), filter_size(design, "filter_size_stem")
    group_1, group_2 = filters(design, "filters_fire_1"), filters(design, "filters_fire_2")
    block = filters(design, "filters_fire_block")
    modules = [
        convolution(channels, stem, size, stride=1 if small else 2),  # small: at most 64 pixels a side
        _pooling(),
        *_fire_group(stem, group_1, N_FIRE_1),
        _pooling(),
        *_fire_group(2 * group_1, group_2, N_FIRE_2),
        _pooling(),
        Fire(2 * group_2, block),
        nn.Dropout(DROPOUT),
        nn.Conv2d(2 * block, classes, 1),
        layers.GlobalAverage(),
    ]
    return layers.he_initialised(nn.Sequential(*modules))


def _fire_group(inputs: int, filters: int, n_modules: int) -> list[Fire]:
    return [Fire(inputs if module == 0 else 2 * filters, filters) for module in range(n_modules)]


def _pooling() -> nn.Module:
    return nn.MaxPool2d(3, stride=2, padding=1)
