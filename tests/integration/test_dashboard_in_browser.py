"""The dashboard in a real browser: it follows a study, shows hostile names as text, and can be used without a mouse."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser import Browser, browser, wait_for
from tests.dashboards import Running, dashboard, free_port, wait_until
from tests.forked import COMMAND_LINE, imported

from flexibo import Design, Objective, Study

pytestmark = pytest.mark.slow

LONG = "the second study, with a very long name " * 4
HARM = "<img src=x onerror='window.harm=1'>"
WORDS = "return document.body.innerText"
DRAWN = "return document.querySelectorAll('.picture canvas').length"
QUEUE = "return document.querySelector('[aria-label=\"Evaluations in progress\"]')"
CHOOSE = (
    "const found = document.querySelector(arguments[0]); found.value = arguments[1];"
    "found.dispatchEvent(new Event('change'))"
)
Functions = dict[str, Callable[[Design], Any]]


@pytest.fixture(scope="module", autouse=True)
def ready() -> Iterator[None]:
    with imported(*COMMAND_LINE):
        yield


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def shown(ready: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A dashboard of two studies that are over, for tests that only look at them."""
    url = f"sqlite:///{tmp_path_factory.mktemp('shown')}/study.db"
    space = {"filters": [16, 32, 64, 128], "kernel": ["1x1", "3x3", "5x5"], "cpu_ghz": (0.3, 2.3), "cores": (1, 6)}
    functions: Functions = {
        "error": lambda design: (4.0 / design["filters"], 3.0),
        "joules": lambda design: (design["filters"] * design["cpu_ghz"] * (1.0 + design["cores"] / 10), 1.0),
    }
    for seed, name in enumerate(("first", LONG)):
        settings = {"budget": 32.0, "n_initial": 5, "candidates": 50, "seed": seed}
        with Study(space, ["error", Objective("joules", unit="J")], storage=url, name=name, **settings) as study:
            study.run(functions)
    with dashboard(url) as running:
        yield running


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/study.db"


def opened(chrome: Browser, running: Running, name: str = "study") -> None:
    """Open the page of a study and wait until its figures are there."""
    study = wait_until(lambda: running.study(name), "the study is read")
    chrome.open(f"{running.address}#study={study['id']}")
    wait_for(chrome, "return document.querySelector('.tiles .value')", "the figures of the study")


def ended(chrome: Browser) -> None:
    """Leave the page before its server ends, so that nothing is asked of nobody."""
    assert chrome.severe() == []
    chrome.driver.get("about:blank")


def said(chrome: Browser, text: str) -> None:
    wait_for(chrome, lambda: text in chrome.run(WORDS), f"the page says {text!r}")


def test_a_running_study_updates_on_the_screen(
    chrome: Browser, url: str, make_study: Callable[..., Study], functions: Functions
) -> None:
    with make_study(storage=url, n_initial=5, candidates=50, budget=80) as study, dashboard(url) as running:
        opened(chrome, running)
        said(chrome, "No design is measured in every objective yet.")
        said(chrome, "No evaluation has been asked yet.")
        first = study.ask()
        assert first is not None
        said(chrome, "Running now")
        wait_for(chrome, "return document.querySelector('main .badge').innerText === 'running'", "it runs")
        wait_for(chrome, QUEUE, "the queue")
        before = chrome.run(f"{QUEUE}.innerText")
        chrome.run(f"window.kept = (() => {{ {QUEUE} }})(); kept.focus()")
        wait_for(chrome, lambda: chrome.run("return kept.innerText") != before, "time passes in the queue")
        assert chrome.run("return kept.isConnected && document.activeElement === kept"), "the focus is not taken away"
        study.tell(first, 0.25, cost=12.5)
        said(chrome, "12.5 of 80")
        study.run(functions, progress=False)
        said(chrome, f"{study.spent:g} of 80")
        wait_for(chrome, f"{DRAWN} >= 2", "pictures")
        values = "return [...document.querySelectorAll('.tile .value')].map((one) => one.innerText)"
        wait_for(chrome, lambda: any("design" in value for value in chrome.run(values)), "the front")
        ended(chrome)


def test_pointing_at_a_design_says_what_it_is_and_a_click_keeps_it(chrome: Browser, shown: Running) -> None:
    opened(chrome, shown, "first")
    page = "document.flexiboDashboard.page"
    wait_for(chrome, f"return {page}.panels.front.view?.region", "the front with its region")
    place = (
        f"const {{chart, view}} = {page}.panels.front;"
        "const i = view.points.findIndex((point) => point.kind.startsWith('front'));"
        "document.querySelector('.picture').scrollIntoView(); return chart.pixel(i)"
    )

    def read(act: Callable[[float, float], None], what: str) -> str | None:
        """What there is to read after an act at the place of the design, which may move while the page grows."""
        found = chrome.run(place)
        if found is not None:
            act(found["x"], found["y"])
        text: str | None = chrome.run(f"return document.querySelector('{what}')?.innerText")
        return text

    tip = wait_for(chrome, lambda: read(chrome.hover, ".fc-tip:not([hidden])"), "its description")
    assert "cores" in tip
    assert "measured" in tip or "predicted" in tip
    kept = wait_for(chrome, lambda: read(chrome.click, ".chosen"), "the design that is kept")
    assert "joules" in kept
    assert "cores" in kept
    assert "confirm" in kept.lower() or "every objective" in kept
    ended(chrome)


def test_words_of_a_study_say_what_is_meant(chrome: Browser, url: str) -> None:
    objectives = [
        Objective("time", unit="ms"),
        Objective("size", unit="B", at_most=70792.5),
        Objective("loss", "max", at_least=0.25, optimise=True),
    ]
    with Study({"x": (0.0, 1.0), "y": [1, 2]}, objectives, budget=1234.5, n_initial=3, seed=0, storage=url) as study:
        for number in range(12):
            evaluation = study.ask()
            assert evaluation is not None
            if number == 4:
                study.fail(evaluation, "No answer.", cost=0.5)
            else:
                study.tell(evaluation, 0.5 + float(evaluation.design["x"]), cost=1.0)  # type: ignore[arg-type]
        pending = study.ask()
        assert pending is not None
        with dashboard(url) as running:
            opened(chrome, running)
            said(chrome, "11 measured · 1 failed attempt")
            said(chrome, "11.5 of 1,234.5 spent, 1 failed attempt")
            said(chrome, "reserved")
            course = "const {isSeen, isOld, view} = document.flexiboDashboard.page.panels.trace; return"
            wait_for(chrome, f"{course} view", "the course")
            chrome.size(1280, 300)
            wait_for(chrome, f"{course} !isSeen", "the course is out of sight")
            study.tell(pending, 0.5, cost=1.0)
            wait_for(chrome, f"{course} view.rows.number.length === 13 && isOld", "it is known, but not drawn")
            chrome.size(1280, 5000)
            wait_for(chrome, f"{course} !isOld", "it is drawn once it can be seen")
            wished = "return document.querySelector('.settings').innerText"
            for line in ("time [ms]: to minimise", "size [B]: at most 70,792.5 B", "loss: to maximise, at least 0.25"):
                assert line in chrome.run(wished)
            table = "document.querySelector('[aria-label^=\"The last evaluations and why\"]')"
            wait_for(chrome, f"return {table}", "why evaluations were asked")
            assert chrome.run(f"return {table}.scrollWidth - {table}.clientWidth") <= 0, "nothing is cut at the right"
            ended(chrome)


def test_hostile_words_are_shown_as_text_and_nothing_outside_is_asked(chrome: Browser, url: str) -> None:
    study = Study(
        {HARM: [HARM, "b"], "x": (0.0, 1.0)},
        [Objective(HARM, unit=HARM), "b"],
        name=HARM,
        budget=20,
        stop={"max_evaluations": 20},
        candidates=50,
        n_initial=3,
        seed=0,
        storage=url,
    )

    def failing(design: Design) -> float:
        if float(design["x"]) > 0.5:  # type: ignore[arg-type]
            raise RuntimeError(HARM)
        return float(design["x"])  # type: ignore[arg-type]

    study.run({HARM: failing, "b": lambda design: (1.0, 1.0)}, progress=False)
    study.note(HARM)
    with dashboard(url) as running:
        opened(chrome, running, HARM)
        chrome.size(1280, 5000)  # everything is seen, and so asked for
        for selector in ("h1", ".studies .name", ".message", ".notes p", ".settings"):
            wait_for(chrome, f"return document.querySelector('{selector}')?.innerText.includes('onerror')", selector)
        wait_for(chrome, f"{DRAWN} >= 5", "pictures")
        assert chrome.run("return window.harm") is None
        assert chrome.run("return document.querySelectorAll('main img').length") == 0
        here = running.address.rstrip("/")
        assert [place for place in chrome.requests() if not place.startswith(here)] == []
        ended(chrome)


def test_the_keyboard_reaches_everything(chrome: Browser, shown: Running) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    opened(chrome, shown, "first")
    chrome.size(1280, 5000)
    wait_for(chrome, f"{DRAWN} >= 5", "pictures")
    wanted = chrome.run(
        "document.activeElement.blur();"
        "const all = document.querySelectorAll('a, button, select, summary, [tabindex=\"0\"]');"
        "return [...all].filter((one) => one.checkVisibility()).length"
    )
    reached = set()
    for _ in range(wanted + 20):
        ActionChains(chrome.driver).send_keys(Keys.TAB).perform()
        found = chrome.run(
            "const one = document.activeElement; if (!one || one === document.body) return null;"
            "const seen = getComputedStyle(one); window.numbers ??= new Map();"
            "if (!numbers.has(one)) numbers.set(one, numbers.size);"
            "return [numbers.get(one), one.matches(':focus-visible'), seen.outlineStyle !== 'none']"
        )
        if found is not None:
            assert found[1:] == [True, True], "what has the focus can be seen"
            reached.add(found[0])
    assert len(reached) >= wanted
    chrome.run("document.getElementById('skip').focus()")
    ActionChains(chrome.driver).send_keys(Keys.ENTER).perform()
    assert chrome.run("return document.activeElement.id") == "main"
    ended(chrome)


def test_a_phone_shows_everything_without_scrolling_sideways(chrome: Browser, shown: Running) -> None:
    opened(chrome, shown, LONG)
    chrome.size(390, 844, phone=True)
    wait_for(chrome, "return !document.getElementById('study-menu').open", "the list of studies is folded")
    chrome.size(390, 7000, phone=True)
    wait_for(chrome, f"{DRAWN} >= 5", "pictures")
    assert chrome.run("return document.documentElement.scrollWidth") <= 390
    outside = chrome.run(
        "const scrolled = '.scroll, .evaluations, .command code, .jumps, .unseen, .fc-plot, .fc-live, .fc-table';"
        "return [...document.querySelectorAll('main *')]"
        ".filter((one) => one.checkVisibility() && !one.closest(scrolled))"
        ".filter((one) => one.getBoundingClientRect().right > 391).map((one) => one.tagName + '.' + one.className)"
    )
    assert outside == []
    ended(chrome)


def test_colours_follow_the_system_until_somebody_chooses(chrome: Browser, shown: Running) -> None:
    paper = "return getComputedStyle(document.body).backgroundColor"
    opened(chrome, shown, "first")
    light = chrome.run(paper)
    chrome.colours("dark")
    dark = wait_for(chrome, lambda: chrome.run(paper) != light and chrome.run(paper), "the system's dark colours")
    chrome.run(CHOOSE, "#colours", "light")
    assert chrome.run(paper) == light
    chrome.driver.refresh()
    wait_for(chrome, "return document.querySelector('.tiles')", "the page again")
    assert chrome.run(paper) == light, "the choice is remembered"
    chrome.run(CHOOSE, "#colours", "system")
    assert chrome.run(paper) == dark
    ended(chrome)


def test_two_studies_are_compared_side_by_side(chrome: Browser, shown: Running) -> None:
    opened(chrome, shown, "first")
    second = shown.study(LONG)["id"]
    chrome.run(CHOOSE, ".actions select", second)
    chrome.size(1280, 3000)
    wait_for(chrome, "return document.querySelectorAll('.half canvas').length === 4", "both fronts and both courses")
    numbers = wait_for(chrome, "return document.querySelector('.panel table')?.innerText", "both in numbers")
    assert "first" in numbers
    assert "second" in numbers
    assert f"with={second}" in chrome.run("return location.hash"), "the comparison has an address"
    ended(chrome)


def test_a_page_whose_server_ends_says_that_it_is_old_and_recovers(
    chrome: Browser, url: str, make_study: Callable[..., Study]
) -> None:
    make_study(storage=url)
    state = "return document.getElementById('connection').dataset.state"
    port = str(free_port())
    with dashboard(url, "--port", port) as running:
        opened(chrome, running)
        wait_for(chrome, f"{state} === 'live'", "the page is live")
        running.end()
        wait_for(chrome, f"{state} === 'lost'", "the page says that it is not connected")
        assert "Not connected" in chrome.run(WORDS)
        said(chrome, "Spent")
    with dashboard(url, "--port", port):
        wait_for(chrome, f"{state} === 'live'", "the page is live again")
        chrome.driver.get("about:blank")
    chrome.forget()  # a browser complains of a server that is gone


def test_a_token_lets_a_browser_in_and_leaves_its_address(
    chrome: Browser, url: str, make_study: Callable[..., Study]
) -> None:
    make_study(storage=url)
    token = "a-token-for-this-test-alone"
    with dashboard(url, "--token", token) as running:
        assert running.address.endswith(f"?token={token}")
        chrome.open(running.address)
        wait_for(chrome, "return document.querySelector('.tiles .value')", "the figures of the study")
        wait_for(chrome, "return document.getElementById('connection').dataset.state === 'live'", "the page is live")
        assert token not in chrome.run("return location.href + document.cookie + document.referrer")
        ended(chrome)


def test_a_chosen_design_is_called_measured_only_where_it_is(chrome: Browser, shown: Running) -> None:
    chrome.open(shown.address)
    wait_for(chrome, "return document.querySelector('.tiles .value')", "the page")
    for measured, cost, facts in (
        (True, 0.0, r"measured .*every objective"),
        (False, 0.0, r"[Cc]onfirm.* nothing"),
        (False, 2.5, r"[Cc]onfirm.* 2\.5 s\b"),
        (False, None, r"confirm.* not known"),
    ):
        point = {
            "values": {"a": 1.0, "b": 2.0},
            "deviations": {"a": 0.0, "b": 0.0},
            "measured": {"a": True, "b": measured},
            "design": {},
            "confirm_cost": cost,
            "probability": 1.0,
            "standing": "confident" if measured else None,
        }
        view = {"axes": [{"name": name, "label": name} for name in ("a", "b")], "points": [point]}
        words = chrome.driver.execute_async_script(  # type: ignore[no-untyped-call]
            "const [point, view, done] = arguments;"
            "import('/static/headline.js').then(({ chosenDesign }) =>"
            " done(chosenDesign(point, view, 's', () => {}).textContent), (error) => done(String(error)))",
            point,
            view,
        )
        assert re.search(facts, words), words
        assert bool(re.search(r"front .*confident", words)) == measured, words
    ended(chrome)


def test_learning_curves_are_drawn_where_an_objective_has_steps(chrome: Browser, url: str, shown: Running) -> None:
    section = "[...document.querySelectorAll('section')].find((one) => one.textContent.startsWith('Learning curves'))"
    opened(chrome, shown, "first")
    said(chrome, "Why these evaluations")
    assert chrome.run(f"return {section}.getClientRects().length") == 0
    objectives = [Objective("error", steps=[3, 9], unit="%"), "joules"]
    settings: Any = {"seed": 0, "n_initial": 3, "method": "random"}
    with Study({"x": [1, 2, 3, 4]}, objectives, storage=url, **settings) as study, dashboard(url) as running:
        opened(chrome, running)
        said(chrome, "No step was reported yet.")
        for number in range(3):
            evaluation = study.ask(only=["error"])
            assert evaluation is not None
            if number:
                study.tell(evaluation, 1.0 + number, cost=9.0, reports=[(1, 5.0), (3, 2.0)])
            else:
                study.fail(evaluation, "no power", cost=1.0, reports=[(1, 6.0)], impossible=True)
        chrome.run(f"{section}.scrollIntoView()")
        wait_for(chrome, f"return {section}.querySelector('canvas')", "the curves")
        wait_for(
            chrome, lambda: "stopped before the last step" in chrome.run(f"return {section}.innerText"), "a legend"
        )
        jump = "[...document.querySelectorAll('.jumps button')].find((one) => one.innerText === 'Learning curves')"
        assert chrome.run(f"{jump}.click(); return document.activeElement.innerText") == "Learning curves"
        chrome.run(f"{section}.querySelector('summary').click()")
        wait_for(chrome, lambda: "9 of 9" in chrome.run(f"return {section}.innerText"), "the table")
        ended(chrome)
