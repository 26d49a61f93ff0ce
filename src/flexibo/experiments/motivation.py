"""Motivation for decoupled and cost-aware methods: the paper's four categories, variation of designs, contours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray
from flexibo.compare.problems.base import Problem
from flexibo.experiments.claims import Claim, ExperimentResult, Judgement, ResultTable, claim_best
from flexibo.experiments.drawing import FAINT, caption, draw_truth, frame, label, legend_below, panels, plain
from flexibo.experiments.experiment import Experiment, Figures
from flexibo.experiments.landscape import ContourGrid, contour_grid, random_values, unexplained
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
FRONT: dict[str, Any] = {
    "marker": "*",
    "s": 45,
    "facecolors": "#F0E442",
    "edgecolors": "#000000",
    "linewidths": 0.5,
    "zorder": 4,
}


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
    return np.asarray(np.array(values, dtype=np.float64).reshape(-1, len(problem.objectives)) * problem.signs)


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
        drawn[f"motivation-categories{mark}"] = _draw_categories(own, problem)
        drawn[f"motivation-variation{mark}"] = _draw_variation(problem)
        if (grid := contour_grid(problem)) is not None:
            drawn[f"motivation-contours{mark}"] = _draw_contours(problem, grid)
    return drawn


def _draw_categories(repeats: Sequence[Repeat], problem: Problem) -> Any:
    """What the first repeat of each category measured, in objective space, coloured by cost."""
    figure, grid = panels(2, 2, panel=(4.0, 3.1))
    from matplotlib.colors import LogNorm

    first = {method: next(r for r in repeats if r.method == method) for method in CATEGORIES}
    costs = [sum(i.costs) for repeat in first.values() for i in repeat.iterations if sum(i.costs) > 0]
    norm = LogNorm(min(costs, default=1.0), max(costs, default=1.0) * (1 + 1e-9))
    front = problem.front * problem.signs
    measured = np.array([i.values for r in first.values() for i in r.iterations[1:]]).reshape(-1, 2)
    for ax, (method, category) in zip((ax for row in grid for ax in row), CATEGORIES.items(), strict=True):
        paid = [i for i in first[method].iterations if sum(i.costs) > 0]
        values = np.array([i.values for i in paid]).reshape(-1, 2)
        dots = ax.scatter(
            values[:, 0], values[:, 1], c=[sum(i.costs) for i in paid], norm=norm, cmap="viridis", s=12, zorder=3
        )
        ax.scatter(front[:, 0], front[:, 1], label="true front", **(FRONT | {"s": 22, "zorder": 2}))
        frame(ax, problem, measured)
        ax.set_title(f"{category}: {method}", fontsize="medium")
        ax.set_xlabel(label(problem.objectives[0]), fontsize="small")
        ax.set_ylabel(label(problem.objectives[1]), fontsize="small")
    where = [ax for row in grid for ax in row]
    what = f"cost of the iteration ({problem.unit}, logarithmic)"
    figure.colorbar(dots, ax=where, label=what, format=plain)
    caption(figure, f"{problem.name}: what the first repeat of each method measured, by true values")
    legend_below(figure, grid[0][0])
    return figure


def _draw_variation(problem: Problem) -> Any:
    """Several hundred random designs in objective space, with the true front and the target region."""
    figure, grid = panels(1, 1, panel=(5.4, 3.9))
    ax = grid[0][0]
    values = random_values(problem)
    draw_truth(ax, problem)
    ax.scatter(values[:, 0], values[:, 1], s=10, color=FAINT, label=f"{len(values)} random designs", zorder=1)
    near = values[on_front(problem, values.tolist())]
    if len(near):
        ax.scatter(
            near[:, 0], near[:, 1], s=40, marker="s", facecolors="none", edgecolors="#0072B2", label="on the front"
        )
    frame(ax, problem, values)
    ax.set_title(problem.name, fontsize="medium")
    caption(figure, "Random designs, by true values")
    legend_below(figure, ax)
    return figure


def _draw_contours(problem: Problem, grid: ContourGrid) -> Any:
    """Both objectives over two options, with the others in the middle of their ranges."""
    figure, axes = panels(1, 2, panel=(4.4, 3.4))
    for j, ax in enumerate(axes[0]):
        values = grid.values[:, :, j].T
        x, y = range(len(grid.levels[0])), range(len(grid.levels[1]))
        filled = ax.contourf(x, y, values, levels=12, cmap="viridis")
        ax.contour(x, y, values, levels=12, colors="#FFFFFF", linewidths=0.4)
        figure.colorbar(filled, ax=ax, label=label(problem.objectives[j]))
        every = max(1, len(x) // 6)
        ax.set_xticks(x[::every], [f"{level:g}" for level in grid.levels[0][::every]])
        ax.set_yticks(y, [f"{level:g}" for level in grid.levels[1]])
        ax.set_xlabel(_option(grid.names[0]), fontsize="small")
        ax.set_ylabel(_option(grid.names[1]), fontsize="small")
        ax.set_title(label(problem.objectives[j]).partition(" (")[0], fontsize="medium")
    caption(figure, f"{problem.name}: the other options in the middle of their ranges")
    return figure


def _option(name: str) -> str:
    """The axis label of an option."""
    words = name.split("_")
    if words[-1] == "ghz":
        return f"{' '.join(words[:-1]).upper()} frequency (GHz)"
    return f"{' '.join(words)} (count)"


MOTIVATION = Experiment(
    "motivation",
    "Coupled or decoupled, cost-aware or not; how designs vary; contours over two options.",
    tuple(CATEGORIES),
    evaluate,
    figures,
    problems=("dnn-stack",),
)
