"""What all tests share: a small problem whose front is known, and where other people's data lies."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from flexibo import Design, Objective, Space, Study
from flexibo.belief.belief import Belief, JointPrediction
from flexibo.belief.price_list import PriceList

FILTERS = [16, 32, 64, 128]

# A shell lets its background jobs ignore Ctrl-C, which some tests send themselves.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionfinish() -> None:
    """Ends the process that others were forked from, which test modules leave to each other."""
    if forked := sys.modules.get("tests.forked"):
        forked.stop()


@pytest.fixture
def space() -> Space:
    return Space({"filters": FILTERS, "kernel": ["1x1", "3x3", "5x5"], "cpu_ghz": (0.3, 2.3), "cores": (1, 6)})


@pytest.fixture
def objectives() -> list[Objective]:
    return [Objective("error", options=["filters", "kernel"]), Objective("joules", unit="J")]


def error(design: Design) -> tuple[float, float]:
    kernel = {"1x1": 0.2, "3x3": 0.0, "5x5": 0.05}[str(design["kernel"])]
    return 4.0 / float(design["filters"]) + kernel, 10.0  # type: ignore[arg-type]


def joules(design: Design) -> tuple[float, float]:
    kernel = {"1x1": 1.0, "3x3": 2.0, "5x5": 3.0}[str(design["kernel"])]
    ghz, cores = float(design["cpu_ghz"]), float(design["cores"])  # type: ignore[arg-type]
    return kernel * float(design["filters"]) * (0.3 + (ghz - 1.0) ** 2) * (1 + 0.1 * cores), 1.0  # type: ignore[arg-type]


@pytest.fixture
def functions() -> dict[str, Callable[[Design], tuple[float, float]]]:
    return {"error": error, "joules": joules}


@pytest.fixture
def make_study(space: Space, objectives: list[Objective]) -> Callable[..., Study]:
    def make(**settings: object) -> Study:
        return Study(space, objectives, **({"budget": 150, "seed": 0} | settings))  # type: ignore[arg-type]

    return make


@pytest.fixture
def make_belief() -> Callable[..., Belief]:
    """Builds a belief from means and deviations (m, n); candidate i is the design with x = i / m."""

    def make(mu: object, sigma: object, **fields: object) -> Belief:
        mean, deviation = np.array(mu, dtype=float), np.array(sigma, dtype=float)
        m, n = mean.shape
        line = Space({"x": (0.0, 1.0)})
        designs = line.designs([{"x": i / m} for i in range(m)])
        keys = np.tile(designs.keys()[:, None], (1, n))
        optimised = tuple(fields.get("optimised", range(n)))  # type: ignore[arg-type, call-overload]
        ones = np.ones((m, len(fields.get("bundles", [0]))))  # type: ignore[arg-type]
        at = np.arange(m)
        joints = tuple(JointPrediction(None, np.zeros((m, 1)), at, mean[:, j], deviation[:, j] == 0) for j in range(n))
        is_open = np.asarray(fields.pop("open", np.ones(ones.shape, dtype=bool)))
        prices, thetas = (np.asarray(fields.pop(name, ones)) for name in ("prices", "thetas"))
        bundles = fields.pop("bundles", (tuple(range(n)),))
        default = {
            "lower": mean - deviation,
            "upper": mean + deviation,
            "known": deviation == 0,
            "limits": np.full(n, np.inf),
            "reference": (mean + 3 * deviation).max(axis=0)[list(optimised)] + 1.0,
            "tolerances": np.zeros(n),
            "optimised": optimised,
            "price_list": PriceList(bundles, prices, thetas, is_open),  # type: ignore[arg-type]
            "joints": joints,
        }
        return Belief(designs=designs, mu=mean, sigma=deviation, keys=keys, **(default | fields))  # type: ignore[arg-type]

    return make


@pytest.fixture
def data_folder() -> Path:
    """The folder of recorded tables; the test is skipped, and listed, where there is none."""
    folder = os.environ.get("FLEXIBO_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("FLEXIBO_DATA names no folder with recorded tables")
    return Path(folder)
