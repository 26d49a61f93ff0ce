"""What all tests of studies share."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from tests.unit.study.damaged_logs import filled

from flexibo import Objective, Space, Study
from flexibo.storage import MemoryStorage


@pytest.fixture
def make_study(space: Space, objectives: list[Objective]) -> Callable[..., Study]:
    """The shared small study, made smaller still: these tests are not about how well a method chooses."""

    def make(**settings: Any) -> Study:
        return Study(space, objectives, **({"budget": 52, "seed": 0, "n_initial": 4, "candidates": 50} | settings))

    return make


@cache
def _events() -> str:
    storage = MemoryStorage()
    filled(storage)
    return json.dumps(storage.read())


@pytest.fixture
def contents() -> list[dict[str, Any]]:
    """The events of a study, as a storage gives them; a test may change them."""
    return json.loads(_events())  # type: ignore[no-any-return]
