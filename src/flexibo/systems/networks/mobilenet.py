"""MobileNet (Howard et al. 2017): depthwise separable blocks, a filter per channel and then a 1 x 1 convolution.

This is the first version. The FlexiBO paper cites the second (Sandler et al. 2018), but gives 28 layers and 4.2 million
parameters, which are those of the first, and its options name depthwise blocks with one number of filters each.

    stem      one convolution: filters_stem filters of filter_size_stem x filter_size_stem
    group 1   a block of half of filters_block_1 and two of filters_block_1
    group 2   two blocks of filters_block_2
    group 3   six blocks of filters_block_3
    group 4   two blocks of filters_block_4
    head      the average of each channel, classes

So 32 filters of 3 x 3 in the stem and 128, 256, 512 and 1024 filters in the groups give the original.
"""

from __future__ import annotations

from torch import nn

from flexibo.systems.networks.layers import Design, classifier, convolution, filter_size, filters

N_BLOCKS = (2, 2, 6, 2)
DEPTHWISE = 3  # the side of a depthwise filter


def separable(inputs: int, outputs: int, *, stride: int = 1) -> nn.Sequential:
    """A depthwise separable block: (b, inputs, h, w) to (b, outputs, h / stride, w / stride)."""
    return nn.Sequential(
        convolution(inputs, inputs, DEPTHWISE, stride=stride, groups=inputs), convolution(inputs, outputs, 1)
    )


def build(design: Design, *, channels: int, classes: int, small: bool = True) -> nn.Module:
    """MobileNet for a design: images (b, channels, h, w) to logits (b, classes)."""
    stem, size = filters(design, "filters_stem"), filter_size(design, "filter_size_stem")
    widths = [filters(design, f"filters_block_{group}") for group in (1, 2, 3, 4)]
    early_stride = 1 if small else 2  # small: at most 64 pixels a side
    width = max(1, widths[0] // 2)
    layers = [convolution(channels, stem, size, stride=early_stride), separable(stem, width)]
    for stride, outputs, n_blocks in zip((early_stride, 2, 2, 2), widths, N_BLOCKS, strict=True):
        layers.append(separable(width, outputs, stride=stride))
        layers += [separable(outputs, outputs) for _ in range(n_blocks - 1)]
        width = outputs
    return classifier(layers, width, classes)
