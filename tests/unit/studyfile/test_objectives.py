"""The objectives of a study file: all that an objective can, what measures them, and what is wrong with either."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.studyfile.texts import OBJECTIVES, SMALL

from flexibo import Objective
from flexibo.studyfile import Command, Function
from flexibo.studyfile.metering import MeterChoice


def test_objectives_can_be_all_that_an_objective_can(read: Any, tmp_path: Path) -> None:
    (tmp_path / "board.py").write_text("def joules(design):\n    return {'joules': 2.0, 'ms': 3.0}\n")
    file = read(
        """
options: {x: [1, 2], y: [1, 2]}
objectives:
  speed:
    direction: max
    unit: images/s
    options: [x]
    command: run --x {x}
    pass_environment: [PGPASSWORD]
    timeout: 2m
    cost: 30
    resources: {GPU: 1}
  joules:
    unit: J
    function: board:joules
    noisy: true
    repeats: 5
    remeasure: true
    tolerance: 0.1
    lower: 0
    upper: 1e3
  ms: {unit: ms, measured_with: joules, at_most: 50, optimise: true}
  level: {command: echo 1, at_least: 3, lower: -inf}
"""
    )
    assert file.objectives == (
        Objective("speed", "max", unit="images/s", options=["x"], timeout=120, cost=30, resources={"GPU": 1}),
        Objective("joules", unit="J", noisy=True, repeats=5, remeasure=True, tolerance=0.1, lower=0, upper=1000.0),
        Objective("ms", unit="ms", measured_with="joules", at_most=50, optimise=True),
        Objective("level", at_least=3, lower=-math.inf),
    )
    assert list(file.measures) == ["speed", "joules", "level"]
    speed = file.measures["speed"]
    assert isinstance(speed, Command)
    assert (speed.folder, speed.timeout, speed.passed) == (str(tmp_path), 120.0, ("PGPASSWORD",))
    assert file.measures["joules"] == Function("board:joules", str(tmp_path))
    assert file.measures["joules"](file.space.design({"x": 1, "y": 2})) == {"joules": 2.0, "ms": 3.0}


@pytest.mark.parametrize(
    ("objective", "facts"),
    [
        ("{}", r"'m'.*function.*command.*measured_by: hand"),
        ("{command: a, function: b:c}", r"'m'.*both.*function.*command"),
        ("{command: echo 1, measured_with: other}", r"'m'.*measured with.*command out"),
        ("{measured_with: othr}", r"'othr'.*measured_with.*'m'.*'other'"),
        ("", r"'m'.*nothing.*function.*command"),
        ("echo 1", r"'m'.*mapping.*function.*command"),
        ("{command: \"echo '{x}'\"}", r"'m'.*\{x\}.*single quotes"),
        ('{command: "echo {y}"}', r"'m'.*\{y\}.*no option"),
        ('{command: "echo \'"}', r"shell.*'m'"),
        ("{command: {x} 1}", "not YAML"),
        ("{command: {x: 1}}", r"command.*'m'.*brace.*quotes"),
        ("{command: [a]}", r"command.*'m'.* list;.*text"),
        ("{function: 3}", r"function.*'m'.* 3;.*text"),
        ("{function: json}", r"'json'.*module:function"),
        ("{function: json:dump_s}", r"'json'.*'dump_s'.*'dump"),
        ("{measured_by: hands}", r"measured_by.*'m'.* 'hands';.*\bhand\b.*flexibo ask"),
        ("{measured_by: hand, command: echo 1}", r"'m'.*both.*command.*measured_by"),
        ("{measured_by: hand, measured_with: other}", r"'m'.*measured with.*measured_by out"),
        ("{by: hand}", r"'m'.*function.*command.*measured_by: hand"),
        ("{command: echo 1, at_most: 3, at_least: 1}", r"'m'.*at_most.*at_least"),
        ("{command: echo 1, at_most: 3, direction: max}", r"'m'.*at_most.*direction 'min'"),
        ("{command: echo 1, lower: 3, upper: 1}", r"'m'.*lower 3.*upper 1"),
        ("{command: echo 1, lower: none}", r"lower.*'m'.* 'none';.*number"),
        ("{command: echo 1, remeasure: true}", r"'m'.*remeasure.*exact"),
        ("{command: echo 1, timeout: never}", r"timeout.*'m'.* 'never'"),
        ("{command: echo 1, repeats: 0}", r"repeats.*'m'.* 0;.*\b1 or"),
        ("{command: echo 1, resources: {GPU: many}}", r"GPU.*resources.*'m'.* 'many';.*number"),
        ("{command: echo 1, options: x}", r"options.*'m'.* 'x';.*list.*\[x\]"),
        ("{command: echo 1, options: [x, x]}", r"'x'.*twice.*options.*'m'"),
        ("{command: echo 1, unit: 3}", r"unit.*'m'.* 3;"),
        ("{command: echo 1, pass_environment: PGPASSWORD}", r"pass_environment.*'m'.* 'PGPASSWORD';.*list"),
        ("{command: echo 1, pass_environment: [PGPASWORD]}", r"'PGPASWORD'.*pass_environment.*'m'.*'PGPASSWORD'"),
        ("{measured_by: hand, pass_environment: [PGPASSWORD]}", r"pass_environment.*'m'.*command"),
    ],
)
def test_each_objective_says_what_it_wants(mistakes: Any, objective: str, facts: str) -> None:
    found = mistakes(f"options: {{x: [1, 2]}}\nobjectives:\n  other: {{command: echo 1}}\n  m: {objective}\n")
    assert found[0][0] == 4
    assert re.search(facts, found[0][2])


def test_there_must_be_objectives(mistakes: Any) -> None:
    assert re.search("no objectives", mistakes("options: {x: [1, 2]}")[0][2])


def test_repeats_have_a_limit(mistakes: Any) -> None:
    ((line, _, sentence),) = mistakes(SMALL + f"    repeats: 1{'0' * 200}\n")
    assert line == 9
    assert re.search(r"^repeats of objective 'joules'.*\b1000000000\.$", sentence)


def test_a_command_that_uses_an_option_which_its_objective_leaves_out_is_a_mistake(mistakes: Any) -> None:
    text = "options: {x: [1, 2], y: [1, 2]}" + OBJECTIVES.replace("echo {x}", "echo {x} {y}\n    options: [y]")
    ((line, _, sentence),) = mistakes(text)
    assert line == 4
    assert re.search(r"command of objective 'error'.*\{x\}.*options of objective 'error'.*'x'", sentence)


def test_functions_of_the_study_are_mistakes_where_flexibo_ask_would_need_them(mistakes: Any, read: Any) -> None:
    hands = SMALL.replace("command: echo 1", "measured_by: hand")
    assert read(f"{hands}cost: log\n").by_hand == ("joules",)
    for key in ("valid", "cost"):
        ((line, _, sentence),) = mistakes(f"{hands}{key}: os:getcwd\n")
        assert line == 9
        assert re.search(rf"^{key} is a function.*flexibo ask.*'joules'", sentence)


def test_options_that_no_environment_can_tell_apart_are_refused(mistakes: Any) -> None:
    text = "options: {a-b: [1, 2], a_b: [1, 2], x: [1, 2]}" + OBJECTIVES
    assert re.search("'a-b'.*'a_b'.*FLEXIBO_OPTION_A_B", mistakes(text)[0][2])


def test_values_that_no_program_can_be_given_are_refused(mistakes: Any) -> None:
    sentence = mistakes('options: {x: [a, "b\\0c"]}' + OBJECTIVES)[0][2]
    assert re.search(r"option 'x'.*'b\\x00c'.*program", sentence)


def test_retries_and_a_shared_cause_of_failures_can_be_given(read: Any) -> None:
    file = read(
        "options: {x: [1, 2]}\nobjectives:\n  a: {command: echo 1, retries: 0}\n"
        "  b: {command: echo 1, fails_with: a, retries: 4}\n"
    )
    assert file.objectives == (Objective("a", retries=0), Objective("b", fails_with="a", retries=4))


@pytest.mark.parametrize(("key", "facts"), [("retries: -1", "retries.*-1"), ("fails_with: c", "'c'.*fails_with")])
def test_wrong_retries_and_causes_are_mistakes(read: Any, key: str, facts: str) -> None:
    with pytest.raises(Exception, match=facts):
        read("options: {x: [1, 2]}\nobjectives:\n  a: {command: echo 1}\n  b: {command: echo 1, " + key + "}\n")


METERED = """
options: {x: [1, 2]}
objectives:
  energy:
    command: ./infer.sh {x}
%s
  error: {command: echo 1}
"""


@pytest.mark.parametrize(
    ("lines", "choice"),
    [
        ("    meter: auto", MeterChoice("auto")),
        ("    meter: rapl+nvml:all", MeterChoice("rapl+nvml:all")),
        ("    meter: cat /dev/plug --watts", MeterChoice("cat /dev/plug --watts")),
        ("    meter: {idle: 5s}", MeterChoice("auto", idle_seconds=5.0)),
        (
            "    meter: {name: rapl, cool: 60, cool_limit: 2m, period: 0.5}",
            MeterChoice("rapl", celsius=60, cool_limit_seconds=120.0, period_seconds=0.5),
        ),
    ],
)
def test_a_command_may_be_metered(read: Any, tmp_path: Path, lines: str, choice: MeterChoice) -> None:
    file = read(METERED % lines)
    command = file.measures["energy"]
    assert command.meter == replace(choice, folder=str(tmp_path))
    assert command.quantities == (("energy", "joules"),)
    assert file.metered == ("energy",)
    assert file.executor.slots == {"energy": 1}  # readings do not overlap


def test_the_objectives_of_a_metered_command_are_quantities_or_printed(read: Any) -> None:
    more = "    meter: auto\n    quantity: watts\n  s: {measured_with: energy, quantity: seconds}\n"
    file = read(METERED % (more + "  items: {measured_with: energy}"))
    assert file.measures["energy"].quantities == (("energy", "watts"), ("s", "seconds"), ("items", "printed"))


@pytest.mark.parametrize(
    ("lines", "facts"),
    [
        ("    meter: rapll", "'energy'.*'rapll'.*'rapl'"),
        ("    meter: rapl+rapl", "rapl.*twice"),
        ("    meter: [rapl]", "meter.*list"),
        ("    meter: {nam: rapl}", "'nam'.*'name'"),
        ("    meter: {name: rapll}", "'rapll'"),
        ("    meter: {idle: soon}", "idle.*'soon'"),
        ("    meter: {cool: 900}", "cool.*900"),
        ("    meter: {cool_limit: 5m}", "cool_limit.*cool "),
        ("    quantity: joules", "quantity.*joules.*meter"),
        ("    meter: auto\n    quantity: amperes", "'amperes'"),
        ("  ms: {measured_with: energy, quantity: seconds}", "'energy'.*meter"),
        ("  ms: {function: 'a:b', meter: auto}", "meter.*'ms'.*command"),
        ("    meter: ''", "meter"),
    ],
)
def test_what_is_wrong_with_a_meter_is_a_mistake(mistakes: Any, lines: str, facts: str) -> None:
    assert any(re.search(facts, sentence) for _, _, sentence in mistakes(METERED % lines))
