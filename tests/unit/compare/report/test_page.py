from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from flexibo.compare import figures
from flexibo.compare.page.axes import Scale, spanning
from flexibo.compare.page.looks import looks_of
from flexibo.compare.page.outcomes import band, outcomes_by_problem
from flexibo.compare.page.text import shown
from flexibo.compare.problems.base import Problem, constant_costs
from flexibo.compare.report.page import ProblemFacts, Sheet, facts_of, report, write_report
from flexibo.compare.runs import SHARES, Moment, Run
from flexibo.errors import FlexiBOError
from flexibo.objectives import Objective
from flexibo.space import Space

VOID = {"meta", "link", "input", "br", "hr", "img"}
HOSTILE = "</script><script>alert('x')</script>\"&<b>\x00\u202e" + "naïve·優化·" + "long" * 60
TABLE = Sheet("Ranking by error", ["method", "ratio"], [["ours", "0.50"], ["rival", "1.00"]], ["Below 1, we win."])


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


def facts(n: int = 2, **changed: object) -> ProblemFacts:
    rows = [[float(k), *[10.0 - k] * (n - 1)] for k in range(1, 9)]
    given: dict[str, object] = {
        "names": ("error", "energy", "latency", "memory")[:n],
        "units": ("%", "J", "ms", "")[:n],
        "directions": ("min", "max", "min", "min")[:n],
        "front": tuple(map(tuple, rows)),
        "budget": 400.0,
        "unit": "s",
        "mean_costs": (100.0, 1.0, 0.0, 2.0)[:n],
        "exact": True,
        "summary": "A problem.",
        "n_options": 5,
        "n_designs": 15_625.0,
    }
    return ProblemFacts(**(given | changed))  # type: ignore[arg-type]


def run(method: str, seed: int, problem: str = "p", n: int = 2, error: float | None = None, front: bool = True) -> Run:
    rng = np.random.default_rng((len(method), seed, n))
    errors = np.minimum.accumulate(0.5 * np.exp(-4 * np.array(SHARES) * rng.uniform(0.5, 1.5, len(SHARES))))
    moments = tuple(
        Moment(share, 400 * share, float(e if error is None else error), 3 * share, (int(20 * share),) * n)
        for share, e in zip(SHARES, errors, strict=True)
    )
    values = tuple(tuple(row) for row in rng.uniform(1.0, 9.0, (4, n)).tolist())
    return Run(problem, method, seed, moments, values if front else ())


def page(runs: Iterable[Run], problems: dict[str, ProblemFacts] | None = None, **changed: object) -> str:
    given: dict[str, object] = {"ours": "ours", "title": "A comparison", "command": "flexibo compare", "terms": {}}
    return report(list(runs), problems or {"p": facts()}, **(given | changed))  # type: ignore[arg-type]


def many(n_problems: int = 17, n_methods: int = 12, seeds: int = 10) -> tuple[list[Run], dict[str, ProblemFacts]]:
    """A large comparison with gaps: one method is missing on a problem, one has 3 seeds, one a single seed."""
    problems = {f"problem-{k}:ratio=10": facts(2 + (k % 5 == 4)) for k in range(n_problems)}
    methods = ["ours", *(f"rival-{j}" for j in range(1, n_methods))]
    runs = []
    for name, told in problems.items():
        for j, method in enumerate(methods):
            if j == 2 and name.startswith("problem-1:"):
                continue
            runs += [run(method, seed, name, len(told.names)) for seed in range({3: 3, 4: 1}.get(j, seeds))]
    return runs, problems


def series(text: str, number: int, kind: str) -> list[str]:
    """What is drawn of one method in the plots of a kind ("share", "cost" or "front")."""
    plots = re.findall(rf'<svg class="plot"[^>]*data-plot="{kind}".*?</svg>', text)
    return [found for plot in plots for found in re.findall(rf'<g class="series m{number}[ "].*?</g>', plot)]


def test_a_page_is_balanced_and_shows_every_problem_and_table() -> None:
    runs, problems = many()
    text = page(runs, problems, tables=[TABLE], allowance={"budget": "20"}, notes=["A note."], title="All of it")
    read = Reader(text)
    assert read.count("details", "problem") == 17
    assert read.count("figure") >= 17 * 5
    words = "".join(read.text)
    for word in (
        "All of it",
        "Ranking by error",
        "Below 1, we win.",
        "0.50",
        "A note.",
        "flexibo compare",
        "problem-16:ratio=10",
    ):
        assert word in words
    assert (
        words.index("Ranking by error") < words.index("Every problem at a glance") < words.index("Problem by problem")
    )


def test_ids_are_there_once() -> None:
    ids = [attrs["id"] for _, attrs in Reader(page(*many(3))).elements if "id" in attrs]
    assert len(ids) == len(set(ids)) > 3


def test_hostile_words_are_only_words() -> None:
    told = facts(names=(HOSTILE, "energy"), units=(HOSTILE, "J"), unit=HOSTILE, summary=HOSTILE)
    runs = [run(HOSTILE, 0, HOSTILE), run("ours", 0, HOSTILE), run("ours", 1, HOSTILE)]
    changed = {"title": HOSTILE, "command": HOSTILE, "notes": [HOSTILE], "terms": {HOSTILE: HOSTILE}}
    text = page(runs, {HOSTILE: told}, tables=[Sheet(HOSTILE, [HOSTILE], [[HOSTILE]], [HOSTILE])], **changed)
    read = Reader(text)
    assert read.count("script") == 2
    assert read.count("b") == Reader(page([run("ours", 0), run("ours", 1), run("b", 0)])).count("b")
    assert not any(name.startswith("on") or name == "style" for _, attrs in read.elements for name in attrs)
    assert "\x00" not in text
    assert "\u202e" not in text
    assert any("naïve·優化" in words for words in read.text)


def test_names_of_ours_may_be_hostile_too() -> None:
    text = page([run(HOSTILE, seed) for seed in range(3)], ours=HOSTILE)
    assert Reader(text).count("tr", "ours") == 1


def test_nothing_is_loaded_from_elsewhere() -> None:
    runs, problems = many(2)
    for _, attrs in Reader(page(runs, problems)).elements:
        for name in ("src", "href", "srcset", "data", "action", "xlink:href"):
            assert (attrs.get(name) or "#").startswith(("#", "data:,"))
    assert "url(" not in page(runs, problems)
    assert "@import" not in page(runs, problems)


def test_the_policy_allows_this_style_and_this_script_and_nothing_else() -> None:
    text = page([run("ours", 0)])
    policy = next(a["content"] for t, a in Reader(text).elements if t == "meta" and "http-equiv" in a) or ""
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        content = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content[0].encode()).digest()).decode()
        assert len(content) == 1
        assert rules[rule] == f"'sha256-{digest}'"
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in policy


def test_the_same_runs_in_any_order_make_the_same_file(tmp_path: Path) -> None:
    runs, problems = many(3)
    given = {"ours": "ours", "title": "t", "command": "c", "terms": {}}
    write_report(tmp_path / "new" / "a.html", runs, problems, **given)  # type: ignore[arg-type]
    write_report(tmp_path / "new" / "b.html", runs[::-1], problems, **given)  # type: ignore[arg-type]
    assert (tmp_path / "new" / "a.html").read_bytes() == (tmp_path / "new" / "b.html").read_bytes()


def test_a_full_comparison_is_small_and_quickly_drawn() -> None:
    runs, problems = many(17, 17)
    began = time.process_time()
    text = page(runs, problems)
    assert time.process_time() - began < 5
    assert len(text.encode()) < 3_000_000


def test_a_method_missing_on_a_problem_is_left_out_there_and_said_so() -> None:
    problems = {"p": facts(), "q": facts()}
    text = page([run("ours", 0, "p"), run("ours", 0, "q"), run("rival", 0, "p")], problems)
    assert len(series(text, 0, "share")) == 2
    assert len(series(text, 1, "share")) == 1
    assert "rival: 1 of 2 problems, 1 of 1 seeds" in text


def test_a_problem_without_runs_and_a_page_without_any_are_drawn() -> None:
    assert "Nobody was run on this problem." in page([run("ours", 0)], {"p": facts(), "q": facts()})
    Reader(page([]))


def test_a_page_without_our_method_leaves_our_colour_free() -> None:
    text = page([run("rival", 0)])
    assert not series(text, 0, "share")
    assert len(series(text, 1, "share")) == 1


def test_a_single_seed_has_no_band_and_more_have_one() -> None:
    text = page([run("ours", 0), run("rival", 0), run("rival", 1)])
    assert 'class="band"' not in series(text, 0, "cost")[0]
    assert 'class="band"' in series(text, 1, "cost")[0]


def test_an_error_of_zero_lies_on_the_floor_which_says_so() -> None:
    text = page([run("ours", 0, error=0.0), run("rival", 0)])
    line = re.search(r'class="line" d="M([^"]*)"', series(text, 0, "cost")[0])
    assert line
    heights = {position.split(",")[1] for position in line[1].split("L")}
    floor = re.search(r'data-plot="cost"[^>]* data-y="log 0.001 \S+ (\S+) ', text)
    assert floor
    assert heights == {f"{float(floor[1]):.1f}"}
    assert ">≤0.001</text>" in text


def test_no_floor_is_shown_where_errors_stay_above_it() -> None:
    assert "≤0.001" not in page([run("ours", 0, error=0.5)])


def test_the_front_of_the_first_seed_is_drawn_and_its_absence_told() -> None:
    text = page([run("ours", 3), run("ours", 4), run("rival", 4), run("bare", 3, front=False)])
    assert len(series(text, 0, "front")) == 1
    assert "with seed 3" in text
    assert "No front of: bare and rival." in text


@pytest.mark.parametrize(("n", "panels"), [(2, 1), (3, 3), (4, 6)])
def test_more_objectives_are_drawn_in_pairs(n: int, panels: int) -> None:
    text = page([run("ours", 0, n=n)], {"p": facts(n)})
    assert len(series(text, 0, "front")) == panels


def test_axes_carry_units_and_directions() -> None:
    text = page([run("ours", 0)])
    for words in ("error (%), lower is better", "energy (J), higher is better", "cost after the initial designs (s)"):
        assert f">{words}</text>" in text


def test_the_legend_hides_a_method_everywhere() -> None:
    text = page(*many(2, 3))
    values = [attrs["value"] for tag, attrs in Reader(text).elements if tag == "input"]
    assert values == ["m0", "m1", "m2"]
    assert all(f".hide-{value} .series.{value}{{display:none}}" in text for value in values)


def test_the_pointer_is_told_the_means_and_bands() -> None:
    runs = [run("ours", seed) for seed in range(4)]
    text = page(runs)
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)
    assert found
    told = json.loads(found[1])["problems"][0]["series"][0]
    means = np.mean([[moment.error for moment in r.moments] for r in runs], axis=0)
    np.testing.assert_allclose(told["mean"], means, rtol=1e-3)
    assert all(low <= mean <= high for low, mean, high in zip(told["low"], told["mean"], told["high"], strict=True))
    assert len(told["front"]) == 4


def test_a_band_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    errors = rng.normal(0.0, 1.0, (12, 4000))
    low, high = band(errors)
    assert 0.82 < np.mean((low <= 0) & (high >= 0)) < 0.92
    assert np.all(low <= errors.mean(axis=0))


def test_outcomes_are_means_over_seeds_the_least_error_first() -> None:
    runs = [run("a", 0, error=0.4), run("a", 1, error=0.2), run("b", 0, error=0.1)]
    first, second = outcomes_by_problem(runs, {"p": None})["p"]
    assert (first.method, second.method) == ("b", "a")
    assert second.final == pytest.approx(0.3)
    assert second.seeds == (0, 1)
    assert second.evaluations.tolist() == [20.0, 20.0]
    assert second.overhead_per_evaluation_s == pytest.approx(3 / 40)


def test_a_run_given_twice_and_a_run_of_an_unknown_problem_are_refused() -> None:
    with pytest.raises(FlexiBOError, match="twice"):
        page([run("ours", 0), run("ours", 0)])
    with pytest.raises(FlexiBOError, match="Unknown problem 'q'"):
        page([run("ours", 0, "q")])


def test_facts_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(FlexiBOError, match="one entry for each"):
        facts(units=("%",))
    with pytest.raises(FlexiBOError, match="above zero"):
        facts(budget=0.0)


def test_facts_of_a_problem_speak_in_the_users_directions() -> None:
    problem = Problem(
        name="p",
        summary="One line.",
        space=Space({"x": [0, 1, 2]}),
        objectives=(Objective("error", unit="%"), Objective("speed", "max")),
        values=lambda designs: np.zeros((len(designs), 2)),
        costs=constant_costs([10.0, 1.0]),
        reference=np.array([5.0, 0.0]),
        front=np.array([[1.0, -3.0], [2.0, -4.0]]),
        best=1.0,
    )
    told = facts_of(problem, 50.0)
    assert told.front == ((1.0, 3.0), (2.0, 4.0))
    assert told.directions == ("min", "max")
    assert told.mean_costs == (10.0, 1.0)
    assert (told.n_designs, told.n_options, told.budget, told.unit) == (3, 1, 50.0, "s")


def test_seventeen_methods_look_different_and_ours_always_the_same() -> None:
    methods = [f"m{j}" for j in range(17)]
    looks = looks_of(methods, "m5")
    assert len({(look.colours, look.dashes) for look in looks.values()}) == 17
    assert len({(look.colours, look.marker) for look in looks.values()}) == 17
    assert looks["m5"].colours == looks_of(["m5"], "m5")["m5"].colours
    assert looks["m5"].colours not in {look.colours for look in looks.values() if look.method != "m5"}
    assert next(iter(looks)) == "m5"


@pytest.mark.parametrize(
    "scale",
    [
        Scale(0.001, 1.0, 0, 1, log=True),
        Scale(0.2, 0.7, 0, 1, log=True),
        Scale(0, 24_000, 0, 1),
        Scale(3.1, 3.2, 0, 1),
        Scale(-40, -2, 0, 1),
    ],
)
def test_ticks_are_a_few_round_values_within_the_scale(scale: Scale) -> None:
    ticks = scale.ticks()
    assert 3 <= len(ticks) <= 8
    assert all(scale.low * 0.999 <= tick <= scale.high * 1.001 or scale.low <= tick <= scale.high for tick in ticks)
    assert len({shown(tick) for tick in ticks}) == len(ticks)


def test_a_scale_shows_equal_values_and_is_logarithmic_only_for_wide_positive_ones() -> None:
    assert np.isfinite(spanning(np.array([2.0, 2.0]), 0, 100).pixels([2.0])).all()
    assert spanning(np.geomspace(1, 1e4, 50), 0, 100, log_from=30).log
    assert not spanning(np.array([0.001, *[5.0] * 60]), 0, 100, log_from=30).log
    assert not spanning(np.array([-1.0, 1e4]), 0, 100, log_from=30).log


def test_figures_stand_alone_as_svg_with_their_own_style() -> None:
    runs, problems = many(4)
    name = next(iter(problems))
    drawn = [figures.overview_figure(runs, problems, ours="ours", columns=2)]
    makers = (figures.error_figure, figures.front_figure, figures.evaluations_figure, figures.thinking_figure)
    drawn += [make(runs, name, problems[name], ours="ours") for make in makers]
    for text in drawn:
        root = ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        style = root.find("{*}style")
        assert style is not None
        assert style.text
        assert "prefers-color-scheme" in style.text
        assert ".m0{color:#D55E00}" in style.text
        assert "rival-5" in "".join(root.itertext())
        assert float(root.get("width") or 0) > 300


def test_figures_bear_hostile_names() -> None:
    runs = [run(HOSTILE, 0, HOSTILE), run("ours", 0, HOSTILE)]
    told = facts(names=(HOSTILE, "energy"))
    for make in (figures.error_figure, figures.front_figure, figures.evaluations_figure, figures.thinking_figure):
        tags = {
            element.tag.split("}")[1]
            for element in ElementTree.fromstring(make(runs, HOSTILE, told, ours="ours")).iter()
        }
        assert "script" not in tags
