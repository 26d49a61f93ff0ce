"""LeNet (LeCun et al. 1998) with the four convolution layers of the FlexiBO paper's option table.

    layer i = 1 to 4    filters_i filters of filter_size_i x filter_size_i, then a rectifier
    after 1, 2, 3       2 x 2 pooling: 28 x 28 becomes 14 x 14, 7 x 7 and 4 x 4
    head                the average of each filter, 84 hidden units, classes

Differences from the original, besides the fourth layer: rectifiers instead of tanh, maximum instead of sum pooling,
padding, so that every filter size fits, and an average before the head, so that every image size does.
"""

from __future__ import annotations

from torch import nn

from flexibo.systems.networks.layers import Design, GlobalAverage, filter_size, filters, he_initialised

N_LAYERS = 4
N_HIDDEN = 84


def build(design: Design, *, channels: int, classes: int) -> nn.Module:
    """LeNet for a design: images (b, channels, h, w) to logits (b, classes)."""
    inputs = channels
    layers: list[nn.Module] = []
    for layer in range(1, N_LAYERS + 1):
        outputs, size = filters(design, f"filters_{layer}"), filter_size(design, f"filter_size_{layer}")
        layers += [nn.Conv2d(inputs, outputs, size, padding=size // 2), nn.ReLU(inplace=True)]
        if layer < N_LAYERS:
            layers.append(nn.MaxPool2d(2, ceil_mode=True))
        inputs = outputs
    head = [GlobalAverage(), nn.Linear(inputs, N_HIDDEN), nn.ReLU(inplace=True), nn.Linear(N_HIDDEN, classes)]
    return he_initialised(nn.Sequential(*layers, *head))
