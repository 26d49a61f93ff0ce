"""dnn-stack: a synthetic DNN system with the paper's 14 to 17 options, whose true front is known exactly.

Error and size of a network depend on its own options only, energy and latency on all options. For energy and latency,
a network is two numbers, its compute and its traffic; lower is better (see `_dnn_surface`). So a network that another
one beats in error, compute, traffic and size is on no front, and neither is a deployment that another one beats in its
power and in its three times (of a GFLOP, of a MB, of the rest). The remaining designs are enumerated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.compare.problems._dnn_surface import (
    DEPLOYMENT_SIZES,
    NETWORKS,
    Columns,
    DeploymentResponse,
    NetworkResponse,
    network_of,
    stack_space,
)
from flexibo.compare.problems.base import (
    Family,
    Problem,
    ProblemParameter,
    nadir_reference,
    typical_designs,
    worst_of_interest,
)
from flexibo.objectives import Objective
from flexibo.pareto import hypervolume, non_dominated
from flexibo.space import Designs, Space

READING_SECONDS = 20.0
"""The cost of one reading of energy; latency and the size of the network come with it."""

TRAINING_SPREAD = 5.0
"""The training time of the largest network over that of the smallest."""


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """One response surface: of a network's options, then those of its deployment; `smallest` to `largest` GFLOP."""

    space: Space
    network: NetworkResponse
    deployment: DeploymentResponse
    smallest: float
    largest: float

    def values(self, designs: Designs, n: int = 2) -> FloatArray:
        """Error in percent, energy in millijoules, latency in milliseconds and size in MB of designs: n of them."""
        columns, k = designs.codes.T.astype(np.int64), len(self.network.values)
        own, others = columns[:k], columns[k:]
        work = self.network.work(own)
        parts = [self.network.error_percent(own), _sum(*work, *self.deployment.coefficients(others))]
        if n > 2:
            parts.append(_sum(*work, *self.deployment.times(others)))
        if n > 3:
            parts.append(self.network.size_megabytes(own))
        return np.column_stack(parts)

    def training(self, columns: Columns) -> FloatArray:
        """The training time of networks with these columns: 1 for the smallest, `TRAINING_SPREAD` for the largest."""
        compute, _ = self.network.work(columns)
        scale = np.log(compute / self.smallest) / np.log(self.largest / self.smallest)
        return np.asarray(TRAINING_SPREAD**scale)


@lru_cache(maxsize=8)
def response_surface(seed: int) -> Surface:
    """The response surface of a seed."""
    name = network_of(seed)
    network = NetworkResponse.drawn(name, np.random.default_rng((seed, 1)))
    deployment = DeploymentResponse.drawn(np.random.default_rng((seed, 2)))
    compute, _ = network.work(_every(network.sizes))
    return Surface(stack_space(name), network, deployment, float(compute.min()), float(compute.max()))


@lru_cache(maxsize=8)
def front_designs(seed: int, n: int = 2) -> Designs:
    """A design for each point of the true front of a response surface with n objectives, by rising error."""
    surface = response_surface(seed)
    codes, table = useful_networks(surface.network, n)
    positions, power, times = _useful_deployments(surface.deployment, n)
    rows, places = [], []
    for row, (_, compute, traffic) in enumerate(table[:, :3]):
        time = _sum(compute, traffic, *times)
        energy = power * time
        few = np.array([energy.argmin()]) if n == 2 else np.flatnonzero(non_dominated(np.column_stack([energy, time])))
        rows.append(np.full(len(few), row))
        places.append(positions[few])
    deployments = np.stack(np.unravel_index(np.concatenate(places), DEPLOYMENT_SIZES), axis=1)
    designs = surface.space.from_codes(np.column_stack([codes[np.concatenate(rows)], deployments]).astype(np.float64))
    losses = surface.values(designs, n)
    kept = np.flatnonzero(non_dominated(losses))
    _, first = np.unique(losses[kept], axis=0, return_index=True)  # rows in order, each once
    return designs[kept[first]]


def useful_networks(network: NetworkResponse, n: int) -> tuple[IntArray, FloatArray]:
    """The codes (m, k) of the networks that no other beats, with their error, compute, traffic and, for n = 4, size."""
    every = _every(network.sizes)
    parts = [network.error_percent(every), *network.work(every), network.size_megabytes(every)][: max(n, 3)]
    table = np.stack([np.broadcast_to(part, network.sizes).ravel() for part in parts], axis=1)
    few = useful_rows(table)
    return np.stack(np.unravel_index(few, network.sizes), axis=1), table[few]


def _useful_deployments(deployment: DeploymentResponse, n: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """The positions (k,) of the deployments that no other beats for any network, their power (k,) and times (3, k)."""
    every = _every(DEPLOYMENT_SIZES)
    parts = (deployment.power(every), *deployment.times(every))
    power, *times = (np.broadcast_to(part, DEPLOYMENT_SIZES).ravel() for part in parts)
    # The energy is linear in power times times, so only these count if the latency is not an objective.
    few = useful_rows(np.stack([power * time for time in times] if n == 2 else [power, *times], axis=1))
    return few, power[few], np.stack(times)[:, few]


def useful_rows(table: FloatArray) -> IntArray:
    """The positions (k,) of the rows of a table (m, n) of positive numbers that no other row beats.

    For some weights, the row with the lowest weighted sum beats most rows in every column. Without these, comparing the
    rest is fast.
    """
    left, few = np.arange(len(table)), table
    scale = table.mean(axis=0)
    for weights in product((1.0, 8.0), repeat=table.shape[1]):
        good = few[(few @ (weights / scale)).argmin()]
        unbeaten = (few <= good).any(axis=1)
        left, few = left[unbeaten], few[unbeaten]
    return left[non_dominated(few)]


def _sum(
    compute: FloatArray, traffic: FloatArray, of_gflop: FloatArray, of_mb: FloatArray, of_rest: FloatArray
) -> FloatArray:
    """Millijoules of an inference, or milliseconds, given those of a GFLOP, of a MB and of the rest."""
    return np.asarray(compute * of_gflop + traffic * of_mb + of_rest)


def _every(sizes: tuple[int, ...]) -> Columns:
    """Columns that broadcast to all combinations of values of options with these numbers of values."""
    return np.ogrid[tuple(slice(size) for size in sizes)]


def dnn_stack(*, surface: int = 0, n: int = 2, ratio: float = 100.0, noise: float = 0.0) -> Problem:
    """The problem of a response surface, whose seed selects the network too.

    Latency and size, the third and fourth objective, come with a reading of energy. Training costs `ratio` readings on
    average; the noise of readings is a share of their range on the true front.
    """
    made = response_surface(surface)
    front = made.values(front_designs(surface, n), n)
    usual = made.values(typical_designs(made.space), n)
    reference = nadir_reference(front) if n == 2 else worst_of_interest(usual, front)
    network = network_of(surface)
    k = len(NETWORKS[network])
    mean = made.training(_every(made.network.sizes)).mean()

    def costs(designs: Designs) -> FloatArray:
        training = made.training(designs.codes.T[:k].astype(np.int64)) / mean
        costs = np.zeros((len(designs), n))
        costs[:, 0], costs[:, 1] = READING_SECONDS * (ratio * training), READING_SECONDS
        return costs

    is_read = np.array([False, True, True, False])[:n]
    return Problem(
        FAMILIES[0].full_name({"surface": surface, "n": n, "ratio": ratio, "noise": noise}),
        f"the paper's options of {network} on a Jetson Xavier, with made-up responses",
        made.space,
        _objectives(tuple(NETWORKS[network]), noisy=noise > 0)[:n],
        partial(made.values, n=n),
        costs,
        reference,
        front,
        hypervolume(front, reference),
        noise=np.where(is_read, noise * np.ptp(front, axis=0), 0.0) if noise > 0 else None,
        source="options of Iqbal et al. 2023; responses of flexibo",
        group="stack",
    )


def _objectives(network: tuple[str, ...], *, noisy: bool) -> tuple[Objective, ...]:
    """All four objectives, given the options of the network."""
    return (
        Objective("error_percent", unit="%", options=network),
        Objective("energy_millijoules", unit="mJ", noisy=noisy),
        Objective("latency_milliseconds", unit="ms", noisy=noisy, measured_with="energy_millijoules"),
        Objective("size_megabytes", unit="MB", options=network, measured_with="energy_millijoules"),
    )


FAMILIES: tuple[Family, ...] = (
    Family(
        "dnn-stack",
        "a synthetic DNN system with the paper's options: network, operating system, hardware",
        dnn_stack,
        {
            "surface": ProblemParameter(0, "seed of the response surface; decides the network too", 0, 2**32 - 1),
            "n": ProblemParameter(2, "number of objectives: error, energy, latency, size", 2, 4),
            "ratio": ProblemParameter(100.0, "mean cost of training over that of a reading of energy", 1, 1e6),
            "noise": ProblemParameter(0.0, "standard deviation of a reading, as a share of the front's range", 0, 1),
        },
        "stack",
    ),
)
