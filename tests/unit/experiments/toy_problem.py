"""A problem of 48 designs on which repeats are quick."""

from __future__ import annotations

import numpy as np

from flexibo import Objective, Space
from flexibo._internal.arrays import FloatArray
from flexibo.compare.problems.base import Problem, nadir_reference, true_front
from flexibo.experiments import ExperimentSize
from flexibo.pareto import hypervolume
from flexibo.space import Designs

TINY = ExperimentSize(repeats=2, n_initial=4, iterations=3)
SHORT = ExperimentSize(repeats=2, n_initial=4, iterations=1)
QUICK = "smsego"


def toy(*, name: str = "toy", expensive: float = 50.0) -> Problem:
    space = Space({"filters": [16, 32, 64, 128], "kernel": [1, 3, 5], "cpu_ghz": [0.3, 0.9, 1.5, 2.1]})

    def values(designs: Designs) -> FloatArray:
        filters, kernel, ghz = (designs.codes[:, k] for k in range(3))
        error = 40.0 / (1 + filters) + (kernel - 1) ** 2
        return np.column_stack([error, (2 + filters + kernel) * (1 + (ghz - 1) ** 2)])

    def costs(designs: Designs) -> FloatArray:
        return np.column_stack([expensive * (1 + designs.codes[:, 0]), np.full(len(designs), 2.0)])

    everything = values(space.enumerate())
    front = true_front(everything)
    reference = nadir_reference(front)
    objectives = (Objective("error", unit="%", options=["filters", "kernel"]), Objective("energy", unit="J"))
    best = hypervolume(front, reference)
    return Problem(name, "made up", space, objectives, values, costs, reference, front, best)
