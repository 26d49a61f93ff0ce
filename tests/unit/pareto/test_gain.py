import numpy as np
import pytest

from flexibo.errors import InvalidValueError
from flexibo.pareto import pareto_region, pinned_gains


def own_keys(m, n):
    return np.arange(m * n, dtype=np.uint64).reshape(m, n)


def gains_of(boxes, reference, keys=None, bundles=((0,), (1,))):
    """Gains of boxes written as rows of (lower, mean, upper) per objective."""
    boxes = np.array(boxes, dtype=float)
    lower, mu, upper = boxes[:, :, 0], boxes[:, :, 1], boxes[:, :, 2]
    keys = own_keys(*lower.shape) if keys is None else np.array(keys)
    return pinned_gains(lower, mu, upper, np.array(reference, dtype=float), keys, list(bundles))


def test_a_single_box_loses_the_slabs_on_both_sides_of_the_mean():
    # Before: 5 x 5 - 2 x 1. Objective 0 at 1: 4 x 5 - 4 x 1. Objective 1 at 3: 5 x 2 - 2 x 2. Both: no region is left.
    gains = gains_of([[(0, 1, 3), (0, 3, 4)]], [5, 5], bundles=[(0,), (1,), (0, 1)])
    assert gains.tolist() == [[23 - 16, 23 - 6, 23]]


def test_a_box_without_width_gains_exactly_nothing():
    boxes = [[(0.1, 0.1, 0.1), (0.2, 0.3, 0.4)], [(0.2, 0.25, 0.3), (0.05, 0.05, 0.05)]]
    gains = gains_of(boxes, [1, 1], bundles=[(0,), (1,), (0, 1)])
    assert (gains > 0).tolist() == [[False, True, True], [True, False, True]]


def test_a_design_that_is_dominated_at_best_gains_exactly_nothing():
    boxes = [[(0, 1, 2)] * 3, [(3, 4, 5)] * 3]
    gains = gains_of(boxes, [9, 9, 9], bundles=[(0,), (1,), (2,), (0, 1, 2)])
    assert (gains[0] > 0).all()
    assert (gains[1] == 0).all()


def test_boxes_worse_than_the_reference_gain_nothing():
    boxes = [[(5, 6, 7), (0, 1, 2)], [(0, 1, 2), (4, 5, 6)], [(5, 6, 9), (4, 6, 9)]]
    for some in (boxes, boxes[:1], boxes[1:2], boxes[2:]):
        assert (gains_of(some, [4, 4], bundles=[(0,), (1,), (0, 1)]) == 0).all()


def test_a_hidden_corner_comes_up_when_the_corner_before_it_moves_away():
    alone = [[(0, 2, 2), (0, 0, 0)]]
    hidden = [(1, 1, 9), (1, 1, 9)]
    # Alone the strip of 2 x 4 is lost; the hidden corner (1, 1) keeps 1 x 3 of it.
    assert gains_of(alone, [4, 4])[0, 0] == 8
    assert gains_of([*alone, hidden], [4, 4])[0, 0] == 5


def test_a_corner_that_another_design_shares_is_not_lost():
    first = [(0, 2, 4), (1, 1, 1)]
    same_corner = [(0, 0, 4), (1, 3, 4)]
    assert gains_of([first], [4, 4])[0, 0] == 2 * 3 + 2 * 3
    assert gains_of([first, same_corner], [4, 4])[0, 0] == 0 + 2 * 3


def test_candidates_with_equal_keys_are_pinned_together():
    first, second = [(0, 2, 4), (0, 0, 0)], [(0, 2, 4), (1, 1, 1)]
    # Apart, the second keeps 2 x 3 of the 2 x 4 that the first gives up; F_pess grows by 2 x 4.
    assert gains_of([first, second], [4, 4])[:, 0].tolist() == [2 + 8, 0 + 6]
    together = gains_of([first, second], [4, 4], keys=[[7, 0], [7, 1]])
    assert together[:, 0].tolist() == [8 + 8, 8 + 8]


def test_identical_boxes_are_pinned_as_one_even_with_different_keys():
    box = [(0, 2, 4), (0, 0, 0)]
    assert gains_of([box, box], [4, 4])[:, 0].tolist() == [16, 16]


def test_a_key_reaches_boxes_identical_to_its_own_but_not_their_other_keys():
    box, other = [(0, 2, 4), (0, 0, 0)], [(0, 2, 4), (1, 1, 1)]
    # Candidates 0 and 1 have one box. Key 7 covers 0 and 2; key 8 covers 1 alone, so 2 does not move with it.
    gains = gains_of([box, box, other], [4, 4], keys=[[7, 0], [8, 1], [7, 2]])
    assert gains[:, 0].tolist() == [16, 10, 16]


def test_a_dead_design_gains_what_its_key_gains_for_the_living():
    living, dead = [(0, 1, 2), (0, 1, 2)], [(0, 1, 2), (5, 6, 7)]
    gains = gains_of([living, dead], [9, 9], keys=[[1, 2], [1, 3]])
    assert gains[1, 0] == gains[0, 0] > 0
    assert gains[1, 1] == 0


def test_objectives_bought_together_gain_at_least_what_each_gains_alone():
    rng = np.random.default_rng(3)
    lower = rng.random((30, 3))
    widths = rng.random((2, 30, 3)) / 3
    bundles = [(0,), (1,), (2,), (1, 2), (0, 1, 2)]
    gains = pinned_gains(
        lower, lower + widths[0], lower + widths.sum(axis=0), np.full(3, 1.5), own_keys(30, 3), bundles
    )
    assert (gains[:, 3] >= gains[:, [1, 2]].max(axis=1) - 1e-12).all()
    assert (gains[:, 4] >= gains[:, [0, 3]].max(axis=1) - 1e-12).all()
    assert gains.max() > 0


@pytest.mark.parametrize("n", [2, 3, 4])
def test_no_candidates_have_no_gains(n):
    nothing = np.zeros((0, n))
    gains = pinned_gains(nothing, nothing, nothing, np.ones(n), np.zeros((0, n), dtype=np.uint64), [(0,), (0, 1)])
    assert gains.shape == (0, 2)


@pytest.mark.parametrize("n", [2, 3])
def test_when_everything_is_measured_nothing_is_left_to_gain(n):
    Y = np.random.default_rng(n).random((20, n))
    bundles = [*((j,) for j in range(n)), tuple(range(n))]
    assert (pinned_gains(Y, Y, Y, np.ones(n), own_keys(20, n), bundles) == 0).all()


def test_a_bundle_may_be_asked_for_twice_and_in_any_order():
    boxes = [[(0, 1, 2), (3, 4, 5)], [(3, 4, 5), (0, 1, 2)]]
    gains = gains_of(boxes, [9, 9], bundles=[(1, 0), (1,), (0,), (0, 1), (1,)])
    np.testing.assert_array_equal(gains[:, 0], gains[:, 3])
    np.testing.assert_array_equal(gains[:, 1], gains[:, 4])
    assert gains[0, 1] == gains[1, 2]


def test_the_input_is_left_as_it_was():
    rng = np.random.default_rng(5)
    lower, keys = rng.integers(0, 4, size=(12, 2)).astype(float), rng.integers(0, 3, size=(12, 2))
    lower = np.take_along_axis(lower, keys, axis=0)
    mu, upper = lower + 1, lower + 2
    before = [array.copy() for array in (lower, mu, upper, keys)]
    pinned_gains(lower, mu, upper, np.array([5.0, 5.0]), keys, [(0,), (1,), (0, 1)])
    for array, copy in zip((lower, mu, upper, keys), before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(("m", "n"), [(100_000, 2), (40_000, 3)])
def test_gains_stay_exact_among_very_many_candidates(m, n):
    # More living boxes than a 16-bit rank can tell apart; only the first hundred are open in objective 0.
    rng = np.random.default_rng(n)
    mu = rng.random((m, n))
    half = np.full((m, n), 0.9)
    half[100:, 0] = 0.0
    lower, upper, reference = mu - half, mu + half, np.full(n, 2.0)
    region = pareto_region(lower, upper, reference)
    assert region.alive.sum() > 2**15
    gains = pinned_gains(lower, mu, upper, reference, own_keys(m, n), [(0,)])[:, 0]
    assert (gains[100:] == 0).all()
    for i in np.argsort(-gains)[:3]:
        new_lower, new_upper = lower.copy(), upper.copy()
        new_lower[i, 0] = new_upper[i, 0] = mu[i, 0]
        after = pareto_region(new_lower, new_upper, reference).volume
        assert gains[i] == pytest.approx(region.volume - after, abs=1e-9)
        assert gains[i] > 1e-6


def test_shapes_that_do_not_fit_are_refused():
    box = np.zeros((3, 2))
    with pytest.raises(InvalidValueError, match=r"means have shape \(2, 2\)"):
        pinned_gains(box, box[:2], box, np.ones(2), own_keys(3, 2), [(0,)])
    with pytest.raises(InvalidValueError, match=r"keys \(3, 1\)"):
        pinned_gains(box, box, box, np.ones(2), own_keys(3, 1), [(0,)])


def test_a_bundle_without_objectives_is_refused():
    box = np.zeros((3, 2))
    with pytest.raises(InvalidValueError, match=r"bundle.*objective"):
        pinned_gains(box, box, box, np.ones(2), own_keys(3, 2), [(0,), ()])


def test_more_objectives_than_exact_gains_can_handle_are_refused():
    box = np.zeros((3, 8))
    with pytest.raises(InvalidValueError, match="8 objectives"):
        pinned_gains(box, box, box, np.ones(8), own_keys(3, 8), [(0,)])
