from __future__ import annotations

import numpy as np
import pytest
from tests.unit.compare.problems.synthetic.made_families import made

from flexibo.compare.problems.synthetic.domains import mixed_grid
from flexibo.space import Categorical, Integer, Ordinal


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
