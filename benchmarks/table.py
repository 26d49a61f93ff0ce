"""How fast the dashboard's table of evaluations is: ``python -m benchmarks.table [EVALUATIONS]``.

A study of this size (20,000 evaluations) is written to a SQLite file, a dashboard serves it, and a real browser
(Debian's chromium and chromium-driver) opens it: how long it takes from the request to the first rows and to all, a
sort by each kind of column, a filter, a search, the frames while scrolling by 3 and by 100 rows, and an
update; and how much memory the page uses with and without the table. Times are by the clock of the browser.
"""

from __future__ import annotations

import argparse
import tempfile
from typing import Any

from tests.browser import Browser, browser, wait_for
from tests.dashboards import dashboard_as_people_start_it, wait_until

from benchmarks.growth import write_study

EVALUATIONS = 20_000
TABLE = "document.flexiboDashboard.page.evaluations"
TIMED = """
const begin = performance.now();
await (async () => {{ {act} }})();
await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
return performance.now() - begin;
"""
SCROLL = """
const holder = document.querySelector('.tabulator-tableholder');
const frame = () => new Promise((done) => requestAnimationFrame(done));
const times = [];
let last = performance.now();
for (let i = 0; i < 200; i += 1) {
  holder.scrollTop += arguments[0];
  await frame();
  const now = performance.now();
  times.push(now - last);
  last = now;
}
times.sort((a, b) => a - b);
return [times[100], times[190]];
"""


def main() -> None:
    """Print the table of figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("evaluations", type=int, nargs="?", default=EVALUATIONS)
    evaluations = parser.parse_args().evaluations
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/study.db"
        write_study(url, evaluations)
        with dashboard_as_people_start_it(url) as running, browser() as chrome:
            wait_until(running.study, "the study is read", seconds=600)
            figures = measured(chrome, running.address, url, evaluations)
    print(f"{evaluations:,} evaluations")
    for name, text in figures.items():
        print(f"  {name:<45}{text:>16}")


def measured(chrome: Browser, address: str, url: str, evaluations: int) -> dict[str, str]:
    """The figures by name."""
    chrome.open(address)
    wait_for(chrome, "return document.flexiboDashboard?.page?.evaluations", "the page")
    before = memory(chrome)
    show_table = f"{TABLE}.element.scrollIntoView(); while (!{TABLE}.table) await new Promise((d) => setTimeout(d, 5));"
    shown = "while (!document.querySelector('.tabulator-row')) await new Promise((done) => setTimeout(done, 5));"
    figures = {"from the request to the first rows": seconds(chrome, show_table + shown)}
    pause = "await new Promise((done) => setTimeout(done, 5));"
    figures["then to all rows"] = seconds(chrome, f"while ({TABLE}.table.getDataCount() < {evaluations}) {pause}")
    for column in ("value", "objective", "o0"):
        sort = f"{TABLE}.table.setSort('{column}', 'asc')"
        figures[f"sort by {column}"] = seconds(chrome, sort)
    choose = f"{TABLE}.wanted.objective = 'error'; {TABLE}.filter();"
    figures["filter by objective"] = seconds(chrome, choose)
    figures["search"] = seconds(chrome, f"{TABLE}.wanted.words = ['mode=fast', 'k=2']; {TABLE}.filter();")
    seconds(chrome, f"Object.assign({TABLE}.wanted, {{objective: '', words: []}}); {TABLE}.filter();")
    for what, pixels in (("turning the wheel", 120), ("dragging the bar", 100 * 34)):
        middle, rare = chrome.run(SCROLL, pixels)
        figures[f"frame while {what}, median, 95 %"] = f"{middle:.0f}, {rare:.0f} ms"
    figures["update of 10 rows"] = seconds(chrome, update())
    figures["memory of the page without the table"] = f"{before:.0f} MB"
    figures["memory of the page with the table"] = f"{memory(chrome):.0f} MB"
    return figures


def update() -> str:
    """Ten rows of the table change."""
    rows = f"[...{TABLE}.rows.values()].slice(0, 10).map((row) => ({{...row, value: row.value + 1}}))"
    return f"await {TABLE}.change([], {rows});"


def seconds(chrome: Browser, act: str) -> str:
    """How long an act takes until it is painted."""
    return f"{chrome.run(TIMED.format(act=act)):.0f} ms"


def memory(chrome: Browser) -> float:
    """MB of the heap of the page after a collection of garbage."""
    chrome.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    metrics: Any = chrome.driver.execute_cdp_cmd("Runtime.getHeapUsage", {})
    return float(metrics["usedSize"]) / 1e6


if __name__ == "__main__":
    main()
