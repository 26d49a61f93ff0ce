"""A newcomer's first minutes, from an empty folder to a confirmed front, with what the README shows."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest
from tests.browser import Browser, browser, wait_for

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


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "flexibo", *map(str, words)]


def said(*words: object) -> str:
    done = subprocess.run(command(*words), capture_output=True, text=True, timeout=FIVE_MINUTES, check=False)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


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
    with subprocess.Popen(
        command("run", "study.yaml", "--budget", "14s"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as run:
        while measured() < least:
            assert run.poll() is None, "it ended before it could be killed"
            time.sleep(0.3)
        os.kill(run.pid, signal.SIGKILL)
    assert run.returncode == -signal.SIGKILL


def address(lines: IO[str]) -> str:
    """The address that the dashboard prints."""
    for line in lines:
        if found := re.search(r"http://127\.0\.0\.1:\d+/?", line):
            return found[0]
    raise AssertionError("the dashboard printed no address")


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
    words = command("dashboard", "sqlite:///compress.db", "--port", "0", "--no-open")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            assert server.stdout is not None
            url = address(server.stdout)
            with browser() as chrome:
                watch(chrome, url)
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=60)
    assert time.monotonic() - start < FIVE_MINUTES


def test_an_own_program_has_a_confirmed_front_within_ten_minutes(folder: Path) -> None:
    start = time.monotonic()
    section = README.partition("### Your own program")[2].partition("\n#")[0]
    program, study, commands = re.findall(r"```(?:py|yaml|sh)\n(.*?)```", section, flags=re.DOTALL)
    Path("pack.py").write_text(program, encoding="utf-8")
    Path("pack.yaml").write_text(study, encoding="utf-8")
    shown = [said(*shlex.split(line, comments=True)[1:]) for line in commands.splitlines()]
    assert len(shown) == 4
    assert "value read: seconds" in shown[0]
    assert "Trying" not in shown[1]
    assert "Confirmed front" in shown[-1]
    with Study.load("sqlite:///pack.db") as stored:
        assert len(stored.front()) > 1
        assert all(stored.history.count(j) > 3 for j in range(2))
    assert time.monotonic() - start < TEN_MINUTES
