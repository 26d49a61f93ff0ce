"""The two BoTorch rivals: they ask for what is legal, the right way round, always the same, and never give up."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from flexibo.compare.rivals import botorch_hvkg, botorch_qlognehvi
from flexibo.compare.rivals._botorch import Columns, Fit, Standardisation
from flexibo.compare.rivals.base import Setting
from flexibo.compare.rivals.botorch_hvkg import HypervolumeKnowledgeGradient, purchase_costs
from flexibo.compare.rivals.botorch_qlognehvi import QLogNEHVI, way_to_search
from flexibo.space import Integer, Real, Space

pytestmark = [
    pytest.mark.botorch,
    pytest.mark.skipif(find_spec("botorch") is None, reason="BoTorch is not installed: pip install flexibo[bench]"),
]

QUICK_NEHVI = botorch_qlognehvi.NehviEffort(
    draws=16,
    restarts=2,
    raw_samples=16,
    iterations=10,
    mixed_restarts=2,
    mixed_raw_samples=16,
    local_raw_samples=64,
    compiled=False,
)
QUICK_HVKG = botorch_hvkg.HvkgEffort(
    n_pareto=2,
    n_fantasies=2,
    raw_samples=4,
    value_restarts=1,
    value_raw_samples=4,
    iterations=2,
    batch_limit=20,
    start_batch=1_024,
)
CONTINUOUS = Space({"x": (0.0, 1.0), "y": Real(0.01, 10.0, log=True)})
GRID = Space({"x": [i / 7 for i in range(8)], "kind": ["slow", "fast", "odd"], "y": (1, 5)})
POOL = Space.from_designs([{"x": i / 30, "kind": "ab"[i % 2], "y": (7 * i) % 30} for i in range(30)])
LATTICE = Space(
    {"x": (0, 20), "kind": ["slow", "fast", "odd"], "y": (1, 30), "z": [1, 2, 4, 8, 16, 32], "constant": [3]}
)
MIXED = Space({"x": (0.0, 1.0), "kind": ["slow", "fast", "odd"], "y": (1, 5), "wide": Integer(1, 3_000, log=True)})
RULED = Space({"x": (0.0, 1.0), "y": (1, 500)}, valid=lambda design: design["x"] * 500 > design["y"])
SPACES = {
    "continuous": CONTINUOUS,
    "grid": GRID,
    "pool": POOL,
    "lattice": LATTICE,
    "mixed": MIXED,
    "ruled": RULED,
    "conditional": Space(
        {"x": (0.0, 1.0), "kind": ["slow", "fast"], "y": (1, 5)}, conditions={"y": {"kind": ["slow"]}}
    ),
}


def setting_for(space, **changes):
    given = {
        "space": space,
        "names": ("near", "far"),
        "reference": np.array([2.0, 2.0]),
        "costs": np.array([9.0, 3.0]),
        "leads": ("near", "far"),
        "noisy": False,
        "n_initial": 6,
        "seed": 5,
    }
    return Setting(**(given | changes))


def losses(space, design):
    """The distances to two corners of the cube: lower is better, and the front joins the corners."""
    row = Columns(space).rows(space.designs([design]))[0]
    return {
        "near": float(np.sqrt((row**2).mean())),
        "far": float(np.sqrt(((1 - row) ** 2).mean())),
        "third": float(abs(row[0] - 0.5)),
    }


def told(rival, setting, n=6, seed=0):
    for design in setting.space.sample(n, np.random.default_rng(seed)):
        rival.tell(design, {name: losses(setting.space, design)[name] for name in setting.names})
    return rival


def nehvi(space, effort=QUICK_NEHVI, **changes):
    setting = setting_for(space, **changes)
    return told(QLogNEHVI(setting, effort=effort), setting)


def hvkg(space, effort=QUICK_HVKG, **changes):
    setting = setting_for(space, **changes)
    return told(HypervolumeKnowledgeGradient(setting, effort=effort), setting)


@pytest.mark.parametrize("kind", SPACES)
def test_qlognehvi_asks_for_a_legal_design_that_was_not_measured_in_all_objectives(kind):
    space = SPACES[kind]
    rival = nehvi(space)
    suggestion = rival.ask()
    assert space.design(suggestion.design) not in rival._readings.designs
    assert suggestion.objectives == ()
    assert rival.fallbacks == 0


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
    assert set(rival.front()) <= set(rival._readings.designs)


def test_hvkg_asks_for_values_of_a_pools_options():
    suggestion = hvkg(POOL).ask()
    for name, value in suggestion.design.items():
        assert value in POOL.options[name].values


def test_every_space_is_searched_by_the_optimiser_that_botorch_has_for_it():
    ways = {kind: way_to_search(space) for kind, space in SPACES.items()}
    assert ways == {
        "continuous": "continuous",
        "grid": "listed",
        "pool": "listed",
        "lattice": "lattice",
        "mixed": "mixed",
        "ruled": "drawn",
        "conditional": "drawn",
    }


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


def test_the_last_design_of_a_pool_is_asked_for_though_it_is_bad():
    space = Space.from_designs([{"x": i} for i in range(6)])
    rival = QLogNEHVI(setting_for(space), effort=QUICK_NEHVI)
    for x in range(5):
        rival.tell(space.design({"x": x}), {"near": x / 5, "far": x / 5})
    assert dict(rival.ask().design) == {"x": 5}
    assert rival.fallbacks == 0


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


def test_qlognehvi_finds_more_than_random_designs_because_losses_are_turned_round():
    hypervolume = pytest.importorskip("botorch.utils.multi_objective.hypervolume").Hypervolume
    import torch

    setting = setting_for(CONTINUOUS, reference=np.array([1.1, 1.1]))
    rival = told(QLogNEHVI(setting, effort=replace(QUICK_NEHVI, raw_samples=64)), setting)
    for _ in range(5):
        design = CONTINUOUS.design(rival.ask().design)
        rival.tell(design, {name: losses(CONTINUOUS, design)[name] for name in setting.names})

    def volume(designs):
        values = [[-losses(CONTINUOUS, design)[name] for name in setting.names] for design in designs]
        return hypervolume(torch.tensor([-1.1, -1.1])).compute(torch.tensor(values))

    drawn = [volume(CONTINUOUS.sample(11, np.random.default_rng(seed))) for seed in range(20)]
    assert volume(rival._readings.designs) > max(drawn)


def test_hvkg_measures_what_is_cheap():
    """The same losses, models and draws: only the prices differ."""
    enough = replace(QUICK_HVKG, raw_samples=8, value_restarts=2, value_raw_samples=16, iterations=3)
    for costs, cheap in (([500.0, 1.0], "far"), ([1.0, 500.0], "near")):
        assert hvkg(GRID, enough, costs=np.array(costs)).ask().objectives == (cheap,)


def test_the_front_of_hvkg_trusts_the_model_where_an_objective_was_not_measured():
    space = Space({"x": [i / 10 for i in range(11)]})
    setting = setting_for(space)
    rival = HypervolumeKnowledgeGradient(setting, effort=QUICK_HVKG)
    curves = {i / 10: {"near": (i / 10 - 0.4) ** 2, "far": (i / 10 - 0.6) ** 2} for i in range(11)}
    for x in (0.0, 0.2, 0.8, 1.0):
        rival.tell(space.design({"x": x}), curves[x])
    for x in (0.4, 0.5):
        rival.tell(space.design({"x": x}), {"near": curves[x]["near"]})
    rival.tell(space.design({"x": 0.6}), {"far": curves[0.6]["far"]})
    assert sorted(design["x"] for design in rival.front()) == [0.4, 0.5, 0.6]


def test_qlognehvi_leaves_the_front_to_the_measurements_unless_they_are_noisy():
    assert nehvi(GRID).front() is None
    rival = nehvi(GRID, noisy=True)
    assert set(rival.front()) <= set(rival._readings.designs)


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


def test_three_objectives_are_handled():
    setting = {"names": ("near", "far", "third"), "leads": ("near", "far", "third"), "reference": np.full(3, 2.0)}
    rival = nehvi(CONTINUOUS, costs=np.ones(3), **setting)
    assert rival.ask().design in CONTINUOUS
    assert rival.fallbacks == 0


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
    assert QLogNEHVI(setting_for(GRID), effort=QUICK_NEHVI).ask().design in GRID
    assert HypervolumeKnowledgeGradient(setting_for(GRID)).ask().design in GRID


def test_equal_and_infinite_losses_break_nothing():
    setting = setting_for(GRID)
    rival = QLogNEHVI(setting, effort=QUICK_NEHVI)
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


def test_the_lock_of_a_killed_compiler_is_removed_and_that_of_a_running_one_is_not(tmp_path: Path) -> None:
    killed, running = tmp_path / "killed", tmp_path / "running"
    for lock in (killed, running):
        lock.touch()
    os.utime(killed, (0.0, 0.0))
    for lock in (killed, running, tmp_path / "missing"):
        botorch_qlognehvi.remove_stale_lock(lock)
    assert [path.name for path in tmp_path.iterdir()] == ["running"]
