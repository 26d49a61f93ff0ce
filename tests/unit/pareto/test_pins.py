import numpy as np
from tests.unit.pareto.open_boxes import boxes_of, pins_of

from flexibo.pareto._pins import NOTHING, blocks, distinct_rows, joint_pins, quantity_pins, ranges, stacked_pins


def test_distinct_rows_are_found_among_ties_in_the_first_column():
    rows = np.array([[1.0, 2.0], [1.0, 1.0], [0.0, 5.0], [1.0, 2.0], [1.0, 1.0]])
    first, inverse = distinct_rows(rows[:, :1], rows[:, 1:])
    assert len(first) == 3
    np.testing.assert_array_equal(rows[first][inverse], rows)


def test_rows_that_are_all_distinct_keep_their_order():
    first, inverse = distinct_rows(np.array([[1.0, 2.0], [1.0, 1.0], [0.0, 5.0]]))
    assert first.tolist() == inverse.tolist() == [0, 1, 2]


def fixed(pins):
    """The pins of each question as (box, quantities)."""
    table = zip(pins.question.tolist(), pins.box.tolist(), pins.fixed, strict=True)
    return [(question, box, np.flatnonzero(row).tolist()) for question, box, row in table]


def test_each_key_with_an_undecided_box_is_one_question():
    keys = np.array([[7], [3], [7], [5]])
    box, undecided = np.array([0, 1, 2, 3]), np.array([[True], [True], [True], [False]])
    pins = quantity_pins(0, keys, np.ones(4, dtype=bool), box, undecided)
    assert fixed(pins) == [(0, 1, [0]), (1, 0, [0]), (1, 2, [0])]
    assert pins.of_candidate.tolist() == [1, 0, 1, NOTHING]
    assert pins.size == 2


def test_candidates_with_the_same_box_and_key_pin_it_once():
    pins = quantity_pins(
        0, np.array([[7], [7], [8]]), np.ones(3, dtype=bool), np.zeros(3, dtype=int), np.ones((1, 1), dtype=bool)
    )
    assert fixed(pins) == [(0, 0, [0]), (1, 0, [0])]
    assert pins.of_candidate.tolist() == [0, 0, 1]


def test_a_dead_candidate_has_the_question_of_its_key_if_a_living_one_has_it():
    alive = np.array([True, False, False])
    pins = quantity_pins(0, np.array([[7], [7], [9]]), alive, np.array([0]), np.ones((1, 1), dtype=bool))
    assert pins.of_candidate.tolist() == [0, 0, NOTHING]
    nothing = quantity_pins(0, np.array([[7], [7], [9]]), alive, np.array([0]), np.zeros((1, 1), dtype=bool))
    assert nothing.of_candidate.tolist() == [NOTHING] * 3
    assert nothing.size == 0


def two_quantities():
    """Two boxes that share quantity 0 and differ in quantity 1, which is decided in the second."""
    keys = np.array([[7, 1], [7, 2]])
    alive, box, undecided = np.ones(2, dtype=bool), np.array([0, 1]), np.array([[True, True], [True, False]])
    return [quantity_pins(j, keys, alive, box, undecided) for j in range(2)]


def test_a_bundle_pins_each_box_in_all_the_quantities_that_one_of_its_questions_pins():
    [pins] = joint_pins(two_quantities())
    # The second candidate pins quantity 0 of both; the first pins quantity 1 of its own box too.
    assert sorted(pins.of_candidate.tolist()) == [0, 1]
    by_candidate = [[row[1:] for row in fixed(pins) if row[0] == question] for question in pins.of_candidate]
    assert by_candidate == [[(0, [0, 1]), (1, [0])], [(0, [0]), (1, [0])]]


def test_large_bundles_come_in_blocks_with_their_own_candidates(monkeypatch):
    [whole] = joint_pins(two_quantities())
    monkeypatch.setattr("flexibo.pareto._pins._MOST_PINS", 1)
    parts = list(joint_pins(two_quantities()))
    assert [part.size for part in parts] == [1, 1]
    assert [part.of_candidate.tolist().count(NOTHING) for part in parts] == [1, 1]
    assert [row[1:] for part in parts for row in fixed(part)] == [row[1:] for row in fixed(whole)]


def test_stacked_pins_number_their_questions_one_after_the_other():
    first, second = two_quantities()
    stacked = stacked_pins([first, second, first])
    assert stacked.question.tolist() == [0, 0, 1, 2, 2]
    assert stacked.box.tolist() == [0, 1, 0, 0, 1]


def test_a_pin_moves_both_corners_to_the_mean_or_to_infinity_where_it_breaks_a_limit():
    boxes = boxes_of([[(0, 1, 2), (0, 1, 3)], [(0, 1, 2), (0, 3, 4)]], optimised=[0], limits=[np.inf, 2.0])
    pins = pins_of(boxes, 1)
    assert boxes.moved_best(pins).tolist() == [[0.0], [np.inf]]
    assert boxes.moved_worst(pins).tolist() == [[2.0], [np.inf]]
    assert boxes.moved_best(pins_of(boxes, 0)).tolist() == [[1.0], [1.0]]
    # The worst corners break the limit of quantity 1, whatever quantity 0 is.
    assert boxes.moved_worst(pins_of(boxes, 0)).tolist() == [[np.inf], [np.inf]]


def test_blocks_hold_about_as_much_as_allowed_and_at_least_one_element():
    assert blocks(np.array([5, 5, 5]), 100) == [slice(0, 3)]
    assert blocks(np.array([50, 50]), 10) == [slice(0, 1), slice(1, 2)]
    assert blocks(np.zeros(0, dtype=int), 10) == []


def test_ranges_without_elements_are_skipped():
    assert ranges(np.array([4, 9, 2]), np.array([0, 2, 1])).tolist() == [9, 10, 2]
    assert ranges(np.zeros(0, dtype=int), np.zeros(0, dtype=int)).tolist() == []
