"""Why the paper's FlexiBO buys few expensive evaluations on dnn-stack: one thing is changed at a time.

`python -m benchmarks.expensive_share` runs `flexibo-gp-log` from 20 initial designs and prints the share of its
evaluations that measure the error, the expensive objective, and the hypervolume error of its reported front. Each row
changes one thing that may be different in the authors' runs, of which 26 to 34 % are expensive (`flexibo reproduce
authors`). `--only WORDS` makes the rows whose title has these words.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.table import find_problem
from flexibo.experiments.claims import ResultTable
from flexibo.experiments.measures import shown
from flexibo.space import Space
from flexibo.study import Study

METHOD = "flexibo-gp-log"
INITIAL, ITERATIONS = 20, 200


class PlainGaussianProcess:
    """scikit-learn's Gaussian process with its defaults: losses are not standardised, the prior mean is 0."""

    def __init__(self, X: FloatArray | None = None, y: FloatArray | None = None) -> None:
        self._X, self._y = X, y
        self._model: object = None

    def fit(self, X: FloatArray, y: FloatArray, *, groups: IntArray, rng: np.random.Generator) -> PlainGaussianProcess:
        """The process with the most likely length scale and variance; of 3 restarts, as it is slow."""
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel

        fitted = PlainGaussianProcess(X, y)
        kernel = ConstantKernel(1.0, (1e-3, 1e4)) * RBF(1.0, (1e-2, 1e2))
        model = GaussianProcessRegressor(
            kernel, alpha=1e-6, n_restarts_optimizer=3, random_state=int(rng.integers(2**31))
        )
        fitted._model = model.fit(X, y)
        return fitted

    def extend(self, X: FloatArray, y: FloatArray) -> PlainGaussianProcess:
        """The process with more losses and the same kernel."""
        from sklearn.gaussian_process import GaussianProcessRegressor

        assert self._X is not None
        assert self._y is not None
        fitted = PlainGaussianProcess(np.concatenate([self._X, X]), np.concatenate([self._y, y]))
        kernel = self._model.kernel_  # type: ignore[attr-defined]  # of scikit-learn
        fitted._model = GaussianProcessRegressor(kernel, alpha=1e-6, optimizer=None).fit(fitted._X, fitted._y)
        return fitted

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The means (m,) and standard deviations (m,) of designs (m, d)."""
        mu, sigma = self._model.predict(X, return_std=True)  # type: ignore[attr-defined]  # of scikit-learn
        return mu, sigma


@dataclass(frozen=True, slots=True)
class Variant:
    """One change: of the problem, of a study's arguments, of what is charged (by objective and cost), of the space.

    With `every_option` the error is modelled over all options; `pool` is the number of designs of a fixed pool; with
    `scaled` usual losses lie between 0.15 and 0.6, as the authors' recorded ones.
    """

    title: str
    problem: str = "dnn-stack"
    settings: Mapping[str, object] | None = None
    charged: Callable[[int, float], float] = lambda j, cost: cost
    every_option: bool = False
    pool: int = 0
    initial: int = INITIAL
    scaled: bool = False


VARIANTS = (
    Variant("as in `flexibo reproduce`"),
    Variant("every evaluation costs the same", charged=lambda j, cost: 1.0),
    Variant("readings free, a training costs 15.7", charged=lambda j, cost: 15.7 if j == 0 else 0.0),
    Variant("error modelled over all options", every_option=True),
    Variant(
        "error modelled over all options, every evaluation costs the same",
        every_option=True,
        charged=lambda j, cost: 1.0,
    ),
    Variant(
        "error modelled over all options, readings free, a training costs 15.7",
        every_option=True,
        charged=lambda j, cost: 15.7 if j == 0 else 0.0,
    ),
    Variant(
        "losses scaled to 0.15 to 0.6, not standardised", settings={"surrogate": PlainGaussianProcess()}, scaled=True
    ),
    Variant("the default method's models", settings={"surrogate": "gp"}),
    Variant("a fixed pool of 1,000 designs", pool=1000),
    Variant("a fixed pool of 250 designs", pool=250),
    Variant("a fixed pool of 100 designs", pool=100),
    Variant("200 candidates per question", settings={"candidates": 200}),
    Variant("a training costs 10 readings", problem="dnn-stack:ratio=10"),
    Variant("costs in units of a reading (its log is below the floor)", charged=lambda j, cost: cost / 20.0),
    Variant("6 initial designs", initial=6),
)


def run(problem: Problem, variant: Variant, seed: int, iterations: int) -> tuple[float, float, float]:
    """The share of expensive evaluations in both halves of a run, and the error of its reported front."""
    objectives, space = problem.objectives, problem.space
    if variant.every_option:
        objectives = tuple(replace(objective, options=None) for objective in objectives)
    if variant.pool:
        drawn = list(space.sample(variant.pool, np.random.default_rng((seed, 3))))
        space = Space.from_designs({name: [design[name] for design in drawn] for name in space.names})
    initial = [dict(design) for design in (drawn if variant.pool else problem.initial_designs(variant.initial, seed))]
    low, high = _scale(problem) if variant.scaled else (np.zeros(2), np.ones(2))
    study = Study(
        space,
        objectives,
        method=METHOD,
        initial_designs=initial[: variant.initial],
        n_initial=variant.initial,
        seed=seed,
        reference={o.name: float(r) for o, r in zip(objectives, (problem.reference - low) / (high - low), strict=True)},
        **(variant.settings or {}),  # type: ignore[arg-type]  # arguments of a study by name
    )
    names = [objective.name for objective in objectives]
    bought: list[int] = []
    while len(bought) < iterations and (question := study.ask()) is not None:
        designs = problem.space.designs([dict(question.design)])
        j = names.index(question.objective)
        value = (problem.values(designs)[0, j] - low[j]) / (high[j] - low[j])
        study.tell(question, float(value), cost=variant.charged(j, float(problem.costs(designs)[0, j])))
        bought += [] if question.initial else [j]
    half = iterations // 2
    front = [problem.space.designs([dict(row.design)])[0] for row in study.front()]
    shares = [float(np.mean([j == 0 for j in part])) if part else np.nan for part in (bought[:half], bought[half:])]
    return shares[0], shares[1], problem.error(front)


def _scale(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """The losses that become 0 and 1, so that usual designs lie between 0.15 and 0.6."""
    usual = problem.losses(problem.typical_designs())
    low, high = np.quantile(usual, 0.01, axis=0), np.quantile(usual, 0.99, axis=0)
    unit = (high - low) / 0.45
    return low - 0.15 * unit, low + 0.85 * unit


def _row(variant: Variant, *, seeds: int, iterations: int) -> tuple[str, ...]:
    problem = find_problem(variant.problem)
    found = np.array([run(problem, variant, seed, iterations) for seed in range(seeds)])
    return variant.title, *(shown(list(100.0 * found[:, k])) for k in (0, 1)), shown(list(found[:, 2]))


def main() -> None:
    """Print the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=ITERATIONS)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    make = partial(_row, seeds=given.seeds, iterations=given.iterations)
    rows = []
    for variant in (variant for variant in VARIANTS if given.only in variant.title):
        rows.append(make(variant))
        print(*rows[-1], sep=" | ", flush=True)  # the table takes a while
    headings = ("what is changed", "expensive, first half (%)", "expensive, second half (%)", "error")
    title = f"{METHOD}, {given.seeds} seeds, {given.iterations} iterations: evaluations of the error"
    print(ResultTable(title, headings, tuple(rows)).markdown())


if __name__ == "__main__":
    main()
