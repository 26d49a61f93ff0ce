from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.unit.experiments.toy_problem import toy

from flexibo.compare.problems import table as table_of_problems
from flexibo.compare.problems.base import Family


@pytest.fixture
def families(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Family]]:
    """The table of problems with a small one in it, on which all else is quick."""
    table = dict(table_of_problems.FAMILIES) | {"toy": Family("toy", "made up", toy)}
    monkeypatch.setattr(table_of_problems, "FAMILIES", table)
    table_of_problems.find_problem.cache_clear()
    yield table
    table_of_problems.find_problem.cache_clear()
