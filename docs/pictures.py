"""Draws the pictures of "Ideas in pictures", "Methods" and "Plots": ``python docs/pictures.py``, into docs/images.

The library draws them itself, from its geometry or from studies of examples/first_study.py, whose true front is known,
examples/three_objectives.py and docs/tutorials/steps.md. This takes some minutes on two cores; ``--seeds 1`` is faster.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt

matplotlib.use("agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from PIL import Image

from flexibo import Study, plots
from flexibo.methods.completion_gain import surprises
from flexibo.pareto import hypervolume, improvements, non_dominated, pareto_region, pinned_gains
from flexibo.results.confidence import reported_designs

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "examples"))
# The examples are not a package.
import three_objectives  # noqa: E402
from first_study import OBJECTIVES, SPACE, energy, error  # noqa: E402

Array = npt.NDArray[np.float64]
FUNCTIONS = {"error": error, "energy": energy}
INK, BLUE, ORANGE, GREEN, GREY = "#000000", "#56B4E9", "#D55E00", "#009E73", "#999999"
COUPLED, DECOUPLED = "ehvi", "flexibo"
COSTS = ("constant", "log", "sqrt", "ratio")
TWO = ("front", "hypervolume", "region", "evaluations", "gains", "importance", "parallel", "slices")
THREE = ("front3d", "pairs")
WORST = np.array([30.0, 60.0])
"""The reference point of all errors: percent, joules."""

LOWER = np.array([[0.6, 4.6], [1.5, 2.6], [2.5, 2.2], [3.1, 0.9], [4.4, 0.6]])
UPPER = np.array([[1.5, 5.6], [2.5, 3.7], [4.2, 4.4], [4.0, 2.4], [5.6, 1.1]])
CORNER = np.array([6.0, 6.0])
NAMES = "ABCDE"

CONFIRMED = np.array([[1.2, 4.5], [2.6, 2.5], [4.4, 1.2]])
"""The measured front of the picture of one question."""
MEANS = np.array([[2.3, 1.9], [3.2, 1.4], [1.9, 3.2]])
DEVIATIONS = np.array([[0.6, 0.5], [0.5, 0.0], [0.35, 0.0]])
MISSING_COSTS = np.array([701.0, 300.0, 450.0])
"""Three designs: nothing of A is measured, the energy of B and C is; what the rest of each costs, in seconds."""


def main() -> None:
    """Draw all pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "images", help="folder of the pictures")
    parser.add_argument("--seeds", type=int, default=10, help="number of studies that are averaged")
    parser.add_argument("--budget", type=float, default=1500.0, help="budget of each study")
    given = parser.parse_args()
    plt.rcParams.update({"font.size": 9.5, "axes.spines.top": False, "axes.spines.right": False})
    seeds = range(given.seeds)
    _write(region_figure(), given.folder / "ideas-region.png")
    _write(question_figure(), given.folder / "methods-question.png")
    _write(shrinking_figure(given.budget), given.folder / "ideas-shrinking.png")
    _write(decoupling_figure(seeds, given.budget), given.folder / "ideas-decoupling.png")
    _write(cost_figure(seeds, given.budget), given.folder / "ideas-cost.png")
    plt.rcdefaults()
    two, three = _finished(_study(0, given.budget)), _three(given.budget)
    for study, names in ((two, TWO), (three, THREE), (_with_steps(), ("curves",))):
        for name in names:
            _write(_figure_of(plots.PICTURES[name].draw(study)), given.folder / f"plots-{name}.png", dpi=110)


def _write(figure: Any, path: Path, *, dpi: int = 140) -> None:
    """Write a figure as a small PNG file, with as many colours as it needs."""
    content = io.BytesIO()
    figure.savefig(content, dpi=dpi, format="png")
    Image.open(content).convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE).save(path, optimize=True)
    plt.close(figure)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def _with_steps() -> Study:
    """The study of the tutorial on steps, with a budget of nine complete trainings."""
    text = (ROOT / "docs" / "tutorials" / "steps.md").read_text()
    code = text.split("```python\n", 1)[1].split("```", 1)[0]
    names: dict[str, Any] = {}
    exec(compile(code, "digits_steps.py", "exec"), names)
    study: Study = names["studied"](0, 9 * names["EPOCHS"])
    return study


def _figure_of(axes: Any) -> Any:
    """The figure of the axes, or of the array of axes, that a function of `flexibo.plots` returned."""
    return next(ax for ax in np.ravel(np.array([axes], dtype=object)) if ax is not None).figure


def region_figure() -> Any:
    """Five designs as boxes and the region between the fronts, before and after the measurement that gains most."""
    keys = np.tile(np.arange(len(LOWER), dtype=np.uint64)[:, None], (1, 2))
    middle = (LOWER + UPPER) / 2
    gains = pinned_gains(LOWER, middle, UPPER, CORNER, keys, ((0,), (1,)))
    design, objective = np.unravel_index(int(gains.argmax()), gains.shape)
    lower, upper = LOWER.copy(), UPPER.copy()
    lower[design, objective] = upper[design, objective] = middle[design, objective]
    figure, axes = plt.subplots(1, 2, figsize=(9.2, 3.9), layout="constrained", sharex=True, sharey=True)
    titles = ("Before: nothing is measured", f"After measuring the {OBJECTIVES[objective].name} of {NAMES[design]}")
    for ax, low, high, title in zip(axes, (LOWER, lower), (UPPER, upper), titles, strict=True):
        volume = pareto_region(low, high, CORNER).volume
        _boxes(ax, low, high)
        ax.set_title(f"{title}\nPareto region: {volume:.2f}", fontsize=10)
        ax.set_xlabel("error (lower is better)")
    axes[0].set_ylabel("energy (lower is better)")
    axes[0].legend(loc="upper right", frameon=False, fontsize="small")
    return figure


def question_figure() -> Any:
    """One question of the default method: what three designs may add to the measured front, and at what rate."""
    figure, (ax, bars) = plt.subplots(1, 2, figsize=(9.2, 3.9), layout="constrained", width_ratios=(3, 2))
    edges = np.unique(np.concatenate([CONFIRMED[:, 0], [0.0, CORNER[0]]]))
    ax.fill_between(edges, _staircase(CONFIRMED, edges), CORNER[1], step="post", color=GREY, alpha=0.25)
    ax.step(edges, _staircase(CONFIRMED, edges), where="post", color=INK, label="measured front")
    ax.plot(*CONFIRMED.T, "o", color=INK)
    gains = np.zeros(len(MEANS))
    for i, colour in enumerate((BLUE, ORANGE, GREEN)):
        missing = np.flatnonzero(DEVIATIONS[i])
        nodes, weights = surprises(len(missing), MEANS.shape[1])
        outcomes = np.tile(MEANS[i], (len(nodes), 1))
        outcomes[:, missing] += nodes * DEVIATIONS[i, missing]
        gains[i] = weights @ improvements(outcomes, CONFIRMED, CORNER)
        lacks = "lacks error and energy" if len(missing) > 1 else "lacks error"
        ax.scatter(*outcomes.T, s=220 * weights, color=colour, label=f"outcomes of {NAMES[i]}, which {lacks}", zorder=3)
        ax.annotate(NAMES[i], MEANS[i], ha="center", va="center", fontsize=8)
    ax.set(
        xlim=(0, CORNER[0]), ylim=(0, CORNER[1]), xlabel="error (lower is better)", ylabel="energy (lower is better)"
    )
    ax.legend(loc="upper right", frameon=False, fontsize="small")
    rates = gains / MISSING_COSTS * 1000.0
    bars.barh(range(len(rates)), rates, color=(BLUE, ORANGE, GREEN))
    for i, rate in enumerate(rates):
        asked = f" {gains[i]:.2f} for {MISSING_COSTS[i]:.0f} s" + (": asked" if rate == rates.max() else "")
        bars.annotate(asked, (rate, i), va="center")
    bars.set(yticks=range(len(rates)), yticklabels=list(NAMES[: len(rates)]), xlim=(0, 1.8 * rates.max()))
    bars.invert_yaxis()
    bars.set(xlabel="expected gain per 1,000 s", title="Expected gain, and the cost of what is missing")
    bars.title.set_fontsize(10)
    return figure


def _boxes(ax: Axes, lower: Array, upper: Array) -> None:
    edges = np.unique(np.concatenate([lower[:, 0], upper[:, 0], [0.0, CORNER[0]]]))
    optimistic, pessimistic = (_staircase(corners, edges) for corners in (lower, upper))
    ax.fill_between(edges, optimistic, pessimistic, step="post", color=BLUE, alpha=0.35, label="Pareto region")
    ax.step(edges, optimistic, where="post", color=BLUE, label="optimistic front")
    ax.step(edges, pessimistic, where="post", color=BLUE, linestyle="--", label="pessimistic front")
    alive = pareto_region(lower, upper, CORNER).alive
    for low, high, name, is_alive in zip(lower, upper, NAMES, alive, strict=True):
        width, height = high - low
        colour = INK if is_alive else GREY
        ax.add_patch(Rectangle((low[0], low[1]), width, height, fill=False, edgecolor=colour, linewidth=1.3))
        ax.annotate(name, (low[0] + width / 2, low[1] + height / 2), ha="center", va="center", color=colour)
    ax.set(xlim=(0, CORNER[0]), ylim=(0, CORNER[1]))


def _staircase(corners: Array, edges: Array) -> Array:
    """The best energy that designs attain at each error or a lower one."""
    return np.array([min([CORNER[1], *corners[corners[:, 0] <= edge, 1].tolist()]) for edge in edges])


def shrinking_figure(budget: float) -> Any:
    """The front and the region of one study at three moments."""
    study = _study(0, budget)
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.6), layout="constrained", sharey=True)
    for ax, spent in zip(axes, (0.22 * budget, 0.6 * budget, budget), strict=True):
        _advance(study, spent)
        plots.front(study, ax)
        ax.set(xlim=(2, 16), ylim=(0.1, 60), yscale="log", title=f"{study.spent:.0f} s spent")
        ax.get_legend().remove()
    for ax in axes[1:]:
        ax.set_ylabel("")
    axes[-1].legend(frameon=False, fontsize="small", loc="upper right")
    return figure


def decoupling_figure(seeds: Sequence[int], budget: float) -> Any:
    """Evaluations and errors at the same budget, measuring one objective at a time or all at once."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.7), layout="constrained")
    styles = ((DECOUPLED, "-", "one objective at a time"), (COUPLED, "--", "all objectives at once"))
    for method, line, words in styles:
        trace = _finished(_study(0, budget, method=method)).trace()
        for name, colour in (("energy", GREEN), ("error", ORANGE)):
            counts = np.cumsum([row.objective == name for row in trace])
            left.step([row.cumulative_cost for row in trace], counts, line, color=colour, label=f"{name}, {words}")
        costs = np.linspace(0.22 * budget, budget, 14)
        errors = np.mean([_errors(_study(seed, budget, method=method), costs) for seed in seeds], axis=0)
        right.plot(costs, 100 * errors, line, color=INK, label=f"{words} ({method})")
    left.set(xlabel="cost [s]", ylabel="evaluations")
    right.set(xlabel="cost [s]", ylabel="hypervolume error [%]", ylim=(0, None))
    for ax in (left, right):
        ax.legend(frameon=False, fontsize="small")
    return figure


def cost_figure(seeds: Sequence[int], budget: float) -> Any:
    """How the divisor affects what is measured, and the resulting errors."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.4), layout="constrained")
    at = np.arange(len(COSTS))
    bought, errors = [], []
    for cost in COSTS:
        studies = [_finished(_study(seed, budget, cost=cost)) for seed in seeds]
        bought.append([np.mean([study.summary().costs[name] for study in studies]) for name in FUNCTIONS])
        errors.append(100 * np.mean([_error(study) for study in studies]))
    trainings, readings = np.transpose(bought)
    left.barh(at, trainings, color=ORANGE, label="spent on the error (60 s each)")
    left.barh(
        at, readings, left=trainings, color=GREEN, hatch="//", edgecolor="white", label="on the energy (1 s each)"
    )
    left.set(xlabel="cost [s]", yticks=at, yticklabels=COSTS, xlim=(0, budget))
    left.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    right.barh(at, errors, color=GREY)
    right.bar_label(right.containers[0], fmt="%.2f", padding=3)
    right.set(xlabel=f"hypervolume error [%], mean of {len(seeds)} seeds", yticks=at, yticklabels=COSTS)
    for ax in (left, right):
        ax.invert_yaxis()
    return figure


def _study(seed: int, budget: float, **settings: Any) -> Study:
    return Study(SPACE, OBJECTIVES, budget=budget, seed=seed, n_initial=5, **settings)


def _three(budget: float) -> Study:
    study = Study(three_objectives.SPACE, three_objectives.OBJECTIVES, budget=0.8 * budget, seed=0, n_initial=6)
    functions = {name: getattr(three_objectives, name) for name in ("error", "memory")}
    study.run({**functions, "energy": three_objectives.run_on_board}, progress=False)
    return study


def _finished(study: Study) -> Study:
    study.run(FUNCTIONS, progress=False)
    return study


def _advance(study: Study, spent: float) -> None:
    """Measure until this much is spent, or nothing is left to ask."""
    while study.spent < spent and (evaluation := study.ask()):
        value, cost = FUNCTIONS[evaluation.objective](evaluation.design)
        study.tell(evaluation, value, cost=cost)


def _errors(study: Study, costs: Array) -> list[float]:
    """The hypervolume error at each of these rising costs."""
    errors = []
    for cost in costs:
        _advance(study, float(cost))
        errors.append(_error(study))
    return errors


def _error(study: Study) -> float:
    """The share of the true front's hypervolume that the designs that a study reports miss, by their true values."""
    found = np.array([_truth(design) for design in reported_designs(study.predictor, study.history)])
    return 1.0 - hypervolume(found, WORST) / _best()


def _truth(design: Any) -> tuple[float, float]:
    return error(design)[0], energy(design)[0]


@cache
def _best() -> float:
    """The hypervolume of the true front, on a fine grid of clocks."""
    values = np.array(
        [
            _truth({"layers": layers, "filters": filters, "kernel": kernel, "cpu_ghz": ghz, "cores": cores})
            for layers in range(1, 7)
            for filters in (16, 24, 32, 48, 64, 96, 128, 192, 256)
            for kernel in ("1x1", "3x3", "5x5")
            for cores in range(1, 7)
            for ghz in np.linspace(0.3, 2.3, 101)
        ]
    )
    return float(hypervolume(values[non_dominated(values)], WORST))


if __name__ == "__main__":
    main()
