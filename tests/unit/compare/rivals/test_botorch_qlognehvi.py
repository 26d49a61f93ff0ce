"""BoTorch's expected improvement asks for a legal new design, by the search that suits the space."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tests.comparisons import QUICK_SEARCH
from tests.unit.compare.rivals.small_botorch import (
    CONTINUOUS,
    SPACES,
    losses,
    nehvi,
    setting_for,
    told,
)

from flexibo.compare.rivals import botorch_qlognehvi
from flexibo.compare.rivals.botorch_qlognehvi import qlognehvi

pytestmark = [
    pytest.mark.botorch,
    pytest.mark.skipif(find_spec("botorch") is None, reason="BoTorch is not installed: pip install flexibo[bench]"),
]


@pytest.mark.parametrize("kind", SPACES)
def test_qlognehvi_asks_for_a_legal_design_that_was_not_measured_in_all_objectives(kind):
    space = SPACES[kind]
    rival = nehvi(space)
    suggestion = rival.ask()
    assert space.design(suggestion.design) not in rival._readings.designs
    assert suggestion.objectives == ()
    assert rival.fallbacks == 0


def test_qlognehvi_finds_more_than_random_designs_because_losses_are_turned_round():
    hypervolume = pytest.importorskip("botorch.utils.multi_objective.hypervolume").Hypervolume
    import torch

    setting = setting_for(CONTINUOUS, reference=np.array([1.1, 1.1]))
    rival = told(qlognehvi(setting, effort=replace(QUICK_SEARCH, raw_samples=64)), setting)
    for _ in range(5):
        design = CONTINUOUS.design(rival.ask().design)
        rival.tell(design, {name: losses(CONTINUOUS, design)[name] for name in setting.names})

    def volume(designs):
        values = [[-losses(CONTINUOUS, design)[name] for name in setting.names] for design in designs]
        return hypervolume(torch.tensor([-1.1, -1.1])).compute(torch.tensor(values))

    drawn = [volume(CONTINUOUS.sample(11, np.random.default_rng(seed))) for seed in range(20)]
    assert volume(rival._readings.designs) > max(drawn)


def test_three_objectives_are_handled():
    setting = {"names": ("near", "far", "third"), "leads": ("near", "far", "third"), "reference": np.full(3, 2.0)}
    rival = nehvi(CONTINUOUS, costs=np.ones(3), **setting)
    assert rival.ask().design in CONTINUOUS
    assert rival.fallbacks == 0


def test_the_lock_of_a_killed_compiler_is_removed_and_that_of_a_running_one_is_not(tmp_path: Path) -> None:
    killed, running = tmp_path / "killed", tmp_path / "running"
    for lock in (killed, running):
        lock.touch()
    os.utime(killed, (0.0, 0.0))
    for lock in (killed, running, tmp_path / "missing"):
        botorch_qlognehvi.remove_stale_lock(lock)
    assert [path.name for path in tmp_path.iterdir()] == ["running"]
