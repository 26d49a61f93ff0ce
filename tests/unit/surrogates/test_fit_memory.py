"""What fits found is recalled if, and only if, everything that it depends on is the same."""

from __future__ import annotations

import json

import numpy as np
import pytest

from flexibo.surrogates import GaussianProcess
from flexibo.surrogates.fit_memory import LEAST_ROWS, MOST_FITS, WORTH_STORING, FitMemory, recalled, remembering


def fits(theta: np.ndarray) -> bool:
    return theta.shape == (2,)


def test_a_result_is_computed_once_for_the_same_parts() -> None:
    memory, computed = FitMemory(), []

    def compute() -> np.ndarray:
        computed.append(1)
        return np.array([1.0, 2.0])

    with remembering(memory):
        for _ in range(2):
            found = recalled(("theta", np.arange(3.0)), compute, rows=WORTH_STORING, is_usable=fits)
            assert found.tolist() == [1.0, 2.0]
        recalled(("theta", np.arange(4.0)), compute, rows=WORTH_STORING, is_usable=fits)
    recalled(("theta", np.arange(3.0)), compute, rows=WORTH_STORING, is_usable=fits)
    assert len(computed) == 3, "another array, and a fit without a memory, are computed"
    assert memory.changed


def test_small_fits_are_neither_remembered_nor_stored() -> None:
    memory = FitMemory()
    with remembering(memory):
        recalled(("a",), lambda: np.ones(2), rows=LEAST_ROWS - 1, is_usable=fits)
        assert json.loads(memory.packed()) == {}
        recalled(("a",), lambda: np.ones(2), rows=LEAST_ROWS, is_usable=fits)
    assert len(json.loads(memory.packed())) == 1
    assert not memory.changed


@pytest.mark.parametrize("content", [None, b"", b"[1]", b"\xff", b'{"k": "x"}', b'{"k": [1e999]}', b'{"k": [null]}'])
def test_what_was_stored_and_is_damaged_is_as_if_it_were_not_there(content: bytes | None) -> None:
    memory = FitMemory()
    memory.begin_with(lambda: content)
    assert memory.recalled("k", lambda: np.zeros(2), fits, rows=1).tolist() == [0.0, 0.0]


def test_a_stored_result_that_cannot_be_right_is_computed_again() -> None:
    memory = FitMemory()
    memory.begin_with(lambda: b'{"k": [1, 2, 3], "l": [4, 5]}')
    assert memory.recalled("k", lambda: np.zeros(2), fits, rows=1).tolist() == [0.0, 0.0]
    assert memory.recalled("l", lambda: np.zeros(2), fits, rows=1).tolist() == [4.0, 5.0]


def test_the_latest_results_are_kept() -> None:
    memory = FitMemory()
    for number in range(MOST_FITS + 5):
        memory.recalled(str(number), lambda: np.zeros(2), fits, rows=1)
        memory.recalled("0", lambda: np.zeros(2), fits, rows=1)
    assert len(json.loads(memory.packed())) == MOST_FITS
    assert "0" in json.loads(memory.packed())


def test_a_process_that_recalls_its_fit_predicts_the_same() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((WORTH_STORING, 2))
    y, groups = np.sin(5 * X[:, 0]) + X[:, 1], np.array([0, 1])
    memory, again = FitMemory(), FitMemory()
    fitted = []
    for one in (memory, again):
        if one is again:
            one.begin_with(memory.packed)
        with remembering(one):
            fitted.append(GaussianProcess().fit(X, y, groups=groups, rng=np.random.default_rng(1)))
    assert memory.changed
    assert not again.changed, "nothing was computed"
    assert np.array_equal(fitted[0].predict(X[:9])[0], fitted[1].predict(X[:9])[0])
