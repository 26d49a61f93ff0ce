"""Studies that the tests of views share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from flexibo import Objective, Space, Study


@pytest.fixture(scope="session")
def finished_study() -> Study:
    """A study that ran to the end of its budget, and whose second evaluation failed; tests must not change it."""
    functions = {
        "error": lambda d: (1 / d["filters"], 8.0 + d["filters"] / 50),
        "joules": lambda d: (d["filters"] * d["ghz"], 1.0),
    }
    objectives = [Objective("error", options=["filters"]), Objective("joules", unit="J")]
    space = {"filters": (1, 200), "ghz": (0.3, 2.3)}
    made = Study(space, objectives, budget=110, seed=0, n_initial=4, candidates=50)
    for _ in range(3):
        evaluation = made.ask()
        assert evaluation is not None
        made.fail(evaluation, "a < b\n\x1b[2J", cost=2.0) if evaluation.number == 1 else made.tell(
            evaluation, functions[evaluation.objective](evaluation.design)[0], cost=10.0
        )
    made.run(functions, progress=False)
    return made


@pytest.fixture(scope="session")
def random_study() -> Study:
    """A study of random designs; tests must not change it."""
    space = Space(
        {"filters": [16, 32, 64, 128], "kernel": ["1x1", "3x3", "5x5"], "cpu_ghz": (0.3, 2.3), "cores": (1, 6)}
    )
    objectives = [Objective("error", options=["filters", "kernel"]), Objective("joules", unit="J")]
    made = Study(space, objectives, method="random", seed=0, stop={"max_evaluations": 50})
    made.run({"error": error, "joules": joules}, progress=False)
    return made


def error(design: Mapping[str, Any]) -> tuple[float, float]:
    return 4.0 / design["filters"] + 0.1 * (design["kernel"] == "1x1"), 10.0


def joules(design: Mapping[str, Any]) -> tuple[float, float]:
    return design["filters"] * (0.3 + (design["cpu_ghz"] - 1.0) ** 2) * (1 + 0.1 * design["cores"]), 1.0
