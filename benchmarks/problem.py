"""What the benchmarks optimise: the paper's options of LeNet on a Jetson, with smooth made-up responses.

The 17 options are those of the paper's tables: eight of the network, five of the operating system, four of the
hardware. The responses are arithmetic, so that only the library is timed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from flexibo import Evaluation, Objective, Space, Study
from flexibo._internal.arrays import FloatArray
from flexibo.space import Designs

FILTERS = [16, 32, 64, 128, 256, 512, 1024]
FILTER_SIZES = [1, 3, 5, 7, 9]
NETWORK = tuple(f"{what}_{layer}" for layer in (1, 2, 3, 4) for what in ("filters", "filter_size"))
SCHEDULER = len(NETWORK)
"""The position of the only unordered option."""


GIGAHERTZ = {"cpu_ghz": (0.3, 2.3), "gpu_ghz": (0.3, 1.8), "emc_ghz": (0.3, 2.0)}
"""Clocks that have any frequency."""
STEPS = {"cpu_step": (0, 29), "gpu_step": (0, 29), "emc_step": (0, 19)}
"""Clocks that have steps, as those of the board; the space then has 1.6 * 10^13 designs."""


def lenet_space(clocks: Mapping[str, tuple[float, float]] = GIGAHERTZ) -> Space:
    """The 17 options of LeNet on a Jetson Xavier, with the paper's values; the clocks by name."""
    network = {name: FILTERS if name.startswith("filters") else FILTER_SIZES for name in NETWORK}
    return Space(
        {
            **network,
            "scheduler": ["CFP", "NOOP"],
            "swappiness": [10, 30, 60, 100],
            "dirty_background_ratio": [10, 50, 80],
            "dirty_ratio": [5, 50],
            "cache_pressure": [100, 500],
            "cpus": (1, 6),
            **clocks,
        }
    )


def positions(designs: Designs) -> FloatArray:
    """The designs as points (m, 17) of the unit cube, one coordinate per option."""
    _, first = np.unique(designs.table.groups(), return_index=True)
    X = designs.encoded()[:, first]
    X[:, SCHEDULER] = designs.codes[:, SCHEDULER]
    return X


@dataclass(frozen=True, slots=True)
class Problem:
    """Objectives over the 17 options, their responses and what measuring them costs.

    Attributes:
        space: The options.
        objectives: The objectives.
        responses: Positions (m, 17) to losses (m, n).
        costs: What one evaluation costs, by objective.
    """

    space: Space
    objectives: tuple[Objective, ...]
    responses: Callable[[FloatArray], FloatArray]
    costs: Mapping[str, float]

    @property
    def names(self) -> list[str]:
        """The names of the objectives."""
        return [objective.name for objective in self.objectives]

    def answer(self, study: Study, evaluation: Evaluation) -> None:
        """Tell the study what an evaluation gave and cost."""
        losses = self.responses(positions(self.space.designs([evaluation.design])))[0]
        value = float(losses[self.names.index(evaluation.objective)])
        study.tell(evaluation, value, cost=self.costs[evaluation.objective])

    def study(self, counts: Sequence[int], *, method: str = "flexibo", m: int = 1_000, seed: int = 0) -> Study:
        """A study that knows counts[j] random evaluations of objective j already, of shared designs."""
        study = Study(self.space, self.objectives, method=method, candidates=m, seed=seed)
        designs = self.space.sample(max(counts), np.random.default_rng((seed, 1)))
        losses = self.responses(positions(designs))
        for i, design in enumerate(designs):
            values = {name: float(losses[i, j]) for j, name in enumerate(self.names) if i < counts[j]}
            study.add(design, values, cost={name: self.costs[name] for name in values})
        return study


def lenet(
    *, options: bool = False, noisy: bool = False, clocks: Mapping[str, tuple[float, float]] = GIGAHERTZ
) -> Problem:
    """Error and energy of LeNet; training takes ten minutes, an energy reading ten seconds.

    Args:
        options: Whether the study knows that the error depends on the network's options only.
        noisy: Whether it knows that readings of the energy are noisy.
        clocks: The options of the three clocks.
    """
    error = Objective("error", options=NETWORK) if options else Objective("error")
    objectives = error, Objective("energy", noisy=noisy)
    return Problem(lenet_space(clocks), objectives, _lenet_losses, {"error": 600.0, "energy": 10.0})


def _lenet_losses(X: FloatArray) -> FloatArray:
    """Error and energy (m, 2): wide layers err less and cost more; clocks trade time against power."""
    filters, size = X[:, 0:8:2], X[:, 1:8:2]
    cpus, cpu, gpu, emc = X[:, 13:].T
    error = 0.02 + 0.5 * np.exp(-2.0 * filters.mean(axis=1) - 0.5 * filters[:, 0] * filters[:, 1])
    error += 0.2 * ((size - 0.6) ** 2).mean(axis=1)
    work = (np.exp(1.2 * filters) * (0.5 + size)).mean(axis=1)
    speed = 0.3 + 0.7 * (0.4 * cpu + 0.5 * gpu + 0.1 * emc) * (0.6 + 0.4 * cpus)
    power = 1.0 + 1.5 * cpu**2 + 2.0 * gpu**2 + 0.5 * emc + 0.4 * cpus
    system = 1.0 + 0.03 * np.sin(3.0 * X[:, 10]) + 0.02 * X[:, 11]
    return np.column_stack([error, work * power / speed * system])


def conflict(n: int) -> Problem:
    """DTLZ2 (Deb et al. 2002) of n objectives on the 17 options: a front with n - 1 dimensions.

    The place on the front depends on the last n - 1 options, the hardware's; the distance to it on all others. Each
    objective costs twice what the one before costs.
    """
    names = [f"f{j}" for j in range(n)]

    def losses(X: FloatArray) -> FloatArray:
        angle = 0.5 * np.pi * X[:, len(X.T) + 1 - n :]
        distance = 1.0 + ((X[:, : len(X.T) + 1 - n] - 0.5) ** 2).sum(axis=1)
        Y = np.tile(distance[:, None], (1, n))
        for j in range(n):
            Y[:, j] *= np.cos(angle[:, : n - 1 - j]).prod(axis=1)
            if j > 0:
                Y[:, j] *= np.sin(angle[:, n - 1 - j])
        return Y

    return Problem(lenet_space(), tuple(map(Objective, names)), losses, {name: 2.0**j for j, name in enumerate(names)})
