from __future__ import annotations

import numpy as np
import pytest
from tests.unit.compare.problems.synthetic.made_families import FAMILIES, NAMES, SCALABLE, made, missed

from flexibo.compare.metered_problem import MeteredProblem
from flexibo.errors import InvalidValueError
from flexibo.pareto import non_dominated

EVERY = [(name, 2) for name in NAMES] + [(name, n) for name in SCALABLE for n in (2, 3, 4, 5)]
FINITE = [(name, 2) for name in NAMES] + [("dtlz2", n) for n in (2, 3, 4, 5)] + [("dtlz1", 3), ("dtlz7", 3)]


def test_the_families_are_those_users_name() -> None:
    assert list(FAMILIES) == NAMES + SCALABLE


@pytest.mark.parametrize(
    ("name", "given", "full"),
    [
        ("dtlz2", "ratio=100:n=3", "dtlz2:n=3:ratio=100"),
        ("zdt1", "finite:ratio=10", "zdt1:ratio=10:finite"),
        ("zdt2", "noise=0.1:ratio=1", "zdt2:noise=0.1"),
        ("zdt3", "finite:expensive=2:ratio=10", "zdt3:ratio=10:expensive=2:finite"),
        ("branin-currin", "", "branin-currin"),
    ],
)
def test_a_problem_has_its_full_name(name: str, given: str, full: str) -> None:
    assert FAMILIES[name].make(**FAMILIES[name].parsed(given)).name == full


@pytest.mark.parametrize(
    ("name", "expensive", "n", "costs"),
    [
        ("zdt1", 1, 2, [100, 1]),
        ("zdt1", 2, 2, [1, 100]),
        ("dtlz7", 3, 3, [10, 1, 100]),
        ("dtlz7", 2, 3, [10, 100, 1]),
    ],
)
def test_the_price_can_be_on_any_objective(name: str, expensive: int, n: int, costs: list[float]) -> None:
    problem = made(name, n, ratio=100.0, expensive=expensive)
    assert problem.costs(problem.space.sample(2, np.random.default_rng(0))).tolist() == [costs, costs]


def test_the_expensive_objective_must_exist() -> None:
    with pytest.raises(InvalidValueError):
        made("dtlz7", 2, expensive=3)


@pytest.mark.parametrize(
    ("name", "given", "facts"),
    [
        ("dtlz2", "n=6", r"'n'.*'dtlz2'.*'6'.* 2 .* 5\."),
        ("dtlz2", "n=1", r"'n'.*'dtlz2'.*'1'.* 2 .* 5\."),
        ("zdt1", "ratio=0.5", r"'ratio'.*'zdt1'.*'0\.5'.* 1 "),
        ("zdt1", "expensive=3", r"'expensive'.*'zdt1'.*'3'.* 1 .* 2"),
    ],
)
def test_what_is_out_of_range_is_refused(name: str, given: str, facts: str) -> None:
    with pytest.raises(InvalidValueError, match=facts):
        FAMILIES[name].parsed(given)


@pytest.mark.parametrize(
    ("name", "n", "finite"), [*((*one, False) for one in EVERY), *((*one, True) for one in FINITE)]
)
def test_no_design_is_better_than_the_true_front(name: str, n: int, finite: bool) -> None:
    problem = made(name, n, finite=finite)
    designs = problem.space.sample(2_000, np.random.default_rng(3))
    losses = problem.losses(designs)
    assert missed(problem, losses[non_dominated(losses)]) > 0
    assert missed(problem, problem.front) == pytest.approx(0, abs=1e-12 if finite else 0.2)
    assert missed(problem, problem.front) >= -1e-12


@pytest.mark.parametrize("name", NAMES + SCALABLE)
def test_the_shown_front_of_two_objectives_is_dense_and_belongs_to_the_volume(name: str) -> None:
    problem = made(name)
    assert -1e-6 <= missed(problem, problem.front) < 1e-3
    assert non_dominated(problem.front).all()


@pytest.mark.parametrize(("name", "n"), FINITE)
def test_the_finite_front_is_attained_unbeaten_and_complete(name: str, n: int) -> None:
    problem = made(name, n, finite=True)
    assert problem.exact
    losses = problem.losses(problem.space.enumerate())
    assert 10_000 <= len(losses) <= 100_000
    assert len(problem.front) >= 16
    for row in problem.front[:: max(1, len(problem.front) // 50)]:
        at_least = (losses <= row).all(axis=1)
        assert at_least.any()
        assert (losses[at_least] == row).all()
    for row in problem.front:
        losses = losses[~(row <= losses).all(axis=1)]
    assert not len(losses)


def test_costs_fall_geometrically_from_the_first_objective_to_one_second() -> None:
    problem = made("dtlz2", 3, ratio=100)
    assert problem.costs(problem.initial_designs(2, 0)) == pytest.approx(np.array([[100, 10, 1]] * 2))
    assert made("zdt1").mean_costs().tolist() == [1, 1]
    assert made("branin-currin", ratio=1000).mean_costs().tolist() == pytest.approx([1000, 1])


def test_noise_is_a_share_of_the_front_s_range_and_shows_in_readings() -> None:
    problem = made("dtlz7", 2, noise=0.1)
    assert problem.noise is not None
    assert problem.noise == pytest.approx(0.1 * np.array([0.8594, 4.0 - 2.3071]), rel=1e-3)
    assert all(objective.noisy for objective in problem.objectives)
    design = problem.initial_designs(1, 0)[0]
    metered = MeteredProblem(problem, seed=0)
    readings = [metered.measure(design, "f2").values["f2"] for _ in range(400)]
    assert np.std(readings) == pytest.approx(problem.noise[1], rel=0.15)
    exact = made("dtlz7")
    assert exact.noise is None
    assert not any(objective.noisy for objective in exact.objectives)


def test_options_are_two_six_or_n_plus_four() -> None:
    assert [len(made(name).space.names) for name in ("branin-currin", "zdt1")] == [2, 6]
    assert [len(made("dtlz1", n).space.names) for n in (2, 3, 4, 5)] == [6, 7, 8, 9]
