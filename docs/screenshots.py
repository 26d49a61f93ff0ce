"""Takes the pictures of the dashboard: ``python docs/screenshots.py`` writes them to docs/images.

A study of examples/first_study.py runs to two thirds of its budget, with one failed attempt and two pending
evaluations. A real browser opens it: Debian's chromium and chromium-driver.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

from flexibo import Study

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]
from first_study import OBJECTIVES, SPACE, energy, error  # noqa: E402
from tests.browser import Browser, browser, wait_for  # noqa: E402

FUNCTIONS = {"error": error, "energy": energy}
BUDGET = 1500
FAILING = 41
DRAWN = "return document.querySelectorAll('canvas').length >= 3 && !document.body.innerText.includes('being computed')"
"""Pictures further down are drawn when they become visible; predictions follow what was measured."""


def main() -> None:
    """Run the study, serve it, and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "images", help="folder of the pictures")
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as scratch:
        storage = f"sqlite:///{scratch}/board.db"
        with running_study(storage), served(storage, scratch) as address, browser() as chrome:
            chrome.open(address)
            wait_for(chrome, DRAWN, "the pictures of the dashboard")
            take(chrome, folder / "dashboard.png", 1280, 1130)
            take(chrome, folder / "dashboard-phone.png", 390, 1100, phone=True)


@contextmanager
def running_study(storage: str) -> Iterator[Study]:
    """A study in the middle of its work."""
    with Study(SPACE, OBJECTIVES, budget=BUDGET, seed=0, n_initial=5, storage=storage, name="board") as study:
        while study.spent < 0.66 * BUDGET and (evaluation := study.ask()):
            if evaluation.number == FAILING:
                study.fail(evaluation, "The board did not answer within 30 s.", cost=30.0)
                continue
            value, cost = FUNCTIONS[evaluation.objective](evaluation.design)
            study.tell(evaluation, value, cost=cost)
        study.note("Fan replaced, the clock is steady again.")
        study.ask(2)
        yield study


@contextmanager
def served(storage: str, folder: str) -> Iterator[str]:
    """The address of a dashboard that shows a storage."""
    command = [sys.executable, "-u", "-m", "flexibo", "dashboard", storage, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as server:
        try:
            found = next(filter(None, (re.search(r"http://\S+", line) for line in server.stdout or ())))
            yield found.group()
        finally:
            server.terminate()


def take(chrome: Browser, path: Path, width: int, height: int, *, phone: bool = False) -> None:
    """Write what a window of this size shows, as a small PNG file."""
    chrome.size(width, height, phone=phone)
    wait_for(chrome, "return new Promise(done => setTimeout(() => done(true), 3000))", "the pictures in their new size")
    chrome.save_screenshot(path)
    Image.open(path).convert("RGB").save(path, optimize=True)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
