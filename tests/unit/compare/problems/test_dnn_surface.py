from __future__ import annotations

import numpy as np
import pytest

from flexibo.compare.problems._dnn_surface import NETWORKS, network_of, stack_space
from flexibo.compare.problems.dnn_stack import response_surface

SURFACES = [0, 1, 2, 3, 4]


def test_every_network_of_the_paper_that_classifies_images_takes_its_turn() -> None:
    assert [network_of(surface) for surface in range(5)] == list(NETWORKS)
    assert network_of(7) == network_of(2)
    assert [len(stack_space(network).names) for network in NETWORKS] == [14, 14, 15, 17, 14]
    assert [stack_space(network).size for network in NETWORKS] == [
        m * 557_568 for m in (12_005, 1_250, 60_025, 1_500_625, 8_575)
    ]


def test_the_size_of_a_network_is_that_of_its_weights() -> None:
    response = response_surface(0).network
    widths = [values[0] for values in response.values]
    stem, fire_1, size, fire_2, block = widths
    weights = 3 * stem * 9 + stem * fire_1 * size**2 + fire_1 * fire_2 * 9 + fire_2 * block * 9
    assert response.size_megabytes([np.zeros(1, dtype=np.int64)] * 5) == pytest.approx([4 * weights / 1e6])


@pytest.mark.parametrize("surface", SURFACES)
def test_more_filters_err_less_with_diminishing_returns(surface: int) -> None:
    response = response_surface(surface).network
    rng = np.random.default_rng(4)
    every = np.stack([rng.integers(size, size=50_000) for size in response.sizes])
    error = response.error_percent(every)
    for column, name in enumerate(NETWORKS[network_of(surface)]):
        if name.startswith("filters"):
            means = np.array([error[every[column] == code].mean() for code in range(response.sizes[column])])
            assert means[0] - means[1] > means[-2] - means[-1]
            assert means[0] > means[-1]
