"""A newcomer's first minutes, from an empty folder to a confirmed front, with what the README shows."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser import Browser, browser, wait_for
from tests.forked import COMMAND_LINE, Command, imported

from flexibo import Study
from flexibo.errors import FlexiBOError
from flexibo.history.events import Told

pytestmark = pytest.mark.slow
FIVE_MINUTES = 300.0
TEN_MINUTES = 600.0
README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("FLEXIBO_")]:
        monkeypatch.delenv(name)
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    return empty


@pytest.fixture(scope="module", autouse=True)
def ready() -> Iterator[None]:
    with imported(*COMMAND_LINE):
        yield


def command(*words: object) -> Command:
    return Command(Path.cwd(), *map(str, words))


def said(*words: object) -> str:
    done = command(*words)
    printed = done.communicate(timeout=FIVE_MINUTES)[0]
    assert done.returncode == 0, (words, printed)
    return printed


def measured() -> int:
    """The evaluations that are stored so far."""
    if not Path("compress.db").exists():
        return 0
    try:
        with Study.load("sqlite:///compress.db") as study:
            return sum(isinstance(event, Told) for event in study.events)
    except FlexiBOError:  # the file is there, the study is not yet
        return 0


def kill_in_the_middle(least: int) -> None:
    """Run the study, and kill it as soon as this many evaluations are measured."""
    run = command("run", "study.yaml", "--budget", "8s")
    while measured() < least:
        assert run.returncode is None, "it ended before it could be killed"
        time.sleep(0.3)
    run.kill()
    assert run.wait() == -signal.SIGKILL


def address(server: Command) -> str:
    """The address that the dashboard prints."""
    while server.returncode is None:
        if found := re.search(r"http://127\.0\.0\.1:\d+/?\s", server.printed.read_text()):
            return found[0].strip()
        time.sleep(0.1)
    raise AssertionError(server.printed.read_text())


def watch(chrome: Browser, url: str) -> None:
    chrome.open(url)
    wait_for(chrome, lambda: "compress" in chrome.run("return document.body.innerText"), "the study is listed")
    wait_for(chrome, lambda: chrome.run("return document.querySelectorAll('canvas').length") > 0, "its front is drawn")
    text = chrome.run("return document.body.innerText")
    assert "size_percent" in text
    assert not chrome.severe()


def test_a_newcomer_sees_the_first_front_in_a_browser_within_five_minutes(folder: Path) -> None:
    start = time.monotonic()
    said("init", "--yes")
    kill_in_the_middle(4)
    before = measured()
    shown = json.loads(said("status", "--json"))
    assert sum(objective["measured"] for objective in shown["objectives"]) == before
    said("resume")
    assert measured() > before >= 4, "what was measured before the kill is kept"
    rows = json.loads(said("front", "--json"))
    assert rows
    assert "size_percent" in said("front")
    said("export", "--out", "evaluations.csv")
    assert len(Path("evaluations.csv").read_text(encoding="utf-8").splitlines()) > before
    server = command("dashboard", "sqlite:///compress.db", "--port", "0", "--no-open")
    try:
        with browser() as chrome:
            watch(chrome, address(server))
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)
    assert time.monotonic() - start < FIVE_MINUTES


def test_an_own_program_has_a_confirmed_front_within_ten_minutes(folder: Path) -> None:
    start = time.monotonic()
    section = README.partition("### Your own program")[2].partition("\n#")[0]
    program, study, commands = re.findall(r"```(?:py|yaml|sh)\n(.*?)```", section, flags=re.DOTALL)
    Path("pack.py").write_text(program, encoding="utf-8")
    Path("pack.yaml").write_text(f"{study}stop: {{max_evaluations: 30}}\n", encoding="utf-8")  # on a quick machine
    shown = [said(*shlex.split(line, comments=True)[1:]) for line in commands.splitlines()]
    assert len(shown) == 4
    assert "value read: seconds" in shown[0]
    assert "Trying" not in shown[1]
    assert "Confirmed front" in shown[-1]
    with Study.load("sqlite:///pack.db") as stored:
        assert len(stored.front()) > 1
        assert all(stored.history.count(j) > 3 for j in range(2))
    assert time.monotonic() - start < TEN_MINUTES
