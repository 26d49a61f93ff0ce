from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.methods.epsilon_pal import epsilon_classify, epsilon_pal_step
from flexibo.methods.pal import (
    DISCARDED,
    OPEN,
    PARETO,
    PalMemory,
    classify,
    diagonals,
    dominated_by_another,
    intersected,
    pal_step,
    widest_region,
)
from flexibo.pareto import non_dominated

STEPS = [pal_step, epsilon_pal_step]


def boxes(m, k, seed=0, *, width=0.3, exact=0.0):
    """Regions near a front; a share of them is exact."""
    rng = np.random.default_rng(seed)
    middle = rng.random((m, k)) + 0.1
    middle *= (1.0 + 0.5 * rng.random((m, 1))) / np.linalg.norm(middle, axis=1, keepdims=True)
    half = width * rng.random((m, k)) * (rng.random((m, 1)) >= exact)
    return middle - half, middle + half


def covered(lower, upper, epsilon, status=None):
    before = np.full(len(lower), OPEN) if status is None else np.array(status)
    return epsilon_classify(lower, upper, diagonals(lower, upper), before, np.asarray(epsilon, dtype=float))


def scores_of(belief):
    return widest_region(belief, np.random.default_rng(0))


def test_a_design_is_discarded_when_the_worst_of_another_beats_its_best():
    lower = np.array([[0.0, 0.0], [1.0, 1.0], [0.9, 5.0]])
    upper = np.array([[1.0, 0.5], [2.0, 2.0], [3.0, 6.0]])
    assert classify(lower, upper).tolist() == [PARETO, DISCARDED, OPEN]


def test_a_design_is_pareto_when_the_best_of_no_other_beats_its_worst():
    lower = np.array([[0.0, 2.0], [2.0, 0.0], [2.5, 1.0]])
    assert classify(lower, lower + np.array([1.0, 0.5])).tolist() == [PARETO, PARETO, OPEN]


def test_designs_with_equal_losses_are_pareto_together():
    Y = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    expected = [PARETO] * 4 + [DISCARDED] * 2
    assert classify(Y, Y).tolist() == expected
    assert covered(Y, Y, [0.0, 0.0]).tolist() == expected


def test_a_design_that_touches_an_exact_one_in_its_best_corner_stays_open():
    lower = np.array([[0.0, 0.0], [0.0, 0.0]])
    upper = np.array([[0.0, 0.0], [1.0, 1.0]])
    assert classify(lower, upper).tolist() == [PARETO, OPEN]
    assert covered(lower, upper, [0.0, 0.0]).tolist() == [PARETO, OPEN]


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_exact_regions_are_classified_as_their_losses(k):
    Y = np.random.default_rng(k).integers(0, 5, (60, k)).astype(float)
    assert classify(Y, Y).tolist() == np.where(non_dominated(Y), PARETO, DISCARDED).tolist()


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_without_tolerance_both_rules_agree(k, seed):
    lower, upper = boxes(80, k, seed, exact=0.3)
    assert covered(lower, upper, np.zeros(k)).tolist() == classify(lower, upper).tolist()


@pytest.mark.parametrize("k", [1, 2, 3])
def test_classes_stay_while_regions_shrink(k):
    rng = np.random.default_rng(k)
    lower, upper = boxes(80, k, k)
    losses = rng.uniform(lower, upper)
    plain, eased, epsilon = classify(lower, upper), covered(lower, upper, np.full(k, 0.05)), np.full(k, 0.05)
    for _ in range(12):
        lower, upper = lower + 0.3 * (losses - lower), upper - 0.3 * (upper - losses)
        now, eased_now = classify(lower, upper), covered(lower, upper, epsilon, eased)
        assert (now[plain != OPEN] == plain[plain != OPEN]).all()
        assert (eased_now[eased == PARETO] == PARETO).all()
        plain, eased = now, eased_now
    assert not (eased == OPEN).any()
    assert (plain[~non_dominated(losses)] != PARETO).all()
    assert (plain[non_dominated(losses)] != DISCARDED).all()


def test_a_design_within_the_tolerance_of_a_pareto_design_is_redundant():
    Y = np.array([[0.0, 2.0], [0.1, 1.9], [2.0, 0.0]])
    assert covered(Y, Y, [0.05, 0.05]).tolist() == [PARETO, PARETO, PARETO]
    assert covered(Y, Y, [0.2, 0.2]).tolist() == [PARETO, DISCARDED, PARETO]
    assert covered(Y, Y, [0.0, 0.2]).tolist() == [PARETO, DISCARDED, PARETO]
    assert covered(Y, Y, [0.2, 0.0]).tolist() == [PARETO, PARETO, PARETO]  # the first is not as good in both


def test_the_widest_of_two_that_cover_each_other_becomes_pareto():
    middle = np.array([[0.0, 2.0], [0.05, 1.95], [2.0, 0.0]])
    half = np.array([[0.01], [0.02], [0.01]])
    assert covered(middle - half, middle + half, [0.2, 0.2]).tolist() == [DISCARDED, PARETO, PARETO]
    assert covered(middle - half[::-1] / 2, middle + half / 2, [0.2, 0.2]).tolist() != [OPEN] * 3


def test_a_design_on_the_pessimistic_front_is_not_discarded_by_its_peers():
    lower = np.array([[0.0, 0.0], [0.05, -0.05]])
    upper = lower + 0.2
    assert covered(lower, upper, [0.22, 0.1]).tolist() != [DISCARDED, DISCARDED]
    rival = np.vstack([lower, [[-9.0, -9.0]]]), np.vstack([upper, [[9.0, 9.0]]])  # keeps both from being Pareto
    assert covered(*rival, [0.3, 0.3]).tolist() == [OPEN, OPEN, OPEN]


def test_a_discarded_design_is_open_again_when_nobody_left_covers_it():
    lower = np.array([[0.0, 0.0], [1.0, 1.0]])
    assert covered(lower, lower, [0.1, 0.1], [OPEN, DISCARDED]).tolist() == [PARETO, DISCARDED]
    apart = np.array([[0.0, 2.0], [2.0, 0.0]])
    assert covered(apart, apart, [0.1, 0.1], [PARETO, DISCARDED]).tolist() == [PARETO, PARETO]
    assert covered(apart - 0.5, apart + 2.0, [0.1, 0.1], [OPEN, DISCARDED]).tolist() == [OPEN, OPEN]


def test_tolerances_do_not_add_up_along_a_chain():
    # 2 is within the tolerance of 1, and 1 of 0, but 2 is not within the tolerance of 0.
    Y = np.array([[0.0, 3.0], [0.9, 2.1], [1.8, 1.2]])
    status = covered(Y, Y, [1.0, 1.0], [PARETO, OPEN, DISCARDED])
    assert status.tolist() == [PARETO, DISCARDED, PARETO]


def test_a_pareto_design_is_open_again_when_another_may_beat_it_after_all():
    lower, upper = np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([[1.0, 1.0], [2.0, 2.0]])
    for other in (OPEN, DISCARDED):
        assert covered(lower, upper, [0.1, 0.1], [PARETO, other]).tolist() == [OPEN, OPEN]
    assert covered(lower, upper, [1.1, 0.1], [PARETO, OPEN]).tolist()[0] == PARETO


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_all_pareto_designs_together_cover_what_was_discarded(k, seed):
    lower, upper = boxes(150, k, seed, width=0.1)
    epsilon = np.full(k, 0.1)
    status = covered(lower, upper, epsilon)
    left = upper[status != DISCARDED]
    for best in lower[status == DISCARDED]:
        assert (left <= best + epsilon).all(axis=1).any()
    assert 0 < (status == DISCARDED).sum() < 150


def test_regions_are_intersected_and_start_again_where_they_do_not_meet():
    lower, upper = np.array([[0.0, 0.0]]), np.array([[2.0, 2.0]])
    low, high = intersected(lower, upper, np.array([[-1.0, 3.0]]), np.array([[1.0, 4.0]]))
    assert (low.tolist(), high.tolist()) == ([[0.0, 3.0]], [[1.0, 4.0]])
    low, high = intersected(lower, upper, np.array([[2.0, 0.5]]), np.array([[3.0, 0.5]]))
    assert (low.tolist(), high.tolist()) == ([[2.0, 0.5]], [[2.0, 0.5]])


@pytest.mark.parametrize("step", STEPS)
def test_a_step_keeps_the_intersection_of_all_boxes(make_belief, step):
    first = step(None, make_belief([[0.0, 0.0], [5.0, 5.0]], [[1.0, 2.0], [1.0, 1.0]]))
    then = step(first, make_belief([[0.5, 1.0], [5.0, 5.0]], [[1.0, 2.0], [2.0, 0.5]]))
    np.testing.assert_allclose(then.lower, [[-0.5, -1.0], [4.0, 4.5]])
    np.testing.assert_allclose(then.upper, [[1.0, 2.0], [6.0, 5.5]])
    assert then.status.tolist() == [PARETO, DISCARDED]


def test_a_pareto_design_keeps_its_class_when_another_would_do_as_well(make_belief):
    mu, tolerances = [[0.0, 2.0], [0.05, 1.95], [2.0, 0.0]], np.array([0.2, 0.2])
    first = epsilon_pal_step(None, make_belief(mu, [[0.03, 0.03], [0.02, 0.02], [0.02, 0.02]], tolerances=tolerances))
    assert first.status.tolist() == [PARETO, DISCARDED, PARETO]
    narrower = make_belief(mu, [[0.0, 0.0], [0.02, 0.02], [0.02, 0.02]], tolerances=tolerances)
    assert epsilon_pal_step(None, narrower).status.tolist() == [DISCARDED, PARETO, PARETO]
    assert epsilon_pal_step(first, narrower).status.tolist() == first.status.tolist()


@pytest.mark.parametrize("step", STEPS)
def test_a_step_changes_nothing_that_it_is_given(make_belief, step):
    belief = make_belief([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], np.full((3, 2), 0.4))
    before = PalMemory(belief.lower - 0.1, belief.upper + 0.1, np.full(3, OPEN))
    given = [part.copy() for part in (before.lower, before.upper, before.status, belief.lower, belief.upper)]
    assert step(before, belief).status.tolist() == [PARETO, PARETO, DISCARDED]
    for part, copy in zip((before.lower, before.upper, before.status, belief.lower, belief.upper), given, strict=True):
        assert (part == copy).all()


@pytest.mark.parametrize("step", STEPS)
def test_a_measured_design_has_its_value_as_region_even_if_the_model_was_wrong(make_belief, step):
    first = step(None, make_belief([[0.0, 0.0], [9.0, 9.0]], [[1.0, 1.0], [1.0, 1.0]]))
    assert first.status.tolist() == [PARETO, DISCARDED]
    then = step(first, make_belief([[20.0, 20.0], [9.0, 9.0]], [[0.0, 0.0], [1.0, 1.0]]))
    assert then.lower[0].tolist() == then.upper[0].tolist() == [20.0, 20.0]
    # What was decided by the refuted region is decided anew.
    assert then.status.tolist() == [DISCARDED, PARETO]


def test_a_step_uses_the_tolerances_of_the_optimised_columns(make_belief):
    mu = [[0.0, 7.0, 2.0], [0.1, 7.0, 1.9]]
    belief = make_belief(mu, np.zeros((2, 3)), optimised=(0, 2), tolerances=np.array([0.2, 0.0, 0.2]))
    assert epsilon_pal_step(None, belief).status.tolist() == [PARETO, DISCARDED]
    assert pal_step(None, belief).status.tolist() == [PARETO, PARETO]
    assert epsilon_pal_step(None, replace(belief, tolerances=np.array([0.0, 0.2, 0.0]))).status.tolist() == [1, 1]
    assert epsilon_pal_step(None, belief).lower.shape == (2, 2)


@pytest.mark.parametrize("step", STEPS)
def test_other_candidates_than_before_are_refused(make_belief, step):
    kept = step(None, make_belief(np.zeros((3, 2)), np.ones((3, 2))))
    with pytest.raises(InvalidValueError, match=r"\(3, 2\).*\(4, 2\)"):
        step(kept, make_belief(np.zeros((4, 2)), np.ones((4, 2))))


@pytest.mark.parametrize("step", STEPS)
def test_an_illegal_design_discards_nobody_and_is_discarded(make_belief, step):
    mu = [[0.0, 0.0, 9.0], [1.0, 1.0, 0.0], [2.0, 2.0, 0.0]]
    limits = np.array([np.inf, np.inf, 5.0])
    belief = make_belief(mu, np.full((3, 3), 0.1), optimised=(0, 1), limits=limits)
    assert step(None, belief).status.tolist() == [DISCARDED, PARETO, DISCARDED]


@pytest.mark.parametrize("step", STEPS)
def test_a_design_that_may_be_illegal_discards_nobody_but_keeps_others_from_being_pareto(make_belief, step):
    mu, sigma = [[0.0, 0.0, 5.0], [1.0, 1.0, 0.0]], np.full((2, 3), 0.1)
    belief = make_belief(mu, sigma, optimised=(0, 1), limits=np.array([np.inf, np.inf, 5.0]))
    assert step(None, belief).status.tolist() == [OPEN, OPEN]
    alone = replace(belief, lower=belief.lower + np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]))
    assert step(None, alone).status.tolist() == [DISCARDED, PARETO]
    none = replace(belief, lower=belief.lower + 9.0, upper=belief.upper + 9.0)
    assert step(None, none).status.tolist() == [DISCARDED, DISCARDED]


def test_the_score_is_the_diagonal_in_units_of_the_ranges(make_belief):
    mu, sigma = [[0.0, 0.0], [10.0, -100.0], [4.0, -30.0]], [[1.0, 5.0], [1.0, 0.0], [0.5, 20.0]]
    belief = make_belief(mu, sigma)
    scores = scores_of(replace(belief, memory=PalMemory(belief.lower, belief.upper, np.array([PARETO, PARETO, OPEN]))))
    expected = [[np.hypot(0.2, 0.1)], [0.2], [np.hypot(0.1, 0.4)]]
    np.testing.assert_allclose(scores, expected)


def test_each_bundle_scores_its_own_objectives(make_belief):
    mu, sigma = [[0.0, 0.0, 0.0], [10.0, 10.0, 1.0]], [[1.0, 2.0, 9.0], [0.0, 1.0, 9.0]]
    belief = make_belief(mu, sigma, optimised=(0, 1), bundles=((0, 2), (1,), (2,)))
    kept = PalMemory(belief.lower[:, :2], belief.upper[:, :2], np.array([OPEN, PARETO]))
    np.testing.assert_allclose(scores_of(replace(belief, memory=kept)), [[0.2, 0.4, 0.0], [0.0, 0.2, 0.0]])


def test_discarded_designs_and_those_that_cannot_be_asked_again_score_nothing(make_belief):
    belief = make_belief(np.arange(8.0).reshape(4, 2), np.ones((4, 2)))
    known, asked = np.array([[True, True], [True, True], [True, False], [False, False]]), np.array([[0], [1], [0], [0]])
    belief = replace(belief, known=known, price_list=replace(belief.price_list, open=asked == 1))
    kept = PalMemory(belief.lower, belief.upper, np.array([OPEN, OPEN, PARETO, DISCARDED]))
    assert (scores_of(replace(belief, memory=kept))[:, 0] > 0).tolist() == [False, True, True, False]


def test_nothing_scores_once_every_design_is_classified(make_belief):
    belief = make_belief([[0.0, 2.0], [2.0, 0.0]], np.full((2, 2), 0.5))
    kept = pal_step(None, belief)
    assert kept.status.tolist() == [PARETO, PARETO]
    assert not scores_of(replace(belief, memory=kept)).any()
    still_open = PalMemory(kept.lower, kept.upper, np.array([PARETO, OPEN]))
    assert scores_of(replace(belief, memory=still_open)).all()


def test_a_belief_without_regions_is_refused(make_belief):
    with pytest.raises(InvalidTypeError, match="pal_step"):
        scores_of(make_belief([[0.0]], [[1.0]]))


@pytest.mark.parametrize("step", STEPS)
def test_a_single_candidate_is_pareto(make_belief, step):
    belief = make_belief([[3.0, 1.0]], [[1.0, 1.0]])
    kept = step(None, belief)
    assert kept.status.tolist() == [PARETO]
    assert scores_of(replace(belief, memory=kept)).tolist() == [[0.0]]


def test_objectives_without_any_range_are_measured_by_the_widest_region():
    lower = np.array([[-1.0, 5.0], [-2.0, 5.0]])
    np.testing.assert_allclose(diagonals(lower, np.array([[1.0, 5.0], [2.0, 5.0]])), [0.5, 1.0])


@settings(max_examples=60, deadline=None)
@given(
    data=arrays(np.int64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.integers(0, 4)),
    seed=st.integers(0, 99),
    powers=st.lists(st.integers(-20, 20), min_size=3, max_size=3),
)
def test_scales_and_shifts_of_the_objectives_change_nothing(data, seed, powers):
    k = data.shape[1]
    rng = np.random.default_rng(seed)
    lower, upper = data.astype(float), data + rng.integers(0, 3, data.shape)
    scale, epsilon = 2.0 ** np.array(powers[:k]), rng.integers(0, 2, k) / 2.0
    assert classify(lower * scale + scale, upper * scale + scale).tolist() == classify(lower, upper).tolist()
    expected = covered(lower, upper, epsilon)
    assert covered(lower * scale + scale, upper * scale + scale, epsilon * scale).tolist() == expected.tolist()
    np.testing.assert_allclose(diagonals(lower * scale, upper * scale), diagonals(lower, upper), rtol=1e-9)


@settings(max_examples=200, deadline=None)
@given(
    data=arrays(np.int64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.integers(0, 4)),
    seed=st.integers(0, 99),
)
def test_domination_by_another_leaves_out_the_design_itself_only(data, seed):
    corners = data.astype(float)
    Y = corners + np.random.default_rng(seed).integers(-1, 3, data.shape)
    expected = [
        any((c <= y).all() and (c < y).any() for at, c in enumerate(corners) if at != i) for i, y in enumerate(Y)
    ]
    assert dominated_by_another(Y, corners).tolist() == expected


@pytest.mark.parametrize("k", [1, 2, 3])
def test_many_copies_of_one_box_need_little_memory(k):
    m = 50_000
    lower, upper = np.tile(np.arange(k) + 0.0, (m, 1)), np.tile(np.arange(k) + 1.0, (m, 1))
    assert (classify(lower, upper) == OPEN).all()
    assert (classify(lower, lower) == PARETO).all()
    assert np.bincount(covered(lower, lower, np.ones(k)), minlength=3).tolist() == [0, 1, m - 1]
