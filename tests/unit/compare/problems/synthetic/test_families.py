from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from flexibo.compare.metered_problem import MeteredProblem
from flexibo.compare.problems import synthetic
from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.synthetic import branin_currin, functions, volumes
from flexibo.compare.problems.synthetic.domains import mixed_grid
from flexibo.errors import InvalidValueError
from flexibo.pareto import hypervolume, non_dominated
from flexibo.space import Categorical, Integer, Ordinal

FAMILIES = {family.name: family for family in synthetic.FAMILIES}
NAMES = ["branin-currin", "zdt1", "zdt2", "zdt3"]
SCALABLE = ["dtlz1", "dtlz2", "dtlz7"]
EVERY = [(name, 2) for name in NAMES] + [(name, n) for name in SCALABLE for n in (2, 3, 4, 5)]
FINITE = [(name, 2) for name in NAMES] + [("dtlz2", n) for n in (2, 3, 4, 5)] + [("dtlz1", 3), ("dtlz7", 3)]


@cache
def made(name: str, n: int = 2, **given: float) -> Problem:
    return FAMILIES[name].make(**(given | ({"n": n} if name in SCALABLE else {})))


def missed(problem: Problem, losses: np.ndarray) -> float:
    """The hypervolume error before it is clipped at 0."""
    return 1.0 - hypervolume(losses, problem.reference) / problem.best


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
    ("name", "given"), [("dtlz2", "n=6"), ("dtlz2", "n=1"), ("zdt1", "ratio=0.5"), ("zdt1", "expensive=3")]
)
def test_what_is_out_of_range_is_refused(name: str, given: str) -> None:
    with pytest.raises(InvalidValueError, match="it must be between"):
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


@pytest.mark.parametrize("name", ["zdt1", "zdt2", "zdt3", *SCALABLE])
def test_designs_on_the_front_reach_its_volume_and_never_more(name: str) -> None:
    problem = made(name)
    optimum = 0.5 if name in ("dtlz1", "dtlz2") else 0.0
    X = np.full((200_001, 6), optimum)
    X[:, 0] = np.linspace(0.0, 1.0, len(X))
    losses = problem.losses(problem.space.from_codes(X))
    assert -1e-6 <= missed(problem, losses[non_dominated(losses)]) < 1e-5


def test_designs_polished_towards_the_front_of_branin_currin_never_pass_it() -> None:
    problem = made("branin-currin")
    assert not problem.exact
    assert problem.best >= 59.36011874867746  # BoTorch's figure, the best front that an NSGA-II found
    rng = np.random.default_rng(0)
    X = np.stack(np.meshgrid(np.linspace(0.0, 0.2, 400), np.linspace(0.7, 1.0, 400)), axis=-1).reshape(-1, 2)
    for deviation in (None, 1e-3, 3e-4, 1e-4):
        if deviation is not None:
            X = X[np.linspace(0, len(X) - 1, 1_500).astype(int)]
            X = np.clip(np.concatenate([X, *(X + deviation * rng.standard_normal(X.shape) for _ in range(20))]), 0, 1)
        losses = problem.losses(problem.space.from_codes(X))
        best = np.flatnonzero(non_dominated(losses))
        best = best[np.argsort(losses[best, 0])]
        X, losses = X[best], losses[best]
    assert -1e-6 <= missed(problem, losses) < 2e-4


def test_a_finer_search_finds_the_same_volume_of_branin_currin(monkeypatch: pytest.MonkeyPatch) -> None:
    best = made("branin-currin").best
    for name, finer in (("N_LEVELS", 6_001), ("N_STEPS", 151), ("N_ZOOMS", 8)):
        monkeypatch.setattr(branin_currin, name, finer)
    _, volume = branin_currin.front_and_volume.__wrapped__()
    assert best == pytest.approx(volume, rel=1e-7)


@pytest.mark.parametrize(
    ("function", "volume", "reference"),
    [(functions.dtlz1, volumes.dtlz1_volume, 0.55), (functions.dtlz2, volumes.dtlz2_volume, 1.1)],
)
@pytest.mark.parametrize(("n", "k"), [(3, 40), (4, 14)])
def test_volumes_lie_between_those_of_a_lattice_and_of_the_corners_of_its_cells(
    function: functions.Function, volume: Callable[[np.ndarray], float], reference: float, n: int, k: int
) -> None:
    places = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, k)] * (n - 1), indexing="ij"), axis=-1)
    X = np.concatenate([places, np.full((*places.shape[:-1], 5), 0.5)], axis=-1)
    Y = function(X.reshape(-1, n + 4), n).reshape(*[k] * (n - 1), n)
    # Every loss is monotone in every place, so the best values of a cell are at its corners.
    corners = [Y[tuple(slice(s, k - 1 + s) for s in shift)] for shift in itertools.product((0, 1), repeat=n - 1)]
    bound = np.full(n, reference)
    low = hypervolume(Y.reshape(-1, n), bound)
    high = hypervolume(np.min(corners, axis=0).reshape(-1, n), bound)
    assert low < volume(bound) < high
    assert volume(bound) == pytest.approx(0.5 * (low + high), rel=0.02)


def test_the_volume_of_dtlz7_is_the_sum_over_a_grid() -> None:
    k = 1_000
    middle = (np.arange(1.1 * k) + 0.5) / k
    places = np.stack(np.meshgrid(middle, middle, indexing="ij"), axis=-1).reshape(-1, 2)
    last = functions.dtlz7(np.column_stack([places, np.zeros((len(places), 5))]), 3)[:, 2].reshape(1_100, 1_100)
    last[(places.max(axis=1) > 1.0).reshape(last.shape)] = np.inf
    lowest = np.minimum.accumulate(np.minimum.accumulate(last, axis=0), axis=1)
    volume = volumes.dtlz7_volume(np.array([1.1, 1.1, 6.6]))
    assert volume == pytest.approx((6.6 - lowest).sum() / k**2, rel=2e-3)


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


def test_the_finite_spaces_have_the_documented_numbers_of_designs() -> None:
    assert [mixed_grid(n, 0.0).space.size for n in (2, 3, 4, 5)] == [97_500, 81_000, 87_808, 90_000]
    assert made("branin-currin", finite=True).space.size == 10_100


@pytest.mark.parametrize("optimum", [0.0, 0.5])
@pytest.mark.parametrize("n", [2, 5])
def test_finite_spaces_mix_kinds_hold_the_optimum_and_hide_the_order_of_letters(n: int, optimum: float) -> None:
    domain = mixed_grid(n, optimum)
    assert {type(option) for option in domain.space.options.values()} == {Integer, Ordinal, Categorical}
    designs = domain.space.enumerate()
    X = domain.positions(designs)
    assert X.min() >= 0
    assert X.max() <= 1
    assert (X[:, n - 1 :] == optimum).all(axis=1).any()
    letters = [i for i, option in enumerate(domain.space.options.values()) if isinstance(option, Categorical)]
    shuffled = 0
    for i in letters:
        levels = [X[designs.codes[:, i] == code, i][0] for code in np.unique(designs.codes[:, i])]
        shuffled += levels not in (sorted(levels), sorted(levels, reverse=True))
    assert shuffled >= 1


def test_the_stretches_and_steps_of_the_finite_branin_currin_cover_its_square() -> None:
    problem = made("branin-currin", finite=True)
    whole = made("branin-currin")
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 1, 100)), axis=-1).reshape(-1, 2)
    expected = whole.losses(whole.space.from_codes(grid))
    found = problem.losses(problem.space.enumerate())
    assert np.allclose(np.sort(found, axis=0), np.sort(expected, axis=0))


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
