import numpy as np
import pytest

from flexibo.errors import InvalidValueError
from flexibo.pareto import pareto_region, pinned_gains

INF = np.inf


def corners_of(boxes):
    """Lower corners, means and upper corners of boxes written as rows of (lower, mean, upper) per quantity."""
    boxes = np.array(boxes, dtype=float)
    return boxes[:, :, 0], boxes[:, :, 1], boxes[:, :, 2]


def region_of(boxes, reference, optimised, limits):
    lower, _, upper = corners_of(boxes)
    return pareto_region(lower, upper, np.array(reference, dtype=float), optimised=optimised, limits=np.array(limits))


def gains_of(boxes, reference, optimised, limits, keys=None, bundles=None):
    lower, mu, upper = corners_of(boxes)
    m, n = lower.shape
    keys = np.arange(m * n).reshape(m, n) if keys is None else np.array(keys)
    bundles = [(j,) for j in range(n)] if bundles is None else bundles
    reference, limits = np.array(reference, dtype=float), np.array(limits, dtype=float)
    return pinned_gains(lower, mu, upper, reference, keys, bundles, optimised=optimised, limits=limits)


# Two objectives with a reference point of (4, 4), and a constraint with a limit of 1 in the last column.
PLANE = {"reference": [4, 4], "optimised": [0, 1], "limits": [INF, INF, 1.0]}
SATISFIED, VIOLATED, SURE, IMPOSSIBLE = (0, 0.5, 2), (0, 1.5, 2), (0, 0.5, 1), (1.5, 2, 3)


def test_a_design_that_may_be_feasible_is_on_the_optimistic_front_only():
    region = region_of([[(0, 1, 2), (0, 1, 2), SATISFIED]], **PLANE)
    assert (region.alive.tolist(), region.optimistic.tolist(), region.pessimistic.tolist()) == ([True], [True], [False])
    assert (region.volume, region.optimistic_volume) == (16.0, 16.0)


def test_a_design_that_is_surely_feasible_is_on_both_fronts():
    region = region_of([[(0, 1, 2), (0, 1, 2), SURE]], **PLANE)
    assert (region.optimistic.tolist(), region.pessimistic.tolist()) == ([True], [True])
    assert (region.volume, region.optimistic_volume) == (16.0 - 4.0, 16.0)


def test_an_impossible_design_is_on_no_front_and_removes_nobody():
    region = region_of([[(0, 0, 0), (0, 0, 0), IMPOSSIBLE], [(1, 2, 3), (1, 2, 3), SURE]], **PLANE)
    assert region.alive.tolist() == region.optimistic.tolist() == region.pessimistic.tolist() == [False, True]
    assert (region.volume, region.optimistic_volume) == (9.0 - 1.0, 9.0)


def test_only_surely_feasible_designs_remove_others():
    worse = [(2, 3, 3), (2, 3, 3), SURE]
    assert region_of([[(0, 0, 1), (0, 0, 1), SATISFIED], worse], **PLANE).alive.tolist() == [True, True]
    assert region_of([[(0, 0, 1), (0, 0, 1), SURE], worse], **PLANE).alive.tolist() == [True, False]


def test_a_limit_itself_is_legal():
    at_best, at_worst = [(0, 0, 0), (0, 0, 0), (1, 1.5, 2)], [(1, 1, 1), (1, 1, 1), (0, 0.5, 1)]
    region = region_of([at_best, at_worst], **PLANE)
    assert region.optimistic.tolist() == [True, False]
    assert region.pessimistic.tolist() == [False, True]
    # A mean on the limit is a constraint kept: then nothing is left open.
    assert gains_of([[(0, 0, 0), (0, 0, 0), (0, 1, 2)]], **PLANE).tolist() == [[0, 0, 16]]


def test_a_kept_constraint_brings_the_worst_corner_to_the_pessimistic_front():
    open_box = [(0, 1, 2), (0, 1, 2), SATISFIED]
    # F_pess gets 2 x 2. An objective alone moves the best corner only: no worst corner is surely feasible.
    assert gains_of([open_box], **PLANE).tolist() == [[4, 4, 4]]
    assert gains_of([open_box], **PLANE, bundles=[(0, 2), (0, 1, 2)]).tolist() == [[4 + 3 * 2, 16]]


def test_a_broken_constraint_removes_the_best_corner_and_hidden_ones_come_up():
    open_box, hidden = [(0, 1, 2), (0, 1, 2), VIOLATED], [(1, 1, 9), (1, 1, 9), VIOLATED]
    assert gains_of([open_box], **PLANE).tolist() == [[4, 4, 16]]
    # Whatever the first loses, the hidden corner (1, 1) keeps 3 x 3.
    assert gains_of([open_box, hidden], **PLANE)[:, 2].tolist() == [7, 0]


def test_of_two_undecided_constraints_the_kept_one_tells_nothing_and_the_broken_one_everything():
    limits = [INF, INF, 1.0, 1.0]
    box = [(0, 1, 2), (0, 1, 2), SATISFIED, VIOLATED]
    gains = gains_of([box], [4, 4], [0, 1], limits, bundles=[(2,), (3,), (2, 3)])
    assert gains.tolist() == [[0, 16, 16]]
    box = [(0, 1, 2), (0, 1, 2), SATISFIED, SATISFIED]
    gains = gains_of([box], [4, 4], [0, 1], limits, bundles=[(2,), (3,), (2, 3)])
    assert gains.tolist() == [[0, 0, 4]]


def test_a_constraint_that_its_box_decides_gains_exactly_nothing():
    boxes = [[(0, 1, 2), (0, 1, 2), SURE], [(0, 1, 2), (0, 1, 2), IMPOSSIBLE]]
    gains = gains_of(boxes, **PLANE)
    assert gains[:, 2].tolist() == [0, 0]
    assert (gains[0, :2] > 0).all()
    assert (gains[1] == 0).all()


def test_an_objective_with_a_limit_moves_both_corners_and_decides_its_constraint():
    kept, broken = [(0, 1, 3), (0, 0, 0)], [(0, 2.5, 3), (0, 0, 0)]
    choices = {"reference": [4, 4], "optimised": [0, 1], "limits": [2.0, INF]}
    # Nobody is surely feasible before. Kept: F_opt loses 1 x 4, F_pess gets 3 x 4. Broken: F_opt loses all.
    assert gains_of([kept], **choices)[0, 0] == 4 + 12
    assert gains_of([broken], **choices)[0, 0] == 16
    # Where another design shares the corner nothing is lost, and what is broken adds nothing to F_pess.
    sure = [(0, 0, 0), (0, 0, 0)]
    assert gains_of([broken, sure], **choices)[0, 0] == 0


@pytest.mark.parametrize(
    ("reference", "optimised", "limits"),
    [([4, 4], [0, 1], [INF, INF, 1.0]), ([4, 4], [0, 1], [INF, INF, -INF]), ([4, 4, 4], [0, 1, 2], [-INF, INF, INF])],
)
def test_without_a_possibly_feasible_design_there_is_no_region(reference, optimised, limits):
    boxes = [[(0, 1, 2), (0, 1, 2), IMPOSSIBLE], [(1, 1, 1), (0, 1, 2), IMPOSSIBLE]]
    region = region_of(boxes, reference, optimised, limits)
    assert not (region.alive | region.optimistic | region.pessimistic).any()
    assert (region.volume, region.optimistic_volume) == (0.0, 0.0)
    assert (gains_of(boxes, reference, optimised, limits) == 0).all()


def test_candidates_with_equal_keys_keep_or_break_a_constraint_together():
    first, second = [(0, 0, 0), (1, 1, 1), VIOLATED], [(1, 1, 1), (0, 0, 0), VIOLATED]
    # Before 3 + 9 + 3. Apart each takes its own 3; together everything.
    assert gains_of([first, second], **PLANE)[:, 2].tolist() == [3, 3]
    keys = [[0, 1, 7], [2, 3, 7]]
    assert gains_of([first, second], **PLANE, keys=keys)[:, 2].tolist() == [15, 15]
    first[2] = second[2] = SATISFIED
    assert gains_of([first, second], **PLANE, keys=keys)[:, 2].tolist() == [15, 15]


def test_a_dead_design_gains_what_its_key_gains_for_the_living():
    living = [(0, 1, 2), (0, 1, 2), SATISFIED, SURE]
    impossible = [(0, 1, 2), (5, 6, 7), SATISFIED, IMPOSSIBLE]
    keys = [[1, 2, 3, 4], [1, 6, 3, 8]]
    gains = gains_of([living, impossible], [4, 4], [0, 1], [INF, INF, 1.0, 1.0], keys=keys)
    assert gains[1, 0] == gains[0, 0] > 0
    assert gains[1, 2] == gains[0, 2] == 4
    assert gains[1, [1, 3]].tolist() == [0, 0]


def test_designs_that_differ_in_a_constraint_only_are_not_pinned_as_one():
    one, other = [(0, 2, 4), (0, 0, 0), SURE], [(0, 2, 4), (0, 0, 0), (0, 0.6, 1)]
    # Each has the other's best corner behind it; only F_pess gets 2 x 4. Identical boxes lose 2 x 4 together as well.
    assert gains_of([one, other], **PLANE)[:, 0].tolist() == [8, 8]
    assert gains_of([one, one], **PLANE)[:, 0].tolist() == [16, 16]


def test_one_objective_is_a_length():
    boxes = [[(0, 1, 3)], [(2, 2.5, 4)], [(5, 6, 7)]]
    region = region_of(boxes, [6], None, [INF])
    assert (region.volume, region.alive.tolist()) == (3.0, [True, True, False])
    # First: F_pess from 3 to 1, F_opt from 0 to 1. Second: F_pess from 3 to 2.5, F_opt stays.
    assert gains_of(boxes, [6], None, [INF]).tolist() == [[3], [0.5], [0]]


def test_one_objective_with_one_constraint():
    boxes = [[(0, 1, 2), VIOLATED], [(1, 2, 3), SATISFIED], [(2, 3, 4), SURE], [(5, 6, 7), SATISFIED]]
    region = region_of(boxes, [6], [0], [INF, 1.0])
    assert region.alive.tolist() == [True, True, True, False]
    assert (region.volume, region.optimistic_volume) == (6.0 - 2.0, 6.0)
    # The constraint of the first takes F_opt from 0 to 1, that of the second brings F_pess from 4 to 3.
    expected = [[1, 1, 1], [0, 1, 2], [1, 0, 1], [0, 0, 0]]
    assert gains_of(boxes, [6], [0], [INF, 1.0], bundles=[(0,), (1,), (0, 1)]).tolist() == expected


def test_the_objectives_may_stand_in_any_columns_and_order():
    boxes = [[SATISFIED, (0, 1, 2), (1, 2, 4)], [VIOLATED, (1, 2, 4), (0, 1, 2)]]
    gains = gains_of(boxes, [6, 5], [2, 1], [1.0, INF, INF])
    plain = gains_of([[row[2], row[1], row[0]] for row in boxes], [6, 5], [0, 1], [INF, INF, 1.0])
    np.testing.assert_array_equal(gains, plain[:, ::-1])
    assert gains.max() > 0


def test_seven_objectives_may_have_constraints_beside_them():
    box = [[(0, 0.5, 1)] * 7 + [SATISFIED, SURE]]
    gains = gains_of(box, [2] * 7, range(7), [INF] * 7 + [1.0, 1.0])
    assert gains[0, 7] == pytest.approx(1.0)
    assert gains[0, 8] == 0.0


@pytest.mark.parametrize("k", [1, 2, 3])
def test_constrained_gains_stay_exact_among_many_candidates(k):
    rng = np.random.default_rng(k)
    m = 3000
    mu = rng.random((m, k + 1))
    keys = np.arange(m * (k + 1)).reshape(m, k + 1)
    keys[:, k] = rng.integers(40, size=m)
    mu[:, k] = rng.random(40)[keys[:, k]]
    lower, upper, reference = mu - 0.2, mu + 0.3, np.full(k, 1.5)
    goals = {"optimised": range(k), "limits": np.array([*[INF] * k, 0.6])}
    before = pareto_region(lower, upper, reference, **goals).volume
    bundles = [(0,), (k,), (0, k)]
    gains = pinned_gains(lower, mu, upper, reference, keys, bundles, **goals)
    for b, bundle in enumerate(bundles):
        for i in np.argsort(-gains[:, b])[:3]:
            new_lower, new_upper = lower.copy(), upper.copy()
            for j in bundle:
                same = keys[:, j] == keys[i, j]
                new_lower[same, j] = new_upper[same, j] = mu[same, j]
            after = pareto_region(new_lower, new_upper, reference, **goals).volume
            assert gains[i, b] == pytest.approx(before - after, abs=1e-9)
            assert gains[i, b] > 1e-6


def test_the_input_is_left_as_it_was():
    lower, mu, upper = corners_of([[(0, 1, 2), SATISFIED], [(0, 1, 3), VIOLATED]])
    keys, limits, reference = np.array([[0, 1], [2, 3]]), np.array([INF, 1.0]), np.array([4.0])
    arrays = (lower, mu, upper, reference, keys, limits)
    before = [array.copy() for array in arrays]
    pareto_region(lower, upper, reference, optimised=[0], limits=limits)
    pinned_gains(lower, mu, upper, reference, keys, [(0,), (1,), (0, 1)], optimised=[0], limits=limits)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_a_reference_point_that_does_not_fit_the_objectives_is_refused():
    with pytest.raises(InvalidValueError, match=r"shape \(3,\).*2 objectives"):
        region_of([[(0, 1, 2), (0, 1, 2), SURE]], [4, 4, 4], [0, 1], [INF, INF, 1.0])


def test_a_region_of_other_candidates_is_refused():
    box, keys = np.zeros((3, 2)), np.zeros((3, 2), dtype=int)
    region = pareto_region(box[:2], box[:2], np.ones(2))
    with pytest.raises(InvalidValueError, match=r"2 candidates.* 3 "):
        pinned_gains(box, box, box, np.ones(2), keys, [(0,)], region=region)
