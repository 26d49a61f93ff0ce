"""The speed benchmark's copy of BoTorch's knowledge gradient."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from tests.comparisons import QUICK_HVKG

pytestmark = [
    pytest.mark.botorch,
    pytest.mark.skipif(find_spec("botorch") is None, reason="BoTorch is not installed: pip install flexibo[bench]"),
]


def test_an_iteration_of_the_speed_benchmark_runs(monkeypatch):
    baseline = pytest.importorskip("benchmarks.baseline")
    knowledge_gradient = pytest.importorskip("benchmarks.knowledge_gradient")
    rng = np.random.default_rng(0)
    X = rng.random((5, 2))
    snapshot = baseline.Snapshot(
        X=(X, X), y=(X[:, 0], 1 - X[:, 0]), changed=0, candidates=X, reference=np.array([1.1, 1.1]),
        thetas=np.ones(2), costs=np.array([1.0, 3.0]), beta=1.0,
    )  # fmt: skip
    monkeypatch.setattr(
        knowledge_gradient, "HvkgEffort", lambda start_batch: replace(QUICK_HVKG, start_batch=start_batch)
    )
    point, j = knowledge_gradient.iteration(snapshot)
    assert len(point) == 2
    assert j in (0, 1)
