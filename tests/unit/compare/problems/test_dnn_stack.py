from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from flexibo.compare.metered_problem import MeteredProblem
from flexibo.compare.problems import dnn_stack
from flexibo.compare.problems._dnn_surface import DEPLOYMENT_SIZES, HARDWARE, NETWORKS, network_of
from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.dnn_stack import front_designs, response_surface, useful_rows
from flexibo.pareto import hypervolume, non_dominated
from flexibo.pareto.dominance import strictly_dominated
from flexibo.systems.options import OPERATING_SYSTEM

(FAMILY,) = dnn_stack.FAMILIES
SURFACES = [0, 1, 2, 3, 4]


@cache
def made(surface: int = 0, **given: float) -> Problem:
    return FAMILY.make(surface=surface, **given)


def best_of(losses: np.ndarray) -> np.ndarray:
    return losses[non_dominated(losses)]


def assert_complete(problem: Problem, losses: np.ndarray) -> None:
    """Whether no row of the losses adds anything to the true front."""
    together = np.concatenate([problem.front, losses])
    assert hypervolume(together, problem.reference) == pytest.approx(problem.best, rel=1e-12)


def test_names_say_what_differs_from_the_default() -> None:
    assert made().name == "dnn-stack"
    assert made(2, ratio=10, noise=0.05).name == "dnn-stack:surface=2:ratio=10:noise=0.05"
    assert made(1, n=3).name == "dnn-stack:surface=1:n=3"


@pytest.mark.parametrize("surface", SURFACES)
def test_the_designs_of_the_front_have_its_values_and_miss_nothing(surface: int) -> None:
    problem = made(surface)
    designs = front_designs(surface)
    assert len(designs) >= 20
    assert problem.values(problem.space.designs(list(designs))) == pytest.approx(problem.front, rel=1e-12)
    assert non_dominated(problem.front).all()
    assert problem.error(designs) == 0


@pytest.mark.slow
def test_the_front_is_that_of_all_697_million_designs_by_brute_force() -> None:
    surface = response_surface(1)
    network, deployment = surface.network, surface.deployment
    networks = np.indices(network.sizes).reshape(len(network.sizes), -1)
    work = np.column_stack([*network.work(networks), np.ones(networks.shape[1])])
    deployments = np.indices(DEPLOYMENT_SIZES).reshape(len(DEPLOYMENT_SIZES), -1)
    least = np.full(len(work), np.inf)
    for block in np.array_split(deployments, 200, axis=1):
        energy = work @ np.stack(deployment.coefficients(block))
        least = np.minimum(least, energy.min(axis=1))
    front = best_of(np.column_stack([network.error_percent(networks), least]))
    assert made(1).front == pytest.approx(front[np.argsort(front[:, 0])], rel=1e-9)


@pytest.mark.parametrize(("surface", "m"), [(0, 50_000), (3, 20_000)])
def test_no_random_design_beats_the_front(surface: int, m: int) -> None:
    problem = made(surface)
    losses = best_of(problem.losses(problem.space.sample(m, np.random.default_rng(surface))))
    assert not strictly_dominated(problem.front, losses).any()
    assert strictly_dominated(losses, problem.front).mean() > 0.5


@pytest.mark.parametrize("surface", SURFACES)
def test_no_design_that_differs_from_the_front_in_one_or_two_options_beats_it(surface: int) -> None:
    problem = made(surface)
    rng = np.random.default_rng(surface)
    sizes = [option.size for option in problem.space.options.values()]
    codes = np.tile(front_designs(surface).codes, (100, 1))
    for _ in range(2):
        column = rng.integers(len(sizes), size=len(codes))
        codes[np.arange(len(codes)), column] = rng.integers(np.array(sizes)[column])
    losses = problem.losses(problem.space.from_codes(codes))
    slack = 1 - 1e-12
    assert not strictly_dominated(problem.front * slack, best_of(losses)).any()
    assert len(np.unique(losses, axis=0)) > 1_000


@pytest.mark.parametrize(("surface", "n"), [(4, 3), (1, 4)])
def test_the_front_of_more_objectives_is_attained_unbeaten_and_worth_its_volume(surface: int, n: int) -> None:
    problem = made(surface, n=n)
    designs = front_designs(surface, n)
    assert problem.values(designs) == pytest.approx(problem.front, rel=1e-12)
    assert non_dominated(problem.front).all()
    assert np.all(np.diff(problem.front[:, 0]) >= 0)
    assert problem.error(designs) == 0
    losses = best_of(problem.losses(problem.space.sample(20_000, np.random.default_rng(surface))))
    assert_complete(problem, losses)
    assert strictly_dominated(losses, problem.front).mean() > 0.5


@pytest.mark.parametrize("n", [pytest.param(3, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.long)])
def test_no_deployment_of_a_network_beats_the_front_of_more_objectives(n: int) -> None:
    problem, response = made(1, n=n), response_surface(1)
    deployments = np.indices(DEPLOYMENT_SIZES).reshape(len(DEPLOYMENT_SIZES), -1).T
    useful, _ = dnn_stack.useful_networks(response.network, n)
    others = np.indices(response.network.sizes).reshape(len(response.network.sizes), -1).T
    every = 1 if n == 4 else 3
    reached = []
    for network in (*useful[:: 25 * every], *others[:: 600 * every]):
        codes = np.column_stack([np.tile(network, (len(deployments), 1)), deployments]).astype(np.float64)
        losses = problem.losses(problem.space.from_codes(codes))
        best = losses[non_dominated(losses[:, 1:3])]
        assert_complete(problem, best)
        reached.append((np.abs(best[:, None] / problem.front[None] - 1.0) < 1e-9).all(axis=2).any())
    assert any(reached)


def test_latency_and_size_come_with_a_reading_of_energy() -> None:
    problem = made(1, n=4)
    error, energy, latency, size = problem.objectives
    assert latency.measured_with == size.measured_with == energy.name
    assert size.options == error.options
    design = problem.initial_designs(1, 0)[0]
    metered = MeteredProblem(problem, seed=0)
    reading = metered.measure(design, energy.name)
    assert set(reading.values) == {energy.name, latency.name, size.name}
    assert reading.cost == 20.0
    assert metered.measure(design, error.name).cost > 500.0
    assert (problem.costs(problem.typical_designs())[:, 2:] == 0).all()


def test_energy_is_power_times_latency() -> None:
    problem, response = made(1, n=3), response_surface(1)
    designs = problem.space.sample(100, np.random.default_rng(0))
    power = response.deployment.power(designs.codes.T[len(NETWORKS["Xception"]) :].astype(np.int64))
    _, energy, latency = problem.values(designs).T
    assert energy == pytest.approx(power * latency, rel=1e-12)
    assert power.min() > 1.5
    assert power.max() < 60


def test_fewer_objectives_are_the_first_of_more() -> None:
    designs = made(1).initial_designs(20, 0)
    assert (made(1, n=4).values(designs)[:, :3] == made(1, n=3).values(designs)).all()
    assert (made(1, n=3).values(designs)[:, :2] == made(1).values(designs)).all()


def test_readings_of_energy_and_latency_are_noisy_and_counts_are_not() -> None:
    problem = made(1, n=4, noise=0.1)
    assert [objective.noisy for objective in problem.objectives] == [False, True, True, False]
    assert problem.noise == pytest.approx(np.array([0, 0.1, 0.1, 0]) * np.ptp(problem.front, axis=0))


def test_the_quick_search_for_useful_rows_finds_what_comparing_all_finds() -> None:
    rng = np.random.default_rng(0)
    for i in range(20):
        table = np.round(rng.lognormal(sigma=1.5, size=(300, 3 + i % 2)), 1) + 0.1
        beaten = (table[:, None] >= table).all(axis=2) & (table[:, None] > table).any(axis=2)
        assert useful_rows(table).tolist() == np.flatnonzero(~beaten.any(axis=1)).tolist()


@pytest.mark.parametrize("surface", SURFACES)
def test_error_depends_on_the_network_alone_and_energy_on_every_option(surface: int) -> None:
    problem = made(surface)
    names = tuple(NETWORKS[network_of(surface)])
    assert problem.objectives[0].options == names
    assert problem.objectives[1].options is None
    assert problem.space.names == (*names, *OPERATING_SYSTEM, *HARDWARE)
    designs = problem.space.sample(50, np.random.default_rng(1))
    before = problem.values(designs)
    for column, (name, option) in enumerate(problem.space.options.items()):
        codes = designs.codes.copy()
        codes[:, column] = (codes[:, column] + 1) % option.size
        change = np.abs(problem.values(problem.space.from_codes(codes)) - before)
        assert (change[:, 1] > 0).all()
        assert (change[:, 0] > 0).all() if name in names else (change[:, 0] == 0).all()


@pytest.mark.parametrize("surface", SURFACES)
def test_units_are_sensible_and_random_designs_far_from_the_front(surface: int) -> None:
    problem = made(surface)
    error, energy = problem.values(problem.typical_designs()).T
    assert 4 < error.min() < 12
    assert 35 < error.max() < 65
    assert 20 < energy.min() < 300
    assert 1_000 < energy.max() < 20_000
    errors = [problem.error(problem.initial_designs(10, seed)) for seed in range(5)]
    assert 0.4 < np.mean(errors) < 0.8


@pytest.mark.parametrize("surface", SURFACES)
def test_the_best_frequencies_are_inside_their_range(surface: int) -> None:
    problem = made(surface)
    design = problem.space.sample(200, np.random.default_rng(2)).codes
    for name in ("gpu_ghz", "cpu_ghz"):
        column = problem.space.names.index(name)
        means = []
        for code in range(len(HARDWARE[name])):
            codes = design.copy()
            codes[:, column] = code
            means.append(problem.values(problem.space.from_codes(codes))[:, 1].mean())
        assert 0 < int(np.argmin(means)) < len(means) - 1


@pytest.mark.parametrize("surface", SURFACES)
def test_training_costs_the_ratio_on_average_and_five_times_as_much_for_large_networks(surface: int) -> None:
    problem = made(surface)
    response = response_surface(surface).network
    positions = np.arange(np.prod(response.sizes))
    if len(positions) > 100_000:
        positions = np.concatenate([positions[[0, -1]], np.random.default_rng(0).choice(positions, 50_000)])
    networks = np.stack(np.unravel_index(positions, response.sizes), axis=1)
    codes = np.column_stack([networks, np.zeros((len(networks), len(DEPLOYMENT_SIZES)))])
    costs = problem.costs(problem.space.from_codes(codes))
    assert costs[:, 0].mean() == pytest.approx(2_000, rel=0.01)
    assert costs[:, 0].max() / costs[:, 0].min() == pytest.approx(5)
    assert (costs[:, 1] == 20).all()
    assert made(surface, ratio=1).costs(problem.space.from_codes(codes))[:, 0].mean() == pytest.approx(20, rel=0.01)


def test_only_energy_is_noisy() -> None:
    problem = made(noise=0.1)
    assert [objective.noisy for objective in problem.objectives] == [False, True]
    design = problem.initial_designs(1, 0)[0]
    metered = MeteredProblem(problem, seed=3)
    readings = [metered.measure(design, "energy_millijoules").values["energy_millijoules"] for _ in range(300)]
    assert np.std(readings) == pytest.approx(0.1 * np.ptp(problem.front[:, 1]), rel=0.15)
    errors = {metered.measure(design, "error_percent").values["error_percent"] for _ in range(3)}
    assert errors == {problem.values(problem.space.designs([design]))[0, 0]}
    assert made().noise is None


def test_a_surface_is_the_same_each_time_and_differs_from_others() -> None:
    first = made(1)
    response_surface.cache_clear()
    front_designs.cache_clear()
    assert FAMILY.make(surface=1).fingerprint() == first.fingerprint()
    other = made(6)
    assert other.space == first.space
    assert other.fingerprint() != first.fingerprint()
