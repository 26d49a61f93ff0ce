"""The figures that experiments share, and their style: errors, fronts, behaviour, use of resources, times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo.compare.problems.base import Problem
from flexibo.errors import missing_extra
from flexibo.experiments.landscape import logarithmic
from flexibo.experiments.making import target_region
from flexibo.experiments.measures import AXES, REAL_COST, CostAxis, equal_limit, error_at, measures_of, state_at
from flexibo.experiments.repeats import Repeat, methods_of, of_problem, problems_of
from flexibo.objectives import Objective

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, which colour-blind people can distinguish; the markers differ for print in black and white.
STYLES: dict[str, tuple[str, str]] = {
    "flexibo-gp-log": ("#D55E00", "o"),
    "flexibo-gp-ratio": ("#0072B2", "s"),
    "flexibo-gp-constant": ("#009E73", "^"),
    "flexibo-rf-log": ("#0072B2", "D"),
    "pesmo": ("#0072B2", "s"),
    "pesmo-dec": ("#56B4E9", "D"),
    "pal": ("#009E73", "^"),
    "parego": ("#CC79A7", "v"),
    "smsego": ("#E69F00", "P"),
    "ca-mobo": ("#8C7A00", "X"),
    "flexibo": ("#000000", "*"),
}
INK, FAINT, TARGET = "#000000", "#999999", "#F0E442"
PANEL = (3.6, 2.7)
"""Inches of one panel."""

MOST_COLUMNS = 4
"""With more problems, a figure is tall instead of wide."""
FLOOR = 1e-4
"""Errors below this are drawn here: the scale is logarithmic."""
STEPS = 201
WINDOW = 15
"""Changes of volume are averaged over this many iterations, fewer in a short run."""
MOST_BANDS = 4
"""With more methods, bands would hide each other and are not drawn."""
SHADE = "#21918C"
"""The colour of costs in the legend."""
PALE = 0.35
"""The opacity of colours beyond equal cost."""


def panels(rows: int, columns: int, *, panel: tuple[float, float] = PANEL) -> tuple[Figure, list[list[Axes]]]:
    """An empty figure with a grid of axes (extra ``plot``)."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("matplotlib", "plot") from None
    figure = Figure(figsize=(panel[0] * columns, panel[1] * rows + 0.5), layout="constrained")
    grid: Any = figure.subplots(rows, columns, squeeze=False)
    for ax in grid.ravel():
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize="small")
    return figure, grid.tolist()


def problem_panels(kinds: int, n: int, *, panel: tuple[float, float] = PANEL) -> tuple[Figure, list[list[Axes]]]:
    """An empty figure with axes by kind and problem: a column for each of n problems.

    With many problems it has a row for each of them; if there is only one kind, rows of several.
    """
    if n <= MOST_COLUMNS:
        return panels(kinds, n, panel=panel)
    if kinds > 1:
        figure, grid = panels(n, kinds, panel=panel)
        return figure, [list(column) for column in zip(*grid, strict=True)]
    figure, grid = panels(-(-n // MOST_COLUMNS), MOST_COLUMNS, panel=panel)
    every = [ax for row in grid for ax in row]
    for ax in every[n:]:
        ax.remove()
    return figure, [every[:n]]


def legend_below(figure: Figure, ax: Axes, *, more: Sequence[Any] = ()) -> None:
    """One legend below all panels, as wide as the figure allows; `more` are handles with labels."""
    handles = [*ax.get_legend_handles_labels()[0], *more]
    if handles:
        lengths = [len(handle.get_label()) for handle in handles]
        fitting = [n for n in range(1, min(len(handles), 5) + 1) if _inches(lengths, n) <= figure.get_figwidth()]
        columns = max(fitting, default=1)
        figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, fontsize="small")


def _inches(lengths: Sequence[int], columns: int) -> float:
    """The approximate width of a legend with labels of these lengths in a number of columns."""
    return float(sum(0.55 + 0.058 * part.max() for part in np.array_split(np.array(lengths), columns)))


def caption(figure: Figure, text: str) -> None:
    """Write a caption above the panels."""
    figure.suptitle(fill(text, int(figure.get_figwidth() / 0.065)), fontsize="small", color="#444444")


def label(objective: Objective) -> str:
    """The axis label of an objective, with its unit.

    >>> label(Objective("error_percent", unit="%"))
    'error (%)'
    """
    unit = objective.unit or "no unit"
    words = objective.name.split("_")
    if words[-1] in ("percent", "millijoules", "joules", "seconds", unit):
        words = words[:-1] or words
    return f"{' '.join(words)} ({unit})"


def plain(value: float, _: object = None) -> str:
    """A number on an axis, without powers of ten.

    >>> plain(0.05), plain(30000.0)
    ('0.05', '30,000')
    """
    return f"{value:,.4g}" if value < 1e3 else f"{value:,.0f}"


def log_scale(ax: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis logarithmic, with a few plain numbers; call it after drawing."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator

    (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    axis: Any = ax.xaxis if which == "x" else ax.yaxis
    low, high = ax.get_xlim() if which == "x" else ax.get_ylim()
    decades = np.log10(high / low)
    if decades < 0.6:
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
        axis.set_minor_locator(NullLocator())
    else:
        most = 4 if which == "x" else 8  # large numbers side by side would overlap
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 2 else (1.0,), numticks=most))
    axis.set_major_formatter(plain)
    axis.set_minor_formatter(NullFormatter())


def errors(repeats: Sequence[Repeat], *, extra: Sequence[str] = (), confirmed: bool = False) -> Any:
    """Hypervolume error against iterations, log cost and real cost of each problem.

    It is that of the reported designs or of those that were measured completely. Lines are means over the repeats,
    bands their standard errors if there are few methods; `extra` methods, which are not in the paper, have dashed
    lines.
    """
    names = problems_of(repeats)
    banded = len(methods_of(repeats)) <= MOST_BANDS
    figure, grid = problem_panels(len(AXES), len(names))
    for axis, row in zip(AXES, grid, strict=True):
        for problem, ax in zip(names, row, strict=True):
            own = of_problem(repeats, problem)
            for method in methods_of(own):
                line = of_problem(own, problem, method)
                error_line(ax, line, axis, dashed=method in extra, banded=banded, confirmed=confirmed)
            log_scale(ax, "y")
            if axis is REAL_COST and _cheapest(own) < _end(own, axis):
                log_scale(ax, "x")
            ax.set_xlabel(axis.label.format(unit=own[0].unit), fontsize="small")
            ax.set_ylabel(f"{'confirmed ' if confirmed else ''}hypervolume error (share)", fontsize="small")
            if axis is AXES[0]:
                ax.set_title(problem, fontsize="medium")
    several = len({repeat.seed for repeat in repeats}) > 1
    spread = "bands: ± their standard error" if banded else "standard errors are in the tables"
    caption(figure, _lines(repeats) + (f" until one of them has made all its iterations; {spread}" if several else ""))
    legend_below(figure, grid[0][0])
    return figure


def _lines(repeats: Sequence[Repeat]) -> str:
    """The meaning of the lines, for the caption."""
    n = len({repeat.seed for repeat in repeats})
    return f"Lines: means of {n} repeats" if n > 1 else "Lines: a single repeat"


def error_figures(name: str, repeats: Sequence[Repeat], *, extra: Sequence[str] = ()) -> dict[str, Any]:
    """The errors of an experiment by reported designs and, where known, by completely measured ones."""
    return {
        f"{name}-{'confirmed' if confirmed else 'error'}": errors(repeats, extra=extra, confirmed=confirmed)
        for confirmed in measures_of(repeats)
    }


def error_line(
    ax: Axes, repeats: Sequence[Repeat], axis: CostAxis, *, dashed: bool, banded: bool, confirmed: bool = False
) -> None:
    """The mean error of one method's repeats on one problem; `dashed` if it is not in the paper."""
    method = repeats[0].method
    colour, marker = STYLES.get(method, (FAINT, "."))
    end = equal_limit(repeats, axis)  # beyond the end of the shortest repeat, the mean would be over fewer
    x = np.linspace(0.0, end, STEPS)
    if axis is REAL_COST and _cheapest(repeats) < end:
        x = np.geomspace(_cheapest(repeats), end, STEPS)
    found = np.array([[error_at(axis, place, confirmed=confirmed)(repeat) for place in x] for repeat in repeats])
    middle = found.mean(axis=0)
    if banded and len(found) > 1:
        half = found.std(axis=0, ddof=1) / math.sqrt(len(found))
        low, high = np.maximum(middle - half, FLOOR), np.maximum(middle + half, FLOOR)
        ax.fill_between(x, low, high, facecolor=(colour, 0.08), edgecolor=(colour, 0.4), lw=0.5)
    name = f"{method} (not the paper's)" if dashed else method
    style = "--" if dashed else "-"
    every = (list(STYLES).index(method) * 3 % 25 if method in STYLES else 0, 25)
    ax.plot(
        x,
        np.maximum(middle, FLOOR),
        style,
        color=colour,
        marker=marker,
        markevery=every,
        markersize=4,
        lw=1.2,
        label=name,
    )


def _cheapest(repeats: Sequence[Repeat]) -> float:
    return min(
        (cost for repeat in repeats for i in repeat.iterations for cost in i.costs if cost > 0), default=math.inf
    )


def _end(repeats: Sequence[Repeat], axis: CostAxis) -> float:
    return max(axis.of(repeat.iterations[-1]) for repeat in repeats)


def fronts(repeats: Sequence[Repeat], problems: Mapping[str, Problem]) -> Any:
    """The true values of the reported designs of the first repeat, with the true front and the target region."""
    names = [name for name in problems_of(repeats) if len(problems[name].objectives) == 2]
    figure, grid = problem_panels(1, max(1, len(names)), panel=(4.0, 3.4))
    for name, ax in zip(names, grid[0], strict=False):
        problem, own = problems[name], of_problem(repeats, name)
        draw_truth(ax, problem)
        for method in methods_of(own):
            colour, marker = STYLES.get(method, (FAINT, "."))
            values = np.array(of_problem(own, name, method)[0].front).reshape(-1, 2)
            shape: Any = {"s": 18, "marker": marker, "linewidths": 1, "zorder": 3}
            ax.scatter(values[:, 0], values[:, 1], facecolors="none", edgecolors=colour, label=method, **shape)
        frame(ax, problem, np.concatenate([np.array(r.front).reshape(-1, 2) for r in own]))
        ax.set_title(name, fontsize="medium")
    caption(figure, "Designs reported by the first repeat of each method, by true values")
    legend_below(figure, grid[0][0])
    return figure


def draw_truth(ax: Axes, problem: Problem) -> None:
    """Draw the true front of two objectives, shade the target region and label the axes."""
    signs = problem.signs
    front = problem.front[np.argsort(problem.front[:, 0])]
    word = "true front" if problem.exact else "best front known"
    where: Any = "post" if signs[0] > 0 else "pre"
    ax.step(front[:, 0] * signs[0], front[:, 1] * signs[1], where=where, color=INK, lw=0.9, label=word, zorder=2)
    bounds, best = target_region(problem), front.min(axis=0)
    corners = [np.sort([best[j], bounds[j]]) * signs[j] for j in range(2)]
    if (bounds > best).all():
        ax.fill_between(corners[0], *corners[1], color=TARGET, alpha=0.3, lw=0, label="target region", zorder=0)
    first, second = problem.objectives
    ax.set_xlabel(label(first), fontsize="small")
    ax.set_ylabel(label(second), fontsize="small")


def frame(ax: Axes, problem: Problem, values: FloatArray) -> None:
    """Show the true front and these values (k, 2), on the scales of the problem."""
    shown = np.concatenate([problem.front * problem.signs, values])
    axes: Any = (("x", ax.set_xlim), ("y", ax.set_ylim))
    scales = logarithmic(problem)
    for j, (which, bound) in enumerate(axes):
        low, high = shown[:, j].min(), shown[:, j].max()
        if scales[j] and low > 0:
            bound(low / 1.1, high * 1.1)
            log_scale(ax, which)
        else:
            bound(low - 0.05 * (high - low), high + 0.05 * (high - low))
            (ax.xaxis if which == "x" else ax.yaxis).set_major_formatter(plain)


def behaviour(repeats: Sequence[Repeat]) -> Any:
    """Evaluations per objective, and the change of the volume of the Pareto region per evaluation."""
    names = problems_of(repeats)
    figure, grid = problem_panels(2, len(names))
    for k, problem in enumerate(names):
        own = of_problem(repeats, problem)
        _counts(grid[0][k], own)
        grid[0][k].set_title(problem, fontsize="medium")
        for method in methods_of(own):
            _changes(grid[1][k], of_problem(own, problem, method))
        log_scale(grid[1][k], "y")
        grid[1][k].set_xlabel("iterations", fontsize="small")
        grid[1][k].set_ylabel("change of volume per evaluation\n(% of the first region)", fontsize="small")
    caption(figure, f"{_lines(repeats)}, each place averaged over the {_window(repeats)} iterations around it")
    legend_below(figure, grid[1][0])
    return figure


def _counts(ax: Axes, repeats: Sequence[Repeat]) -> None:
    methods, leads = methods_of(repeats), repeats[0].leads
    left = np.zeros(len(methods))
    greys = np.linspace(0.25, 0.8, max(2, len(leads)))
    for k, lead in enumerate(leads):
        counts = [np.mean([r.count(lead) for r in repeats if r.method == method]) for method in methods]
        ax.barh(methods, counts, left=left, color=str(greys[k]), height=0.6)
        left += counts
    ax.invert_yaxis()
    ax.set_xlabel(f"evaluations, from dark to pale:\n{', '.join(leads)}", fontsize="small")


def _window(repeats: Sequence[Repeat]) -> int:
    longest = max(len(_shares(repeat)) for repeat in repeats)
    return max(1, min(WINDOW, longest // 4))


def _changes(ax: Axes, repeats: Sequence[Repeat]) -> None:
    colour, marker = STYLES.get(repeats[0].method, (FAINT, "."))
    shares = [_shares(repeat) for repeat in repeats]
    longest = max(map(len, shares), default=0)
    table = np.full((len(shares), longest), np.nan)
    for row, own in zip(table, shares, strict=True):
        row[: len(own)] = own
    if not longest:
        return
    middle = np.nanmean(table, axis=0)
    width = _window(repeats)
    smooth = np.convolve(middle, np.ones(width) / width, mode="valid")
    x = np.arange(len(smooth)) + (width + 1) / 2
    every = max(1, len(x) // 8)
    ax.plot(x, smooth, color=colour, marker=marker, markevery=every, markersize=4, lw=1.2, label=repeats[0].method)


def _shares(repeat: Repeat) -> list[float]:
    """The volume that each iteration was expected to remove, in percent of the first region, at least 0.001."""
    gains = [(i.gain or 0.0, i.volume) for i in repeat.iterations if i.volume is not None]
    first = gains[0][1] if gains else None
    return [max(100.0 * gain / first, 1e-3) for gain, _ in gains] if first else []


def resources(repeats: Sequence[Repeat], limits: Mapping[str, float]) -> Any:
    """What the first repeat of each method measured when, coloured by cost, pale beyond equal real cost."""
    names, methods = problems_of(repeats), methods_of(repeats)
    figure, grid = problem_panels(1, len(names), panel=(4.4, 0.5 * len(methods) + 0.8))
    from matplotlib.colors import LogNorm
    from matplotlib.patches import Patch

    costs = [cost for repeat in repeats for i in repeat.iterations for cost in i.costs if cost > 0]
    norm = LogNorm(min(costs, default=1.0), max(costs, default=1.0) * (1 + 1e-9))
    for name, ax in zip(names, grid[0], strict=True):
        first = [of_problem(repeats, name, method)[0] for method in methods]
        leads = first[0].leads
        table = _strips(first, leads)
        extent = (0.5, table.shape[1] + 0.5, len(table) - 0.5, -0.5)
        image = ax.imshow(table, aspect="auto", norm=norm, cmap="viridis", interpolation="nearest", extent=extent)
        for k, repeat in enumerate(first):
            top, bottom = k * len(leads) - 0.5, (k + 1) * len(leads) - 0.5
            end = state_at(repeat, REAL_COST, limits[name]).number + 0.5
            ax.fill_between([end, extent[1]], top, bottom, color="#FFFFFF", alpha=1 - PALE, lw=0)
            word = "equal real cost" if k == 0 else None
            ax.plot([end, end], [top, bottom], color="#D55E00", lw=1.8, label=word, clip_on=False, zorder=5)
            ax.axhline(bottom, color=FAINT, lw=0.5)
        ax.set_yticks((np.arange(len(methods)) + 0.5) * len(leads) - 0.5, methods, fontsize="small")
        ax.set_xlabel("iterations", fontsize="small")
        ax.set_title(f"{name}\nrows of each: {', '.join(leads)}", fontsize="small")
    what = f"cost of the evaluation ({repeats[0].unit}, logarithmic)"
    figure.colorbar(image, ax=list(grid[0]), label=what, format=plain)
    caption(figure, "What the first repeat of each method measured in each iteration; white: not measured")
    words = {"measured by equal real cost": 1.0, "measured after it (pale)": PALE}
    more = [Patch(color=SHADE, alpha=alpha, lw=0, label=word) for word, alpha in words.items()]
    legend_below(figure, grid[0][0], more=more)
    return figure


def _strips(repeats: Sequence[Repeat], leads: Sequence[str]) -> FloatArray:
    """Costs (methods x leads, iterations); NaN if an objective was not measured."""
    longest = max(len(repeat.iterations) - 1 for repeat in repeats)
    table = np.full((len(repeats) * len(leads), max(1, longest)), np.nan)
    for k, repeat in enumerate(repeats):
        for i in repeat.iterations[1:]:
            for objective, cost in zip(i.objectives, i.costs, strict=True):
                table[k * len(leads) + leads.index(objective), i.number - 1] = cost or np.nan
    return table


def times(ours: Mapping[str, Sequence[float]], paper: Mapping[str, Sequence[float]]) -> Any:
    """Seconds per iteration without and with evaluation, the paper's beside ours."""
    figure, grid = panels(1, 2, panel=(4.2, 3.2))
    y = np.arange(len(ours))
    for k, (ax, title) in enumerate(zip(grid[0], ("without evaluation", "with evaluation"), strict=True)):
        ax.barh(y - 0.2, [own[k] for own in ours.values()], 0.36, color="#D55E00", label="here")
        theirs = [paper[method][k] if method in paper else np.nan for method in ours]
        ax.barh(y + 0.2, theirs, 0.36, color="#FFFFFF", edgecolor=INK, hatch="///", label="the paper, on a Jetson")
        ax.set_yticks(y, list(ours), fontsize="small")
        ax.invert_yaxis()
        log_scale(ax, "x")
        ax.set_xlabel("time per iteration (s)", fontsize="small")
        ax.set_title(title, fontsize="medium")
    caption(figure, "Means over repeats and problems")
    legend_below(figure, grid[0][0])
    return figure
