"""BoTorch's ParEGO asks for a legal new design in every kind of space, with other weights at every question."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from tests.unit.compare.rivals.small_botorch import CONTINUOUS, SPACES, losses, nparego

from flexibo.compare.rivals import _botorch_coupled, botorch_qlognparego

pytestmark = [
    pytest.mark.botorch,
    pytest.mark.skipif(find_spec("botorch") is None, reason="BoTorch is not installed: pip install flexibo[bench]"),
]


@pytest.mark.parametrize("kind", ["continuous", "pool", "lattice", "mixed", "ruled"])
def test_qlognparego_asks_for_a_legal_design_that_was_not_measured(kind):
    space = SPACES[kind]
    rival = nparego(space, options={"near": ("x",)})
    suggestion = rival.ask()
    assert space.design(suggestion.design) not in rival._readings.designs
    assert suggestion.objectives == ()
    assert rival.ask() == suggestion
    assert rival.fallbacks == 0
    assert rival.front() is None


def test_every_question_draws_weights_of_three_objectives(monkeypatch):
    drawn = []

    def noted(known):
        acquisition, numbers = botorch_qlognparego.improvement(known)
        drawn.append(acquisition.scalarization_weights.tolist())
        return acquisition, numbers

    names = ("near", "far", "third")
    rival = nparego(CONTINUOUS, names=names, leads=names, reference=np.full(3, 2.0), costs=np.ones(3))
    monkeypatch.setattr(rival, "_acquisition", noted)
    for _ in range(2):
        design = CONTINUOUS.design(rival.ask().design)
        rival.tell(design, losses(CONTINUOUS, design))
    first, second = drawn
    assert first != second
    assert sum(first) == pytest.approx(1.0)
    assert len(first) == 3


def test_large_acquisitions_are_scored_in_smaller_batches(monkeypatch):
    seen = []

    def noted(search):
        seen.append(search.batch)
        return search.measured[0]

    monkeypatch.setitem(_botorch_coupled.WAYS, "continuous", noted)
    rival = nparego(CONTINUOUS)
    for numbers in (1, 2**12, 2**30):
        monkeypatch.setattr(rival, "_acquisition", lambda known, numbers=numbers: (None, numbers))
        rival.ask()
    assert seen == [2_048, 2_048, 16]
