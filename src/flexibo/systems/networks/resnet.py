"""ResNet-50 (He et al. 2016) with the width and the filter size of its two kinds of blocks as options.

    stem               filters_stem filters
    stage s = 0 to 3   one projection block, then 2, 3, 5 or 2 bottleneck blocks

A block has 1 x 1, k x k and 1 x 1 convolutions and a shortcut. In a projection block, the first of its stage, the
shortcut is a convolution; in a bottleneck block it is the block's input.

    filters_projection p   the projection block of stage s has p 2^s filters in its first two convolutions and four
                           times as many in its last: the stage's width, which its bottleneck blocks keep
    filters_bottleneck b   a bottleneck block of stage s has b 2^s filters in its first two convolutions
    filter_size_...        the k of the middle convolution of these blocks

So filters of 64 and filter sizes of 3 everywhere give the ordinary ResNet-50. The stride of a stage is in the k x k
convolution (the original has it in the first 1 x 1 one, which skips three pixels of four).
"""

from __future__ import annotations

import torch
from torch import nn

from flexibo.systems.networks.layers import Design, classifier, convolution, filter_size, filters

N_BLOCKS = (3, 4, 6, 3)
EXPANSION = 4


class ResidualBlock(nn.Module):  # type: ignore[misc]  # torch has no types here
    """A residual block: (b, inputs, h, w) to (b, outputs, h / stride, w / stride).

    It has `inner` filters in its first two convolutions and a middle filter of side `size`. Its shortcut is a
    convolution (`project`) or its input.
    """

    def __init__(self, inputs: int, inner: int, outputs: int, size: int, *, stride: int = 1, project: bool) -> None:
        super().__init__()
        self.residual = nn.Sequential(
            convolution(inputs, inner, 1),
            convolution(inner, inner, size, stride=stride),
            convolution(inner, outputs, 1, activate=False),
        )
        self.shortcut = convolution(inputs, outputs, 1, stride=stride, activate=False) if project else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The block's channels for a batch."""
        return (self.residual(x) + self.shortcut(x)).relu()


def build(design: Design, *, channels: int, classes: int, small: bool = True) -> nn.Module:
    """ResNet for a design: images (b, channels, h, w) to logits (b, classes)."""
    width = filters(design, "filters_stem")
    projected, bottled = filters(design, "filters_projection"), filters(design, "filters_bottleneck")
    size_projected = filter_size(design, "filter_size_projection")
    size_bottled = filter_size(design, "filter_size_bottleneck")
    if small:  # at most 64 pixels a side
        layers = [convolution(channels, width, 3)]
    else:
        layers = [convolution(channels, width, 7, stride=2), nn.MaxPool2d(3, stride=2, padding=1)]
    for stage, n_blocks in enumerate(N_BLOCKS):
        scale = 2**stage
        inputs, width = width, EXPANSION * scale * projected
        stride = 1 if stage == 0 else 2
        layers.append(ResidualBlock(inputs, scale * projected, width, size_projected, stride=stride, project=True))
        layers += [
            ResidualBlock(width, scale * bottled, width, size_bottled, project=False)
            for _ in range(n_blocks - 1)  # the projection block is one of them
        ]
    return classifier(layers, width, classes)
