"""What both BoTorch rivals share: they ask the same again, leave torch alone, and never give up."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from tests.comparisons import QUICK_SEARCH
from tests.unit.compare.rivals.small_botorch import (
    CONTINUOUS,
    GRID,
    LATTICE,
    MIXED,
    hvkg,
    losses,
    nehvi,
    setting_for,
)

from flexibo.compare.rivals import botorch_hvkg, botorch_qlognehvi
from flexibo.compare.rivals._botorch import Columns, Fit, Standardisation
from flexibo.compare.rivals.botorch_hvkg import HypervolumeKnowledgeGradient
from flexibo.compare.rivals.botorch_qlognehvi import qlognehvi

pytestmark = [
    pytest.mark.botorch,
    pytest.mark.skipif(find_spec("botorch") is None, reason="BoTorch is not installed: pip install flexibo[bench]"),
]


@pytest.mark.parametrize("space", [CONTINUOUS, GRID, LATTICE, MIXED], ids=["continuous", "grid", "lattice", "mixed"])
@pytest.mark.parametrize("coded", [False, True])
def test_rows_become_the_designs_they_came_from(space, coded):
    columns = Columns(space, coded=coded)
    designs = space.sample(40, np.random.default_rng(1))
    rows = columns.rows(designs)
    for row, design in zip(rows, designs, strict=True):
        again = columns.design(row)
        assert losses(space, again)["near"] == pytest.approx(losses(space, design)["near"])
        assert {name: again[name] for name in ("kind",) if name in space.names} == {
            name: design[name] for name in ("kind",) if name in space.names
        }


@pytest.mark.parametrize("make", [nehvi, hvkg])
def test_the_same_tells_lead_to_the_same_question_whatever_drew_numbers_and_asked_for_the_front(make):
    import torch

    first = make(CONTINUOUS).ask()
    torch.rand(3)
    np.random.default_rng().random(3)
    curious = make(CONTINUOUS)
    curious.front()
    assert curious.ask() == first


def test_torch_is_left_as_it_was():
    import torch

    threads, state = torch.get_num_threads(), torch.random.get_rng_state()
    nehvi(GRID).ask()
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize("make", [nehvi, hvkg])
def test_a_failed_fit_is_tried_again_then_replaced_by_a_fresh_design_and_counted(make, monkeypatch):
    import botorch

    calls = []

    def failing(*_):
        calls.append(1)
        raise RuntimeError("not positive definite")

    monkeypatch.setattr(botorch, "fit_gpytorch_mll", failing)
    rival = make(GRID)
    suggestion = rival.ask()
    assert len(calls) == 2
    assert GRID.design(suggestion.design) not in rival._readings.designs
    assert rival.fallbacks == 1
    assert all(objective in ("near", "far") for objective in suggestion.objectives)
    assert rival.ask() == suggestion


def test_a_second_try_with_more_jitter_is_enough(monkeypatch):
    import torch
    from gpytorch.settings import cholesky_jitter

    trusting = Fit.reference

    def picky(self, setting):
        if cholesky_jitter.value(torch.double) < 1e-5:
            raise RuntimeError("not positive definite")
        return trusting(self, setting)

    monkeypatch.setattr(Fit, "reference", picky)
    rival = nehvi(GRID)
    assert rival.ask().design in GRID
    assert rival.fallbacks == 0


def test_without_anything_told_the_question_is_a_legal_design():
    assert qlognehvi(setting_for(GRID), effort=QUICK_SEARCH).ask().design in GRID
    assert HypervolumeKnowledgeGradient(setting_for(GRID)).ask().design in GRID


def test_equal_and_infinite_losses_break_nothing():
    setting = setting_for(GRID)
    rival = qlognehvi(setting, effort=QUICK_SEARCH)
    for design in GRID.sample(5, np.random.default_rng(0)):
        rival.tell(design, {"near": 1.0, "far": 1.0})
    rival.tell(GRID.sample(9, np.random.default_rng(1))[8], {"near": float("inf"), "far": float("nan")})
    assert rival.ask().design in GRID
    assert rival.fallbacks == 0


def test_standardised_gains_are_greater_where_losses_are_lower():
    scale = Standardisation.of(np.array([10.0, 20.0, 30.0]))
    assert scale.gains(np.array([10.0, 20.0, 30.0])).tolist() == [1.0, 0.0, -1.0]
    assert Standardisation.of(np.array([4.0, 4.0])).deviation == 1.0


@pytest.mark.parametrize("entry", [botorch_qlognehvi.ENTRY, botorch_hvkg.ENTRY])
def test_the_table_says_what_is_needed(entry):
    entry.check()
    assert "botorch" in entry.versions()
    assert entry.decoupled == (entry.name == "botorch-hvkg")
