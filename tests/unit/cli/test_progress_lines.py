"""Progress where there is no terminal: a line for each evaluation."""

from __future__ import annotations

import json
import logging
import re

import pytest
from tests.command_line import HOSTILE, asked, begun, mentions

from flexibo.cli._detail import Detail
from flexibo.cli._logs import JSONLines
from flexibo.cli._progress_lines import MOST_LINES, ProgressLines, evaluation_facts, left_text, printed_lines
from flexibo.executors import InlineExecutor, Outcome
from flexibo.executors.measure import note_printed
from flexibo.space import Design
from flexibo.study import Study


def measure_one(study: Study, lines: ProgressLines, fail: str = "") -> None:
    evaluation = asked(study)
    objective = study.history.objectives[study.history.names.index(evaluation.objective)]

    def measure(design: Design) -> tuple[float, float]:
        note_printed(f"epoch 1 {HOSTILE}\n")
        if fail:
            raise RuntimeError(fail)
        return 1.25, 5.0

    lines.submit(evaluation, objective, measure)
    assert lines.is_busy()
    for outcome in lines.finished():
        study.tell_outcome(outcome)


def test_each_evaluation_has_one_line_once_it_is_stored(capsys: pytest.CaptureFixture[str]) -> None:
    with begun() as study:
        lines = ProgressLines(InlineExecutor(), study)
        for _ in range(3):
            measure_one(study, lines)
        evaluations = list(study.history.asked)[-3:]
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == 3
    for evaluation, line, left in zip(evaluations, shown, (95, 90, 85), strict=True):
        assert re.match(rf"\d\d:\d\d:\d\d {evaluation.number} {evaluation.objective} 1\.25", line)
        assert mentions(line, *(f"{name}=" for name in evaluation.design), "cost 5", evaluation.why, f"{left} of 100")
        assert "epoch" not in line


def test_a_failure_is_a_line_with_its_reason_without_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    with begun() as study:
        measure_one(study, ProgressLines(InlineExecutor(), study), fail=f"burnt {HOSTILE}\nand gone")
    line = next(line for line in capsys.readouterr().err.splitlines() if "burnt" in line)
    assert mentions(line, "failed", "\\x1b", "and gone")


def test_more_is_told_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    with begun() as study:
        measure_one(study, ProgressLines(InlineExecutor(), study, Detail.VERBOSE))
    shown = capsys.readouterr().err
    assert mentions(shown, "begins", "took", "| epoch 1", "\\x1b")
    assert "\x1b" not in shown


def test_the_last_lines_that_were_printed_are_shown() -> None:
    shown = printed_lines("\n".join(f"line {i}" for i in range(20)) + "\n\n")
    assert len(shown) == MOST_LINES + 1
    assert mentions(shown[0], "20")
    assert shown[-1] == "| line 19"
    assert len(printed_lines("x" * 5000)[0]) < 300
    assert printed_lines("") == []


def test_what_is_left_depends_on_the_limits() -> None:
    with begun(budget=None, stop={"max_evaluations": 9}) as study:
        asked(study)
        assert mentions(left_text(study.history), "8 of 9 evaluations")
        study.budget = 50
        assert mentions(left_text(study.history), "50 of 50", "8 of 9")
    with begun("free", budget=None) as study:
        assert mentions(left_text(study.history), "0", "spent")


def test_logs_have_the_same_as_facts() -> None:
    with begun() as study:
        outcome = Outcome(asked(study), {"error": 0.5}, 3.0)
        facts = evaluation_facts(study.history, outcome)
    record = logging.LogRecord("flexibo", logging.INFO, "", 0, "measured", (), None)
    record.facts = facts
    line = json.loads(JSONLines().format(record))
    assert line["design"] == dict(outcome.evaluation.design)
    assert (line["event"], line["values"], line["cost"], line["budget"]) == ("measured", {"error": 0.5}, 3.0, 100.0)
    assert line["why"] == outcome.evaluation.why
