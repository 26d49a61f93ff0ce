"""dnn-stack: a synthetic DNN system with the paper's 14 to 17 options, whose true front is known exactly.

The error depends on the network's options alone, energy on all. What a network is to energy are two numbers, and what
a deployment is are three (see `flexibo.benchmarks.dnn_surface`), all of them the better the lower. So a network that
another one beats in error, compute and traffic, or a deployment that another one beats in all its coefficients, is on
no front; the few that are left are combined one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from flexibo.arrays import FloatArray, IntArray
from flexibo.benchmarks.dnn_options import NETWORKS, network_of, stack_space
from flexibo.benchmarks.dnn_surface import (
    DEPLOYMENT_SIZES,
    Columns,
    DeploymentResponse,
    NetworkResponse,
)
from flexibo.benchmarks.problem import Family, Parameter, Problem, nadir_reference
from flexibo.objectives import Objective
from flexibo.pareto import hypervolume, non_dominated
from flexibo.space import Designs, Space

READING_SECONDS = 20.0
"""What one reading of energy costs."""

TRAINING_SPREAD = 5.0
"""How many times as long the largest network trains as the smallest."""


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """One response surface over the designs of a network's stack.

    Attributes:
        space: The designs: the network's options first, then those of its deployment.
        network: What the network's options do.
        deployment: What the others do.
        smallest: The compute of the smallest network, in GFLOP.
        largest: The compute of the largest network, in GFLOP.
    """

    space: Space
    network: NetworkResponse
    deployment: DeploymentResponse
    smallest: float
    largest: float

    def values(self, designs: Designs) -> FloatArray:
        """Error in percent and energy in millijoules (m, 2) of designs."""
        columns, k = designs.codes.T.astype(np.int64), len(self.network.values)
        work, coefficients = self.network.work(columns[:k]), self.deployment.coefficients(columns[k:])
        return np.column_stack([self.network.error_percent(columns[:k]), _energy(*work, *coefficients)])

    def training(self, columns: Columns) -> FloatArray:
        """How long networks with these columns train: 1 for the smallest, `TRAINING_SPREAD` for the largest."""
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
def front_designs(seed: int) -> Designs:
    """A design for each point of the true front of a response surface, by rising error."""
    surface = response_surface(seed)
    networks, error, compute, traffic = _useful_networks(surface.network)
    deployments, coefficients = _useful_deployments(surface.deployment)
    energy = _energy(compute[:, None], traffic[:, None], *coefficients.T)
    losses = np.column_stack([error, energy.min(axis=1)])
    rows = np.flatnonzero(non_dominated(losses))
    rows = rows[np.argsort(error[rows], kind="stable")]
    codes = np.column_stack([networks[rows], deployments[energy[rows].argmin(axis=1)]])
    return Designs(surface.space, codes.astype(np.float64))


def _useful_networks(network: NetworkResponse) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """The codes (m, k), error, compute and traffic (m,) of the networks that none beats in the last three."""
    every = _every(network.sizes)
    table = np.stack([network.error_percent(every).ravel(), *(work.ravel() for work in network.work(every))], axis=1)
    few = useful_rows(table)
    error, compute, traffic = table[few].T
    return np.stack(np.unravel_index(few, network.sizes), axis=1), error, compute, traffic


def _useful_deployments(deployment: DeploymentResponse) -> tuple[IntArray, FloatArray]:
    """The codes (m, 9) and coefficients (m, 3) of the deployments that none beats in all coefficients."""
    table = np.stack([part.ravel() for part in deployment.coefficients(_every(DEPLOYMENT_SIZES))], axis=1)
    few = useful_rows(table)
    return np.stack(np.unravel_index(few, DEPLOYMENT_SIZES), axis=1), table[few]


def useful_rows(table: FloatArray) -> IntArray:
    """The positions (k,) of the rows of a table (m, 3) of positive numbers that no other row beats.

    Most rows are beaten in every column by one that is good on the whole, for some weights; with these gone, comparing
    the rest is quick.
    """
    left, few = np.arange(len(table)), table
    scale = table.mean(axis=0)
    for weights in product((1.0, 8.0), repeat=3):
        good = few[(few @ (weights / scale)).argmin()]
        unbeaten = (few[:, 0] <= good[0]) | (few[:, 1] <= good[1]) | (few[:, 2] <= good[2])
        left, few = left[unbeaten], few[unbeaten]
    return left[non_dominated(few)]


def _energy(
    compute: FloatArray, traffic: FloatArray, of_gflop: FloatArray, of_mb: FloatArray, of_rest: FloatArray
) -> FloatArray:
    """Millijoules of an inference."""
    return np.asarray(compute * of_gflop + traffic * of_mb + of_rest)


def _every(sizes: tuple[int, ...]) -> Columns:
    """Columns that broadcast to all combinations of values of options with so many values each."""
    return np.ogrid[tuple(slice(size) for size in sizes)]


def dnn_stack(*, surface: int = 0, ratio: float = 100.0, noise: float = 0.0) -> Problem:
    """The problem of a response surface.

    Args:
        surface: The seed; the five networks of `flexibo.benchmarks.dnn_options` take turns.
        ratio: What training costs on average, as a multiple of a reading of energy.
        noise: The standard deviation of a reading of energy, as a share of the range of energy on the true front.
    """
    made = response_surface(surface)
    front = made.values(front_designs(surface))
    reference = nadir_reference(front)
    network = network_of(surface)
    k = len(NETWORKS[network])
    mean = made.training(_every(made.network.sizes)).mean()

    def costs(designs: Designs) -> FloatArray:
        training = made.training(designs.codes.T[:k].astype(np.int64)) / mean
        return READING_SECONDS * np.column_stack([ratio * training, np.ones(len(designs))])

    return Problem(
        FAMILIES[0].full_name({"surface": surface, "ratio": ratio, "noise": noise}),
        f"the paper's options of {network} on a Jetson Xavier, with made-up responses",
        made.space,
        (
            Objective("error_percent", unit="%", options=tuple(NETWORKS[network])),
            Objective("energy_millijoules", unit="mJ", noisy=noise > 0),
        ),
        made.values,
        costs,
        reference,
        front,
        hypervolume(front, reference),
        noise=np.array([0.0, noise * np.ptp(front[:, 1])]) if noise > 0 else None,
        source="options of Iqbal et al. 2023; responses of flexibo",
    )


FAMILIES: tuple[Family, ...] = (
    Family(
        "dnn-stack",
        "a synthetic DNN system with the paper's options: network, operating system, hardware",
        dnn_stack,
        {
            "surface": Parameter(0, "seed of the response surface; decides the network too", 0, 2**32 - 1),
            "ratio": Parameter(100.0, "mean cost of training over that of a reading of energy", 1, 1e6),
            "noise": Parameter(0.0, "standard deviation of an energy reading, as a share of the front's range", 0, 1),
        },
    ),
)
