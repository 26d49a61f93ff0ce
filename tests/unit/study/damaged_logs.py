"""Stored events that were damaged or edited."""

from __future__ import annotations

from typing import Any

from flexibo import Study
from flexibo.storage import MemoryStorage, Storage

SPACE = {"x": (0.0, 1.0), "k": ["a", "b"]}


ASKED = 6
"""Questions of the study; the last one has no answer."""


def filled(storage: str | Storage, name: str = "study") -> Study:
    """A study with answers, and an open question."""
    study = Study(SPACE, ["a", "b"], method="random", seed=0, n_initial=2, budget=100, storage=storage, name=name)
    for _ in range(ASKED - 1):
        evaluation = study.ask()
        assert evaluation is not None
        study.tell(evaluation, float(evaluation.design["x"]), cost=1.0)
    study.ask()
    study.close()
    return study


def holding(contents: list[Any]) -> MemoryStorage:
    """A storage that gives back what it is given, be it events or not."""

    class Held(MemoryStorage):
        def read(self, after: int = 0) -> list[Any]:
            return contents[after:]

    return Held()


def position(contents: list[dict[str, Any]], kind: str) -> int:
    return next(i for i, content in enumerate(contents) if content["event"] == kind)


TOLD = {"event": "told", "number": ASKED - 1, "values": {"a": 1.0}, "cost": 1.0}
