"""``flexibo confirm``."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from tests.command_line import asked_by_hand, call, good, history, mentions, refusal

from flexibo import Study
from flexibo.cli._text import row_ranges
from flexibo.errors import FlexiBOError

URL = "sqlite:///toy.db"
CONFIRM = ("confirm", "--storage", URL)


@pytest.fixture(autouse=True)
def _run(folder: Path) -> None:
    """A study that was run until its budget was spent: a random method leaves designs half measured."""
    good("run", "study.yaml", "--seed", 2)


def promising() -> list[int]:
    return [row.number for row in Study.load(URL).promising()]


def unchanged(*typed: object) -> str:
    before = history(URL).events
    said = refusal(*CONFIRM, *typed)
    assert history(URL).events == before
    return said


def test_a_spent_study_is_confirmed_with_a_budget_of_its_own() -> None:
    rows, before = promising(), history(URL)
    assert rows
    assert mentions(unchanged(), "3", "2", "--budget")
    shown = good(*CONFIRM, "--budget", "10m")
    assert mentions(shown, str(len(rows)), f"{before.budget:g}")
    after = history(URL)
    assert after.queue == []
    assert (after.budget or 0.0) > (before.budget or 0.0)
    assert all(evaluation.queued is not None for evaluation in after.asked[len(before.asked) :])
    assert not set(promising()) & set(rows)


def test_rows_that_the_budget_does_not_pay_for_are_named_with_their_price_and_the_command_that_confirms_them() -> None:
    rows = Study.load(URL).promising()
    cheapest = min(row.confirm_cost or 0.0 for row in rows)
    shown = good(*CONFIRM, "--budget", cheapest)
    left = Study.load(URL).hand_over()
    numbers = [row.number for row in left.promising]
    assert 0 < len(numbers) < len(rows)
    listed = f"Rows {row_ranges(numbers)}" if len(numbers) > 1 else f"Row {numbers[0]}"
    (said,) = [line for line in shown.splitlines() if line.startswith(listed)]
    assert mentions(said, f"{left.confirm_cost:.3g}.")
    (command,) = re.findall(r"flexibo (confirm .*)$", shown, re.MULTILINE)
    assert "flexibo confirm" not in good(*shlex.split(command))
    assert not {row.design for row in Study.load(URL).promising()} & {row.design for row in left.promising}


def test_rows_that_the_budget_does_not_pay_for_are_in_the_json() -> None:
    cheapest = min(row.confirm_cost or 0.0 for row in Study.load(URL).promising())
    found = json.loads(good(*CONFIRM, "--budget", cheapest, "--json"))
    assert found["confirming"]["unpaid_rows"] == promising() != []
    assert json.loads(good(*CONFIRM, "--budget", "10m", "--json"))["confirming"]["unpaid_rows"] == []


def test_chosen_rows_are_confirmed_and_the_outcome_is_json_on_request() -> None:
    row = promising()[-1]
    found = json.loads(good(*CONFIRM, row, "--budget", "1m", "--json"))
    assert found["confirming"]["designs"] == found["confirming"]["confirmed"] == 1
    assert found["confirming"]["still_queued"] == 0


def test_what_is_left_for_later_is_measured_by_others() -> None:
    row = promising()[0]
    shown = good(*CONFIRM, row, "--budget", "1m", "--later")
    assert mentions(shown, "0", "flexibo ask")
    assert mentions(unchanged(row, "--later"), "queued")
    (queued,) = history(URL).queue
    (asked,) = asked_by_hand("--storage", URL)
    assert asked["design"] == dict(queued.design)
    good("tell", asked["name"], 1.0, "--cost", 1, "--storage", URL)
    assert json.loads(good(*CONFIRM, "--later", "--json", "--budget", "10m"))["queued"]


def test_resume_measures_what_is_queued_first() -> None:
    good(*CONFIRM, promising()[0], "--budget", "1m", "--later")
    asked = len(history(URL).asked)
    good("resume", "--storage", URL)
    assert history(URL).asked[asked].queued == 0
    assert history(URL).queue == []


@pytest.mark.parametrize("typed", ["0", "-1", "one", "1.5", "٣", "9" * 20, "1;2", ""])
def test_a_row_is_a_number(typed: str) -> None:
    outcome = call(*CONFIRM, "--", typed)
    assert outcome.exit_code != 0 or typed == ""


def test_an_unknown_or_confirmed_row_and_a_small_budget_change_nothing() -> None:
    assert mentions(unchanged(999), "999")
    assert mentions(unchanged(1, "--budget", "1h"), "1")
    assert mentions(unchanged(*promising(), "--budget", "1s"), "1")
    assert mentions(unchanged("--budget", "-3"), "-3")


@pytest.mark.parametrize("typed", [(999,), ("--budget", "1s"), (1, "--budget", "1h"), ("--readings", "20000")])
def test_a_refusal_comes_before_anything_is_printed(typed: tuple[object, ...]) -> None:
    outcome = call(*CONFIRM, *typed)
    assert isinstance(outcome.exception, FlexiBOError)
    assert outcome.output == ""


def test_a_study_of_a_program_is_only_queued_for() -> None:
    url = "sqlite:///program.db"
    with Study({"x": (0.0, 1.0)}, ["a", "b"], n_initial=2, seed=0, storage=url) as study:
        study.add({"x": 0.5}, {"a": 0.5, "b": 0.5})
        study.add({"x": 0.25}, {"a": 0.25})
    assert mentions(refusal("confirm", "--storage", url), "program", "--functions")
    good("confirm", "--storage", url, "--later")
    assert len(history(url).queue) == 1
