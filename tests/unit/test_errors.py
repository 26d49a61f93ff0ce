"""Errors: suggestions of names, and what code that handles them can read."""

from __future__ import annotations

import pickle

from tests.command_line import mentions

from flexibo import Objective
from flexibo.errors import InvalidValueError, SettingsDifferError, unknown_name


def test_a_suggestion_ignores_case() -> None:
    assert mentions(unknown_name("method", "EHVI", ["ehvi", "random"]), "method 'EHVI'", "'ehvi'?", "ehvi, random")
    assert mentions(unknown_name("option", "cpu", ["CPU", "gpu"]), "option 'cpu'", "'CPU'?", "CPU, gpu")
    assert "?" not in str(unknown_name("method", "XYZ", ["ehvi", "random"]))


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
    other = pickle.loads(pickle.dumps(SettingsDifferError("seed: 1, 2", "other name")))
    assert (type(other), str(other), other.difference) == (SettingsDifferError, "seed: 1, 2 other name", "seed: 1, 2")
