"""Trying each command and function once before a study runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_line import call, mentions, printed

from flexibo import Study

pytestmark = pytest.mark.usefixtures("folder")
FILE = """
name: toy
method: random
budget: 60
seed: 1
n_initial: 3
options:
  x: {from: 1, to: 1000}
  kind: [plain, quick]
objectives:
  error: {command: "echo training; touch trained; echo {x} 8", cost: 8}
  joules: {command: "sh bench.sh {x} {kind}", unit: J, cost: 3}
"""
BROKEN = "printf 'start \\033[31m\\n'; echo no device jtag0 >&2; exit 3\n"
WORKS = "echo $1 3\n"


@pytest.fixture
def bench(folder: Path) -> Path:
    (folder / "study.yaml").write_text(FILE)
    return folder / "bench.sh"


def stored() -> Study:
    return Study.load("sqlite:///toy.db", "toy")


def test_a_broken_command_stops_the_study_before_anything_expensive_is_spent(bench: Path) -> None:
    bench.write_text(BROKEN)
    result = call("run", "study.yaml")
    assert result.exit_code == 1
    assert mentions(result.stdout, "1/2 joules", "$ sh bench.sh", "\\x1b[31m", "| no device jtag0", "no value")
    assert mentions(result.stderr, "'joules'", "exit status 3", "no device jtag0", "flexibo run study.yaml", "--no-try")
    assert result.stderr.startswith("flexibo: ")
    assert len(result.stderr.splitlines()) == 1
    assert "exit status" not in result.stdout  # it is said once
    assert not bench.with_name("trained").exists()
    with stored() as study:
        assert (study.spent, len(study.history.measurements), study.pending) == (0.0, 0, ())
        assert not study.history.failed_attempts["joules"]


def test_once_it_is_fixed_the_same_design_is_measured_and_counts_once(bench: Path) -> None:
    bench.write_text(BROKEN)
    call("run", "study.yaml")
    bench.write_text(WORKS)
    shown = printed("run", "study.yaml")
    assert mentions(shown, "1/2 joules", "value read: joules", "J, cost 3", "took", "2/2 error", "| training")
    with stored() as study:
        first, *others = [m for m in study.history.measurements if m.number is not None]
        assert first.design == study.history.asked[0].design == others[0].design
        assert study.spent == sum(m.cost for m in (first, *others))
        assert len({(str(dict(m.design)), *m.values) for m in (first, *others)}) == len(others) + 1
    again = printed("run", "study.yaml", "--budget", "90s")
    assert "Trying" not in again


def test_only_trying_measures_each_once_and_says_what_to_do_next(bench: Path) -> None:
    bench.write_text(WORKS)
    shown = printed("run", "study.yaml", "--try")
    assert mentions(shown, "1/2 joules", "2/2 error", "sqlite:///toy.db", "flexibo run study.yaml")
    with stored() as study:
        assert dict(study.history.told) == {"error": 1, "joules": 1}
        assert study.spent == 11.0
    again = printed("run", "study.yaml", "--try")
    assert mentions(again, "nothing to try", "flexibo run study.yaml")
    assert "Trying" not in printed("run", "study.yaml")


def test_what_is_tried_can_be_left_out(bench: Path) -> None:
    bench.write_text(BROKEN)
    result = call("run", "study.yaml", "--no-try")
    assert result.exit_code == 1
    assert bench.with_name("trained").exists()
    with stored() as study:
        assert study.history.failed_attempts["joules"] > 1
    bench.write_text(WORKS)
    assert mentions(printed("resume"), "Trying 1 objective", "1/1 joules")


def test_programs_get_what_was_tried_as_json(bench: Path) -> None:
    bench.write_text(BROKEN)
    result = call("run", "study.yaml", "--json")
    assert result.exit_code == 1
    [tried] = json.loads(result.stdout)["tried"]
    assert (tried["objective"], tried["values"]) == ("joules", None)
    assert mentions(tried["reason"], "exit status 3")
    assert "jtag0" in tried["printed"]
    bench.write_text(WORKS)
    found = json.loads(printed("run", "study.yaml", "--try", "--json"))
    assert [list(one["values"]) for one in found["tried"]] == [["joules"], ["error"]]


def test_a_quiet_run_prints_the_front_and_errors_only(bench: Path) -> None:
    bench.write_text(BROKEN)
    result = call("run", "study.yaml", "--quiet")
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    bench.write_text(WORKS)
    result = call("run", "study.yaml", "--quiet")
    assert result.exit_code == 0
    assert mentions(result.stdout, "Confirmed front")
    assert not any(word in result.stdout for word in ("Trying", "What was measured", "stored in"))
    assert result.stderr == ""


def test_without_a_terminal_each_evaluation_has_a_line(bench: Path) -> None:
    bench.write_text(WORKS)
    result = call("run", "study.yaml")
    lines = [line for line in result.stderr.splitlines() if " left" in line]
    with stored() as study:
        assert len(lines) == len(study.history.measurements) - 2  # besides those that were tried
    assert mentions(lines[-1], "x=", "kind=", "cost", "draws at random", "of 60")


def test_a_function_that_is_broken_shows_where(bench: Path) -> None:
    bench.write_text(WORKS)
    study = bench.with_name("study.yaml")
    study.write_text(FILE.replace('command: "sh bench.sh {x} {kind}"', 'function: "meter:joules"'))
    bench.with_name("meter.py").write_text("def joules(design):\n    return design['batch']\n")
    result = call("run", "study.yaml")
    assert result.exit_code == 1
    assert mentions(result.stdout, "function meter:joules", "line 2", "| KeyError: 'batch'")
    assert mentions(result.stderr, "'joules'", "KeyError", "meter.py")


def test_an_impossible_design_is_no_broken_command(bench: Path) -> None:
    bench.write_text("test -e tried || { touch tried; exit 125; }\n" + WORKS)
    shown = printed("run", "study.yaml", "--try")
    assert mentions(shown, "1/2 joules", "no value", "125", "value read: joules", "2/2 error")
    with stored() as study:
        assert study.history.failed_attempts["joules"] == 1


def test_other_processes_measure_what_is_tried_too(bench: Path) -> None:
    bench.write_text(BROKEN)
    result = call("run", "study.yaml", "--executor", "processes", "--workers", "2")
    assert mentions(result.stdout, "| no device jtag0")
    assert mentions(result.stderr, "'joules'", "exit status 3")
    assert not bench.with_name("trained").exists()


def test_what_people_measure_is_not_tried(bench: Path) -> None:
    bench.write_text(WORKS)
    study = bench.with_name("study.yaml")
    study.write_text(FILE.replace('command: "echo training; touch trained; echo {x} 8"', "measured_by: hand"))
    assert mentions(printed("run", "study.yaml", "--try"), "1/1 joules", "by hand", "error")


def test_a_plan_begins_with_what_is_tried(bench: Path) -> None:
    first = json.loads(printed("run", "study.yaml", "--dry-run", "--json"))["first"]
    assert [question["objective"] for question in first[:2]] == ["joules", "error"]
    first = json.loads(printed("run", "study.yaml", "--dry-run", "--json", "--no-try"))["first"]
    assert [question["objective"] for question in first[:2]] == ["error", "joules"]


def test_the_command_of_an_objective_with_steps_is_shown_too(folder: Path) -> None:
    trained = 'error: {steps: 9, command: "echo step {to_step} 0.5; true {x} {from_step} {checkpoint}"}'
    first = next(line for line in FILE.splitlines() if "error:" in line)
    (folder / "study.yaml").write_text(FILE.replace(first, f"  {trained}").replace("sh bench.sh {x} {kind}", "echo 1"))
    shown = printed("run", "study.yaml", "--try")
    assert mentions(shown, "$ echo step 9 0.5; true", " 0 CHECKPOINT", "error 0.5")
