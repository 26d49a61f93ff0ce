"""A comparison that is killed goes on where it was, to the same table."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.command_line import good

from flexibo.compare.comparison import compare
from flexibo.compare.runs import Allowance
from flexibo.compare.suites import Suite

PROBLEMS = ("branin-currin:ratio=10", "zdt1:finite")
METHODS = ("random-coupled", "random")
SEEDS = 2
SUITE = Suite("", PROBLEMS, METHODS, (), SEEDS, Allowance(n_initial=4, budget=1.0))


def words(out: Path, jobs: int) -> list[str]:
    names = ["--problems", ",".join(PROBLEMS), "--methods", ",".join(METHODS), "--seeds", str(SEEDS)]
    allowance = ["--initial", "4", "--budget", "1", "--jobs", str(jobs), "--out", str(out)]
    return ["compare", *names, *allowance]


def table(out: Path) -> list[dict[str, str]]:
    """The rows of the results, without the time that thinking took."""
    with open(out / "results.csv", newline="", encoding="utf-8") as file:
        return [{name: cell for name, cell in row.items() if name != "thinking_s"} for row in csv.DictReader(file)]


@pytest.mark.slow
def test_a_killed_comparison_resumes_to_the_same_table_and_leaves_no_process_behind(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    compare(SUITE, whole, jobs=1)
    command = [sys.executable, "-m", "flexibo", *words(broken, 2)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 200
    while _lines(broken / "results.csv") < 30 and time.monotonic() < deadline:
        time.sleep(0.02)
    group = os.getpgid(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    while _alive(group) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _alive(group)
    finished = _lines(broken / "results.csv")
    assert 30 <= finished < _lines(whole / "results.csv"), "it was killed too late to tell"
    good(*words(broken, 1))
    assert table(broken) == table(whole)
    assert (broken / "report.html").exists()


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
