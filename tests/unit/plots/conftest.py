"""A study that the tests of pictures share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from flexibo import Objective, Space, Study


@pytest.fixture(scope="session")
def study() -> Study:
    """A finished study of two objectives; tests must not change it."""
    space = Space({"filters": [16, 32, 64, 128], "kernel": ["1x1", "3x3"], "cpu_ghz": (0.3, 2.3), "cores": (1, 6)})
    objectives = [Objective("error", options=["filters", "kernel"]), Objective("joules", unit="J")]
    made = Study(space, objectives, budget=80, seed=0, n_initial=5, candidates=50)
    made.run({"error": error, "joules": joules}, progress=False)
    return made


def error(design: Mapping[str, Any]) -> tuple[float, float]:
    return 4.0 / design["filters"] + 0.1 * (design["kernel"] == "1x1"), 10.0


def joules(design: Mapping[str, Any]) -> tuple[float, float]:
    return design["filters"] * (0.3 + (design["cpu_ghz"] - 1.0) ** 2) * (1 + 0.1 * design["cores"]), 1.0
