"""BoTorch's knowledge gradient asks for one legal purchase and weighs its price."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from tests.comparisons import QUICK_HVKG
from tests.unit.compare.rivals.small_botorch import (
    GRID,
    POOL,
    SPACES,
    hvkg,
    losses,
    setting_for,
    told,
)

from flexibo.compare.rivals import botorch_hvkg
from flexibo.compare.rivals._botorch import Columns, quietly, tensor
from flexibo.compare.rivals.botorch_hvkg import HypervolumeKnowledgeGradient, inferred_reference, purchase_costs
from flexibo.pareto import non_dominated
from flexibo.space import Space

pytestmark = [
    pytest.mark.botorch,
    pytest.mark.skipif(find_spec("botorch") is None, reason="BoTorch is not installed: pip install flexibo[bench]"),
]


@pytest.mark.parametrize("kind", ["continuous", "ruled", "conditional"])
def test_hvkg_asks_for_a_legal_design_and_a_single_lead(kind):
    space = SPACES[kind]
    rival = hvkg(space)
    suggestion = rival.ask()
    design = space.design(suggestion.design)
    (lead,) = suggestion.objectives
    assert lead in ("near", "far")
    rival.tell(design, {lead: losses(space, design)[lead]})
    assert rival.fallbacks == 0
    front = rival.front()
    assert all(member in space for member in front)
    predicted = rival.predict(space.designs(front))
    assert len(non_dominated(predicted)) == len(front)
    assert not set(front) <= set(rival._readings.designs)


def test_hvkg_asks_for_values_of_a_pools_options():
    suggestion = hvkg(POOL).ask()
    for name, value in suggestion.design.items():
        assert value in POOL.options[name].values


def test_hvkg_measures_what_is_cheap():
    """The same losses, models and draws: only the prices differ."""
    enough = replace(QUICK_HVKG, raw_samples=8, value_restarts=2, value_raw_samples=16, iterations=3)
    for costs, cheap in (([500.0, 1.0], "far"), ([1.0, 500.0], "near")):
        assert hvkg(GRID, enough, costs=np.array(costs)).ask().objectives == (cheap,)


@pytest.mark.parametrize("listed", [True, False])
def test_the_front_of_hvkg_is_that_of_the_model_over_the_whole_space(listed, monkeypatch):
    """0.5 was measured in one objective and 0.45 in none."""
    monkeypatch.setattr(botorch_hvkg, "MOST_LISTED", 100 if listed else 1)
    space = Space({"x": [i / 20 for i in range(21)]})
    setting = setting_for(space)
    rival = HypervolumeKnowledgeGradient(setting, effort=QUICK_HVKG)
    curves = {i / 10: {"near": (i / 10 - 0.4) ** 2, "far": (i / 10 - 0.6) ** 2} for i in range(11)}
    assert rival.front() is None
    for x in (0.0, 0.2, 0.8, 1.0):
        rival.tell(space.design({"x": x}), curves[x])
    for x in (0.4, 0.5):
        rival.tell(space.design({"x": x}), {"near": curves[x]["near"]})
    rival.tell(space.design({"x": 0.6}), {"far": curves[0.6]["far"]})
    assert sorted(design["x"] for design in rival.front()) == [0.4, 0.45, 0.5, 0.55, 0.6]


def test_hvkg_models_an_objective_over_its_options_and_asks_in_all_of_them():
    rival = hvkg(GRID, options={"near": ("x",)})
    assert rival.ask().design in GRID
    assert rival.fallbacks == 0
    near, far = rival._memory.fit().model.models
    assert (near.train_inputs[0].shape[1], far.train_inputs[0].shape[1]) == (1, 5)


def test_objectives_that_are_measured_together_are_one_purchase():
    setting = setting_for(
        GRID,
        names=("near", "far", "third"),
        leads=("near", "far"),
        reference=np.array([2.0, 2.0, 2.0]),
        costs=np.array([30.0, 10.0, 0.0]),
    )
    rival = told(HypervolumeKnowledgeGradient(setting, effort=QUICK_HVKG), setting, n=4)
    assert rival._groups == {"near": ("near",), "far": ("far", "third")}
    assert rival.ask().objectives[0] in setting.leads
    assert rival.fallbacks == 0
    design = GRID.sample(9, np.random.default_rng(3))[8]
    rival.tell(design, {"near": 0.3, "third": 0.2})
    assert rival._groups["near"] == ("near", "third")
    assert rival._groups["far"] == ("far",)


def test_the_price_of_a_purchase_is_relative_to_the_cheapest_and_never_nothing():
    assert purchase_costs(np.array([30.0, 10.0, 0.0]), [[0], [1, 2]]).tolist() == [3.0, 1.0, 0.0]
    assert purchase_costs(np.zeros(2), [[0], [1]]).tolist() == [1.0, 1.0]
    free = purchase_costs(np.array([5.0, 0.0]), [[0], [1]])
    assert free[1] == 1.0
    assert np.isfinite(free).all()


def test_a_reference_point_that_nothing_beats_is_moved_behind_the_measured_designs():
    """Without that the knowledge gradient of every purchase is 0."""
    for bound, is_beaten in ((-9.0, False), (2.0, True)):
        rival = hvkg(GRID, reference=np.array([bound, 2.0]))
        with quietly(0):
            fit = rival._memory.fit()
            rows = tensor(Columns(GRID).rows(rival._readings.all_designs()))
            given = fit.reference(rival._setting)
            moved = inferred_reference(fit.model, rows, given)
        assert (fit.means(rows) > moved).all(dim=-1).any()
        assert bool((moved == given).all()) is is_beaten
        assert (moved <= given).all()


def test_of_purchases_that_are_worth_the_same_hvkg_takes_a_random_one(monkeypatch):
    rival = hvkg(GRID)
    monkeypatch.setattr("botorch.optim.optimize.optimize_acqf", lambda *_, bounds, **more: (bounds[:1], 0.0))
    monkeypatch.setattr(botorch_hvkg, "_current_value", lambda *_: 0.0)
    with quietly(0):
        assert {rival._chosen()[1] for _ in range(20)} == {0, 1}
