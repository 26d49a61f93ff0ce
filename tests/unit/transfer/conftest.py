"""A stored study with answers of every kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.transfer.studies import OBJECTIVES, SPACE, answered, asked

from flexibo import Study
from flexibo.storage import MemoryStorage, open_storage


@pytest.fixture(scope="session")
def contents() -> list[dict[str, Any]]:
    """The events of a study with answers of every kind."""
    storage = MemoryStorage()
    settings: dict[str, Any] = {"budget": 200, "seed": 3, "n_initial": 3, "candidates": 50}
    with Study(SPACE, OBJECTIVES, storage=storage, name="net", **settings) as study:
        study.add({"x": 0.5, "k": 2, "mode": "fast"}, {"error": 0.7, "joules": 0.6}, cost={"error": 4.0})
        for _ in range(8):
            answered(study, asked(study))
        study.fail(asked(study), "out of memory", cost=2.0)
        study.fail(asked(study), "too wide", cost=0.5, impossible=True)
        study.release(asked(study))
        study.note("The fan was repaired.")
        asked(study)
    return storage.read()


@pytest.fixture
def url(contents: list[dict[str, Any]], tmp_path: Path) -> str:
    """A file with that study."""
    where = f"sqlite:///{tmp_path / 'study.db'}"
    open_storage(where, "net").commit(0, lambda _: contents)
    return where
