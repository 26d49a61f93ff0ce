"""The scripts that draw pictures: all of them listed, none that could harm a page, none too large to read."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from flexibo.errors import UnknownNameError
from flexibo.plots.style import LOOKS
from flexibo.web import CHARTS, SCRIPTS, STYLES, asset
from flexibo.web.pages import PAGE_SCRIPTS, PAGE_STYLES

OURS = [name for name in (*SCRIPTS, *PAGE_SCRIPTS) if not name.startswith("echarts")]
ALL = [*SCRIPTS, *STYLES, *PAGE_SCRIPTS, *PAGE_STYLES]


def test_every_script_and_style_is_in_the_table() -> None:
    there = {path.name for path in (files("flexibo.web") / "static").iterdir()}
    assert there - {"echarts.LICENSE", "echarts.NOTICE"} == set(ALL)


@pytest.mark.parametrize("name", ["../pages.py", "/etc/passwd", "echarts.LICENSE", "", "charts.js/../page.js"])
def test_nothing_outside_the_table_is_read(name: str) -> None:
    with pytest.raises(UnknownNameError):
        asset(name)


@pytest.mark.parametrize("name", ALL)
def test_a_script_or_style_can_stand_in_a_page(name: str) -> None:
    text = asset(name)
    assert not re.search(r"</(script|style)|<!--|\r", text, re.IGNORECASE)


@pytest.mark.parametrize("name", OURS)
def test_a_script_makes_elements_from_text_alone_and_asks_for_nothing(name: str) -> None:
    text = asset(name)
    assert text.startswith('"use strict";\n')
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|fetch\(|XMLHttpRequest|import\("
    )
    assert not re.search(forbidden, text)
    assert set(re.findall(r"^\s*window\.(\w+) = ", text, re.MULTILINE)) <= {"flexiboCharts"}


@pytest.mark.parametrize("name", OURS)
def test_a_script_fits_on_a_few_screens(name: str) -> None:
    lines = asset(name).splitlines()
    assert len(lines) <= 400
    assert max(map(len, lines)) <= 120


def test_designs_are_called_the_same_in_files_and_in_browsers() -> None:
    kinds = asset("charts-looks.js").partition("const KINDS = {")[2].partition("};")[0]
    found = re.findall(r'"?([\w-]+)"?: \{\s*label: "([^"]*)"', kinds)
    assert dict(found) == {kind: look.label for kind, look in LOOKS.items()}


def test_every_picture_has_a_title_a_caption_and_a_known_kind() -> None:
    kinds = {"front", "trace", "spending", "importance", "parallel", "slice", "choices", "curves"}
    assert {picture.kind for picture in CHARTS.values()} == kinds
    for picture in CHARTS.values():
        assert picture.title
        assert picture.caption.endswith(".")
