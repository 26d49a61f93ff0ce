"""Why the paper's FlexiBO buys few expensive evaluations on dnn-stack: one thing is changed at a time.

`python -m benchmarks.expensive_share` runs `flexibo-gp-log` from 20 initial designs for 100 iterations and prints, for
each variant, the share of its evaluations that measure the error, the expensive objective, and the difference to
another variant with the same seeds. The method buys an evaluation of the error when the volume that the best one is
expected to remove from the Pareto region, divided by that of the best reading of energy, exceeds the ratio of their
divisors. So the table also has the median of both ratios over the questions, and the standard deviations that the
models predict for the designs that may be on the front. `--only WORDS` makes the variants whose title has these words.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.belief.belief import Belief
from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.table import find_problem
from flexibo.experiments.claims import ResultTable
from flexibo.experiments.measures import number, shown
from flexibo.methods.base import ScoringMethod
from flexibo.methods.flexibo import region_gain
from flexibo.methods.table import METHODS, find_method
from flexibo.results.confidence import reported_designs
from flexibo.space import Designs, Space
from flexibo.study import Study
from flexibo.surrogates import Surrogate
from flexibo.surrogates.gaussian_process import PAPER_GP

METHOD = "flexibo-gp-log"
WATCHED = f"{METHOD}-watched"
INITIAL, ITERATIONS, SEEDS = 20, 100, 5
BASE = "as in `flexibo reproduce`"
VARIED = ("cpu_ghz", "gpu_ghz")
"""The options of the deployment that still vary where the others are fixed."""


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
class FixedGaussianProcess:
    """The paper's Gaussian process of the initial designs: what is measured later does not change it."""

    fitted: Surrogate | None = None

    def fit(self, X: FloatArray, y: FloatArray, *, groups: IntArray, rng: np.random.Generator) -> FixedGaussianProcess:
        """The process of the first losses."""
        rng = np.random.default_rng(len(y[:INITIAL]))  # the same at every refit
        return FixedGaussianProcess(PAPER_GP.fit(X[:INITIAL], y[:INITIAL], groups=groups, rng=rng))

    def extend(self, X: FloatArray, y: FloatArray) -> FixedGaussianProcess:
        """The same process."""
        return self

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The means (m,) and standard deviations (m,) of designs (m, d)."""
        assert self.fitted is not None
        return self.fitted.predict(X)


def as_recorded(costs: FloatArray) -> FloatArray:
    """The costs (2,) of both objectives as they are."""
    return costs


def equal(costs: FloatArray) -> FloatArray:
    """1 for every evaluation."""
    return np.ones_like(costs)


def free_readings(costs: FloatArray) -> FloatArray:
    """What the authors' records charge on SqueezeNet."""
    return np.array([15.7, 0.0])


def exchanged(costs: FloatArray) -> FloatArray:
    """The error for what a reading costs, and the reverse."""
    return costs[::-1]


@dataclass(frozen=True, slots=True)
class Variant:
    """What is changed, and the title of the variant that it is compared with.

    Attributes:
        title: For people.
        against: The title of another variant.
        problem: The problem.
        settings: Arguments of the study.
        charged: The charged costs (2,) of the error and the energy of a design, given the recorded ones.
        every_option: Whether the error is modelled over all options.
        pool: The number of designs of a fixed pool; 0 for the whole space.
        few_options: Whether only `VARIED` of the deployment's options vary.
        networks: The number of networks in the pool; 0 for a network of its own in nearly every design.
        initial: The number of initial designs.
        scaled: Whether usual losses lie between 0.15 and 0.6, as the authors' recorded ones.
        log_energy: Whether the logarithm of the energy is the objective.
    """

    title: str
    against: str = BASE
    problem: str = "dnn-stack"
    settings: Mapping[str, object] = field(default_factory=dict)
    charged: Callable[[FloatArray], FloatArray] = as_recorded
    every_option: bool = False
    pool: int = 0
    few_options: bool = False
    networks: int = 0
    initial: int = INITIAL
    scaled: bool = False
    log_energy: bool = False


PER_OPTION = replace(PAPER_GP, length_scales="per-option")
ALL_OPTIONS, FIXED, POOL = "error modelled over all options", "models of the initial designs only", "a pool of 1,000"
FEW = f"{POOL}, 7 options vary"
NETWORKS = f"{POOL}, 28 networks"
TABLE = "squeezenet-h200, 6 initial designs"
VARIANTS = (
    Variant(BASE),
    Variant("every evaluation costs the same", charged=equal),
    Variant("readings free, a training costs 15.7", charged=free_readings),
    Variant("a training costs 10 readings", problem="dnn-stack:ratio=10"),
    Variant("prices of error and energy exchanged", charged=exchanged),
    Variant(ALL_OPTIONS, every_option=True),
    Variant(f"{ALL_OPTIONS}, same costs", against=ALL_OPTIONS, every_option=True, charged=equal),
    Variant("a length scale for each option", settings={"surrogate": PER_OPTION}),
    Variant("the default method's models", settings={"surrogate": "gp"}),
    Variant("losses not standardised", settings={"surrogate": PlainGaussianProcess()}, scaled=True),
    Variant("the logarithm of the energy", log_energy=True),
    Variant(FIXED, settings={"surrogate": FixedGaussianProcess()}),
    Variant(f"{FIXED}, same costs", against=FIXED, settings={"surrogate": FixedGaussianProcess()}, charged=equal),
    Variant("6 initial designs", initial=6),
    Variant(POOL, pool=1000),
    Variant(FEW, against=POOL, pool=1000, few_options=True),
    Variant("a pool of 250", against=POOL, pool=250),
    Variant(NETWORKS, against=POOL, pool=1000, networks=28),
    Variant(f"{NETWORKS}, {ALL_OPTIONS}", against=NETWORKS, pool=1000, networks=28, every_option=True),
    Variant(f"{NETWORKS}, 6 initial designs", against=NETWORKS, pool=1000, networks=28, initial=6),
    Variant(TABLE, problem="squeezenet-h200", initial=6),
    Variant("squeezenet-h200, 20 initial designs", against=TABLE, problem="squeezenet-h200"),
    Variant(f"{TABLE}, {ALL_OPTIONS}", against=TABLE, problem="squeezenet-h200", initial=6, every_option=True),
    Variant(f"{TABLE}, same costs", against=TABLE, problem="squeezenet-h200", initial=6, charged=equal),
)


@dataclass(frozen=True, slots=True)
class Run:
    """What one run shows; the lists have an entry for each question."""

    bought: list[int]
    gains: list[float]
    divisors: list[float]
    deviations: list[FloatArray]
    error: float

    def row(self) -> tuple[float, ...]:
        """Evaluations of the error (%), ratios of gains and of divisors, both deviations (%), and the front's error."""
        deviations = np.median(self.deviations, axis=0)
        share = 100.0 * float(np.mean([j == 0 for j in self.bought]))
        return share, float(np.median(self.gains)), float(np.median(self.divisors)), *deviations, self.error


class Watch:
    """The paper's acquisition, which keeps what decides between the two objectives."""

    def __init__(self, spread: FloatArray) -> None:
        self.spread = spread
        self.gains: list[float] = []
        self.divisors: list[float] = []
        self.deviations: list[FloatArray] = []

    def __call__(self, belief: Belief, rng: np.random.Generator) -> FloatArray:
        """V - V' for every candidate and objective (m, 2)."""
        scores = region_gain(belief, rng)
        best = np.where(belief.open, scores, 0.0).max(axis=0)
        if best[1] > 0.0:
            self.gains.append(float(best[0] / best[1]))
        self.divisors.append(float(np.median(belief.thetas[:, 0] / belief.thetas[:, 1])))
        assert belief.region is not None
        self.deviations.append(100.0 * belief.sigma[belief.region.alive].mean(axis=0) / self.spread)
        return scores


def run(problem: Problem, variant: Variant, seed: int, iterations: int) -> Run:
    """One run of a variant."""
    objectives, space = problem.objectives, problem.space
    if variant.every_option:
        objectives = tuple(replace(objective, options=None) for objective in objectives)
    initial = problem.initial_designs(variant.initial, seed)
    if variant.pool:
        pool = drawn_pool(space, variant, np.random.default_rng((seed, 3)))
        initial, space = pool[: variant.initial], space.limited_to(pool)
    transform = _transform(problem, variant)
    usual = transform(problem.losses(problem.typical_designs()))
    watch = Watch(np.quantile(usual, 0.99, axis=0) - np.quantile(usual, 0.01, axis=0))
    method = find_method(METHOD)
    assert isinstance(method, ScoringMethod)
    METHODS[WATCHED] = replace(method, name=WATCHED, acquisition=watch)
    reference = transform(problem.reference[None, :])[0]
    study = Study(
        space,
        objectives,
        method=WATCHED,
        initial_designs=[dict(design) for design in initial],
        n_initial=variant.initial,
        seed=seed,
        reference={objective.name: float(r) for objective, r in zip(objectives, reference, strict=True)},
        **variant.settings,  # type: ignore[arg-type]  # arguments of a study by name
    )
    del METHODS[WATCHED]
    names = [objective.name for objective in objectives]
    bought: list[int] = []
    while len(bought) < iterations and (question := study.ask()) is not None:
        designs = problem.space.designs([dict(question.design)])
        j = names.index(question.objective)
        value, cost = transform(problem.losses(designs))[0, j], variant.charged(problem.costs(designs)[0])[j]
        study.tell(question, float(value), cost=float(cost))
        bought += [] if question.initial else [j]
    reported = reported_designs(study.predictor, study.history)
    front = [problem.space.designs([dict(design)])[0] for design in reported]
    return Run(bought, watch.gains, watch.divisors, watch.deviations, problem.error(front))


def drawn_pool(space: Space, variant: Variant, rng: np.random.Generator) -> Designs:
    """A draw of designs; where few options vary, the others of the deployment are those of the first design."""
    drawn = [dict(design) for design in space.sample(variant.pool, rng)]
    own = find_problem(variant.problem).objectives[0].depends_on or ()
    if variant.few_options:
        fixed = {name: value for name, value in drawn[0].items() if name not in (*own, *VARIED)}
        drawn = [{**design, **fixed} for design in drawn]
    if variant.networks:
        networks = [{name: design[name] for name in own} for design in drawn[: variant.networks]]
        drawn = [{**design, **networks[row % variant.networks]} for row, design in enumerate(drawn)]
    return space.designs(drawn)


def _transform(problem: Problem, variant: Variant) -> Callable[[FloatArray], FloatArray]:
    """From losses (m, 2) to what the study is told."""
    if variant.log_energy:
        return lambda losses: np.column_stack([losses[:, 0], np.log(losses[:, 1])])
    if not variant.scaled:
        return lambda losses: losses
    usual = problem.losses(problem.typical_designs())
    low, high = np.quantile(usual, 0.01, axis=0), np.quantile(usual, 0.99, axis=0)
    return lambda losses: 0.15 + 0.45 * (losses - low) / (high - low)


def main() -> None:
    """Print the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--iterations", type=int, default=ITERATIONS)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    wanted = {variant.title for variant in VARIANTS if given.only in variant.title}
    wanted |= {variant.against for variant in VARIANTS if variant.title in wanted}
    found: dict[str, FloatArray] = {}
    rows = []
    for variant in (variant for variant in VARIANTS if variant.title in wanted):
        problem = find_problem(variant.problem)
        made = [run(problem, variant, seed, given.iterations).row() for seed in range(given.seeds)]
        found[variant.title] = np.array(made)
        rows.append(_cells(variant, found))
        print(*rows[-1], sep=" | ", flush=True)  # the table takes a while
    headings = (
        "what is changed",
        "of the error (%)",
        "difference",
        "to row",
        "ratio of gains",
        "ratio of divisors",
        "deviation of error (%)",
        "deviation of energy (%)",
        "hypervolume error",
    )
    title = f"{METHOD}, {given.seeds} seeds, {given.iterations} iterations: evaluations of the error, and what decides"
    print(ResultTable(title, headings, tuple(rows)).markdown())


def _cells(variant: Variant, found: Mapping[str, FloatArray]) -> tuple[str, ...]:
    """The row of a variant; its difference is paired by seeds."""
    own, other = found[variant.title], found[variant.against]
    first = variant.title == variant.against
    difference = ("", "") if first else (shown(list(own[:, 0] - other[:, 0])), str(_place(variant.against)))
    middle = (number(float(np.mean(own[:, k])), 2) for k in range(1, 5))
    label = f"{_place(variant.title)}. {variant.title}"
    return label, shown(list(own[:, 0])), *difference, *middle, shown(list(own[:, 5]))


def _place(title: str) -> int:
    """The number of a variant's row in the whole table."""
    return [variant.title for variant in VARIANTS].index(title) + 1


if __name__ == "__main__":
    main()
