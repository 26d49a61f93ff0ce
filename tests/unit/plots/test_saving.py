"""Every picture can be drawn and saved, and files that flexibo drew are recognised."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.pictures import drawn, study_of_three_objectives

from flexibo import Objective, Space, Study, plots
from flexibo.errors import InvalidValueError, UnknownNameError
from flexibo.plots.saving import is_drawn_by_flexibo


@pytest.fixture(scope="module")
def small() -> Study:
    made = Study({"x": [1, 2, 3, 4]}, ["error", "joules"], method="random", seed=0, stop={"max_evaluations": 6})
    made.run({"error": lambda d: (d["x"], 1.0), "joules": lambda d: (5 - d["x"], 1.0)}, progress=False)
    return made


def hostile() -> Study:
    names = ["$x_{\\frac", "<b>$bold$</b>", "_hidden", "break\nand \x1b[2J"]
    space = Space({names[0]: (0.0, 1.0), names[1]: ["$a$", "\\$b", "_"], names[2]: (1, 9), names[3]: (0.0, 1.0)})
    study = Study(space, [Objective("$\\frac{1}$", unit="$J$"), Objective("_loss$", unit="^")], n_initial=2, seed=0)
    for design in space.sample(8, np.random.default_rng(0)):
        x, h = float(design[names[0]]), float(design[names[2]])  # type: ignore[arg-type]
        study.add(design, {"$\\frac{1}$": x + 1, "_loss$": 3 - x + h}, cost={"$\\frac{1}$": 1.0, "_loss$": 1.0})
    return study


def pictures_of(study: Study) -> dict[str, Any]:
    return {name: picture.draw(study) for name, picture in plots.PICTURES.items() if picture.suits(study)}


def _texts(figure: Any) -> list[Any]:
    from matplotlib.text import Text

    return [entry for entry in figure.findobj(Text) if entry.get_text()]


@pytest.mark.slow
@pytest.mark.parametrize("make", [study_of_three_objectives, lambda: Study({"x": (0.0, 1.0)}, ["a", "b"])])
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


def test_pictures_draw_on_the_axes_they_are_given(study: Study) -> None:
    from matplotlib.figure import Figure

    for name in ("front", "hypervolume", "region", "evaluations", "gains", "importance", "parallel"):
        ax = Figure().add_subplot()
        assert plots.PICTURES[name].draw.__call__(study, ax) is ax  # type: ignore[call-arg]


@pytest.mark.parametrize("suffix", [".png", pytest.param(".pdf", marks=pytest.mark.slow), ".svg", ".html"])
def test_a_picture_is_saved_as_its_name_says(study: Study, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"front{suffix}"
    plots.save(study, path)
    head = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml", ".html": b"<!doctype html>"}[suffix]
    assert path.read_bytes().startswith(head)
    plots.save(study, path, "slices")
    assert path.read_bytes().startswith(head)


def test_the_picture_of_many_objectives_is_pairs(tmp_path: Path) -> None:
    plots.save(study_of_three_objectives(), tmp_path / "front.png")
    assert (tmp_path / "front.png").stat().st_size > 10_000


def test_a_picture_that_cannot_be_saved_is_refused_in_a_sentence(study: Study, tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match=r"ends in \.png"):
        plots.save(study, tmp_path / "front.gif")
    with pytest.raises(UnknownNameError, match=r"'importances'.*'importance'"):
        plots.save(study, tmp_path / "front.png", "importances")
    with pytest.raises(InvalidValueError, match=r"missing/front\.png"):
        plots.save(study, tmp_path / "missing" / "front.png")


def test_a_name_in_another_script_can_be_saved(tmp_path: Path) -> None:
    study = Study({"名前": (0.0, 1.0)}, ["誤差", "b"], n_initial=1, seed=0)
    study.add({"名前": 0.5}, {"誤差": 1.0, "b": 1.0})
    plots.save(study, tmp_path / "front.png")
    assert (tmp_path / "front.png").exists()


def test_a_picture_that_was_saved_is_recognised(small: Study, tmp_path: Path) -> None:
    path = tmp_path / "front.png"
    plots.save(small, path)
    assert is_drawn_by_flexibo(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])  # half written
    assert is_drawn_by_flexibo(path)


def test_a_picture_of_another_program_is_not_recognised(small: Study, tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    path = tmp_path / "mine.png"
    Figure().savefig(path)
    assert not is_drawn_by_flexibo(path)
    Figure().savefig(path, metadata={"Title": "flexibo 1", "Software": "about flexibo 1"})
    assert not is_drawn_by_flexibo(path)


@pytest.mark.parametrize(
    "data", [b"", b"Software\0flexibo 1", b"\x89PNG\r\n\x1a\n", b"\x89PNG\r\n\x1a\n\xff\xff\xff\xfftEXt", b"x" * 99]
)
def test_what_is_no_picture_is_not_recognised(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "odd.png"
    path.write_bytes(data)
    assert not is_drawn_by_flexibo(path)


def test_what_cannot_be_read_is_not_recognised(tmp_path: Path) -> None:
    assert not is_drawn_by_flexibo(tmp_path)
    assert not is_drawn_by_flexibo(tmp_path / "nothing.png")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.png")
        assert not is_drawn_by_flexibo(tmp_path / "pipe.png")


@pytest.mark.parametrize("suffix", [".svg", ".pdf"])
def test_other_formats_name_the_program_too(small: Study, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"front{suffix}"
    plots.save(small, path)
    assert b"flexibo " in path.read_bytes()
