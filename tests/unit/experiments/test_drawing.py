"""The figures of experiments: what is drawn is what was measured."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import pytest
from tests.unit.experiments.made_repeats import made_up, problem, twice

from flexibo import Objective
from flexibo.errors import MissingExtraError
from flexibo.experiments import drawing
from flexibo.experiments.drawing import FLOOR, STYLES, label, panels, problem_panels
from flexibo.experiments.measures import AXES

pytest.importorskip("matplotlib")


def lines_of(ax: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in ax.get_lines()}


def legend_of(figure: Any) -> list[str]:
    [legend] = figure.legends
    return [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize(
    ("objective", "expected"),
    [
        (Objective("energy_millijoules", unit="mJ"), "energy (mJ)"),
        (Objective("inference_time", unit="ms"), "inference time (ms)"),
        (Objective("latency_ms", unit="ms"), "latency (ms)"),
        (Objective("seconds", unit="s"), "seconds (s)"),
        (Objective("f1"), "f1 (no unit)"),
    ],
)
def test_an_axis_names_the_objective_without_its_unit_twice(objective: Objective, expected: str) -> None:
    assert label(objective) == expected


def test_a_figure_without_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"matplotlib.*flexibo\[plot\]"):
        panels(1, 1)


@pytest.mark.parametrize(
    ("kinds", "n", "shape"), [(1, 3, (1, 3)), (3, 4, (3, 4)), (3, 8, (8, 3)), (1, 8, (2, 4)), (1, 5, (2, 4))]
)
def test_a_figure_of_many_problems_is_tall_instead_of_wide(kinds: int, n: int, shape: tuple[int, int]) -> None:
    figure, grid = problem_panels(kinds, n)
    assert [len(row) for row in grid] == [n] * kinds
    assert len(figure.axes) == kinds * n
    assert grid[0][0].get_subplotspec().get_gridspec().get_geometry() == shape


def test_numbers_along_a_logarithmic_axis_do_not_overlap() -> None:
    figure, [[ax]] = panels(1, 1)
    ax.plot([20.0, 720_000.0], [1.0, 0.1])
    drawing.log_scale(ax, "x")
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.get_xticklabels() if text.get_text()]
    assert len(boxes) > 1
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_errors_have_a_row_per_axis_and_a_column_per_problem() -> None:
    repeats = [
        own
        for name in ("p", "q")
        for method in ("flexibo-gp-log", "pal", "flexibo")
        for own in twice(method, [1, 0.5, 0.25], problem=name)
    ]
    figure = drawing.errors(repeats, extra=("flexibo",))
    assert len(figure.axes) == len(AXES) * 2
    assert [ax.get_title() for ax in figure.axes[:2]] == ["p", "q"]
    assert all(ax.get_yscale() == "log" for ax in figure.axes)
    lines = lines_of(figure.axes[0])
    assert [line.get_linestyle() for line in lines.values()] == ["-", "-", "--"]
    assert [line.get_color() for line in lines.values()] == [
        STYLES[method][0] for method in ("flexibo-gp-log", "pal", "flexibo")
    ]
    assert legend_of(figure)[:2] == ["flexibo-gp-log", "pal"]


def test_an_error_line_is_the_mean_of_the_repeats_and_never_below_the_floor() -> None:
    repeats = [made_up("pal", [1, 0.5, 0.0], seed=0), made_up("pal", [0.5, 0.3, 0.0], seed=1)]
    first = drawing.errors(repeats).axes[0]
    x, y = lines_of(first)["pal"].get_data()
    assert (x[0], x[-1]) == (0.0, 2.0)
    assert y[0] == pytest.approx(0.75)
    assert y[np.searchsorted(x, 1.5)] == pytest.approx(0.4)
    assert y[-1] == FLOOR


def test_bands_are_drawn_for_few_methods_only() -> None:
    def bands(n: int) -> int:
        methods = list(STYLES)[:n]
        figure = drawing.errors([own for method in methods for own in twice(method, [1, 0.5])])
        return len(figure.axes[0].collections)

    assert bands(drawing.MOST_BANDS) == drawing.MOST_BANDS
    assert bands(drawing.MOST_BANDS + 1) == 0


def test_fronts_show_what_the_first_repeat_of_each_method_reported_beside_the_truth() -> None:
    found = {"pal": ((0.2, 0.9), (0.9, 0.2)), "parego": ((0.5, 0.6),)}
    repeats = [made_up(method, [1, 0.5], front=front) for method, front in found.items()]
    repeats += [made_up(method, [1, 0.5], seed=1) for method in found]
    figure = drawing.fronts(repeats, {"p": problem()})
    [ax] = figure.axes
    dots = {own.get_label(): own.get_offsets().tolist() for own in ax.collections if own.get_label() in found}
    assert dots == {method: [list(row) for row in front] for method, front in found.items()}
    front = lines_of(ax)["true front"]
    assert sorted(zip(*(np.round(own, 9).tolist() for own in front.get_data(orig=True)), strict=True)) == [
        tuple(row) for row in np.round(problem().front, 9).tolist()
    ]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("error (%)", "energy (J)")


def test_behaviour_counts_evaluations_and_averages_changes_of_volume() -> None:
    repeats = twice("flexibo-gp-log", [1, 0.5, 0.4, 0.3], bought=[["cheap"], ["cheap"], ["expensive"]], gain=2.0)
    counts, changes = drawing.behaviour(repeats).axes
    assert [bar.get_width() for bar in counts.patches] == [1.0, 2.0]  # expensive, cheap
    _, y = lines_of(changes)["flexibo-gp-log"].get_data()
    assert y.tolist() == [20.0] * 3  # 2 of the first region, 10


def test_resources_show_each_purchase_and_where_equal_cost_ends() -> None:
    first = made_up("flexibo-gp-log", [1, 0.5, 0.4], bought=[["cheap"], ["expensive"]])
    other = made_up("pal", [1, 0.5], bought=[["expensive", "cheap"]])
    figure = drawing.resources([first, other], {"p": 50.0})
    ax = figure.axes[0]
    [image] = ax.images
    table = np.ma.filled(image.get_array(), np.nan)
    expected = np.array([[np.nan, 100.0], [10.0, np.nan], [100.0, np.nan], [10.0, np.nan]])
    np.testing.assert_array_equal(table, expected)
    ends = [line.get_xdata()[0] for line in ax.get_lines() if line.get_color() == "#D55E00"]
    assert ends == [1.5, 0.5]  # 50 s allow for the cheap iteration of the first, and for none of the other
    assert [text.get_text() for text in ax.get_yticklabels()] == ["flexibo-gp-log", "pal"]


def test_times_are_drawn_beside_the_papers_where_it_has_any() -> None:
    figure = drawing.times({"pal": (1.0, 20.0), "flexibo": (2.0, 30.0)}, {"pal": (178.2, 8764.3)})
    widths = [[bar.get_width() for bar in ax.patches] for ax in figure.axes]
    np.testing.assert_array_equal(widths, [[1.0, 2.0, 178.2, np.nan], [20.0, 30.0, 8764.3, np.nan]])


@pytest.mark.parametrize(("names", "columns"), [(["a", "b", "c"], 3), (["a-long-name-" * 4] * 4, 1)])
def test_a_legend_has_as_many_columns_as_fit(names: list[str], columns: int) -> None:
    figure, [[ax]] = panels(1, 1)
    for name in names:
        ax.plot([0, 1], label=name)
    drawing.legend_below(figure, ax)
    assert figure.legends[0]._ncols == columns
    assert legend_of(figure) == names
