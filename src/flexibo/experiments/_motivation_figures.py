"""The figures of the motivation: the four categories, the variation of designs, the contours of both objectives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from flexibo._internal.arrays import BoolArray
from flexibo.compare.problems.base import Problem
from flexibo.experiments._figure_style import FAINT, caption, label, legend_below, panels, plain
from flexibo.experiments.drawing import draw_truth, frame
from flexibo.experiments.landscape import ContourGrid, random_values
from flexibo.experiments.repeats import Repeat

FRONT: dict[str, Any] = {
    "marker": "*",
    "s": 45,
    "facecolors": "#F0E442",
    "edgecolors": "#000000",
    "linewidths": 0.5,
    "zorder": 4,
}


def categories(repeats: Sequence[Repeat], problem: Problem, names: Mapping[str, str]) -> Any:
    """What the first repeat of each category measured, in objective space, coloured by cost."""
    figure, grid = panels(2, 2, panel=(4.0, 3.1))
    from matplotlib.colors import LogNorm

    first = {method: next(r for r in repeats if r.method == method) for method in names}
    costs = [sum(i.costs) for repeat in first.values() for i in repeat.iterations if sum(i.costs) > 0]
    norm = LogNorm(min(costs, default=1.0), max(costs, default=1.0) * (1 + 1e-9))
    front = problem.front * np.array([objective.value(1.0) for objective in problem.objectives])
    measured = np.array([i.values for r in first.values() for i in r.iterations[1:]]).reshape(-1, 2)
    for ax, (method, category) in zip((ax for row in grid for ax in row), names.items(), strict=True):
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


def variation(problem: Problem, on_front: Callable[[Problem, Any], BoolArray]) -> Any:
    """Several hundred random designs in objective space, with the true front and the target region."""
    figure, grid = panels(1, 1, panel=(5.4, 3.9))
    ax = grid[0][0]
    values = random_values(problem)
    draw_truth(ax, problem)
    ax.scatter(values[:, 0], values[:, 1], s=10, color=FAINT, label=f"{len(values)} random designs", zorder=1)
    near = values[on_front(problem, values)]
    if len(near):
        ax.scatter(
            near[:, 0], near[:, 1], s=40, marker="s", facecolors="none", edgecolors="#0072B2", label="on the front"
        )
    frame(ax, problem, values)
    ax.set_title(problem.name, fontsize="medium")
    caption(figure, "Random designs, by true values")
    legend_below(figure, ax)
    return figure


def contours(problem: Problem, grid: ContourGrid) -> Any:
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
