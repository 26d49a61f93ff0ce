import moocore
import numpy as np
import pytest

from flexibo.pareto import _exclusive, pareto_region, pinned_gains

from . import brute_force

BLOCKS = [(n, m, block) for n, m, blocks in [(2, 10, 10), (3, 7, 8), (4, 5, 6)] for block in range(blocks)]


@pytest.mark.parametrize(("n", "m"), [(2, 10), (3, 7), (4, 5)])
def test_the_region_and_all_gains_agree_with_brute_force(n, m):
    check_all(n, m, 0, 40)


@pytest.mark.long
@pytest.mark.parametrize(("n", "m", "block"), BLOCKS)
def test_very_many_regions_agree_with_brute_force(n, m, block):
    check_all(n, m, block, 50)


def check_all(n, m, block, cases):
    for seed in range(cases):
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


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("make", [brute_force.random_case, brute_force.crowded_case])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_gains_among_many_boxes_agree_with_volumes_computed_anew(n, make, seed, monkeypatch):
    # Many boxes reach code that few cannot: neighbours by the dozen, tables in several parts, batches.
    monkeypatch.setattr(_exclusive, "_TABLE_SIZE", 700)
    monkeypatch.setattr(_exclusive, "_BATCH", 16)
    rng = np.random.default_rng([n, seed])
    case = make(rng, n, 60 if n < 5 else 36)

    def volume(lower, upper):
        return moocore.hypervolume(lower, ref=case.reference) - moocore.hypervolume(upper, ref=case.reference)

    before = volume(case.lower, case.upper)
    expected = [
        [before - volume(*brute_force.pin(case, i, bundle)) for bundle in case.bundles] for i in range(len(case.lower))
    ]
    gains = pinned_gains(case.lower, case.mu, case.upper, case.reference, case.keys, case.bundles)
    np.testing.assert_allclose(gains, expected, rtol=0, atol=1e-9 * max(1.0, before))
