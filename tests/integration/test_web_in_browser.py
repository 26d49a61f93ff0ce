"""Interactive pictures in a real browser: what they show, what they do under mouse and keys, and what they never do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.browser import Browser, browser, wait_for

from flexibo import Design, Study
from flexibo.plots.html import to_html
from flexibo.views import slice_view
from flexibo.web import CHARTS, write_page

pytestmark = pytest.mark.slow

HARM = "<img src=x onerror='window.harm=1'>"
MARKUP = "{a|b} %s {style|x}"
REVERSED = "\u202egnp.exe"
TEXTS = "window.drawnTexts = []; const old = CanvasRenderingContext2D.prototype.fillText;" + (
    "CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {"
    "window.drawnTexts.push(text); return old.call(this, text, ...rest); };"
)
"""Remembers every text that is drawn on a canvas."""

INK, PREDICTED = [22, 25, 29, 255], [213, 94, 0, 255]
Open = Callable[..., None]
View = dict[str, Any]


def axis(name: str, unit: str = "", direction: str = "min", **more: Any) -> View:
    label = f"{name} [{unit}]" if unit else name
    bare = {"name": name, "unit": unit, "label": label, "direction": direction, "optimise": True, "log": False}
    return {**bare, "bound": None, "bound_side": None, "least": None, "most": None, **more}


def point(kind: str, values: View, design: View | None = None, **more: Any) -> View:
    bare = {"kind": kind, "design": design or {"cores": 1, "kernel": "3x3"}, "values": values, "confirm_cost": 0.0}
    measured = dict.fromkeys(values, kind != "front-promising")
    deviations = dict.fromkeys(values, 0.0)
    return {
        **bare,
        "deviations": deviations,
        "measured": measured,
        "probability": 1.0,
        "feasibility": "feasible",
        **more,
    }


def front(points: list[View], axes: list[View] | None = None, region: View | None = None) -> View:
    axes = axes or [axis("error", "%"), axis("energy", "J")]
    return {"kind": "front", "axes": axes, "points": points, "region": region, "left_out": 0, "approximate": False}


def five() -> View:
    """Three designs on the front and two behind it."""
    half = point(
        "front-promising",
        {"error": 3.0, "energy": 20.0},
        {"cores": 2, "kernel": "5x5"},
        deviations={"error": 0.0, "energy": 2.5},
        measured={"error": True, "energy": False},
        confirm_cost=12.5,
    )
    return front(
        [
            point("measured", {"error": 8.0, "energy": 45.0}, {"cores": 5, "kernel": "1x1"}),
            point("front-confirmed", {"error": 5.0, "energy": 10.0}, {"cores": 3, "kernel": "3x3"}),
            half,
            point(
                "front-confirmed", {"error": 1.0, "energy": 50.0}, {"cores": 1, "kernel": "3x3"}, standing="confident"
            ),
            point("measured", {"error": 6.0, "energy": 30.0}, {"cores": 6, "kernel": "1x1"}),
        ],
        region={
            "optimistic": [[1.0, 50.0], [3.0, 17.0], [5.0, 10.0]],
            "pessimistic": [[1.0, 50.0], [3.0, 23.0], [5.0, 10.0]],
            "reference": [9.0, 60.0],
        },
    )


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as started:
        started.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": TEXTS})
        yield started


@pytest.fixture
def show(chrome: Browser, tmp_path: Path) -> Open:
    """Opens a page with pictures and waits until all are drawn."""

    def opened(*pictures: tuple[str, View], html: str = "") -> None:
        path = tmp_path / "page.html"
        if html:
            path.write_text(html, encoding="utf-8")
        else:
            write_page(path, "Pictures", pictures)
        chrome.open(path)
        wait_for(chrome, "return document.flexiboPictures?.length > 0", "the pictures are drawn")
        settle(chrome)

    return opened


def settle(chrome: Browser) -> None:
    """Waits until what was asked of the page is on the screen."""
    chrome.driver.execute_async_script(  # type: ignore[no-untyped-call]
        "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));"
    )


def place(chrome: Browser, index: int, picture: int = 0) -> tuple[float, float]:
    """Where an item of a picture lies in the window, which is scrolled there."""
    chrome.run("document.querySelectorAll('.fc-plot')[arguments[0]].scrollIntoView({block: 'center'})", picture)
    found = chrome.run("return document.flexiboPictures[arguments[0]].pixel(arguments[1])", picture, index)
    return float(found["x"]), float(found["y"])


def tip(chrome: Browser, picture: int = 0) -> str:
    """What the description under the pointer says; empty while there is none."""
    said: str = chrome.run(
        "const tip = document.querySelectorAll('.fc-tip')[arguments[0]];"
        "if (tip.hidden) return '';"
        "return [...tip.querySelectorAll('p, bdi, .fc-aside')].map((one) => one.textContent).join(' | ');",
        picture,
    )
    return said


def painted(chrome: Browser, index: int, *, below: float = 0.0) -> list[int]:
    """The colour of the canvas where an item is, or this many pixels below: red, green, blue, opacity."""
    colour: list[int] = chrome.run(
        "const at = document.flexiboPictures[0].pixel(arguments[0]), canvas = document.querySelector('canvas');"
        "const corner = canvas.getBoundingClientRect(), scale = canvas.width / corner.width;"
        "const [x, y] = [(at.x - corner.left) * scale, (at.y + arguments[1] - corner.top) * scale];"
        "return [...canvas.getContext('2d').getImageData(x, y, 1, 1).data]",
        index,
        below,
    )
    return colour


def hovered(chrome: Browser, index: int, picture: int = 0) -> str:
    x, y = place(chrome, index, picture)
    chrome.hover(1, 1)
    wait_for(chrome, lambda: not tip(chrome, picture), "the old description goes")
    chrome.hover(x, y)
    return wait_for(chrome, lambda: tip(chrome, picture), f"the description of item {index}")


def press(chrome: Browser, key: str) -> None:
    for kind in ("keyDown", "keyUp"):
        chrome.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": kind, "key": key, "code": key})


def test_a_whole_study_is_drawn_in_light_dark_and_on_a_phone(
    chrome: Browser,
    show: Open,
    make_study: Callable[..., Study],
    functions: dict[str, Callable[[Design], tuple[float, float]]],
) -> None:
    study = make_study(budget=75, n_initial=5, candidates=50)
    study.run(functions)
    slices = [slice_view(study, "joules", "cpu_ghz"), slice_view(study, "joules", "cpu_ghz", "kernel")]
    names = [name for name in CHARTS if name != "slice"]
    show(html=to_html(study, [*names, *slices], title="A network on a board"))
    drawn = "return [...document.querySelectorAll('.chart')].map((chart) => chart.dataset.picture)"
    assert chrome.run(drawn) == [*names, "slice", "slice"]
    known = chrome.run("return Object.values(flexiboCharts.pictures).flat()")
    assert sorted(name for name in known if not name.startswith("overlay-")) == sorted(CHARTS)
    inked = (
        "return [...document.querySelectorAll('.fc-plot:not([hidden]) canvas')].map((canvas) => { const all = canvas"
        ".getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data; let count = 0;"
        "for (let i = 3; i < all.length; i += 4) count += all[i] > 0; return count / (all.length / 4); })"
    )
    shares = chrome.run(inked)
    assert len(shares) == len(names) - 2 + 2  # the choices are a table, and no objective has steps
    assert min(shares) > 0.005
    for scheme, width in (("light", 1280), ("dark", 1280), ("light", 390)):
        chrome.colours(scheme)
        chrome.size(width, 844, phone=width < 500)
        wait_for(chrome, f"return document.querySelector('.flexibo-chart').dataset.theme === '{scheme}'", scheme)
        wait_for(chrome, f"return document.querySelector('canvas').clientWidth < {width}", "the new width")
        assert chrome.run("return document.documentElement.scrollWidth") <= width
        assert min(chrome.run(inked)) > 0.005
    assert chrome.run("return performance.getEntriesByType('resource').map((entry) => entry.name)") == []
    assert [url.rpartition("/")[2] for url in chrome.requests()] == ["page.html"]
    assert chrome.severe() == []


def test_pointing_at_a_design_says_what_is_known_of_it(chrome: Browser, show: Open) -> None:
    show(("front", five()))
    said = hovered(chrome, 2)
    assert said.startswith("promising, not measured yet")
    assert "error [%] | 3 | measured" in said
    assert "energy [J] | 20 ± 2.5 | predicted" in said
    assert "cores | 2 | kernel | 5x5" in said
    assert "costs about 12.5" in said
    assert "cores | 5 | kernel | 1x1" in hovered(chrome, 0)
    assert [painted(chrome, index) for index in (1, 3)] == [INK, INK]  # it is drawn where it is found
    edge = painted(chrome, 2, below=5.5)  # predicted members are hollow
    assert all(abs(one - other) < 30 for one, other in zip(edge, PREDICTED, strict=True)), edge
    sure = hovered(chrome, 3)
    assert "energy [J] | 50 | measured" in sure
    assert "Confident: " in sure
    assert "Confident" not in said


def test_values_that_hardly_differ_are_told_apart(chrome: Browser, show: Open) -> None:
    sizes = (70792.0, 70794.0, 70800.25)
    axes = [axis("size", "B"), axis("ms", "ms", bound=70795.5, bound_side="at most")]
    points = [point("measured", {"size": size, "ms": 3.0}, {"cores": i}) for i, size in enumerate(sizes)]
    points[0]["kind"] = "front-confirmed"
    lines = [{"kind": one["kind"], "values": [i / 2, one["values"]["size"]]} for i, one in enumerate(points)]
    sides = [
        {"name": name, "label": name, "type": "number", "categories": None, "role": role, "log": False}
        for name, role in (("x", "option"), ("size", "objective"))
    ]
    parallel = {"kind": "parallel", "axes": sides, "lines": lines, "left_out": 0, "approximate": False}
    show(("front", front(points, axes)), ("parallel", parallel))
    assert "size [B] | 70\u202f792 |" in hovered(chrome, 0)
    assert "size | 70\u202f794" in hovered(chrome, 1, picture=1)
    legend = chrome.run("return [...document.querySelectorAll('.fc-legend button')].map((one) => one.textContent)")
    assert [entry.split()[-1] for entry in legend[:2]] == ["confirmed1", "dominated2"]
    assert re.fullmatch("ms .* 70\u202f795.5 ms", legend[2])
    chrome.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    wait_for(chrome, "return document.querySelectorAll('td').length > 12", "the tables")
    for table in chrome.run("return [...document.querySelectorAll('.fc-table')].map((one) => one.textContent)"):
        assert all(size in table for size in ("70\u202f792", "70\u202f794", "70\u202f800"))
    show(("parallel", parallel))
    texts = [text.replace("\u202f", "") for text in chrome.run("return window.drawnTexts")]
    ticks = [float(text) for text in texts if text.startswith("70")]
    assert ticks[: len(set(ticks))] == sorted(set(ticks)), "from the bottom to the top, the ends among them"
    assert (min(ticks), max(ticks)) == (70792.0, 70800.25)


def test_names_from_outside_are_text_wherever_they_stand(chrome: Browser, show: Open) -> None:
    axes = [axis(HARM), axis(MARKUP, "J")]
    values = {HARM: 1.0, MARKUP: 2.0}
    design = {HARM: HARM, MARKUP: MARKUP, "__proto__": REVERSED, "line\nbreak": "x" * 100_000}
    points = [
        point("front-confirmed", values, design),
        point("measured", {HARM: 2.0, MARKUP: 3.0}, {HARM: "</script>"}),
    ]
    columns = {"number": [0, 1], "objective": [HARM, MARKUP], "cost": [1.0, 1.0], "spent": [1.0, 2.0]}
    trace = {
        "kind": "trace",
        "cost_label": f"cost [{MARKUP}]",
        "budget": 4.0,
        "objectives": [HARM, "__proto__"],
        "rows": {**columns, "hypervolume": [1.0, 2.0], "gain_per_cost": [None, 1.0], "initial": [True, False]},
        "evaluations": {HARM: [1, 1], "__proto__": [0, 1]},
        "costs": {HARM: [1.0, 1.0], "__proto__": [0.0, 1.0]},
        "thinned": False,
    }
    show(("front", front(points, axes)), ("evaluations", trace), ("spend", trace))
    said = hovered(chrome, 0)
    for text in (HARM, MARKUP, "\\u202egnp.exe", "line\\nbreak", "xxx…xxx"):
        assert text[:28] in said, text
    chrome.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    wait_for(chrome, "return document.querySelector('td') !== null", "the table")
    assert HARM in chrome.run("return document.querySelector('.fc-table').textContent")
    drawn = chrome.run("return window.drawnTexts")
    assert any(MARKUP in text for text in drawn)
    assert any(HARM in text for text in drawn)
    assert chrome.run("return document.querySelectorAll('.chart img').length") == 0
    assert chrome.run("return window.harm ?? null") is None
    assert chrome.severe() == []


@pytest.mark.parametrize("first", ["min", "max"])
@pytest.mark.parametrize("second", ["min", "max"])
def test_the_region_lies_between_the_two_fronts_whatever_is_better(
    first: str, second: str, chrome: Browser, show: Open
) -> None:
    signs = np.array([1.0 if direction == "min" else -1.0 for direction in (first, second)])

    def users(*losses: tuple[float, float]) -> list[list[float]]:
        return (np.array(losses) * signs).tolist()

    region = {
        "optimistic": users((1, 5), (5, 1)),
        "pessimistic": users((3, 8), (8, 3)),
        "reference": users((10, 10))[0],
    }
    # In the region twice, attained for sure, and out of reach twice.
    places = users((2.2, 7.3), (6.3, 2.2), (9.3, 9.3), (3.3, 3.2), (0.6, 6.3))  # away from the lines of the grid
    points = [point("measured", dict(zip("ab", row, strict=True))) for row in places]
    show(("front", front(points, [axis("a", "s", first), axis("b", "J", second)], region)))
    chrome.run("document.querySelector('.fc-legend button').click()")  # without the designs themselves
    settle(chrome)
    colours = [painted(chrome, index) for index in range(5)]
    assert [blue - red > 60 for red, _, blue, _ in colours] == [True, True, False, False, False]


def test_a_box_zooms_and_an_update_keeps_the_zoom_and_what_is_hidden(chrome: Browser, show: Open) -> None:
    show(("front", five()))
    whole = place(chrome, 2)
    left, right = place(chrome, 3), place(chrome, 1)
    middle = ((left[0] + whole[0]) / 2, (left[1] + whole[1]) / 2)
    chrome.drag(middle, ((right[0] + whole[0]) / 2, right[1] + 10))
    wait_for(chrome, "return !document.querySelector('.fc-reset').hidden", "the zoom")
    near = place(chrome, 2)
    assert abs(near[0] - whole[0]) + abs(near[1] - whole[1]) > 20
    chrome.run("document.querySelectorAll('.fc-legend button')[2].click()")
    chrome.run("document.flexiboPictures[0].update(arguments[0])", {**five(), "left_out": 3})
    assert place(chrome, 2) == pytest.approx(near)
    pressed = "return [...document.querySelectorAll('.fc-legend button')].map((one) => one.ariaPressed)"
    assert chrome.run(pressed) == ["true", "true", "false", "true"]
    assert "3 dominated designs" in chrome.run("return document.querySelector('.fc-notes').textContent")
    chrome.run("document.querySelector('.fc-reset').click()")
    assert place(chrome, 2) == pytest.approx(whole)
    assert chrome.run(pressed) == ["true", "true", "false", "true"]
    chrome.hover(*place(chrome, 4))  # a hidden design says nothing
    settle(chrome)
    assert tip(chrome) == ""


def test_the_wheel_zooms_only_where_the_reader_works(chrome: Browser, show: Open) -> None:
    show(("front", five()))
    whole = place(chrome, 1)
    at = place(chrome, 2)
    chrome.run("document.activeElement.blur()")
    chrome.wheel(*at, down=-120)
    settle(chrome)
    assert chrome.run("return document.querySelector('.fc-reset').hidden")
    chrome.run("document.querySelector('.fc-plot').focus({preventScroll: true})")
    at = place(chrome, 2)
    chrome.wheel(*at, down=-120)
    wait_for(chrome, "return !document.querySelector('.fc-reset').hidden", "the zoom")
    assert place(chrome, 2) == pytest.approx(at, abs=1.0)  # what is pointed at stays
    assert place(chrome, 1)[0] > whole[0] + 5
    press(chrome, "0")
    wait_for(chrome, "return document.querySelector('.fc-reset').hidden", "everything again")


def test_arrow_keys_walk_along_the_front(chrome: Browser, show: Open) -> None:
    show(("front", five()))
    chrome.run("document.querySelector('.fc-plot').focus()")
    label = chrome.run("return document.querySelector('.fc-plot').ariaLabel")
    assert re.search(r"2 confirmed designs, 1 promising design; 2 other designs", label), label
    for key, expected in (
        ("ArrowRight", "cores | 1"),
        ("ArrowRight", "cores | 2"),
        ("End", "cores | 3"),
        ("Home", "cores | 1"),
    ):
        press(chrome, key)
        wait_for(chrome, lambda words=expected: words in tip(chrome), f"the description of {expected}")
    assert "error [%] 1 measured" in chrome.run("return document.querySelector('.fc-live').textContent")
    press(chrome, "Escape")
    wait_for(chrome, lambda: not tip(chrome), "the description goes")


def test_a_front_in_space_turns_and_knows_its_designs_from_every_side(chrome: Browser, show: Open) -> None:
    axes = [axis("error", "%"), axis("energy", "J"), axis("speed", "1/s", "max")]
    rng = np.random.default_rng(1)
    points = [
        point("front-confirmed", dict(zip(("error", "energy", "speed"), row, strict=True)), {"number": i})
        for i, row in enumerate(rng.uniform(1, 9, (6, 3)).tolist())
    ]
    show(("front3d", front(points, axes)), ("pairs", front(points, axes)))
    before = [place(chrome, i) for i in range(6)]
    corner = chrome.run(
        "const { left, top } = document.querySelector('.fc-plot').getBoundingClientRect(); return [left, top]"
    )
    chrome.drag((corner[0] + 60, corner[1] + 200), (corner[0] + 160, corner[1] + 190))
    wait_for(chrome, "return !document.querySelector('.fc-reset').hidden", "it has turned")
    after = [place(chrome, i) for i in range(6)]
    assert max(abs(a[0] - b[0]) for a, b in zip(before, after, strict=True)) > 20
    for i in (0, 3):
        assert f"number | {i}" in hovered(chrome, i)
        assert f"number | {i}" in hovered(chrome, i, picture=1)
    assert chrome.run("return document.querySelectorAll('.fc-rings')[1].childElementCount") == 3  # one in each panel


def test_a_range_along_an_axis_chooses_designs(chrome: Browser, show: Open) -> None:
    axes = [
        {"name": name, "label": name, "type": "number", "categories": None, "role": role, "log": False}
        for name, role in (("cores", "option"), ("energy", "objective"))
    ]
    lines = [{"kind": "front-confirmed", "values": [float(i), 10.0 - i]} for i in range(1, 6)]
    show(("parallel", {"kind": "parallel", "axes": axes, "lines": lines, "left_out": 0, "approximate": False}))
    (x, top), (_, lower) = place(chrome, 4), place(chrome, 2)
    chrome.drag((x, top - 4), (x, lower - 10))
    said = "return document.querySelector('.fc-notes').textContent"
    wait_for(chrome, lambda: "2 designs of 5" in chrome.run(said), "the choice of two designs")


def test_ten_thousand_designs_are_drawn_and_pointed_at(chrome: Browser, show: Open, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.uniform(1, 9, (10_000, 2)).tolist()
    points = [point("measured", {"error": x, "energy": y}, {"number": i}) for i, (x, y) in enumerate(rows)]
    points.append(point("front-confirmed", {"error": 0.5, "energy": 0.5}, {"number": "best"}))
    show(("front", front(points[-3:])))
    chrome.run("document.flexiboPictures[0].update(arguments[0])", front(points))
    assert "number | best" in hovered(chrome, 10_000)
    x, y = place(chrome, 1234)
    chrome.drag((x - 30, y - 30), (x + 30, y + 30))
    wait_for(chrome, "return !document.querySelector('.fc-reset').hidden", "the zoom")
    assert "number | 1234" in hovered(chrome, 1234)


def test_a_chart_without_data_says_so_and_is_drawn_once_it_can(chrome: Browser, show: Open) -> None:
    show(("front", front([])))
    shown = "return document.querySelector('.fc-empty').hidden ? '' : document.querySelector('.fc-empty').textContent"
    assert chrome.run(shown) != ""
    chrome.run("document.flexiboPictures[0].update(arguments[0])", five())
    assert chrome.run(shown) == ""
    assert "cores | 3" in hovered(chrome, 1)
    wrong = (
        "try { document.flexiboPictures[0].update({ kind: 'x' }); return '' } catch (error) { return error.message }"
    )
    assert '"x"' in chrome.run(wrong)


def test_a_page_cannot_be_made_to_run_anything_else(chrome: Browser, show: Open) -> None:
    show(("front", five()))
    chrome.run(
        "const script = document.createElement('script'), image = document.createElement('img');"
        "script.textContent = 'window.harm = 1'; image.src = 'file:///etc/hostname';"
        "document.body.append(script, image);"
    )
    wait_for(chrome, lambda: len(chrome.severe()) >= 2, "the refusals in the console")
    assert chrome.run("return window.harm ?? null") is None
    assert all("Content Security Policy" in message for message in chrome.severe())
    assert [url.rpartition("/")[2] for url in chrome.requests()] == ["page.html"]
    chrome.forget()


def test_names_that_every_object_has_are_drawn_as_others(chrome: Browser, show: Open) -> None:
    names = ["__proto__", "toString", "constructor"]
    sides = [
        {"name": name, "label": name, "type": "category", "categories": names, "role": "option", "log": False}
        for name in names
    ]
    lines = [{"kind": "measured", "values": [name, name, name]} for name in names]
    parallel = {"kind": "parallel", "axes": sides, "lines": lines, "left_out": 0, "approximate": False}
    points = [point("front-confirmed", dict.fromkeys(names, float(i)), {"__proto__": i}) for i in range(3)]
    show(("parallel", parallel), ("pairs", front(points, [axis(name) for name in names])))
    assert chrome.run("return document.querySelectorAll('canvas').length") == 2
    assert {text.strip() for text in chrome.run("return window.drawnTexts")} >= set(names)
    inherited = "const found = []; for (const name in {}) found.push(name); return found"
    assert chrome.run(inherited) == [], "nothing was written to what all objects share"
    assert chrome.severe() == []


def test_a_picture_that_fails_is_a_sentence_and_the_others_are_drawn(chrome: Browser, show: Open) -> None:
    broken = five() | {"points": [None]}
    show(("front", broken), ("front", five()))
    shown = (
        "return [...document.querySelectorAll('.fc-empty')].map((one) => one.hidden ? '' : one.textContent)"
        ".concat(document.querySelectorAll('canvas').length)"
    )
    sentence, *others = chrome.run(shown)
    assert sentence
    assert others == ["", 1]
    assert "cores | 3" in hovered(chrome, 1, picture=1)
    assert len(chrome.severe()) == 1, "the console says why"
    chrome.forget()
    chrome.run("document.flexiboPictures[0].update(arguments[0])", five())
    assert chrome.run(shown) == ["", "", 2]


def test_what_is_free_to_measure_is_not_called_measured(chrome: Browser, show: Open) -> None:
    view = five()
    view["points"][2]["confirm_cost"] = 0.0
    show(("front", view))
    assert "All objectives" in hovered(chrome, 1)
    said = hovered(chrome, 2)
    assert "All objectives" not in said
    assert "costs nothing" in said


def test_a_study_without_a_region_does_not_say_that_nothing_was_measured(chrome: Browser, show: Open) -> None:
    columns = ("number", "cost", "spent", "gain", "gain_per_cost", "initial", "failed")
    rows = {name: [1.0, 2.0] for name in columns} | {"objective": ["a", "a"]}
    rows |= {"hypervolume": [None, None], "region_volume": [None, None]}
    bare = {"kind": "trace", "cost_label": "cost [s]", "budget": None, "objectives": ["a"], "thinned": False}
    view = {**bare, "rows": rows, "evaluations": {"a": [1, 2]}, "costs": {"a": [1.0, 2.0]}, "volume_unit": ""}
    nothing = view | {"rows": {name: [] for name in rows}, "evaluations": {"a": []}, "costs": {"a": []}}
    show(("region", view), ("hypervolume", view), ("region", nothing))
    sentences = chrome.run("return [...document.querySelectorAll('.fc-empty')].map((one) => one.textContent)")
    for fact, sentence in zip(("Pareto region", "every objective", "no measurements"), sentences, strict=True):
        assert fact in sentence


def test_a_note_says_that_the_region_comes_from_the_models(chrome: Browser, show: Open) -> None:
    show(("front", five()))
    assert "the models" in chrome.run("return document.querySelector('.fc-notes').textContent")
