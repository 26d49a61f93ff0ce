from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from flexibo import Objective, Space, Study, plots
from flexibo.errors import InvalidValueError, UnknownNameError
from flexibo.plots.style import LOOKS, text
from flexibo.views import front_view, importance_view, slice_view, trace_view


@pytest.fixture(scope="module")
def study() -> Study:
    space = Space({"filters": [16, 32, 64, 128], "kernel": ["1x1", "3x3"], "cpu_ghz": (0.3, 2.3), "cores": (1, 6)})
    objectives = [Objective("error", options=["filters", "kernel"]), Objective("joules", unit="J")]
    made = Study(space, objectives, budget=110, seed=0, n_initial=6)
    made.run({"error": error, "joules": joules}, progress=False)
    return made


def error(design: Mapping[str, Any]) -> tuple[float, float]:
    return 4.0 / design["filters"] + 0.1 * (design["kernel"] == "1x1"), 10.0


def joules(design: Mapping[str, Any]) -> tuple[float, float]:
    return design["filters"] * (0.3 + (design["cpu_ghz"] - 1.0) ** 2) * (1 + 0.1 * design["cores"]), 1.0


def three(**settings: Any) -> Study:
    space = Space({"x": (0.0, 1.0), "y": (0.0, 1.0), "k": ["p", "q"]})
    objectives = [Objective("a", unit="J"), Objective("b", "max", unit="W"), Objective("c")]
    study = Study(space, objectives, n_initial=2, seed=0, **settings)
    rng = np.random.default_rng(0)
    for design in space.sample(9, rng):
        x, y = float(design["x"]), float(design["y"])  # type: ignore[arg-type]
        study.add(design, {"a": 1.0 + 99.0 * x, "b": x + y, "c": (1 - x) * (1 - y)})
    return study


def hostile() -> Study:
    names = ["$x_{\\frac", "<b>$bold$</b>", "_hidden", "break\nand \x1b[2J"]
    space = Space({names[0]: (0.0, 1.0), names[1]: ["$a$", "\\$b", "_"], names[2]: (1, 9), names[3]: (0.0, 1.0)})
    study = Study(space, [Objective("$\\frac{1}$", unit="$J$"), Objective("_loss$", unit="^")], n_initial=2, seed=0)
    for design in space.sample(8, np.random.default_rng(0)):
        x, h = float(design[names[0]]), float(design[names[2]])  # type: ignore[arg-type]
        study.add(design, {"$\\frac{1}$": x + 1, "_loss$": 3 - x + h}, cost={"$\\frac{1}$": 1.0, "_loss$": 1.0})
    return study


def drawn(axes: Any) -> Any:
    """The figure of axes, drawn for real."""
    figure = next(ax for ax in np.ravel(np.array([axes], dtype=object)) if ax is not None).figure
    FigureCanvasAgg(figure).draw()
    return figure


def labels_of(ax: Any) -> list[str]:
    return [entry.get_text() for entry in ax.get_legend().get_texts()]


def pictures_of(study: Study) -> dict[str, Any]:
    return {name: picture.draw(study) for name, picture in plots.PICTURES.items() if picture.suits(study)}


@pytest.mark.slow
@pytest.mark.parametrize("make", [three, lambda: Study({"x": (0.0, 1.0)}, ["a", "b"])])
def test_every_picture_can_be_drawn_and_every_side_has_a_name(make: Callable[[], Study]) -> None:
    for name, axes in pictures_of(make()).items():
        figure = drawn(axes)
        assert figure.axes
        if name != "parallel":
            shown = [ax for ax in figure.axes if ax.get_visible() and ax.get_label() != "<colorbar>"]
            assert any(ax.get_xlabel() for ax in shown), name
            assert any(ax.get_ylabel() or name == "importance" for ax in shown), name


@pytest.mark.slow
def test_hostile_names_are_shown_as_they_are() -> None:
    found = [entry.get_text() for axes in pictures_of(hostile()).values() for entry in _texts(drawn(axes))]
    shown = {word.replace(r"\$", "$") for word in found}
    for name in ("$x_{\\frac", "<b>$bold$</b>", "break\\nand \\x1b[2J", "$\\frac{1}$ [$J$] (lower is better)"):
        assert name in shown
    assert not any(word.count("$") - word.count(r"\$") for word in found if "mathdefault" not in word)
    assert any("_loss$" in word for word in shown)


def _texts(figure: Any) -> list[Any]:
    from matplotlib.text import Text

    return [entry for entry in figure.findobj(Text) if entry.get_text()]


def test_a_legend_names_an_objective_that_begins_with_an_underscore() -> None:
    study = Study({"x": (0.0, 1.0)}, ["_a", "_b"], n_initial=2, seed=0, budget=8)
    study.run({"_a": lambda d: (d["x"], 1.0), "_b": lambda d: (1 - d["x"], 1.0)})
    assert [label.strip()[:2] for label in labels_of(plots.evaluations(study))[:2]] == ["_a", "_b"]


def test_long_names_are_shortened() -> None:
    assert len(text("n" * 500)) <= 40


def test_kinds_differ_in_black_and_white() -> None:
    looks = [(look.marker, look.hollow) for look in LOOKS.values()]
    sizes = [(look.marker, look.hollow, look.size) for look in LOOKS.values()]
    assert len(set(sizes)) == len(LOOKS)
    on_front = [look for kind, look in zip(LOOKS, looks, strict=True) if kind.startswith("front")]
    assert len({marker for marker, _ in on_front}) == len(on_front)


def test_the_front_shows_every_design_where_it_is(study: Study) -> None:
    ax = plots.front(study)
    view = front_view(study)
    for kind, look in LOOKS.items():
        points = [p for p in view.points if p.kind == kind]
        lines = [line for line in ax.get_lines() if line.get_label() == look.label]
        assert len(lines) == bool(points)
        if points:
            places = sorted((p.values["error"], p.values["joules"]) for p in points)
            assert sorted(map(tuple, lines[0].get_xydata().tolist())) == places
    assert labels_of(ax)[0] == "front, measured"


def test_a_predicted_value_has_an_error_bar(study: Study) -> None:
    half = [p for p in front_view(study).points if p.kind == "front-half"]
    bars = [c for c in plots.front(study).containers if type(c).__name__ == "ErrorbarContainer"]
    assert len(bars) == len({name for p in half for name, deviation in p.deviations.items() if deviation > 0})


def test_a_design_with_one_value_only_is_marked_on_its_axis() -> None:
    study = Study({"x": (0.0, 1.0)}, ["a", "b"], n_initial=1, seed=0)
    study.add({"x": 0.1}, {"a": 5.0})
    ax = plots.front(study)
    assert "measured in one objective only" in labels_of(ax)
    low, high = ax.get_xlim()
    assert low < 5.0 < high


def spread_out(count: int) -> Study:
    """A study of as many objectives, whose values span six powers of ten; some of the best are predicted."""
    names = [Objective(name) for name in "abcd"[:count]]
    study = Study({"x": (0.0, 1.0)}, names, n_initial=2, seed=0, candidates=20)
    for i in range(9):
        values = {"a": 10.0 ** (i - 3), "b": 70790.0 - i, "c": 10.0 ** (4 - i), "d": float(i)}
        known = list("abcd"[:count])[: 1 if i % 4 == 0 else None]
        study.add({"x": i / 8}, {name: values[name] for name in known})
    return study


@pytest.mark.parametrize(("count", "draw"), [(2, plots.front), (4, plots.pairs)])
def test_no_marker_is_cut(count: int, draw: Callable[[Study], Any]) -> None:
    figure = drawn(draw(spread_out(count)))
    seen = 0
    for ax in figure.axes:
        box = ax.get_window_extent()
        for line in ax.get_lines():
            if str(line.get_label()) not in {look.label for look in LOOKS.values()}:
                continue
            radius = line.get_markersize() * figure.dpi / 144
            for x, y in ax.transData.transform(line.get_xydata()):
                assert box.x0 + radius < x < box.x1 - radius
                assert box.y0 + radius < y < box.y1 - radius
                seen += 1
    assert seen >= 9


def test_error_bars_are_shown_as_far_as_they_leave_room_for_the_rest() -> None:
    from flexibo.plots import style

    ax = style.new_axes()
    style.scale(ax, "x", [10.0, 20.0], log=False, bars=[(8.0, 22.0)], others=[24.0, 1e6])
    assert ax.get_xlim() == pytest.approx((8 - 0.08 * 16, 24 + 0.08 * 16))
    style.scale(ax, "x", [10.0, 20.0], log=False, bars=[(-1e9, 1e9)])
    assert ax.get_xlim() == pytest.approx((2 - 0.08 * 26, 28 + 0.08 * 26))
    style.scale(ax, "y", [1.0, 1e4], log=True, bars=[(-5.0, 1e4), (2.0, 1e5)])
    assert ax.get_ylim() == pytest.approx((10 ** (-3.2 - 0.08 * 8.2), 10 ** (5 + 0.08 * 8.2)))
    style.scale(ax, "y", [3.0], log=False)
    assert ax.get_ylim() == pytest.approx((3 - 0.24, 3 + 0.24))


def test_the_scales_of_parallel_lines_tell_near_values_apart() -> None:
    study = Study({"x": (0.0, 1.0)}, ["a", "b"], n_initial=2, seed=0)
    for x, size in ((0.1, 70792.0), (0.5, 70794.0), (0.9, 70800.0)):
        study.add({"x": x}, {"a": x, "b": size})
    words = [entry.get_text() for entry in plots.parallel(study).texts]
    assert {"70792", "70794", "70800"} <= set(words)


def test_pairs_has_a_panel_for_every_two_objectives() -> None:
    panels = plots.pairs(three())
    assert panels.shape == (2, 2)
    assert panels[0, 1] is None
    assert [panels[1, 0].get_xlabel(), panels[1, 0].get_ylabel()] == ["a [J] (lower is better)", "c (lower is better)"]
    assert panels[1, 0].get_xscale() == "log"
    assert panels[1, 1].get_xlabel() == "b [W] (higher is better)"


def test_three_objectives_are_drawn_in_space_and_other_numbers_refused(study: Study) -> None:
    ax = plots.front3d(three())
    assert [ax.get_xlabel(), ax.get_ylabel(), ax.get_zlabel()] == [
        "a [J] (lower is better)",
        "b [W] (higher is better)",
        "c (lower is better)",
    ]
    with pytest.raises(InvalidValueError, match="shows three objectives; the study has 2"):
        plots.front3d(study)
    assert [name for name, picture in plots.PICTURES.items() if not picture.suits(study)] == ["front3d"]
    assert [name for name, picture in plots.PICTURES.items() if not picture.suits(three())] == ["front"]


def test_courses_are_drawn_against_cost(study: Study) -> None:
    rows = trace_view(study).rows
    ax = plots.hypervolume(study)
    assert ax.get_lines()[0].get_xydata().tolist() == [
        [0.0, 0.0],
        *map(list, zip(rows["spent"], rows["hypervolume"], strict=True)),
    ]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("cost [s]", "hypervolume [J]")
    assert plots.region(study).get_ylabel() == "volume of the Pareto region [J]"
    assert plots.gains(study).get_ylabel() == "gain per cost [J / s]"
    counts = plots.evaluations(study)
    ends = {line.get_label(): line.get_ydata()[-1] for line in counts.get_lines()}
    for name, number in study.summary().evaluations.items():
        assert ends[f"{name}: {number}"] == number
    looks = [(line.get_color(), line.get_linestyle()) for line in counts.get_lines() if ":" in str(line.get_label())]
    assert len({colour for colour, _ in looks}) == len({style for _, style in looks}) == 2


def test_gains_are_those_of_the_choices(study: Study) -> None:
    rows = trace_view(study).rows
    for name, line in zip(("error", "joules"), plots.gains(study).get_lines(), strict=False):
        chosen = [
            [spent, gain]
            for spent, gain, objective in zip(rows["spent"], rows["gain_per_cost"], rows["objective"], strict=True)
            if objective == name and gain is not None
        ]
        assert line.get_xydata().tolist() == chosen


def test_importance_has_bars_as_long_as_the_shares(study: Study) -> None:
    view = importance_view(study)
    ax = plots.importance(study)
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert sorted(names) == sorted(view.options)
    main = next(bars for bars in ax.containers if bars.get_label() == "error")
    assert [bar.get_width() for bar in main] == pytest.approx([100.0 * view.main["error"][name] for name in names])
    assert main[0].get_hatch()


def test_a_slice_is_drawn_as_it_is(study: Study) -> None:
    view = slice_view(study, "joules", "cpu_ghz")
    (ax,) = plots.slices(study, "joules", "cpu_ghz").ravel()
    assert ax.get_lines()[0].get_ydata().tolist() == pytest.approx(list(view.mean[0]))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("cpu_ghz", "joules [J]")
    grid = plots.slices(study, "joules")
    assert grid.shape == (3, 3)
    assert grid[0, 1] is None
    assert {grid[2, i].get_xlabel() for i in range(3)} <= set(study.space.names)
    with pytest.raises(InvalidValueError, match="needs the option x"):
        plots.slices(study, "joules", y="cores")
    with pytest.raises(UnknownNameError, match="did you mean 'joules'"):
        plots.slices(study, "jouls")


def test_pictures_draw_on_the_axes_they_are_given(study: Study) -> None:
    from matplotlib.figure import Figure

    for name in ("front", "hypervolume", "region", "evaluations", "gains", "importance", "parallel"):
        ax = Figure().add_subplot()
        assert plots.PICTURES[name].draw.__call__(study, ax) is ax  # type: ignore[call-arg]


def test_parallel_lines_are_as_many_as_designs_and_ticks_do_not_overlap(study: Study) -> None:
    ax = plots.parallel(study)
    drawn(ax)
    lines = [line for line in ax.get_lines() if line.get_marker() not in ("None", None, "")]
    assert len(lines) == len(front_view(study).points)
    words = [entry for entry in ax.texts if entry.get_fontsize() < 8 and entry.get_text()]
    columns: dict[float, list[Any]] = {}
    for entry in words:
        columns.setdefault(entry.xy[0], []).append(entry.get_window_extent())
    for boxes in columns.values():
        ends = sorted((box.y0, box.y1) for box in boxes)
        assert all(one[1] <= other[0] + 1 for one, other in itertools.pairwise(ends))


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg", ".html"])
def test_a_picture_is_saved_as_its_name_says(study: Study, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"front{suffix}"
    plots.save(study, path)
    head = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml", ".html": b"<!doctype html>"}[suffix]
    assert path.read_bytes().startswith(head)
    plots.save(study, path, "slices")
    assert path.read_bytes().startswith(head)


def test_the_picture_of_many_objectives_is_pairs(tmp_path: Path) -> None:
    plots.save(three(), tmp_path / "front.png")
    assert (tmp_path / "front.png").stat().st_size > 10_000


def test_a_picture_that_cannot_be_saved_is_refused_in_a_sentence(study: Study, tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match=r"ends in \.png"):
        plots.save(study, tmp_path / "front.gif")
    with pytest.raises(UnknownNameError, match="did you mean 'importance'"):
        plots.save(study, tmp_path / "front.png", "importances")
    with pytest.raises(InvalidValueError, match="cannot be written"):
        plots.save(study, tmp_path / "missing" / "front.png")


def test_a_name_in_another_script_can_be_saved(tmp_path: Path) -> None:
    study = Study({"名前": (0.0, 1.0)}, ["誤差", "b"], n_initial=1, seed=0)
    study.add({"名前": 0.5}, {"誤差": 1.0, "b": 1.0})
    plots.save(study, tmp_path / "front.png")
    assert (tmp_path / "front.png").exists()
