"""The options of the paper's systems: its tables of network, operating-system and hardware options, for `dnn-stack`.

Iqbal et al. 2023, "FlexiBO" (JAIR), tables of the DNN-, OS- and hardware-specific options. Differences: frequencies,
ranges in the paper, have a few evenly spread steps of them, so that a true front can be computed. The paper names the
first option of SqueezeNet twice; its second is taken as that of the first fire group. Of its networks the five that
classify images are here, because the options of the others (BERT, DeepSpeech) are mostly those of training.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from flexibo.space import Ordinal, Space
from flexibo.systems import options
from flexibo.systems.options import SIZES, WIDE

NETWORKS: Mapping[str, Mapping[str, tuple[float, ...]]] = MappingProxyType(
    {
        "SqueezeNet": {
            "filters_stem": WIDE,
            "filters_fire_1": WIDE,
            "filter_size_fire_1": SIZES,
            "filters_fire_2": WIDE,
            "filters_fire_block": WIDE,
        },
        "Xception": options.NETWORKS["xception"],
        "MobileNet": options.NETWORKS["mobilenet"],
        "LeNet": options.NETWORKS["lenet"],
        "ResNet": options.NETWORKS["resnet"],
    }
)
"""The options of each network with their values."""

HARDWARE: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "cpus": (1, 2, 3, 4, 5, 6),
        "cpu_ghz": (0.3, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 1.9, 2.1, 2.3),
        "gpu_ghz": (0.3, 0.45, 0.6, 0.75, 0.9, 1.05, 1.2, 1.35, 1.5, 1.65, 1.8),
        "emc_ghz": (0.3, 0.55, 0.8, 1.05, 1.3, 1.55, 1.8, 2.0),
    }
)
"""The options of a Jetson Xavier."""


def network_of(surface: int) -> str:
    """The network whose options a surface has: the five take turns.

    >>> [network_of(surface) for surface in (0, 1, 5)]
    ['SqueezeNet', 'Xception', 'SqueezeNet']
    """
    return list(NETWORKS)[surface % len(NETWORKS)]


def stack_space(network: str) -> Space:
    """All designs of a network's stack: its own options, then the operating system's, then the hardware's.

    Every option but the scheduler is ordered, so a code is the position of a value in these tables.
    """
    ordered = {name: Ordinal(values) for name, values in (*NETWORKS[network].items(), *HARDWARE.items())}
    own = {name: ordered[name] for name in NETWORKS[network]}
    system = {name: list(values) for name, values in options.OPERATING_SYSTEM.items()}
    return Space({**own, **system, **{name: ordered[name] for name in HARDWARE}})
