"""The example scripts run as a reader would run them, and print what they promise."""

from __future__ import annotations

import ast
import csv
import os
import re
import runpy
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.forked import COMMAND_LINE, forked_into, imported

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LIMIT = 900.0
"""Seconds that an example may take on a crowded machine; each needs less than a minute on two idle cores."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def ready() -> Iterator[None]:
    with imported(*COMMAND_LINE):
        yield


def run(name: str, folder: Path) -> str:
    """What an example prints when it is run in a folder."""
    printed, complained = folder / "printed", folder / "complained"
    process = forked_into(printed, complained, _run, ROOT / "examples" / name, folder)
    process.join(LIMIT)
    assert process.exitcode == 0, complained.read_text(encoding="utf-8")
    return printed.read_text(encoding="utf-8")


def _run(script: Path, folder: Path) -> None:
    os.chdir(folder)
    os.environ.update(OMP_NUM_THREADS="1", PYTHONUTF8="1")
    sys.argv, sys.path[0] = [str(script)], str(script.parent)
    runpy.run_path(str(script), run_name="__main__")


def number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    assert found, f"{pattern} is not in:\n{text}"
    return int(found.group(1))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_short_and_says_what_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") < 100
    assert len(ast.get_docstring(ast.parse(text)) or "") > 100


def test_there_are_five_examples_and_each_has_its_test() -> None:
    tested = set(re.findall(r'run\("(\w+\.py)"', Path(__file__).read_text(encoding="utf-8")))
    assert tested == {path.name for path in EXAMPLES}
    assert len(EXAMPLES) == 5


def test_the_first_study_buys_many_readings_and_few_trainings(tmp_path: Path) -> None:
    printed = run("first_study.py", tmp_path)
    assert len(re.findall(r"^  (?:error|energy) +of \{", printed, re.MULTILINE)) == 4
    trainings, readings = number(r"error: (\d+) measured", printed), number(r"energy: (\d+) measured", printed)
    assert 8 <= trainings <= 14
    assert readings >= 2 * trainings
    assert number(r"spent +(\d+) of 900", printed) >= 850


def test_a_scikit_learn_model_is_tuned_within_its_budget(tmp_path: Path) -> None:
    printed = run("scikit_learn_model.py", tmp_path)
    with (tmp_path / "scikit_learn_model.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 50 or number(r"spent +(\d+)[\d.]* of 6\n", printed) >= 5
    assert {row["objective"] for row in rows} == {"error", "prediction_ms"}
    assert all(float(row["value"]) > 0 for row in rows if row["objective"] == "prediction_ms")
    assert min(float(row["value"]) for row in rows if row["objective"] == "error") < 15


def test_shell_commands_are_measured_by_ask_and_tell(tmp_path: Path) -> None:
    if shutil.which("gzip") is None or shutil.which("awk") is None:
        pytest.skip("needs gzip and awk")
    printed = run("shell_commands.py", tmp_path)
    assert "tool=" in printed
    assert number(r"kilobytes: (\d+) measured", printed) >= 4
    assert number(r"seconds: (\d+) measured", printed) >= 4
    assert "failed" not in printed


def test_nothing_is_lost_when_workers_are_killed(tmp_path: Path) -> None:
    printed = run("shared_study.py", tmp_path)
    assert printed.count("status -9") == 2
    assert number(r"twice: (\d+)", printed) == 0
    assert 1 <= number(r"dead workers: (\d+)", printed) <= 2
    assert number(r"Answers stored: (\d+)", printed) >= 20
    assert number(r"spent +(\d+) of 700", printed) >= 690


def test_three_objectives_are_drawn_and_the_constraint_is_kept(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    printed = run("three_objectives.py", tmp_path)
    assert number(r"(\d+) feasible designs", printed) >= 5
    assert all(float(value) <= 41 for value in re.findall(r"latency ([\d.e+-]+) ms", printed))
    for name in ("front3d.png", "pairs.png", "evaluations.png", "importance.png", "parallel.png", "hypervolume.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert "<html" in (tmp_path / "study.html").read_text(encoding="utf-8")[:500]
