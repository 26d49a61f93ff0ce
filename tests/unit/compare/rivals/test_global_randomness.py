from __future__ import annotations

import numpy as np

from flexibo.compare.rivals._global_randomness import GlobalRandomness


def drawn(randomness: GlobalRandomness) -> float:
    with randomness.drawing():
        return float(np.random.random())  # noqa: NPY002


def test_draws_depend_on_the_seed_alone_and_go_on_where_they_stopped() -> None:
    first, second = GlobalRandomness(3), GlobalRandomness(3)
    draws = [drawn(first), drawn(first)]
    np.random.seed(9)  # noqa: NPY002
    assert [drawn(second), drawn(second)] == draws
    assert draws[0] != draws[1]
    assert drawn(GlobalRandomness(4)) != draws[0]


def test_the_generators_of_others_are_left_as_they_were() -> None:
    np.random.seed(9)  # noqa: NPY002
    drawn(GlobalRandomness(3))
    assert np.random.random() == np.random.RandomState(9).random()  # noqa: NPY002
