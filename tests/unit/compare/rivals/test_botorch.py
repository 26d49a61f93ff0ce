"""What BoTorch's rivals share: they ask the same again, predict, leave torch alone, and never give up."""

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

from flexibo.compare.rivals import botorch_hvkg, botorch_qlognehvi, botorch_qlognparego
from flexibo.compare.rivals._botorch import Columns, Fit, Readings, Standardisation
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


@pytest.mark.parametrize("coded", [False, True])
def test_the_columns_of_options_are_those_that_change_with_them(coded):
    columns = Columns(LATTICE, coded=coded)
    designs = LATTICE.sample(60, np.random.default_rng(1))
    for options in (("x",), ("kind", "z"), ("y", "constant")):
        others = LATTICE.from_codes(
            np.where([name in options for name in LATTICE.names], designs.codes[:1], designs.codes)
        )
        moving = np.flatnonzero(np.ptp(columns.rows(others), axis=0) > 0)
        d = columns.rows(others).shape[1]
        assert sorted([*columns.of(options), *moving]) == list(range(d))
    assert columns.of(("constant",)) == list(range(d))


def test_a_loss_that_designs_share_is_one_reading_and_known_for_all():
    readings = Readings(setting_for(GRID, options={"near": ("x",)}))
    one, same, other = ({"x": x, "kind": "odd", "y": y} for x, y in ((0.0, 1), (0.0, 2), (1 / 7, 2)))
    readings.add(GRID.design(one), {"near": 1.0, "far": 2.0})
    readings.add(GRID.design(same), {"near": 1.0})
    assert len(readings.of("near")[0]) == 1
    assert readings.common().tolist() == [0]
    readings.add(GRID.design(same), {"far": 3.0})
    readings.add(GRID.design(other), {"far": 4.0})
    assert readings.common().tolist() == [0, 1]
    noisy = Readings(setting_for(GRID, options={"near": ("x",)}, noisy=True))
    for design in (one, same):
        noisy.add(GRID.design(design), {"near": 1.0})
    assert len(noisy.of("near")[0]) == 2


def linear(space, options):
    """A rival that knows 12 designs of two linear losses, the first by the option x alone."""
    setting = setting_for(space, options=options)
    rival = qlognehvi(setting, effort=QUICK_SEARCH)
    for design in space.sample(12, np.random.default_rng(0)):
        rival.tell(design, dict(zip(setting.names, lines(space, space.designs([design]))[0], strict=True)))
    return rival


def lines(space, designs):
    X = Columns(space).rows(designs)
    return np.stack([100.0 + 10.0 * X[:, 0], X @ np.linspace(1.0, 2.0, X.shape[1])], axis=1)


@pytest.mark.parametrize("space", [CONTINUOUS, MIXED], ids=["continuous", "coded"])
def test_predictions_are_losses_of_any_designs_by_the_options_of_each_objective(space):
    rival = linear(space, {"near": ("x",)})
    designs = space.sample(1_500, np.random.default_rng(9))
    found = rival.predict(designs)
    assert np.abs(found[:, 0] - lines(space, designs)[:, 0]).max() < 0.5
    assert np.corrcoef(found[:, 1], lines(space, designs)[:, 1])[0, 1] > 0.9
    alike = space.from_codes(np.where([name == "x" for name in space.names], designs.codes[:1], designs.codes))
    assert np.ptp(rival.predict(alike)[:, 0]) < 1e-6
    assert rival.ask().design in space
    assert rival.fallbacks == 0


@pytest.mark.parametrize("make", [qlognehvi, HypervolumeKnowledgeGradient])
def test_there_is_no_prediction_before_anything_is_told(make):
    assert make(setting_for(GRID)).predict(GRID.enumerate()) is None


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
    assert scale.losses(scale.gains(np.array([10.0, 17.0]))).tolist() == [10.0, 17.0]
    assert Standardisation.of(np.array([4.0, 4.0])).deviation == 1.0


@pytest.mark.parametrize("entry", [botorch_qlognehvi.ENTRY, botorch_qlognparego.ENTRY, botorch_hvkg.ENTRY])
def test_the_table_says_what_is_needed(entry):
    entry.check()
    assert "botorch" in entry.versions()
    assert entry.decoupled == (entry.name == "botorch-hvkg")
