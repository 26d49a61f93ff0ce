import numpy as np
import pytest

from flexibo.pareto import non_dominated, pareto_region, pinned_gains
from flexibo.pareto.hypervolume import hypervolume

from . import brute_force

CASES_PER_BLOCK = 50
BLOCKS = [(n, m, block) for n, m in [(2, 9), (3, 6), (4, 5)] for block in range(8)]


@pytest.mark.parametrize(("n", "m", "block"), BLOCKS)
def test_region_and_gains_agree_with_brute_force(n, m, block):
    for seed in range(CASES_PER_BLOCK):
        rng = np.random.default_rng([n, block, seed])
        case = brute_force.random_case(rng, n, int(rng.integers(1, m + 1)))
        region = pareto_region(case.lower, case.upper, case.reference)
        assert region.alive.tolist() == brute_force.alive(case.lower.tolist(), case.upper.tolist())
        assert region.optimistic.tolist() == brute_force.front(case.lower.tolist())
        assert region.pessimistic.tolist() == brute_force.front(case.upper.tolist())
        volume = brute_force.region_volume(case.lower, case.upper, case.reference)
        assert region.volume == pytest.approx(volume, abs=1e-9)
        gains = pinned_gains(case.lower, case.mu, case.upper, case.reference, case.keys, case.bundles)
        np.testing.assert_allclose(gains, brute_force.gains(case), rtol=0, atol=1e-9, err_msg=f"{n=} {block=} {seed=}")
