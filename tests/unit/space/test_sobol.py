from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from scipy.stats.qmc import Sobol

from flexibo.space import sobol as module
from flexibo.space.sobol import sobol


@pytest.fixture
def without_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NUMBERS", "stats/nowhere.npz")
    monkeypatch.setattr(module, "_directions", module._directions.__wrapped__)


@pytest.mark.parametrize(("d", "block"), [(1, 1), (2, 64), (7, 4), (40, 256), (1111, 2)])
def test_the_elements_are_those_of_scipy_bit_for_bit(d: int, block: int) -> None:
    for seed in range(3):
        rng, other = np.random.default_rng(seed), np.random.default_rng(seed)
        engine = Sobol(d, scramble=True, seed=rng)
        for elements in islice(sobol(d, block, other), 9):
            np.testing.assert_array_equal(elements, engine.random(block))
        assert rng.random() == other.random()
        assert rng.spawn(1)[0].random() == other.spawn(1)[0].random()


def test_a_scipy_that_has_no_direction_numbers_in_its_file_makes_the_same_sequence(without_numbers: None) -> None:
    expected = Sobol(3, scramble=True, seed=np.random.default_rng(4)).random(32)
    found = np.concatenate(list(islice(sobol(3, 16, np.random.default_rng(4)), 2)))
    np.testing.assert_array_equal(found, expected)


def test_more_dimensions_than_there_are_direction_numbers_are_refused_by_scipy() -> None:
    with pytest.raises(ValueError, match="21201"):
        next(sobol(21_202, 2, np.random.default_rng(0)))
