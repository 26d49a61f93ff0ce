"""Errors: suggestions of names, and what code that handles them can read."""

from __future__ import annotations

import pickle

from flexibo import Objective
from flexibo.errors import InvalidValueError, SettingsDifferError, unknown_name


def test_a_suggestion_ignores_case() -> None:
    assert "did you mean 'ehvi'?" in str(unknown_name("method", "EHVI", ["ehvi", "random"]))
    assert "did you mean 'CPU'?" in str(unknown_name("option", "cpu", ["CPU", "gpu"]))
    assert "did you mean" not in str(unknown_name("method", "XYZ", ["ehvi", "random"]))


def test_an_error_names_the_argument_that_is_wrong() -> None:
    try:
        Objective("error", cost=-1.0)
    except InvalidValueError as error:
        caught = error
    assert caught.argument == "cost"
    assert InvalidValueError("It is wrong.").argument == ""


def test_errors_travel_between_processes() -> None:
    wrong = pickle.loads(pickle.dumps(InvalidValueError("cost is -1", argument="cost")))
    assert (type(wrong), str(wrong), wrong.argument) == (InvalidValueError, "cost is -1", "cost")
    other = pickle.loads(pickle.dumps(SettingsDifferError("The seed is 1; 2 given.", "Choose another name.")))
    assert str(other) == "The seed is 1; 2 given. Choose another name."
    assert other.difference == "The seed is 1; 2 given."
