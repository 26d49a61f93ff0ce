"""How good the fronts of the methods are: ``python -m benchmarks.quality``.

Every method optimises Branin-Currin and DTLZ2 with the same initial designs and the same budget. What counts is the
confirmed error: the share of the true front's hypervolume that the designs of the study's front miss, all of which
were measured in both objectives. Both cost the same, so cost-awareness brings nothing here. Decoupling still may: the
default (`flexibo.methods.completion_gain`) leaves out the second objective of a design whose first disappoints.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from flexibo import Design, Objective, Space, Study, list_methods
from flexibo.pareto import hypervolume

N_INITIAL = 10
FLOOR = "random-coupled"


@dataclass(frozen=True, slots=True)
class Problem:
    """Two functions to minimise, and what their true front is worth.

    Attributes:
        space: The designs.
        functions: The objectives by name.
        reference: The reference point.
        best: The hypervolume of the true front.
    """

    space: Space
    functions: Mapping[str, Callable[[Design], float]]
    reference: tuple[float, float]
    best: float

    def error(self, designs: Sequence[Design]) -> float:
        """The hypervolume error of designs."""
        losses = np.array([[f(design) for f in self.functions.values()] for design in designs]).reshape(-1, 2)
        return 1.0 - hypervolume(losses, np.array(self.reference)) / self.best


def branin_currin() -> Problem:
    """Branin and Currin's functions on the unit square (Belakaria et al. 2019); the volume is BoTorch's figure."""
    space = Space({"x": (0.0, 1.0), "y": (0.0, 1.0)})
    return Problem(space, {"branin": _branin, "currin": _currin}, (18.0, 6.0), 59.36011874867746)


def _branin(design: Design) -> float:
    u, v = 15.0 * float(design["x"]) - 5.0, 15.0 * float(design["y"])
    bowl = v - 5.1 / (4.0 * math.pi**2) * u**2 + 5.0 / math.pi * u - 6.0
    return bowl**2 + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * math.cos(u) + 10.0


def _currin(design: Design) -> float:
    x, y = float(design["x"]), float(design["y"])
    damping = 1.0 - math.exp(-0.5 / y) if y > 0 else 1.0
    return (
        damping * (2300.0 * x**3 + 1900.0 * x**2 + 2092.0 * x + 60.0) / (100.0 * x**3 + 500.0 * x**2 + 4.0 * x + 20.0)
    )


def dtlz2() -> Problem:
    """DTLZ2 (Deb et al. 2002) with two objectives and six options; its front is a quarter of the unit circle."""
    names = [f"x{i}" for i in range(6)]
    space = Space(dict.fromkeys(names, (0.0, 1.0)))

    def radius(design: Design) -> float:
        return 1.0 + sum((float(design[name]) - 0.5) ** 2 for name in names[1:])

    def first(design: Design) -> float:
        return radius(design) * math.cos(0.5 * math.pi * float(design["x0"]))

    def second(design: Design) -> float:
        return radius(design) * math.sin(0.5 * math.pi * float(design["x0"]))

    return Problem(space, {"f0": first, "f1": second}, (1.1, 1.1), 1.21 - math.pi / 4.0)


PROBLEMS: dict[str, Callable[[], Problem]] = {"Branin-Currin": branin_currin, "DTLZ2": dtlz2}


def run(task: tuple[str, str, int, int]) -> tuple[float, float]:
    """The confirmed error halfway and at the end of one study."""
    name, method, seed, budget = task
    os.environ["OMP_NUM_THREADS"] = "1"
    problem = PROBLEMS[name]()
    study = Study(
        problem.space,
        [Objective(objective) for objective in problem.functions],
        method=method,
        n_initial=N_INITIAL,
        seed=seed,
        budget=2.0 * (N_INITIAL + budget),
        reference=problem.reference,
    )
    half = 1.0
    while evaluation := study.ask():
        study.tell(evaluation, problem.functions[evaluation.objective](evaluation.design), cost=1.0)
        if study.spent == 2.0 * N_INITIAL + budget:
            half = problem.error([row.design for row in study.front()])
    end = problem.error([row.design for row in study.front()])
    return (half if study.spent >= 2.0 * N_INITIAL + budget else end), end


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every method on every problem and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--methods", default=",".join(_distinct()), help="names, with commas")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=40, help="full evaluations after the initial designs")
    given = parser.parse_args(arguments)
    names = list(dict.fromkeys([FLOOR, *given.methods.split(",")]))
    tasks = [(p, m, seed, given.budget) for m in names for p in PROBLEMS for seed in range(given.seeds)]
    with ProcessPoolExecutor() as pool:
        found = dict(zip(tasks, pool.map(run, tasks), strict=True))
    table = _table(found, names, given)
    Console(width=150).print(table)
    return 0


def _distinct() -> list[str]:
    """The methods that differ where costs are equal; of the paper's own the one with forests is left out, for time."""
    names = [method.name for method in list_methods()]
    return [
        name for name in names if "-rf-" not in name and not name.endswith(("-ratio", "-constant")) and name != "random"
    ]


def _table(
    found: Mapping[tuple[str, str, int, int], tuple[float, float]], names: list[str], given: argparse.Namespace
) -> Table:
    title = f"Confirmed error: mean of {given.seeds} seeds (standard error), half and all of {given.budget} evaluations"
    table = Table(title=title)
    table.add_column("method")
    for problem in PROBLEMS:
        table.add_column(f"{problem}, half", justify="right")
        table.add_column(f"{problem}, all", justify="right")
        table.add_column(f"better than {FLOOR}", justify="right")
    for name in names:
        cells = []
        for problem in PROBLEMS:
            errors, floor = (
                np.array([found[problem, m, seed, given.budget] for seed in range(given.seeds)]) for m in (name, FLOOR)
            )
            spread = errors.std(axis=0, ddof=1) / math.sqrt(given.seeds) if given.seeds > 1 else np.zeros(2)
            cells += [f"{mean:.4f} ({error:.4f})" for mean, error in zip(errors.mean(axis=0), spread, strict=True)]
            verdict = "yes" if errors[:, 1].mean() < floor[:, 1].mean() else "NO"
            wins = int((errors[:, 1] < floor[:, 1]).sum())
            cells.append("" if name == FLOOR else f"{verdict}, {wins} of {given.seeds}")
        table.add_row(name, *cells)
    return table


if __name__ == "__main__":
    sys.exit(main())
