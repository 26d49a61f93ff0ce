"""Objectives with steps in study files: their commands, and their mistakes."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from flexibo import Design, Evaluation, Objective
from flexibo.executors import Outcome, measured
from flexibo.executors.checkpoints import Checkpoints
from flexibo.executors.steps import StepMeasure
from flexibo.history.events import FailureKind
from flexibo.studyfile.command import Command
from flexibo.studyfile.template import STEP_WORDS, parsed

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a shell")
ERROR = Objective("error", steps=9)
STUDY = """
name: nets
budget: 90
seed: 0
n_initial: 1
options:
  x: {from: 0, to: 100}
objectives:
  error:
    steps: [3, 9]
    command: python train.py {x} {from_step} {to_step} {checkpoint}
  joules: {command: "echo 1"}
"""


def outcome(folder: Path, script: str, **asked: Any) -> Outcome:
    template, wrong = parsed(script, ["x", *STEP_WORDS])
    assert not wrong
    question = Evaluation(Design({"x": 7}), "error", None, 0.0, "", 0, ("error",), **{"stop": 9, **asked})
    measure = StepMeasure(Command("error", template, str(folder)), ERROR, Checkpoints(folder / "check points"))
    return measured(question, ERROR, measure)


def test_a_command_is_told_its_steps_and_its_checkpoint_and_prints_values(tmp_path: Path) -> None:
    script = """
    test {from_step} = "$FLEXIBO_FROM_STEP" && test -d {checkpoint} || exit 1
    test {checkpoint} = "$FLEXIBO_CHECKPOINT" || exit 1
    echo from $(cat {checkpoint}/step 2>/dev/null || echo nothing) to {to_step} >> calls
    echo {to_step} > {checkpoint}/step
    echo "epoch 1 of 9"; echo "step 2 of 9"; echo "step 2 0.75"
    echo "step 3 2.0" >&2
    echo 0.5
    """
    first = outcome(tmp_path, script, stop=3)
    assert (first.values, first.reports) == ({"error": 0.5}, ((2, 0.75), (3, 0.5)))
    later = script.replace("step 2 0.75", "step 7 0.3").replace("echo 0.5", "echo 0.25 60")
    second = outcome(tmp_path, later, start=3)
    assert (second.values, second.cost, second.reports) == ({"error": 0.25}, 60.0, ((7, 0.3), (9, 0.25)))
    assert (tmp_path / "calls").read_text() == "from nothing to 3\nfrom 3 to 9\n"


def test_the_last_line_may_be_the_value_at_the_last_step(tmp_path: Path) -> None:
    found = outcome(tmp_path, "echo 'step 4 0.5'; printf 'step 9 2.5e-1'")
    assert (found.values, found.reports) == ({"error": 0.25}, ((4, 0.5), (9, 0.25)))


def test_what_is_printed_before_a_failure_is_kept_and_the_next_attempt_goes_on(tmp_path: Path) -> None:
    script = "echo step $(expr {from_step} + 4) 0.5; test {from_step} = 4 || exit 3; echo 0.25"
    failed = outcome(tmp_path, script)
    assert (failed.values, failed.reports) == (None, ((4, 0.5),))
    again = outcome(tmp_path, script)
    assert (again.values, again.begun, again.reports) == ({"error": 0.25}, 4, ((4, 0.5), (8, 0.5), (9, 0.25)))


@pytest.mark.parametrize(
    ("script", "facts"),
    [
        ("echo step 2 nan; sleep 60", "nan"),
        ("echo step 12 0.5; sleep 60", "step 12; this evaluation goes from step 0 to 9"),
        ("echo step 3 0.5; echo step 2 0.5; sleep 60", "step 2 after step 3"),
        ("echo step 4 0.5", "neither returned nor reported a value at step 9"),
        ("echo step 4 0.5; echo done", "printed 'done' last"),
    ],
)
def test_a_command_that_prints_what_is_wrong_ends_with_a_sentence(tmp_path: Path, script: str, facts: str) -> None:
    found = outcome(tmp_path, script)
    assert facts in found.reason
    assert found.kind is FailureKind.VALUE


def test_a_file_with_steps_is_read_and_its_commands_are_shown(read: Any, tmp_path: Path) -> None:
    file = read(STUDY + "checkpoints: shared\n")
    objective, other = file.objectives
    assert (objective.stops, objective.resumable, other.stops) == ((3, 9), True, ())
    assert file.settings["checkpoints"] == str(file.path.parent / "shared")
    evaluation = Evaluation(Design({"x": 7}), "error", None, 0.0, "", 0, ("error",), start=3, stop=9)
    assert file.measures["error"].shown(evaluation) == "python train.py 7 3 9 CHECKPOINT"
    whole = read(STUDY.replace("[3, 9]", "27\n    resumable: false")).objectives[0]
    assert (whole.stops, whole.resumable) == ((1, 3, 9, 27), False)


@pytest.mark.parametrize(
    ("before", "after", "facts"),
    [
        ("[3, 9]", "[9, 3]", "steps.*ascending"),
        ("[3, 9]", "0", "steps 0"),
        ("[3, 9]", "all", "steps of objective 'error' is 'all'; it must be a whole number such as 27"),
        ("[3, 9]", "[]", r"'error' has steps \[\];"),
        ("[3, 9]", "[3, many]", "'many' in steps of objective 'error'"),
        ("[3, 9]", "[3, null]", "null in steps of objective 'error'"),
        ("    steps: [3, 9]\n", "", "{from_step} names no option; it is for objectives with steps"),
        ("x: {", "checkpoint: [1, 2]\n  x: {", "option 'checkpoint' has the name of a placeholder for steps"),
        ("steps: [3, 9]", "steps: 9\n    meter: estimate", "meter of objective 'error' reads a whole command"),
        ("options:", "board: {host: nano@host}\noptions:", "steps of objective 'error' need a checkpoint folder"),
        ("steps: [3, 9]", "steps: 9\n    repeats: 3", "has steps and repeats 3"),
    ],
)
def test_mistakes_about_steps_have_a_place_and_a_sentence(mistakes: Any, before: str, after: str, facts: str) -> None:
    assert before in STUDY
    found = [str(mistake) for mistake in mistakes(STUDY.replace(before, after))]
    assert any(re.search(facts.replace("{", r"\{"), one) for one in found), found
