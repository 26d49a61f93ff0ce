"""The summary of a study in a few numbers."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from flexibo import Objective, Space, Study
from flexibo.errors import InvalidValueError
from flexibo.results.summary import Summary, known_reference, region

LIMITED = [Objective("a"), Objective("b"), Objective("ms", at_most=50.0)]
SPACE = Space({"x": (0.0, 1.0), "y": (0.0, 1.0)})


def test_a_summary_counts_who_keeps_the_constraints() -> None:
    study = Study(SPACE, LIMITED, n_initial=1)
    study.add({"x": 0.9, "y": 0.0}, {"a": 0.81, "b": 0.01, "ms": 90.0})
    assert study.summary().feasible == {"feasible": 0, "unsure": 0, "violating": 1}
    study.add({"x": 0.1, "y": 1.0}, {"a": 5.0, "b": 5.0, "ms": 10.0})
    summary = study.summary()
    assert summary.feasible == {"feasible": 1, "unsure": 0, "violating": 0}
    shown = str(replace(summary, feasible={"feasible": 3, "unsure": 2, "violating": 1}))
    (line,) = (line for line in shown.splitlines() if line.startswith("constraints"))
    assert re.search("kept .*3.*unsure .*2.*violated .*1", line)


def test_a_summary_without_constraints_does_not_speak_of_them() -> None:
    summary = Study(SPACE, ["a", "b"]).summary()
    assert summary.feasible is None
    assert "constraints" not in str(summary)


@pytest.mark.parametrize(
    ("front", "promising", "words"),
    [(0, 0, "no confirmed"), (0, 2, "no .*2 more"), (1, 0, "1 confirmed design"), (3, 1, "3 confirmed .*1 more")],
)
def test_a_summary_counts_the_front_in_words(front: int, promising: int, words: str) -> None:
    summary: Summary = replace(Study(SPACE, ["a", "b"]).summary(), front=front, promising=promising)
    assert re.search(rf"^front +{words}", str(summary), re.MULTILINE)


def test_there_is_a_region_in_the_users_values_once_every_objective_has_one() -> None:
    study = Study(SPACE, [Objective("a", "max"), Objective("b")], n_initial=1, seed=0)
    study.add({"x": 0.1, "y": 1.0}, {"a": 5.0})
    assert known_reference(study.predictor, study.history) is None
    with pytest.raises(InvalidValueError):
        region(study.predictor, study.history)
    study.add({"x": 0.1, "y": 1.0}, {"b": 2.0})
    study.add({"x": 0.9, "y": 1.0}, {"a": 7.0, "b": 3.0})
    losses = known_reference(study.predictor, study.history)
    assert losses is not None
    found = region(study.predictor, study.history)
    assert found.reference.tolist() == [-losses[0], losses[1]]
    assert found.optimistic[:, 0].max() >= found.pessimistic[:, 0].max() > 0.0
