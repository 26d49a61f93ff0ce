"""The contract of an executor, which every kind in the table has to keep; how each behaves is in tests/contracts."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import FrozenInstanceError
from importlib import import_module

import pytest
from tests.unit.executors.questions import question

from flexibo.executors import EXECUTORS
from flexibo.executors.base import Executor, Outcome

METHODS = ("has_room", "submit", "is_busy", "finished", "close")


@pytest.mark.parametrize("name", list(EXECUTORS))
@pytest.mark.parametrize("method", METHODS)
def test_every_kind_takes_the_arguments_of_the_contract(name: str, method: str) -> None:
    kind = getattr(import_module(EXECUTORS[name].module), EXECUTORS[name].name)
    wanted, found = (inspect.signature(getattr(owner, method)).parameters for owner in (Executor, kind))
    assert [(p.name, p.default, p.kind) for p in found.values()] == [
        (p.name, p.default, p.kind) for p in wanted.values()
    ]


@pytest.mark.parametrize("name", [name for name, kind in EXECUTORS.items() if kind.takes])
def test_every_kind_takes_what_the_table_says(name: str) -> None:
    kind = getattr(import_module(EXECUTORS[name].module), EXECUTORS[name].name)
    assert set(EXECUTORS[name].takes) <= set(inspect.signature(kind).parameters)


def test_an_outcome_is_timed_unless_it_says_otherwise_and_cannot_be_changed() -> None:
    outcome = Outcome(question(), {"error": 1.0}, 2.0)
    assert (outcome.reason, outcome.timed, outcome.impossible) == ("", True, False)
    assert pickle.loads(pickle.dumps(outcome)) == outcome
    with pytest.raises(FrozenInstanceError):
        outcome.cost = 3.0  # type: ignore[misc]
