"""The report of a comparison in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser import Browser, browser, wait_for
from tests.comparisons import problem, run

from flexibo.compare.report.page import write_page
from flexibo.compare.report.text_table import TextTable
from flexibo.compare.runs import Allowance

pytestmark = pytest.mark.slow
HOSTILE = "</script><img src=x onerror=document.title='harm'>{a|b}__proto__"
READY = "return Boolean(document.flexiboCharts)"


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    methods = ("ours", "rival", HOSTILE)
    runs = [run(m, seed, name, n) for name, n in (("first", 2), ("second", 3)) for m in methods for seed in range(3)]
    table = TextTable("Ranking", ("method", "ratio"), (("ours", "0.5"), (HOSTILE, "1.0")), (), {})
    problems = {"first": problem("first"), "second": problem("second", 3)}
    write_page(path, runs, problems, Allowance(), ours="ours", facts={"budget": HOSTILE}, tables={"confirmed": [table]})
    return path


def option(chrome: Browser, selector: str) -> dict[str, Any]:
    """What ECharts draws in a chart: the names of its series, its axes and its numbers."""
    return dict(
        chrome.run(
            """
            const host = document.querySelector(arguments[0]);
            document.flexiboCharts.draw(host);
            const {series, xAxis, yAxis} = document.flexiboCharts.of(host).getOption();
            return {
              lines: series.filter((one) => one.type === "line").map((one) => one.name),
              bands: series.filter((one) => one.type === "custom").map((one) => one.name),
              points: series.filter((one) => one.type === "scatter").map((one) => one.name),
              last: series.filter((one) => one.type === "line").map((one) => one.data.at(-1)),
              bars: series.filter((one) => one.type === "bar").map((one) => [one.name, one.data]),
              colours: series.map((one) => one.color),
              x: xAxis[0].name, y: yAxis[0].name, log: yAxis[0].type === "log",
            };
            """,
            selector,
        )
    )


def test_charts_show_every_method_with_its_band_and_need_no_network(chrome: Browser, report: Path) -> None:
    chrome.open(report)
    wait_for(chrome, READY, "the charts")
    shown = option(chrome, "#p0 [data-chart=error]")
    assert {"ours", "rival"} < set(shown["lines"])
    assert len(shown["lines"]) == len(shown["bands"]) == 3
    assert shown["lines"][-1] == "ours"  # above the others
    assert shown["log"]
    assert "(s)" in shown["x"]
    assert shown["last"][-1][0] == pytest.approx(20 * 11)  # the budget: 20 mean full evaluations of 11 s
    assert chrome.requests() == [report.resolve().as_uri()]
    assert chrome.severe() == []
    assert "Comparison" in chrome.run("return document.title")


def test_fronts_of_more_objectives_are_drawn_in_pairs(chrome: Browser, report: Path) -> None:
    chrome.open(report)
    wait_for(chrome, READY, "the charts")
    pairs = "return [...document.querySelectorAll(arguments[0])].map((host) => [host.dataset.a, host.dataset.b])"
    assert chrome.run(pairs, "#p0 [data-chart=front]") == [["0", "1"]]
    assert chrome.run(pairs, "#p1 [data-chart=front]") == [["0", "1"], ["0", "2"], ["1", "2"]]
    shown = option(chrome, "#p0 [data-chart=front]")
    assert len(shown["points"]) == 3
    assert "error (%)" in shown["x"]
    assert "lower" in shown["x"]
    assert "energy (J)" in shown["y"]
    assert "higher" in shown["y"]


def test_the_legend_hides_methods_in_every_chart_and_shows_them_again(chrome: Browser, report: Path) -> None:
    chrome.open(report)
    wait_for(chrome, READY, "the charts")
    charts = ("#p0 [data-chart=error]", "[data-chart=overview][data-problem='1']")
    for chart in charts:
        assert "rival" in option(chrome, chart)["lines"]
    chrome.run(
        "document.querySelectorAll('.legend input')[1].click(); document.querySelectorAll('.legend input')[2].click()"
    )
    for chart in charts:
        assert option(chrome, chart)["lines"] == ["ours"]
    assert len(option(chrome, "#p0 [data-chart=evaluations]")["bars"][0][1]) == 1
    chrome.run("document.getElementById('all').click()")
    assert len(option(chrome, charts[0])["lines"]) == 3
    chrome.run("document.getElementById('none').click()")
    assert option(chrome, charts[0])["lines"] == []


def test_a_dark_page_has_other_colours(chrome: Browser, report: Path) -> None:
    chrome.open(report)
    wait_for(chrome, READY, "the charts")
    light = option(chrome, "#p0 [data-chart=front]")["colours"]
    ground = "return getComputedStyle(document.body).backgroundColor"
    paper = chrome.run(ground)
    chrome.colours("dark")
    wait_for(chrome, lambda: chrome.run(ground) != paper, "the dark page")
    dark = option(chrome, "#p0 [data-chart=front]")["colours"]
    assert len(set(dark)) == 4
    assert not set(light) & set(dark)


def test_a_link_of_the_overview_opens_the_section_of_a_problem(chrome: Browser, report: Path) -> None:
    chrome.open(report)
    wait_for(chrome, READY, "the charts")
    opened = "return [...document.querySelectorAll('details.problem')].map((section) => section.open)"
    assert chrome.run(opened) == [True, False]
    chrome.run("document.querySelectorAll('.overview a')[1].click()")
    wait_for(chrome, lambda: chrome.run(opened) == [True, True], "the section")


@pytest.mark.parametrize("width", [400, 1200])
def test_the_page_is_never_wider_than_its_window(chrome: Browser, report: Path, width: int) -> None:
    chrome.open(report)
    chrome.size(width, 900, phone=width < 500)
    wait_for(chrome, READY, "the charts")
    chrome.run("document.querySelectorAll('details').forEach((section) => (section.open = true))")
    assert chrome.run("return document.documentElement.scrollWidth") <= width


def test_another_measure_has_its_own_curves_fronts_and_tables(chrome: Browser, report: Path) -> None:
    chrome.open(report)
    wait_for(chrome, READY, "the charts")
    charts = ("#p0 [data-chart=error]", "#p0 [data-chart=front]")
    before = [option(chrome, chart) for chart in charts]
    chrome.run("document.querySelector('.measures input[value=model]').click()")
    after = [option(chrome, chart) for chart in charts]
    assert "model" in after[0]["y"]
    assert after[0]["last"] != before[0]["last"]
    assert len(after[1]["points"]) == len(before[1]["points"]) == 3
    shown = "return [...document.querySelectorAll('[data-measure]:not([hidden])')].map((one) => one.dataset.measure)"
    assert set(chrome.run(shown)) == {"model"}
