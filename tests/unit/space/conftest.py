"""Three spaces: without conditions, with a chain of them, and a pool."""

from __future__ import annotations

import pytest
from tests.unit.space.small_designs import ROWS

from flexibo.space import Space


@pytest.fixture
def space() -> Space:
    return Space(
        {"filters": [16, 32], "kernel": ["1x1", "3x3"], "cores": (1, 6), "ghz": (0.5, 2.0), "gpu": [False, True]}
    )


@pytest.fixture
def training() -> Space:
    """A chain of conditions: nesterov needs momentum's parent twice over."""
    return Space(
        {
            "nesterov": [False, True],
            "optimiser": ["sgd", "adam", "rms"],
            "schedule": ["flat", "step"],
            "momentum": [0.5, 0.9, 0.99],
            "drop": (2, 4),
        },
        conditions={
            "momentum": {"optimiser": ["sgd", "rms"]},
            "nesterov": {"momentum": [0.9, 0.99]},
            "drop": {"schedule": ["step"], "optimiser": ["sgd"]},
        },
    )


@pytest.fixture
def pool() -> Space:
    return Space.from_designs(ROWS)
