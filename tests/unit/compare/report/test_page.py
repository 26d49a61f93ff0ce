from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.comparisons import problem, run

from flexibo.compare.problems.base import Problem
from flexibo.compare.report.page import MOST_DRAWN, write_page
from flexibo.compare.report.text_table import TextTable
from flexibo.compare.runs import Allowance, Run
from flexibo.compare.statistics.errors import FLOOR
from flexibo.errors import InvalidValueError, UnknownNameError

VOID = {"meta", "link", "input", "br", "hr", "img"}
HOSTILE = "</script><script>alert('x')</script>\"&<b>\x00\u202e" + "naïve·優化·" + "long" * 60
TABLE = TextTable("Ranking by error", ("method", "ratio"), (("ours", "0.50"), ("rival", "1.00")), ("Below 1.",), {})


class Reader(HTMLParser):
    """Reads a page: whether its tags are balanced, its elements, and all text outside styles and scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)

    def count(self, tag: str, css: str = "") -> int:
        return sum(name == tag and css in [*(attrs.get("class") or "").split(), ""] for name, attrs in self.elements)


def page(
    folder: Path, runs: Iterable[Run], problems: dict[str, Problem] | None = None, *, ours: str = "ours", **changed: Any
) -> str:
    path = folder / "deep" / "report.html"
    given: dict[str, Any] = {"ours": ours, "facts": {}} | changed
    write_page(path, list(runs), problems or {"p": problem()}, Allowance(), **given)
    return path.read_text(encoding="utf-8")


def data(text: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert found
    return json.loads(found[1])


def many(n_problems: int = 17, n_methods: int = 12, seeds: int = 10) -> tuple[list[Run], dict[str, Problem]]:
    """A large comparison with gaps: one method is missing on a problem, one has 3 seeds, one a single seed."""
    problems = {name: problem(name, 2 + (k % 5 == 4)) for k in range(n_problems) for name in [f"problem-{k}:ratio=10"]}
    methods = ["ours", *(f"rival-{j}" for j in range(1, n_methods))]
    runs = []
    for name, one in problems.items():
        for j, method in enumerate(methods):
            if j == 2 and name.startswith("problem-1:"):
                continue
            runs += [run(method, seed, name, len(one.names)) for seed in range({3: 3, 4: 1}.get(j, seeds))]
    return runs, problems


def test_a_page_is_balanced_and_shows_every_problem_table_and_fact(tmp_path: Path) -> None:
    runs, problems = many(5)
    text = page(tmp_path, runs, problems, summary=[TABLE], facts={"budget": "20 of them"}, notes=["A note."])
    read = Reader(text)
    assert read.count("details", "problem") == 5
    assert read.count("figure") == 5 + 5 * 2 + 4 + 3  # overview; error and evaluations; fronts of two and of three
    words = "".join(read.text)
    for word in ("Ranking by error", "Below 1.", "0.50", "A note.", "20 of them", "problem-4:ratio=10", "A problem."):
        assert word in words
    assert "5 problems, 12 methods, 10 seeds" in words
    assert "220 s" in words  # the budget: 20 mean full evaluations of 11 s


def test_ids_are_unique(tmp_path: Path) -> None:
    ids = [attrs["id"] for _, attrs in Reader(page(tmp_path, *many(3))).elements if "id" in attrs]
    assert len(ids) == len(set(ids)) > 3


def test_hostile_names_are_only_text(tmp_path: Path) -> None:
    hostile = problem(HOSTILE, summary=HOSTILE, unit=HOSTILE)
    runs = [run(HOSTILE, 0, HOSTILE), run("ours", 0, HOSTILE), run("ours", 1, HOSTILE)]
    table = TextTable(HOSTILE, (HOSTILE,), ((HOSTILE,),), (HOSTILE,), {})
    text = page(
        tmp_path,
        runs,
        {HOSTILE: hostile},
        summary=[table],
        tables={"model": [table]},
        notes=[HOSTILE],
        facts={HOSTILE: HOSTILE},
    )
    read = Reader(text)
    usual = Reader(
        page(
            tmp_path,
            [run("ours", 0), run("ours", 1), run("b", 0)],
            summary=[TABLE],
            tables={"model": [TABLE]},
            notes=["n"],
        )
    )
    for tag in ("script", "b"):
        assert read.count(tag) == usual.count(tag)
    assert not any(name.startswith("on") or name == "style" for _, attrs in read.elements for name in attrs)
    assert "\x00" not in text
    assert "\u202e" not in text
    assert any("naïve·優化" in words for words in read.text)
    assert data(text)["methods"]["1"]["name"].startswith("</script>")


def test_nothing_is_loaded_from_elsewhere(tmp_path: Path) -> None:
    for _, attrs in Reader(page(tmp_path, *many(2))).elements:
        for name in ("src", "href", "srcset", "data", "action", "xlink:href"):
            assert (attrs.get(name) or "#").startswith("#")


def test_the_same_runs_in_any_order_make_the_same_file(tmp_path: Path) -> None:
    runs, problems = many(3)
    assert page(tmp_path, runs, problems) == page(tmp_path, runs[::-1], problems)


def test_a_full_comparison_is_small_and_quickly_written(tmp_path: Path) -> None:
    runs, problems = many(17, 17)
    began = time.process_time()
    text = page(tmp_path, runs, problems)
    assert time.process_time() - began < 5
    assert len(text.encode()) < 3_000_000


def test_a_method_missing_on_a_problem_is_left_out_there_and_listed(tmp_path: Path) -> None:
    problems = {"p": problem("p"), "q": problem("q")}
    text = page(tmp_path, [run("ours", 0, "p"), run("ours", 0, "q"), run("rival", 0, "p")], problems)
    assert [len(one["series"]) for one in data(text)["problems"]] == [2, 1]
    assert re.search(r"rival\b\D+1 of 2\D+1 of 1\D", text)


def test_a_problem_without_runs_and_a_page_without_any_are_written(tmp_path: Path) -> None:
    assert "No runs." in page(tmp_path, [run("ours", 0)], {"p": problem("p"), "q": problem("q")})
    assert Reader(page(tmp_path, [])).count("details", "problem") == 1


def test_our_method_has_number_0_and_a_page_without_it_leaves_that_free(tmp_path: Path) -> None:
    both = data(page(tmp_path, [run("ours", 0), run("a-rival", 0)]))
    assert {number: look["name"] for number, look in both["methods"].items()} == {"0": "ours", "1": "a-rival"}
    text = page(tmp_path, [run("rival", 0)])
    assert list(data(text)["methods"]) == ["1"]
    assert ".m0{" not in text


def test_our_rows_are_marked(tmp_path: Path) -> None:
    assert (
        Reader(page(tmp_path, [run(HOSTILE, seed) for seed in range(3)], ours=HOSTILE)).count("tr", "ours") == 2
    )  # a table for each of two measures


def test_charts_get_means_bands_fronts_and_evaluations(tmp_path: Path) -> None:
    runs = [run("ours", seed) for seed in range(4)]
    told = data(page(tmp_path, runs))
    (series,) = told["problems"][0]["series"]
    means = np.exp(np.mean([[np.log(moment.confirmed) for moment in r.moments] for r in runs], axis=0))
    curve = series["errors"]["confirmed"]
    np.testing.assert_allclose(curve["mean"], means, rtol=1e-3)
    assert all(low <= mean <= high for low, mean, high in zip(curve["low"], curve["mean"], curve["high"], strict=True))
    assert series["errors"]["model"]["shares"] == [0.0, 0.5, 1.0]
    assert {measure: len(front) for measure, front in series["fronts"].items()} == {"confirmed": 4, "model": 2}
    assert told["measures"] == ["confirmed", "model"]
    assert series["evaluations"] == [20.0, 20.0]
    assert told["problems"][0]["front"][0] == [1.0, 9.0]  # in the users' directions
    assert told["problems"][0]["budget"] == 220.0
    assert [one["max"] for one in told["problems"][0]["objectives"]] == [False, True]
    assert told["floor"] == FLOOR


def test_numbers_stand_in_a_table_too(tmp_path: Path) -> None:
    words = Reader(page(tmp_path, [run("ours", 0, error=0.25), run("ours", 1, error=0.25)])).text
    for cell in ("0.25", "0.25 to 0.25", "400", "evaluations of energy"):
        assert cell in words


def test_the_front_of_the_first_seed_is_shown_and_its_absence_reported(tmp_path: Path) -> None:
    text = page(tmp_path, [run("ours", 3), run("ours", 4), run("rival", 4), run("bare", 3, front=False)])
    assert {s["method"]: len(s["fronts"].get("confirmed", ())) for s in data(text)["problems"][0]["series"]} == {
        0: 4,
        1: 0,
        2: 0,
    }
    assert "seed 3" in text
    assert "bare, rival" in text


def test_a_long_true_front_is_thinned(tmp_path: Path) -> None:
    from dataclasses import replace

    places = np.linspace(0.0, 1.0, 4 * MOST_DRAWN)
    long = replace(problem(), front=np.column_stack([places, -places]))
    shown = data(page(tmp_path, [run("ours", 0)], {"p": long}))["problems"][0]["front"]
    assert len(shown) == MOST_DRAWN
    assert (shown[0], shown[-1]) == ([0.0, 0.0], [1.0, 1.0])


def test_seventeen_methods_look_different(tmp_path: Path) -> None:
    text = page(tmp_path, [run(f"m{j:02}", 0) for j in range(17)], ours="m05")
    looks = data(text)["methods"]
    colours = dict(re.findall(r"\.m(\d+)\{color:(#\w+)\}", text.split("@media screen")[0]))
    assert len({(colours[k], look["dashes"]) for k, look in looks.items()}) == 17
    assert len({(colours[k], look["symbol"]) for k, look in looks.items()}) == 17
    assert list(colours.values()).count(colours["0"]) == 1


def test_a_run_given_twice_and_a_run_of_an_unknown_problem_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="twice"):
        page(tmp_path, [run("ours", 0), run("ours", 0)])
    with pytest.raises(UnknownNameError, match="'q'"):
        page(tmp_path, [run("ours", 0, "q")])


def test_what_belongs_to_a_measure_is_hidden_until_it_is_chosen(tmp_path: Path) -> None:
    text = page(tmp_path, [run("ours", 0), run("rival", 0)], tables={"confirmed": [TABLE], "model": [TABLE]})
    parts = [attrs for _, attrs in Reader(text).elements if "data-measure" in attrs]
    assert {attrs["data-measure"] for attrs in parts} == {"confirmed", "model"}
    assert all(("hidden" in attrs) == (attrs["data-measure"] != "confirmed") for attrs in parts)


def test_the_overview_stands_by_groups_recorded_tables_first(tmp_path: Path) -> None:
    from dataclasses import replace

    problems = {"p": replace(problem("p"), group="equal"), "q": replace(problem("q"), group="recorded")}
    text = page(tmp_path, [run("ours", 0, "p"), run("ours", 0, "q")], problems)
    shown = re.findall(r'data-chart="overview" data-problem="(\d)"', text)
    assert shown == ["1", "0"]
    assert Reader(text).count("h3") == 2


def test_merged_cells_cover_their_rows(tmp_path: Path) -> None:
    rows = (("a", "1", "x"), ("a", "1", "y"), ("b", "1", "x"))
    table = TextTable("Groups", ("group", "n", "error"), rows, (), {}, merged=2)
    read = Reader(page(tmp_path, *many(1), summary=[table]))
    assert [attrs["rowspan"] for _, attrs in read.elements if "rowspan" in attrs] == ["2", "2"]
