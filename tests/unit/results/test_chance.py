"""Fronts that are no better than an answer without learning say so."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from flexibo import Study
from flexibo.results.chance import CHANCE, chance_level, chance_sentence, least_at_chance
from flexibo.study.progress import print_front


def study_of(errors: list[float], origin: dict[str, Any]) -> Study:
    study = Study({"a": (0.0, 9.0)}, ["error_percent", "energy"], seed=0, origin=origin)
    for place, error in enumerate(errors):
        study.add({"a": float(place)}, {"error_percent": error, "energy": 10.0 - error / 10})
    return study


def shown(study: Study) -> str:
    text = io.StringIO()
    print_front(study, Console(width=200, file=text))
    return text.getvalue()


@pytest.mark.parametrize(
    ("errors", "expected"),
    [([90.1, 89.5], "No confirmed design "), ([89.9, 60.0, 30.0], "1 of 3 "), ([88.9, 60.0], "")],
)
def test_a_front_at_chance_says_how_many_of_its_designs_are(errors: list[float], expected: str) -> None:
    study = study_of(errors, {CHANCE: chance_level("error_percent", 90.0, 10_000)})
    sentence = chance_sentence(study.history, study.front())
    assert sentence.startswith(expected)
    assert bool(sentence) == bool(expected)
    assert ("better than chance" in shown(study)) == bool(expected)


@pytest.mark.parametrize(
    "level",
    [
        None,
        90.0,
        {},
        chance_level("other", 90.0, 100),
        chance_level("error_percent", float("nan"), 100),
        chance_level("error_percent", 90.0, 0),
        {"objective": ["error_percent"], "percent": "90", "examples": True},
    ],
)
def test_nothing_is_said_where_nothing_is_known_of_chance(level: Any) -> None:
    study = study_of([95.0], {} if level is None else {CHANCE: level})
    assert chance_sentence(study.history, study.front()) == ""


@pytest.mark.parametrize("recorded", [True, False])
def test_a_front_of_a_recorded_table_says_nothing_of_longer_trainings(recorded: bool) -> None:
    origin = {CHANCE: chance_level("error_percent", 90.0, 100), "recorded": recorded}
    study = study_of([95.0], origin)
    assert ("more epochs" in chance_sentence(study.history, study.front())) is not recorded


def test_few_examples_tell_less() -> None:
    assert least_at_chance(50.0, 100) == 40.0
    assert least_at_chance(100.0, 10) == 100.0
    assert least_at_chance(120.0, 10) == 120.0
