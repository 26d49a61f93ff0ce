"""The options of the paper's systems: its tables of network, operating-system and hardware options.

Iqbal et al. 2023, "FlexiBO" (JAIR), tables of the DNN-, OS- and hardware-specific options. Differences: the table names
SqueezeNet's stem filters twice and no filter size of the stem; the five options of the authors' repository are taken.
Frequencies are ranges in the paper; a platform offers the steps that its hardware has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

Values: TypeAlias = tuple[int, ...] | tuple[float, ...] | tuple[str, ...] | tuple[bool, ...]  # what an option may be

WIDE = (16, 32, 64, 128, 256, 512, 1024)
NARROW = (16, 32, 64, 128, 256)
SIZES = (1, 3, 5, 7, 9)
DROPOUTS = (0.1, 0.3, 0.5, 0.7, 0.9)
LEARNING_RATES = (1e-5, 2e-5, 3e-5, 4e-5, 5e-5)

# The paper's table, with the second of its two stem filters as the first fire group's; `NETWORKS` has the options of
# the authors' repository. The synthetic problem ``dnn-stack`` keeps this reading: its stored results were made with it.
SQUEEZENET_AS_PRINTED: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "filters_stem": WIDE,
        "filters_fire_1": WIDE,
        "filter_size_fire_1": SIZES,
        "filters_fire_2": WIDE,
        "filters_fire_block": WIDE,
    }
)

NETWORKS: Mapping[str, Mapping[str, tuple[float, ...]]] = MappingProxyType(  # the options of each network
    {
        "xception": {
            "filters_entry": NARROW,
            "filter_size_entry": SIZES,
            "filters_middle": NARROW,
            "filter_size_middle": SIZES,
            "filter_size_exit": (1, 3),
        },
        "mobilenet": {
            "filters_stem": NARROW,
            "filter_size_stem": SIZES,
            "filters_block_1": WIDE,
            "filters_block_2": WIDE,
            "filters_block_3": WIDE,
            "filters_block_4": WIDE,
        },
        "lenet": {
            f"{what}_{layer}": values
            for layer in (1, 2, 3, 4)
            for what, values in (("filters", WIDE), ("filter_size", SIZES))
        },
        "resnet": {
            "filters_stem": WIDE,
            "filters_projection": WIDE,
            "filter_size_projection": SIZES,
            "filters_bottleneck": WIDE,
            "filter_size_bottleneck": SIZES,
        },
        "squeezenet": {
            "filters_stem": WIDE,
            "filter_size_stem": SIZES,
            "filters_fire_1": WIDE,
            "filters_fire_2": WIDE,
            "filters_fire_block": WIDE,
        },
        "bert": {
            "dropout": DROPOUTS,
            "batch_size": (6, 12, 16, 32, 64),
            "sequence_length": (13, 16, 32, 64, 128, 256),
            "learning_rate": LEARNING_RATES,
            "weight_decay": (0.0, 0.1, 0.2, 0.3),
        },
        "deepspeech": {
            "epochs": (2, 4, 8, 16, 32),
            "dropout": DROPOUTS,
            "batch_size": (16, 32, 64, 128, 256),
            "sequence_length": (16, 32, 64, 128, 256, 512, 1024),
            "learning_rate": LEARNING_RATES,
        },
    }
)

TRAINING_ONLY: Mapping[str, tuple[str, ...]] = MappingProxyType(  # change the error and nothing about running it
    {
        "bert": ("dropout", "learning_rate", "weight_decay"),
        "deepspeech": ("epochs", "dropout", "learning_rate"),
    }
)

TINY_MOST: Mapping[str, float] = MappingProxyType(  # the largest values at the size tiny, of options that begin so
    {"filters": 32, "filter_size": 3, "epochs": 4, "batch_size": 64, "sequence_length": 128}
)

OPERATING_SYSTEM: Mapping[str, tuple[str, ...] | tuple[int, ...]] = MappingProxyType(
    {
        "scheduler": ("CFP", "NOOP"),
        "swappiness": (10, 30, 60, 100),
        "dirty_background_ratio": (10, 50, 80),
        "dirty_ratio": (5, 50),
        "cache_pressure": (100, 500),
    }
)


def tiny(options: Mapping[str, tuple[float, ...]]) -> Mapping[str, tuple[float, ...]]:
    """The options of a network at the size tiny, without the values that take a processor minutes.

    >>> tiny({"filters_stem": (16, 32, 64), "filter_size_stem": (1, 3, 5), "dropout": (0.1, 0.3)})
    {'filters_stem': (16, 32), 'filter_size_stem': (1, 3), 'dropout': (0.1, 0.3)}
    """
    return {name: tuple(value for value in values if value <= _most(name)) for name, values in options.items()}


def _most(name: str) -> float:
    return next((most for start, most in TINY_MOST.items() if name.startswith(start)), math.inf)
