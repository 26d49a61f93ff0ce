"""Progress where there is no terminal."""

from __future__ import annotations

import pytest
from tests.command_line import asked, begun, mentions

from flexibo.cli._progress_lines import SECONDS, ProgressLines
from flexibo.executors import InlineExecutor


def test_a_line_is_printed_after_an_evaluation_is_stored_and_not_too_often(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    with begun() as study:
        lines = ProgressLines(InlineExecutor(), study, clock=lambda: now[0])
        for wait in (0.0, 0.5, SECONDS):
            now[0] += wait
            evaluation = asked(study)
            objective = study.history.objectives[study.history.names.index(evaluation.objective)]
            lines.submit(evaluation, objective, lambda design: (1.0, 5.0))
            assert lines.is_busy()
            for outcome in lines.finished():
                study.tell(outcome.evaluation, outcome.values, cost=outcome.cost)
    first, second = capsys.readouterr().err.splitlines()
    assert mentions(first, "spent", "5 of 100", "measured")
    assert mentions(second, "spent", "15 of 100", "measured")
