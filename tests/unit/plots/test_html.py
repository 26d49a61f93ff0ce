"""A study as interactive charts in one file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flexibo import Objective, Space, Study
from flexibo.errors import InvalidTypeError, InvalidValueError, UnknownNameError
from flexibo.plots.html import default_pictures, to_html, write_html
from flexibo.views import slice_view, trace_view


def charts_and_views(page: str) -> tuple[list[str], list[dict[str, Any]]]:
    """The names of the charts of a page, and its views."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert found is not None
    return re.findall(r'data-picture="(\w+)"', page), json.loads(found[1])


def test_a_page_shows_what_the_views_of_the_study_say(study: Study) -> None:
    names, views = charts_and_views(to_html(study, ["hypervolume", "evaluations"]))
    assert names == ["hypervolume", "evaluations"]
    assert views == [trace_view(study).to_dict()]  # both pictures show it


def test_by_default_the_study_is_shown_as_a_whole(study: Study) -> None:
    page = to_html(study)
    names, views = charts_and_views(page)
    assert names == list(default_pictures(study))
    assert [view["kind"] for view in views] == ["front", "trace", "spending", "importance", "parallel"]
    assert re.search("<title>study: error .*joules</title>", page)


def test_a_title_names_the_study_and_tells_objectives_from_constraints() -> None:
    objectives = ["time", Objective("size", unit="B", at_most=70792.5), Objective("loss", optimise=True, at_least=0.1)]
    page = to_html(Study({"x": (0.0, 1.0)}, objectives, name="<zip>"), ["spending"])
    assert re.search(r"<title>&lt;zip&gt;: time .*loss, .*size .* 70792\.5 B</title>", page)


def test_a_view_can_be_given_in_place_of_a_name(study: Study) -> None:
    view = slice_view(study, "joules", "cpu_ghz")
    names, views = charts_and_views(to_html(study, ["spending", view], title="Mine"))
    assert names == ["spending", "slice"]
    assert views[1] == json.loads(json.dumps(view.to_dict()))


@pytest.mark.parametrize(("many", "first"), [(2, ("front",)), (3, ("front3d", "pairs")), (4, ("pairs",))])
def test_the_front_is_drawn_as_its_objectives_allow(many: int, first: tuple[str, ...]) -> None:
    objectives = [Objective(f"o{j}") for j in range(many)]
    pictures = default_pictures(Study(Space({"x": (0.0, 1.0)}), objectives, budget=10))
    assert pictures[: len(first)] == first
    assert pictures[len(first)] == "hypervolume"


def test_a_study_without_measurements_has_a_page_too(make_study: Callable[..., Study], tmp_path: Path) -> None:
    write_html(make_study(), tmp_path / "page.html")
    names, _ = charts_and_views((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert names[0] == "front"


@pytest.mark.parametrize(
    ("pictures", "error", "facts"),
    [
        ("front", InvalidTypeError, ["pictures", "['front']"]),
        (["frontt"], UnknownNameError, ["'frontt'", "'front'"]),
        (["slice"], InvalidValueError, ["'slice'", "slice_view"]),
        ([], InvalidValueError, ["empty"]),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_sentence(
    pictures: Any, error: type[Exception], facts: list[str], make_study: Callable[..., Study]
) -> None:
    with pytest.raises(error) as refused:
        to_html(make_study(), pictures)
    assert all(fact in str(refused.value) for fact in facts)
