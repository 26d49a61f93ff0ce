"""A study of three objectives, answered, exported and written as a table."""

from __future__ import annotations

from flexibo import Evaluation, Objective, Study
from flexibo.transfer import event_lines, records, study_copy, table_lines

SPACE = {"x": (0.0, 1.0), "k": [1, 2, 3], "mode": ["fast", "=slow"]}
OBJECTIVES = [Objective("error"), Objective("joules", unit="J", noisy=True), Objective("ms", measured_with="joules")]


def answered(study: Study, evaluation: Evaluation) -> None:
    x, k = float(evaluation.design["x"]), float(evaluation.design["k"])
    value = x + k / 10 if evaluation.objective == "error" else {"joules": 1 - x + k / 20, "ms": k}
    study.tell(evaluation, value, cost=5.0 if evaluation.objective == "error" else 1.0)


def asked(study: Study) -> Evaluation:
    evaluation = study.ask()
    assert evaluation is not None
    return evaluation


def exported(url: str) -> list[bytes]:
    return [line.encode() for line in event_lines(study_copy(url))]


def table(url: str) -> list[str]:
    copy = study_copy(url)
    return list(table_lines(copy.study.history, records(copy.study.history, copy.times)))
