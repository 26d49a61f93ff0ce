"""A small picture of a front."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from flexibo.results.picture import MOST_DRAWN, MOST_NUMBERED, picture

SVG = "{http://www.w3.org/2000/svg}"


def drawn(names: list[str], values: object, **more: object) -> ElementTree.Element:
    array = np.array(values, dtype=float)
    return ElementTree.fromstring(picture(names, array, range(1, len(array) + 1), **more))  # type: ignore[arg-type]


def test_two_objectives_are_points_with_their_numbers_in_the_right_places() -> None:
    root = drawn(["error", "joules"], [[1, 30], [2, 20], [3, 10]], knee=1)
    points = root.findall(f"{SVG}circle")
    x, y = [float(p.get("cx", "")) for p in points], [float(p.get("cy", "")) for p in points]
    assert x == sorted(x)
    assert y == sorted(y)  # the y axis of SVG points downward, so smaller values are lower in the picture
    assert [p.get("stroke") for p in points] == [None, "currentColor", None]
    texts = {text.text for text in root.iter(f"{SVG}text")}
    assert {"1", "2", "3", "10", "30", "error", "joules"} <= texts


def test_three_objectives_are_lines_across_axes() -> None:
    root = drawn(["a", "b", "c"], [[1, 2, 3], [3, 2, 1]])
    assert len(root.findall(f"{SVG}polyline")) == 2
    assert {"a", "b", "c"} <= {text.text for text in root.iter(f"{SVG}text")}


@pytest.mark.parametrize(
    ("names", "values"), [(["a", "b"], np.empty((0, 2))), (["a"], [[1.0]]), (["a", "b"], [[1.0, np.nan]])]
)
def test_nothing_is_drawn_of_what_cannot_be(names: list[str], values: object) -> None:
    assert picture(names, np.array(values, dtype=float), [1]) == ""


@pytest.mark.parametrize("scale", [1e-320, 1.0, 1e308])
def test_places_are_finite_for_extreme_and_for_equal_values(scale: float) -> None:
    for values in ([[-1.7, 1], [1.7, -1]], [[1, 1], [1, 1]], [[0, 0]]):
        root = drawn(["a", "b"], np.array(values, dtype=float) * min(scale, 1e308))
        for point in root.findall(f"{SVG}circle"):
            assert 0 <= float(point.get("cx", "")) <= 380
            assert 0 <= float(point.get("cy", "")) <= 230


def test_large_fronts_are_thinned_and_not_numbered() -> None:
    values = np.stack([np.arange(2000.0), -np.arange(2000.0)], axis=1)
    root = drawn(["a", "b"], values, knee=1999)
    assert len(root.findall(f"{SVG}circle")) == MOST_DRAWN
    assert len(list(root.iter(f"{SVG}text"))) < MOST_NUMBERED


def test_hostile_and_long_names_stay_text() -> None:
    root = drawn(["<script>x</script>&\x00", "b" * 500], [[1, 2], [2, 1]])
    assert not list(root.iter(f"{SVG}script"))
    assert max(len(text.text or "") for text in root.iter(f"{SVG}text")) < 60
