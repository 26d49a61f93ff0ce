"""Events and evaluations as values: long texts are cut, and people can name a question."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flexibo import Evaluation, Space
from flexibo.history.events import (
    CUT,
    LONGEST_TEXT,
    Added,
    Dequeued,
    Enqueued,
    Event,
    Failed,
    Noted,
    Released,
    Stopped,
)

DESIGN = Space({"x": (0.0, 1.0)}).design({"x": 0.25})
QUESTION = Evaluation(DESIGN, "a", None, 1.5, "a reason", 12, ("a", "b"))


@pytest.mark.parametrize(
    "event",
    [
        Failed(0, "x" * 10**6, 1.0),
        Released(0, "x" * 10**6),
        Noted("x" * 10**6),
        Stopped("budget", "x" * 10**6),
        Dequeued(0, "x" * 10**6),
        Enqueued(DESIGN, ("a",), why="x" * 10**6),
        Added(DESIGN, {}, {}, {"a": "x" * 10**6}),
    ],
)
def test_a_long_text_is_cut_when_its_event_is_made_and_says_so(event: Event) -> None:
    assert LONGEST_TEXT < len(repr(event)) < LONGEST_TEXT + 500
    assert CUT in repr(event)


def test_a_question_is_named_by_its_number_and_the_beginning_of_its_token() -> None:
    assert QUESTION.label == "12"
    assert replace(QUESTION, token="3f9a01b2").label == "12-3f9a"


def test_an_attempt_at_the_same_question_is_equal_to_it() -> None:
    assert replace(QUESTION, token="3f9a") == QUESTION
    assert replace(QUESTION, number=13) != QUESTION
