"""Whether local models find the fronts that exact ones find, at 1,000 evaluations: ``python -m benchmarks.wide``.

The same studies are run twice, with a model that is always exact and with one that is local from 300 evaluations on,
on problems where readings of one objective are cheap. The local one looks at 400 rows for each question: at 1,000
evaluations it leaves out the share that the default leaves out at 5,000.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from flexibo import Evaluation, GaussianProcess, Study
from flexibo._internal.arrays import FloatArray
from flexibo.compare.problems.base import Problem, constant_costs, true_front
from flexibo.compare.problems.synthetic import functions
from flexibo.compare.problems.table import find_problem
from flexibo.objectives import Objective
from flexibo.pareto import hypervolume
from flexibo.results.confidence import reported_designs
from flexibo.space import Categorical, Designs, Integer, Ordinal, Space
from flexibo.space.options import Option
from flexibo.surrogates import Reach, Surrogate, Warped

N_INITIAL = 10
CANDIDATES = 400
SHARES = (0.25, 0.5, 0.75, 1.0)
FLOOR = 1e-3
PLACES = 1000
LEVELS = np.linspace(0.1, 1.0, 10)
"""Where the nine options beside the first may stand; the front of DTLZ2 is at 0.5."""
HIDDEN = np.array([3, 1, 4, 0, 2, 8, 6, 9, 5, 7])
"""The order of the letters that stand for these levels, so that their own order tells nothing."""
MODELS: dict[str, Surrogate] = {
    "exact": Warped(GaussianProcess(max_exact=None)),
    "local": Warped(GaussianProcess(max_exact=300, reach=Reach(rows=400, anchors=120, nearest=64))),
}


@cache
def trillion() -> Problem:
    """DTLZ2 with two objectives over 10^12 designs: ten options, two unordered; the first objective is expensive."""
    options: dict[str, Option] = {"x1": Integer(0, PLACES - 1)}
    levels: list[FloatArray] = [np.linspace(0.0, 1.0, PLACES)]
    for i in range(2, 11):
        if i in (5, 9):
            options[f"x{i}"] = Categorical([chr(ord("a") + k) for k in range(10)])
        else:
            options[f"x{i}"] = Ordinal(LEVELS.round(1).tolist()) if i % 2 else Integer(0, 9)
        levels.append(LEVELS[HIDDEN] if i in (5, 9) else LEVELS)

    def values(designs: Designs) -> FloatArray:
        codes = designs.codes.astype(np.int64)
        return functions.dtlz2(np.column_stack([levels[i][codes[:, i]] for i in range(10)]), 2)

    reference = np.array([1.1, 1.1])
    front = true_front(functions.dtlz2(np.column_stack([levels[0], np.full((PLACES, 9), 0.5)]), 2))
    return Problem(
        "dtlz2, 10^12 designs",
        "DTLZ2 with ten options",
        Space(options),
        (Objective("f1"), Objective("f2")),
        values,
        constant_costs([100.0, 1.0]),
        reference,
        front,
        hypervolume(front, reference),
    )


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "dtlz2-trillion": trillion,
    "dnn-stack": lambda: find_problem("dnn-stack"),
}


def run(task: tuple[str, str, int, float]) -> tuple[list[float], int]:
    """The hypervolume error at each of the shares of the budget, and how many cheap evaluations there were."""
    name, model, seed, budget = task
    problem = PROBLEMS[name]()
    amount = budget * float(problem.mean_costs().sum())
    study = _study(problem, model, seed)
    errors: list[float] = []
    opening = None
    with threadpool_limits(limits=1):
        while len(errors) < len(SHARES) and (evaluation := study.ask()):
            if not evaluation.initial:
                opening = study.spent if opening is None else opening
                if study.spent - opening >= SHARES[len(errors)] * amount:
                    errors.append(problem.error(list(reported_designs(study.predictor, study.history))))
            _answer(problem, study, evaluation)
    return errors, study.history.count(len(problem.names) - 1)


def _study(problem: Problem, model: str, seed: int) -> Study:
    pairs = zip(problem.objectives, problem.reference, strict=True)
    return Study(
        problem.space,
        problem.objectives,
        initial_designs=list(problem.initial_designs(N_INITIAL, seed)),
        n_initial=N_INITIAL,
        cost="ratio",
        surrogate=MODELS[model],
        candidates=CANDIDATES,
        seed=seed,
        reference={objective.name: objective.value(float(loss)) for objective, loss in pairs},
    )


def _answer(problem: Problem, study: Study, evaluation: Evaluation) -> None:
    designs, j = problem.space.designs([evaluation.design]), problem.names.index(evaluation.objective)
    study.tell(evaluation, float(problem.values(designs)[0, j]), cost=float(problem.costs(designs)[0, j]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both models on every problem and print the errors and their ratios."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wide", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=100, help="the first seed")
    parser.add_argument("--budget", type=float, default=32.0, help="mean full evaluations after the initial designs")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args(arguments)
    seeds = range(given.first, given.first + given.seeds)
    tasks = [(p, model, seed, given.budget) for seed in seeds for p in PROBLEMS for model in MODELS]
    found: dict[tuple[str, str, int, float], tuple[list[float], int]] = {}
    with ProcessPoolExecutor(given.jobs) as pool:
        for task, outcome in zip(tasks, pool.map(run, tasks), strict=True):
            found[task] = outcome
            print(*task, *(f"{error:.4f}" for error in outcome[0]), outcome[1], file=sys.stderr, flush=True)
    Console(width=120).print(_table(found, list(seeds), given.budget))
    return 0


def _table(found: dict[tuple[str, str, int, float], tuple[list[float], int]], seeds: list[int], budget: float) -> Table:
    table = Table(title=f"Hypervolume error in %, geometric mean of {len(seeds)} seeds; ratios with 90 % intervals")
    for heading in ("problem", "budget", "cheap evaluations", *MODELS, "local / exact"):
        table.add_column(heading, justify="left" if heading == "problem" else "right")
    everything: list[FloatArray] = []
    for problem in PROBLEMS:
        errors = {
            model: np.log(np.maximum([found[problem, model, seed, budget][0] for seed in seeds], FLOOR))
            for model in MODELS
        }
        counts = [found[problem, model, seed, budget][1] for model in MODELS for seed in seeds]
        ratios = errors["local"] - errors["exact"]
        everything.append(ratios)
        for i, share in enumerate(SHARES):
            means = [f"{100.0 * np.exp(errors[model][:, i].mean()):.2f}" for model in MODELS]
            most = f"{min(counts):,} to {max(counts):,}" if share == 1.0 else ""
            table.add_row(problem if not i else "", f"{share:.0%}", most, *means, _interval(ratios[:, i]))
    for i, share in enumerate(SHARES):
        together = np.concatenate([ratios[:, i] for ratios in everything])
        table.add_row("" if i else "all", f"{share:.0%}", "", "", "", _interval(together))
    return table


def _interval(ratios: FloatArray) -> str:
    """The mean of the logarithms of ratios (s,) as a ratio, with the interval of a bootstrap over them."""
    rows = np.random.default_rng(0).integers(len(ratios), size=(4000, len(ratios)))
    low, high = np.quantile(ratios[rows].mean(axis=1), [0.05, 0.95])
    return f"{np.exp(ratios.mean()):.2f} ({np.exp(low):.2f}-{np.exp(high):.2f})"


if __name__ == "__main__":
    sys.exit(main())
