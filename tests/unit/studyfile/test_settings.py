"""The settings of a study file, its executor, and what can be wrong with each or with all of them together."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.unit.studyfile.texts import SMALL

from flexibo.studyfile import ExecutorChoice


def test_settings_are_what_a_study_takes(read: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def price(design, objective):\n    return 1.0\n")
    file = read(
        """
method: parego
budget: 30m
seed: 3
reference: {error: 10, joules: 2.5}
n_initial: 2
initial_designs:
  - {x: 1}
  - x: 2
candidates: 50
delta: 0.1
surrogate: rf
cost: mine:price
lease: 2m
stop: {max_evaluations: 40, gain_per_cost: 1e-6, max_seconds: 1h, certified_error: 5%}
"""
        + SMALL
    )
    cost = file.settings["cost"]
    assert cost.__name__ == "price"
    assert {key: value for key, value in file.settings.items() if key != "cost"} == {
        "method": "parego",
        "budget": 1800.0,
        "seed": 3,
        "reference": {"error": 10.0, "joules": 2.5},
        "n_initial": 2,
        "initial_designs": [{"x": 1}, {"x": 2}],
        "candidates": 50,
        "delta": 0.1,
        "surrogate": "rf",
        "lease": 120.0,
        "stop": {
            "max_evaluations": 40,
            "gain_per_cost": 1e-6,
            "max_seconds": 3600.0,
            "certified_error": 0.05,
        },
    }


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("processes", ExecutorChoice("processes")),
        (
            "{name: processes, workers: 2, slots: {joules: 1}, resources: {GPU: 1}}",
            ExecutorChoice("processes", 2, slots={"joules": 1}, resources={"GPU": 1.0}),
        ),
        ("{name: dask, address: 'tcp://a:1', patience: 2m}", ExecutorChoice("dask", address="tcp://a:1", patience=120)),
    ],
)
def test_an_executor_is_a_name_or_a_name_with_arguments(read: Any, text: str, choice: ExecutorChoice) -> None:
    assert read(f"executor: {text}\n{SMALL}").executor == choice


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        ("budget: 0", r"budget.* 0;.*duration"),
        ("budget: -5m", r"budget.* '-5m'"),
        ("budget: [1]", r"budget.* list"),
        ("budget:", r"budget .*no value.*duration"),
        ("seed: 1.5", r"seed.* 1\.5;.*whole.*\b0 or"),
        ("seed: true", r"seed.* true;.*whole"),
        ("n_initial: 0", r"n_initial.* 0;.*whole.*\b1 or"),
        ("delta: 2", r"delta.* 2"),
        ("surrogate: gpp", r"surrogate 'gpp'.*'gp'"),
        ("cost: lgo", r"cost 'lgo'.*'log'"),
        ("reference: {eror: 1}", r"'eror'.*reference.*'error'"),
        ("reference: {error: 1}", r"reference.*error;.*error, joules"),
        ("initial_designs: {x: 1}", r"initial_designs.*list"),
        ("initial_designs: [{x: 9}]", r"initial_designs.*'x'.* 9"),
        ("initial_designs: [3]", r"initial design.*mapping"),
        ("stop: {max_evaluations: 0}", r"max_evaluations.*stop.* 0;.*whole.*\b1 or"),
        ("stop: {gain_per_cost: -1}", r"gain_per_cost.*stop.* -1;.*zero"),
        ("stop: {certified_error: 5}", r"certified_error.*stop.* 5;.*\b5%.*100%"),
        ("stop: 100", r"stop.* 100;.*mapping"),
        ("executor: proceses", r"executor 'proceses'.*'processes'"),
        ("executor: {workers: 2}", r"executor lacks.*name.*inline.*processes"),
        ("executor: {name: inline, workers: 2}", r"'inline' .*workers.*processes"),
        ("executor: {name: processes, slots: {errr: 1}}", r"'errr'.*slots.*'error'"),
        ("executor: {name: processes, slots: {error: 0}}", r"error.*slots.* 0;.*whole.*\b1 or"),
        ("executor: {name: dask, workers: none}", r"workers.*executor.* 'none'"),
        ("lease: never", r"lease.* 'never'"),
    ],
)
def test_each_setting_says_what_it_wants(mistakes: Any, line: str, facts: str) -> None:
    ((at, _, sentence),) = mistakes(f"{line}\n{SMALL}")
    assert at == 1
    assert re.search(facts, sentence)


@pytest.mark.parametrize(("key", "most"), [("n_initial", 100_000), ("candidates", 1_000_000), ("seed", 2**128 - 1)])
def test_a_number_that_no_study_needs_is_a_mistake(mistakes: Any, key: str, most: int) -> None:
    ((line, column, sentence),) = mistakes(f"{SMALL}{key}: {most + 1}\n")
    assert (line, column) == (9, len(key) + 3)
    assert re.search(rf"^{key} is .*\b{most}\.$", sentence)


def test_the_limit_of_evaluations_has_a_limit_too(mistakes: Any) -> None:
    ((_, _, sentence),) = mistakes(f"{SMALL}stop: {{max_evaluations: 1{'0' * 200}}}\n")
    assert re.search(r"^max_evaluations.*\b1000000000\.$", sentence)


def test_a_study_needs_two_objectives_and_a_method_that_can_do_them(mistakes: Any) -> None:
    ((line, _, sentence),) = mistakes("options: {x: [1, 2]}\nobjectives:\n  m: {command: echo 1}\n")
    assert (line, "two objectives" in sentence) == (2, True)
    many = "".join(f"  m{n}: {{command: echo 1}}\n" for n in range(9))
    ((line, _, sentence),) = mistakes(f"options: {{x: [1, 2]}}\nmethod: smsego\nobjectives:\n{many}")
    assert (line, "takes at most" in sentence) == (2, True)


def test_a_budget_below_the_initial_designs_is_seen_before_anything_runs(mistakes: Any) -> None:
    text = SMALL.replace("command", "cost: 100\n    command") + "budget: 10s\n"
    ((line, _, sentence),) = mistakes(text)
    assert line == 11
    assert re.search(r"budget.*\b10\b.*initial designs", sentence)
