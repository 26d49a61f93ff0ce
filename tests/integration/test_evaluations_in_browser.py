"""The table of evaluations in a real browser: sorted, filtered, searched, updated in place, and safe with any name."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.growth import write_study
from tests.browser import Browser, browser, wait_for
from tests.dashboards import Running, dashboard, wait_until
from tests.forked import COMMAND_LINE, imported

from flexibo import Objective, Study
from flexibo.objectives import Reading

pytestmark = pytest.mark.slow

HARM = "<img src=x onerror='window.harm=1'>"
TABLE = "document.flexiboDashboard.page.evaluations"
ROWS = "return [...document.querySelectorAll('.evaluations .tabulator-row')].map((row) => row.innerText)"
HOLDER = "document.querySelector('.tabulator-tableholder')"
SEEN = f"""(() => {{
  const frame = {HOLDER}.getBoundingClientRect();
  const inside = ({{ top, bottom }}) => bottom > frame.top && top < frame.bottom;
  const rows = [...document.querySelectorAll('.evaluations .tabulator-row')];
  return rows.filter((row) => inside(row.getBoundingClientRect())).map((row) => row.innerText);
}})()"""
"""The rows that the reader sees; some more are drawn around them."""
COUNT = f"return {TABLE}.parts.said.innerText"


@pytest.fixture(scope="module", autouse=True)
def ready() -> Iterator[None]:
    with imported(*COMMAND_LINE):
        yield


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/study.db"


def opened(chrome: Browser, running: Running, evaluations: int, name: str = "study") -> None:
    """Open the page and wait until the table has said how many rows it has, and has drawn the first of them."""
    wait_until(lambda: running.study(name), "the study is read")
    chrome.open(running.address)
    wait_for(chrome, "return !!document.flexiboDashboard?.page?.evaluations", "the page")
    # Pictures that are drawn above it push the table out of sight again, where it asks for nothing.
    drawn = f"return {TABLE}.table?.getDataCount() === {evaluations} && {TABLE}.parts.said.innerText && ({SEEN}).length"
    wait_for(chrome, f"{TABLE}.element.scrollIntoView(); {drawn}", "all rows")


def choose(chrome: Browser, place: int, value: str) -> None:
    chrome.run(
        f"const found = {TABLE}.parts.filters.querySelectorAll('select, input')[arguments[0]];"
        "found.value = arguments[1];"
        "found.dispatchEvent(new Event(found.tagName === 'INPUT' ? 'input' : 'change'))",
        place,
        value,
    )


def test_rows_are_sorted_filtered_and_searched(chrome: Browser, url: str) -> None:
    write_study(url, 3000)
    with dashboard(url) as running:
        opened(chrome, running, 3000)
        assert len(chrome.run(ROWS)) < 100, "only the rows that are seen are drawn"
        assert chrome.run(ROWS)[0].startswith("2999")
        chrome.run("document.querySelector('.evaluations .tabulator-col[tabulator-field=value]').click()")
        value = f"return {TABLE}.table.getRows('active').slice(0, 200).map((row) => row.getData().value)"
        wait_for(chrome, lambda: sorted(chrome.run(value)) == chrome.run(value), "an order")
        choose(chrome, 0, "error")
        assert chrome.run(COUNT).startswith("1,000 of 3,000")
        choose(chrome, 1, "measured")
        choose(chrome, 2, "MODE=fast  k=2")
        wait_for(chrome, lambda: not chrome.run(COUNT).startswith("1,000"), "the search")
        found = f"return {TABLE}.table.getRows('active').map((row) => row.getData())"
        rows: list[dict[str, Any]] = chrome.run(found)
        assert rows
        assert all((row["objective"], row["o1"], row["o3"]) == ("error", 2, "fast") for row in rows)
        choose(chrome, 2, "nothing has this")
        wait_for(chrome, lambda: chrome.run(COUNT).startswith("0 of 3,000"), "an empty table")
        chrome.driver.get("about:blank")


def test_news_keep_the_place_the_order_and_the_filter_of_the_reader(chrome: Browser, url: str) -> None:
    write_study(url, 600)
    with Study.load(url) as study, dashboard(url) as running:
        opened(chrome, running, 600)
        chrome.run(f"{TABLE}.table.setSort('value', 'desc')")
        choose(chrome, 0, "energy")
        wait_for(chrome, lambda: " of 600" in chrome.run(COUNT), "the filter")
        chrome.run(f"{HOLDER}.scrollTop = 3000")
        before = set(wait_for(chrome, f"return {HOLDER}.scrollTop > 2900 && {SEEN}", "a place further down"))
        asked = study.ask()
        assert asked is not None
        in_table = f"{TABLE}.table.getRows().map((row) => row.getData()).find((row) => row.id === 600)"
        wait_for(chrome, f"return {in_table}", "the new row")
        study.fail(asked, "board on fire", cost=1.0)
        wait_for(chrome, f"return {in_table}?.state === 'failed'", "its new state")
        wait_for(chrome, lambda: before & set(chrome.run(f"return {SEEN}")), "the same rows are seen")
        assert chrome.run(f"return {HOLDER}.scrollTop") == pytest.approx(3000, abs=40), "within a row"
        assert chrome.run(f"return {TABLE}.table.getSorters()[0].field") == "value"
        objectives = f"return [...new Set({TABLE}.table.getRows('active').map((row) => row.getData().objective))]"
        assert chrome.run(objectives) == ["energy"]
        chrome.driver.get("about:blank")


def test_hostile_texts_are_text_in_every_cell_and_in_the_details(chrome: Browser, url: str) -> None:
    objectives = [Objective(HARM, unit=HARM), "__proto__"]
    space = {HARM: [HARM, "constructor"], "a.b": (0.0, 1.0), "__proto__": [1, 2]}
    with Study(space, objectives, name=HARM, storage=url, seed=0, n_initial=3) as study:
        for _ in range(3):
            study.fail(study.ask(), f"{HARM}\n\x1b[2J</pre><script>window.harm=1</script>", cost=1.0)
        study.tell(study.ask(), Reading(1.0, deviation=0.25), cost=1.0)
        study.note(HARM)
    with dashboard(url) as running:
        opened(chrome, running, 4, HARM)
        assert any(HARM in row for row in chrome.run(ROWS))
        assert HARM in chrome.run("return document.querySelector('.evaluations .tabulator-headers').innerText")
        chrome.run("document.querySelectorAll('.evaluations .opens')[3].click()")
        shown = wait_for(chrome, "return document.querySelector('.chosen')?.innerText", "the details")
        assert "window.harm=1" in shown
        chrome.run("document.querySelectorAll('.evaluations .opens')[0].click()")
        wait_for(chrome, "return document.querySelector('.chosen')?.innerText.includes('± 0.25')", "the error bar")
        chrome.run(f"{TABLE}.table.setSort('o0', 'asc')")
        choose(chrome, 0, HARM)
        choose(chrome, 2, "<img")
        wait_for(chrome, lambda: " of 4" in chrome.run(COUNT), "the filter")
        assert chrome.run("return window.harm") is None
        assert chrome.run("return document.querySelectorAll('main img, main script').length") == 0
        chrome.driver.get("about:blank")


def test_two_studies_are_drawn_in_one_picture_or_a_sentence_says_why_not(chrome: Browser, url: str) -> None:
    for name, objectives in (("one", ["a", "b"]), (HARM, ["a", "b"]), ("other", ["a", Objective("b", unit="J")])):
        with Study({"x": (0.0, 1.0)}, objectives, name=name, storage=url, seed=0, n_initial=3, budget=8) as study:
            study.run({"a": lambda d: (d["x"], 1.0), "b": lambda d: (1 - d["x"], 1.0)}, progress=False)
    with dashboard(url) as running:
        ids = [wait_until(lambda name=name: running.study(name), "it is read")["id"] for name in ("one", HARM, "other")]
        overlay = "document.flexiboDashboard?.comparison?.overlays[0]"
        chrome.open(f"{running.address}#study={ids[0]}&with={ids[1]}")
        shown = wait_for(chrome, f"return {overlay}?.chart && {overlay}.element.innerText", "both fronts")
        assert HARM in shown
        assert "one" in shown
        assert chrome.run(f"return {overlay}.element.querySelectorAll('canvas').length") == 1
        chrome.run(f"location.hash = 'study={ids[0]}&with={ids[2]}'")
        wait_for(chrome, f"return {overlay}?.chart && {overlay}.element.innerText.includes('b [J]')", "a sentence")
        assert chrome.run("return window.harm") is None
        chrome.driver.get("about:blank")


def test_a_command_is_copied_as_it_is_shown(chrome: Browser, url: str) -> None:
    value = "it's \\ $(touch pwned) `id` \u202e\x1b é"
    with Study({"x": [value, "b"]}, ["a", "b"], name="a b'c", storage=url, seed=0, n_initial=2, budget=4) as study:
        study.run({"a": lambda d: (1.0, 1.0), "b": lambda d: (2.0, 1.0)}, progress=False)
    with dashboard(url) as running:
        opened(chrome, running, 4, "a b'c")
        rows = f"return {TABLE}.table.getRows().map((row) => row.getData()).find((row) => row.o0 !== 'b').id"
        chrome.run(f"{TABLE}.open({chrome.run(rows)})")
        command = wait_for(chrome, "return document.querySelector('.chosen .command code')?.textContent", "a command")
        assert command.isprintable()
        words = shlex.split(command)
        assert words[:2] == ["flexibo", "enqueue"]
        assert json.loads(words[2]) == {"x": value}
        assert words[3:] == ["--storage", url, "--name", "a b'c"]
        chrome.driver.get("about:blank")
