"""Motivation for decoupled and cost-aware methods: the paper's four categories, variation of designs, contours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo.compare.problems.base import Problem
from flexibo.experiments import _motivation_figures as motivation_figures
from flexibo.experiments.claim_tests import claim_best
from flexibo.experiments.claims import Claim, ExperimentResult, Judgement, ResultTable
from flexibo.experiments.experiment import Experiment, Figures
from flexibo.experiments.landscape import contour_grid, random_values, unexplained
from flexibo.experiments.measures import mean, number, percent, shown, values_of
from flexibo.experiments.repeats import Repeat, methods_of, of_problem, problems_of
from flexibo.experiments.rq2 import cost_per_iteration
from flexibo.experiments.standard_tables import DEFINITIONS, OURS, error_claims, standings_tables

CATEGORIES: dict[str, str] = {
    "pal": "coupled, cost-unaware",
    "ca-mobo": "coupled, cost-aware",
    "pesmo-dec": "decoupled, cost-unaware",
    OURS: "decoupled, cost-aware",
}
"""The paper's own representatives of its four categories."""

NEAR = 0.01
"""A design counts as on the front within this share of the front's range."""
VARIATION = (3.0, 4.0)
"""The largest value over the smallest in the paper, of prediction error and energy."""
NON_LINEAR = 0.05
"""An objective is non-linear if a plane does not explain more than this share of its variance."""
NOTES = (
    "The categories are represented as in the paper: PAL (coupled, cost-unaware), CA-MOBO (coupled, cost-aware), "
    "PESMO-DEC (decoupled, cost-unaware) and FlexiBO with log costs (decoupled, cost-aware).",
    "The paper tunes seven options of SqueezeNet in this experiment; here all options of the problem are tuned.",
    f"On the front: within {NEAR:.0%} of the front's range. Low quality: worse than the median design in every "
    "objective. Non-linear: a plane over the two options leaves more than "
    f"{NON_LINEAR:.0%} of the variance.".replace("%", " %"),
)


def on_front(problem: Problem, values: Sequence[Sequence[float]]) -> BoolArray:
    """Which designs, given by their true values (k, n), are on the true front or very near it."""
    losses = _losses(problem, values)
    nearer = losses - NEAR * np.ptp(problem.front, axis=0)
    beaten = (problem.front[None, :, :] <= nearer[:, None, :]).all(axis=2)
    return np.asarray(~beaten.any(axis=1))


def low_quality(problem: Problem, values: Sequence[Sequence[float]]) -> BoolArray:
    """Which designs, given by their true values (k, n), are worse than the median design in every objective."""
    median = np.median(problem.losses(problem.typical_designs()), axis=0)
    return np.asarray((_losses(problem, values) > median).all(axis=1))


def _losses(problem: Problem, values: Sequence[Sequence[float]]) -> FloatArray:
    signs = np.array([objective.loss(1.0) for objective in problem.objectives])
    return np.asarray(np.array(values, dtype=np.float64).reshape(-1, len(signs)) * signs)


def found_on_front(problem: Problem, repeat: Repeat) -> float:
    """The number of different reported designs on the true front."""
    return float(on_front(problem, sorted(set(repeat.front))).sum())


def wasted(problem: Problem, repeat: Repeat) -> float:
    """The share of iterations spent on designs of low quality, in percent."""
    values = [iteration.values for iteration in repeat.iterations[1:]]
    return 100.0 * float(low_quality(problem, values).mean()) if values else math.nan


def evaluate(repeats: Sequence[Repeat], problems: Mapping[str, Problem]) -> ExperimentResult:
    """The four categories, and the landscape of the problem."""
    others = [method for method in CATEGORIES if method != OURS]
    claims = (
        *error_claims(repeats, "The decoupled, cost-aware method has the lowest hypervolume error of the four"),
        claim_best(
            "The decoupled, cost-aware method identifies more designs on the Pareto front than the others.",
            repeats,
            ours=OURS,
            others=others,
            measure=lambda name: lambda repeat: found_on_front(problems[name], repeat),
            best=max,
        ),
        claim_best(
            "The coupled, cost-unaware method measures at the highest cost (real cost per iteration).",
            repeats,
            ours="pal",
            others=[method for method in CATEGORIES if method != "pal"],
            measure=lambda _: cost_per_iteration,
            best=max,
        ),
        claim_best(
            "The decoupled, cost-unaware method measures more low-quality designs than the cost-aware one (percent).",
            repeats,
            ours="pesmo-dec",
            others=[OURS],
            measure=lambda name: lambda repeat: wasted(problems[name], repeat),
            best=max,
        ),
        _variation(problems),
        _both_non_linear(problems),
    )
    categories = (_categories(of_problem(repeats, name), problems[name]) for name in problems_of(repeats))
    tables = (*standings_tables(repeats), *categories)
    title = "Motivation: coupled or decoupled, cost-aware or not"
    return ExperimentResult("motivation", title, tables, claims, (DEFINITIONS, *NOTES))


def _categories(repeats: Sequence[Repeat], problem: Problem) -> ResultTable:
    """On one problem: the cost of iterations, the designs found, and the share of iterations wasted."""
    measures = (
        cost_per_iteration,
        lambda repeat: found_on_front(problem, repeat),
        lambda repeat: wasted(problem, repeat),
    )
    rows = [
        (CATEGORIES[method], method, *(shown(values_of(repeats, problem.name, method, m)) for m in measures))
        for method in methods_of(repeats)
    ]
    headings = (
        "category",
        "method",
        f"cost per iteration ({problem.unit})",
        "designs on the front",
        "low quality (%)",
    )
    return ResultTable(f"{problem.name}: the four categories", headings, tuple(rows), labels=2)


def _variation(problems: Mapping[str, Problem]) -> Claim:
    judgements = []
    for name, problem in problems.items():
        values = random_values(problem)
        if (values > 0).all():
            times = values.max(axis=0) / values.min(axis=0)
            words = [f"{o.name} {number(t, 2)} times" for o, t in zip(problem.objectives, times, strict=True)]
            enough = all(t >= least for t, least in zip(times, VARIATION, strict=False))
            judgements.append(Judgement(name, enough, f"{', '.join(words)}, in {len(values)} random designs"))
    return Claim("Designs differ widely: prediction error varies 3 times, energy 4 times.", tuple(judgements))


def _both_non_linear(problems: Mapping[str, Problem]) -> Claim:
    judgements = []
    for name, problem in problems.items():
        grid = contour_grid(problem)
        if grid is None:
            continue
        left = [unexplained(grid.values[:, :, j]) for j in range(len(problem.objectives))]
        words = [f"{o.name} {percent(share)}" for o, share in zip(problem.objectives, left, strict=True)]
        numbers = f"a plane leaves of the variance: {', '.join(words)}"
        judgements.append(Judgement(name, mean(left) > NON_LINEAR and min(left) > NON_LINEAR, numbers))
    return Claim("Both objectives are non-linear in CPU frequency and number of filters.", tuple(judgements))


def figures(repeats: Sequence[Repeat], problems: Mapping[str, Problem]) -> Figures:
    """The four categories, the variation and the contours."""
    drawn: Figures = {}
    for k, name in enumerate(problems_of(repeats)):
        mark = "" if k == 0 else f"-{k + 1}"
        problem = problems[name]
        if len(problem.objectives) != 2:
            continue
        own = [repeat for repeat in repeats if repeat.problem == name]
        drawn[f"motivation-categories{mark}"] = motivation_figures.categories(own, problem, CATEGORIES)
        drawn[f"motivation-variation{mark}"] = motivation_figures.variation(problem, on_front)
        if (grid := contour_grid(problem)) is not None:
            drawn[f"motivation-contours{mark}"] = motivation_figures.contours(problem, grid)
    return drawn


MOTIVATION = Experiment(
    "motivation",
    "Coupled or decoupled, cost-aware or not; how designs vary; contours over two options.",
    tuple(CATEGORIES),
    evaluate,
    figures,
    problems=("dnn-stack",),
)
