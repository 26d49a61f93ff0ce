import numpy as np
import pytest

from flexibo.pareto import _exclusive, _pins, _solid, pareto_region, pinned_gains

from . import brute_force

SHAPES = [(k, c) for k in (1, 2, 3, 4) for c in (0, 1, 2, 3)]


def check(case, what):
    goals = {"optimised": case.optimised, "limits": case.limits}
    region = pareto_region(case.lower, case.upper, case.reference, **goals)
    alive, optimistic, pessimistic = brute_force.constrained_region(case)
    assert [region.alive.tolist(), region.optimistic.tolist(), region.pessimistic.tolist()] == [
        alive,
        optimistic,
        pessimistic,
    ], what
    outer, inner = brute_force.constrained_volumes(case, case.lower, case.upper)
    assert region.optimistic_volume == pytest.approx(outer, abs=1e-9), what
    assert region.volume == pytest.approx(outer - inner, abs=1e-9), what
    gains = pinned_gains(case.lower, case.mu, case.upper, case.reference, case.keys, case.bundles, **goals)
    expected = brute_force.constrained_gains(case)
    np.testing.assert_allclose(gains, expected, rtol=0, atol=1e-9 * max(1.0, outer), err_msg=what)
    assert (gains >= 0).all(), what
    return gains


def check_all(k, c, seeds, *, most, make=brute_force.random_case):
    gaining = 0
    for seed in seeds:
        rng = np.random.default_rng([k, c, seed])
        case = brute_force.constrained_case(rng, k, c, int(rng.integers(most // 9, most + 1)), make)
        gaining += (check(case, f"{k=} {c=} {seed=}") > 0).any()
    assert gaining >= 0.3 * len(seeds)


@pytest.mark.parametrize(("k", "c"), SHAPES)
def test_the_constrained_region_and_all_gains_agree_with_brute_force(k, c):
    check_all(k, c, range(5), most=9)


@pytest.mark.long
@pytest.mark.parametrize(("k", "c"), SHAPES)
def test_very_many_constrained_regions_agree_with_brute_force(k, c):
    check_all(k, c, range(5, 200), most=12)


@pytest.mark.parametrize(("k", "c"), [(1, 1), (2, 1), (3, 1), (4, 2)])
@pytest.mark.parametrize("make", [brute_force.random_case, brute_force.crowded_case])
def test_constrained_gains_among_many_boxes_agree_with_volumes_computed_anew(k, c, make, monkeypatch):
    # Many boxes reach code that few cannot: crowds in a question, tables in several parts, batches, blocks.
    monkeypatch.setattr(_exclusive, "_TABLE_SIZE", 700)
    monkeypatch.setattr(_exclusive, "_BATCH", 16)
    monkeypatch.setattr(_pins, "_MOST_PINS", 100)
    monkeypatch.setattr(_solid, "_MOST_PAIRS", 50)
    monkeypatch.setattr(_solid, "_CROWD", 3)
    check_all(k, c, range(3), most=40, make=make)
