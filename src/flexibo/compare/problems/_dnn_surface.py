"""The options of ``dnn-stack`` and their effects on error, size, energy and latency.

The options are those of the tables in Iqbal et al. 2023, "FlexiBO" (JAIR), see `flexibo.systems.options`. Differences:
frequencies, ranges in the paper, have a few evenly spread steps, so that the true front can be computed; only the five
networks that classify images are used, because the options of BERT and DeepSpeech are mostly those of training.

The error decreases with capacity, with diminishing returns; narrow layers are bottlenecks; each filter size has an
optimum that shifts with the width of its layer. Energy is power times time. Of a network only two features matter, its
compute in GFLOP and its memory traffic in MB, and energy is linear in them:

    energy = compute * A + traffic * B + C

where A, B and C depend on the deployment (the options of operating system and hardware) alone. So does the power; the
latency is the same sum with A, B and C over the power. The size counts the weights. Small random factors for pairs of
options make error and energy rugged. The orders of magnitude are those of a Jetson Xavier.

A *column* holds the codes of one option, the positions of its values. The columns that a function takes only need to
broadcast together, so that all combinations of values cost little more than the last sum or product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.space import Ordinal, Space
from flexibo.systems import options
from flexibo.systems.options import OPERATING_SYSTEM

NETWORKS: Mapping[str, Mapping[str, tuple[float, ...]]] = MappingProxyType(
    {
        "SqueezeNet": options.SQUEEZENET_AS_PRINTED,
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

Columns: TypeAlias = Sequence[IntArray]
"""One array of codes per option; all of them broadcast together."""

LEAST_ERROR = 6.0
ERROR_SPAN = 37.0
BEND = 1.3
ERROR_ROUGHNESS = 0.04
POWER_ROUGHNESS = 0.03
SYSTEM_EFFECT = 0.03
IMAGE_CHANNELS = 3
BYTES_PER_WEIGHT = 4
DEPLOYMENT_SIZES = tuple(len(values) for values in (*OPERATING_SYSTEM.values(), *HARDWARE.values()))
"""How many values each option of a deployment has."""


def network_of(surface: int) -> str:
    """The network whose options a surface has; the five networks take turns.

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


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """A factor near 1: the product over pairs of columns of exp of a table, by the positions of both values."""

    pairs: tuple[tuple[int, int], ...]
    tables: tuple[FloatArray, ...]

    @classmethod
    def drawn(
        cls, pairs: Sequence[tuple[int, int]], sizes: Sequence[int], deviation: float, rng: np.random.Generator
    ) -> Factor:
        """A random factor whose logarithm has about this standard deviation, for options with `sizes` values."""
        each = deviation / len(pairs) ** 0.5
        return cls(tuple(pairs), tuple(each * rng.standard_normal((sizes[i], sizes[j])) for i, j in pairs))

    def __call__(self, columns: Columns) -> FloatArray:
        """The factor of designs with these columns."""
        factor = np.ones(())
        for (i, j), table in zip(self.pairs, self.tables, strict=True):
            factor = factor * np.exp(table)[columns[i], columns[j]]
        return factor


@dataclass(frozen=True, slots=True, eq=False)
class NetworkLayer:
    """One layer of a network.

    Attributes:
        width: The column of its number of filters.
        size: The column of its filter size; None if that is fixed at 3.
        share: Its share of the network's capacity.
        saturation: How soon additional filters have no effect.
        centre: The best filter size of a layer of medium width, on a scale from 0 to 1.
        shift: How much the best filter size increases with the width.
        strictness: What a wrong filter size costs at most, roughly in percent of error.
        compute: Its compute with 128 filters of size 3, in GFLOP; `traffic` is its memory traffic then, in MB.
    """

    width: int
    size: int | None
    share: float
    saturation: float
    centre: float
    shift: float
    strictness: float
    compute: float
    traffic: float


@dataclass(frozen=True, slots=True, eq=False)
class NetworkResponse:
    """The effects of the options of a network: their values, the layers in order, and what makes the error rugged."""

    values: tuple[FloatArray, ...]
    layers: tuple[NetworkLayer, ...]
    factor: Factor

    @classmethod
    def drawn(cls, network: str, rng: np.random.Generator) -> NetworkResponse:
        """A random response of one of the paper's networks."""
        values = tuple(np.array(levels, dtype=np.float64) for levels in NETWORKS[network].values())
        columns = _layers_of(list(NETWORKS[network]))
        shares = rng.uniform(0.5, 1.5, len(columns))
        layers = tuple(
            NetworkLayer(
                width,
                size,
                share / shares.sum(),
                saturation=rng.uniform(1.0, 3.0),
                centre=rng.uniform(0.25, 0.75),
                shift=rng.uniform(-0.4, 0.4),
                strictness=rng.uniform(12.0, 36.0),
                compute=rng.uniform(0.5, 1.5) / len(columns),
                traffic=rng.uniform(4.0, 12.0) / len(columns),
            )
            for (width, size), share in zip(columns, shares, strict=True)
        )
        k = len(values)
        neighbours = [(i, j) for i in range(k) for j in (i + 1, i + 2) if j < k]
        return cls(values, layers, Factor.drawn(neighbours, [len(v) for v in values], ERROR_ROUGHNESS, rng))

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each option has."""
        return tuple(len(values) for values in self.values)

    def error_percent(self, columns: Columns) -> FloatArray:
        """The error of networks with these columns, in percent."""
        total, product, misfit = np.zeros(()), np.ones(()), np.zeros(())
        for layer in self.layers:
            width = self._scaled(columns, layer.width)
            gain = (1.0 - np.exp(-layer.saturation * width)) / (1.0 - np.exp(-layer.saturation))
            total = total + layer.share * gain
            product = product * (0.1 + 0.9 * gain) ** layer.share
            if layer.size is not None:
                best = layer.centre + layer.shift * (width - 0.5)
                misfit = misfit + layer.strictness * (self._scaled(columns, layer.size) - best) ** 2
        capacity = 0.5 * total + 0.5 * product
        error = LEAST_ERROR + ERROR_SPAN * (1.0 - capacity) ** BEND + misfit / len(self.layers) ** 0.5
        return np.asarray(error * self.factor(columns))

    def work(self, columns: Columns) -> tuple[FloatArray, FloatArray]:
        """Compute in GFLOP and memory traffic in MB of one inference of networks with these columns."""
        compute, traffic, before = np.zeros(()), np.zeros(()), np.ones(())
        for layer in self.layers:
            width = self.values[layer.width][columns[layer.width]] / 128.0
            size = np.ones(()) if layer.size is None else self.values[layer.size][columns[layer.size]] / 3.0
            # Less than the product of widths and areas: large layers use a device better.
            compute = compute + layer.compute * width**0.5 * before**0.1 * size**0.7
            traffic = traffic + layer.traffic * (0.3 + width**0.4 * size**0.3)
            before = width
        return compute, traffic

    def size_megabytes(self, columns: Columns) -> FloatArray:
        """The size of the weights: filters times those of the previous layer times areas."""
        weights, before = np.zeros(()), np.full((), float(IMAGE_CHANNELS))
        for layer in self.layers:
            width = self.values[layer.width][columns[layer.width]]
            size = np.full((), 3.0) if layer.size is None else self.values[layer.size][columns[layer.size]]
            weights = weights + width * before * size**2
            before = width
        return np.asarray(BYTES_PER_WEIGHT * weights / 1e6)

    def _scaled(self, columns: Columns, column: int) -> FloatArray:
        return np.asarray(columns[column] / (len(self.values[column]) - 1.0))


def _layers_of(names: Sequence[str]) -> list[tuple[int, int | None]]:
    """The column of the filters of each layer, and that of their size if it varies.

    A size without a number of filters, such as that of Xception's exit, makes a layer as wide as the previous one.
    """
    widths = [i for i, name in enumerate(names) if name.startswith("filters")]
    layers: list[tuple[int, int | None]] = []
    for i, name in enumerate(names):
        if i in widths:
            layers.append((i, None))
        elif layers[-1][1] is None and name == names[layers[-1][0]].replace("filters", "filter_size"):
            layers[-1] = (layers[-1][0], i)
        else:
            layers.append((layers[-1][0], i))
    return layers


@dataclass(frozen=True, slots=True, eq=False)
class DeploymentResponse:
    """The effects of the options of operating system and hardware.

    Attributes:
        watts: The constant power, and that of a CPU, the GPU and the memory at 1 GHz.
        milliseconds: The time at 1 GHz for a GFLOP, for a MB, and for the remaining work of the CPUs.
        parallel: The share of the CPUs' work that can run in parallel.
        system: The effects of the operating system on these three times.
        factor: Makes the power rugged.
    """

    watts: FloatArray
    milliseconds: FloatArray
    parallel: float
    system: tuple[Factor, Factor, Factor]
    factor: Factor

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> DeploymentResponse:
        """A random response."""
        sizes = DEPLOYMENT_SIZES
        scheduler, swappiness, background, dirty, pressure, cpus, cpu, gpu, emc = range(len(sizes))
        pairs = [(scheduler, cpus), (swappiness, emc), (background, dirty), (pressure, cpu)]
        return cls(
            np.array([2.0, 0.3, 4.0, 1.2]) * rng.uniform(0.75, 1.25, 4),
            np.array([12.0, 1.5, 15.0]) * rng.uniform(0.75, 1.25, 3),
            float(rng.uniform(0.7, 0.95)),
            (
                Factor.drawn(pairs, sizes, SYSTEM_EFFECT, rng),
                Factor.drawn(pairs, sizes, 2.0 * SYSTEM_EFFECT, rng),
                Factor.drawn(pairs, sizes, 2.0 * SYSTEM_EFFECT, rng),
            ),
            Factor.drawn([(cpus, cpu), (cpu, gpu), (gpu, emc)], sizes, POWER_ROUGHNESS, rng),
        )

    def power(self, columns: Columns) -> FloatArray:
        """The power of deployments with these nine columns, in watts; it depends on the hardware's options only."""
        cpus, cpu, gpu, emc = self._hardware(columns)
        always, of_cpu, of_gpu, of_memory = self.watts
        power = always + of_gpu * gpu**3 + of_memory * emc**1.5 + cpus * of_cpu * (0.3 + cpu**2.5)
        return np.asarray(power * self.factor(columns))

    def times(self, columns: Columns) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The time of a GFLOP, of a MB and of the rest, in milliseconds, of deployments with these nine columns."""
        cpus, cpu, gpu, emc = self._hardware(columns)
        speed = cpu / (1.0 - self.parallel + self.parallel / cpus)
        # The GPU waits for the memory and, to a smaller extent, so do the CPUs that feed it.
        times = (1.0 / gpu, 1.0 / emc + 0.3 / speed, 1.0 / speed)
        of_gflop, of_mb, of_rest = (
            scale * time * effect(columns)
            for scale, time, effect in zip(self.milliseconds, times, self.system, strict=True)
        )
        return of_gflop, of_mb, of_rest

    def coefficients(self, columns: Columns) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The energy of a GFLOP, of a MB and of the rest, in millijoules, of deployments with these nine columns."""
        power = self.power(columns)
        of_gflop, of_mb, of_rest = (power * time for time in self.times(columns))
        return of_gflop, of_mb, of_rest

    def _hardware(self, columns: Columns) -> list[FloatArray]:
        """The number of CPUs, and the frequencies of CPUs, GPU and memory in GHz."""
        return [
            np.array(values)[column]
            for values, column in zip(HARDWARE.values(), columns[len(OPERATING_SYSTEM) :], strict=True)
        ]
