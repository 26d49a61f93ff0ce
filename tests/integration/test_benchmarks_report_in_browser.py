"""A report in a real browser (Chromium), driven by a page that frames it: nothing but the report is served."""

from __future__ import annotations

import functools
import html
import itertools
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from flexibo.compare.report.page import ProblemFacts, Sheet, write_report
from flexibo.compare.runs import SHARES, Moment, Run

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

HOSTILE = "</script><img src=x onerror=parent.harm=1>"
DRIVER = """<!doctype html><title>driver</title><pre id="said"></pre>
<iframe src="report.html" style="width:%dpx;height:900px;border:0"></iframe>
<script>
const frame = document.querySelector("iframe");
const harms = [];
frame.addEventListener("load", () => {
  const page = frame.contentDocument, view = frame.contentWindow;
  page.addEventListener("securitypolicyviolation", (event) => harms.push(event.violatedDirective));
  const all = (selector) => [...page.querySelectorAll(selector)];
  const seen = (element) => view.getComputedStyle(element).display !== "none";
  const move = (target, x, y) =>
    target.dispatchEvent(new view.PointerEvent("pointermove", {bubbles: true, clientX: x, clientY: y}));
  const said = (() => { %s })();
  document.getElementById("said").textContent = JSON.stringify({said, harms, harm: window.harm === 1});
});
</script>"""

Drive = Callable[..., Any]


def made(folder: Path) -> None:
    told = ProblemFacts(
        ("error", "energy"), ("%", "J"), ("min", "min"), ((1.0, 9.0), (5.0, 2.0)), 400.0, "s", (100.0, 1.0), True,
        "A problem.", 5, 15_625.0,
    )  # fmt: skip
    runs = [
        Run(
            problem,
            method,
            seed,
            tuple(Moment(s, 400 * s, level * (1.1 - s), 3 * s, (int(20 * s), int(200 * s))) for s in SHARES),
            ((2.0, 8.0), (6.0, 3.0)),
        )
        for problem in ("first", "second")
        for method, level in (("ours", 0.1), ("rival", 0.5), (HOSTILE, 0.9))
        for seed in range(3)
    ]
    allowance = {"budget": "20 mean full evaluations"}
    table = Sheet("Ranking", ["method", "ratio"], [["ours", "0.5"], [HOSTILE, "1.0"]])
    given = {
        "ours": "ours",
        "title": "A comparison",
        "command": "flexibo compare",
        "terms": allowance,
        "tables": [table],
    }
    write_report(folder / "report.html", runs, {"first": told, "second": told}, **given)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drive]:
    """Runs a script on the framed report, and returns what it returns and the paths that were asked of the server."""
    folder = tmp_path_factory.mktemp("served")
    made(folder)
    asked: list[str] = []
    numbers = itertools.count()

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            asked.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def driven(script: str, *, width: int = 1200) -> Any:
        asked.clear()
        name = f"driver-{next(numbers)}.html"  # a name used again within a second is answered "304 Not Modified"
        (folder / name).write_text(DRIVER % (width, script), encoding="utf-8")
        address = f"http://127.0.0.1:{server.server_port}/{name}"
        command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        command += [f"--user-data-dir={folder / 'profile'}", "--window-size=1400,1000", "--virtual-time-budget=4000"]
        done = subprocess.run(
            [*command, "--dump-dom", address], capture_output=True, text=True, timeout=120, check=True
        )
        found = re.search(r'<pre id="said">(.*?)</pre>', done.stdout, re.DOTALL)
        assert found, done.stdout[-2000:]
        said = json.loads(html.unescape(found[1]))
        assert said["harms"] == []
        assert not said["harm"]
        return said["said"], [path for path in asked if path not in (f"/{name}", "/favicon.ico")]

    yield driven
    server.shutdown()
    server.server_close()


def test_the_legend_hides_a_method_in_every_panel_and_table_and_brings_it_back(drive: Drive) -> None:
    said, asked = drive("""
        const counts = () => ["m0", "m1", "m2"].map((m) => all(".series." + m).filter(seen).length);
        const before = counts();
        all(".legend input")[1].click();
        const hidden = counts();
        page.getElementById("none").click();
        const alone = counts();
        page.getElementById("all").click();
        return [before, hidden, alone, counts()];
    """)
    before, hidden, alone, after = said
    assert before == after
    assert min(before) > 8
    assert hidden == [before[0], 0, before[2]]
    assert alone == [before[0], 0, 0]
    assert asked == ["/report.html"]


def test_pointing_at_a_curve_names_its_method_and_value(drive: Drive) -> None:
    said, _ = drive("""
        const plot = page.querySelector("svg[data-plot=cost]");
        plot.scrollIntoView();
        const line = plot.querySelector(".m0 .line");
        const box = plot.getBoundingClientRect();
        const place = line.getPointAtLength(line.getTotalLength());
        const scale = box.width / plot.viewBox.baseVal.width;
        move(plot, box.left + place.x * scale, box.top + place.y * scale);
        const tip = page.getElementById("tip");
        const told = [seen(tip), tip.textContent, plot.closest("figure").className];
        move(page.querySelector("h2"), 5, 5);
        return [...told, seen(tip), plot.closest("figure").className];
    """)
    assert said[0] is True
    assert said[1] == "ourserror 0.01 at 400 s\n90 % band 0.01 to 0.01, 3 seeds"
    assert said[2] == "focus-m0"
    assert said[3:] == [False, ""]


def test_pointing_at_a_design_of_a_front_names_its_values_and_a_method_that_is_shown(drive: Drive) -> None:
    said, _ = drive("""
        all(".legend input")[0].click();
        const plot = page.querySelector("svg[data-plot=front]");
        plot.scrollIntoView();
        const box = plot.querySelector(".m2 .mark").getBoundingClientRect();
        move(plot, box.left + 5, box.top + 5);
        return page.getElementById("tip").textContent;
    """)
    assert said == "rivalerror 2 %\nenergy 8 J"


def test_problems_open_by_link_and_all_at_once(drive: Drive) -> None:
    said, _ = drive("""
        const opened = () => all("details.problem").map((problem) => problem.open);
        const states = [opened()];
        page.getElementById("open").click(); states.push(opened());
        page.getElementById("open").click(); states.push(opened());
        view.dispatchEvent(new Event("beforeprint")); states.push(opened());
        view.dispatchEvent(new Event("afterprint")); states.push(opened());
        return states;
    """)
    assert said == [[True, False], [True, True], [False, False], [True, True], [False, False]]


def test_everything_is_reached_by_keyboard(drive: Drive) -> None:
    said, _ = drive("""
        page.getElementById("open").click();
        const reached = all("a[href], button, input, summary, [tabindex='0']");
        const missed = reached.filter((element) => { element.focus(); return page.activeElement !== element; });
        return [reached.length, missed.length];
    """)
    n_reachable, n_missed = said
    assert n_reachable > 10
    assert n_missed == 0


@pytest.mark.parametrize("width", [400, 1200])
def test_the_page_is_never_wider_than_its_window(drive: Drive, width: int) -> None:
    said, _ = drive("""
        page.getElementById("open").click();
        const whole = page.documentElement;
        return [whole.scrollWidth - whole.clientWidth, view.innerWidth, view.getComputedStyle(page.body).marginTop];
    """, width=width)  # fmt: skip
    assert said == [0, width, "0px"]
