import numpy as np
import pytest
from tests.unit.pareto.open_boxes import boxes_of, pins_of

from flexibo.pareto import _solid
from flexibo.pareto._pins import joint_pins
from flexibo.pareto._plane import plane_gains
from flexibo.pareto._solid import solid_gains

FOUR = np.full(3, 4.0)


def gains(rows, bundle, reference=FOUR, keys=None, **goals):
    """The gain of each question about a bundle of quantities."""
    boxes = boxes_of(rows, **goals)
    parts = [pins_of(boxes, j, keys) for j in bundle]
    [pins] = parts if len(parts) == 1 else joint_pins(parts)
    [found] = solid_gains(boxes, reference, [pins])
    return found.tolist()


CUBE = [(0, 1, 2)] * 3


def test_one_box_loses_the_slabs_before_its_mean_and_behind_it():
    # F_opt is 4 x 4 x 4, F_pess 2 x 2 x 2. One objective at 1: 1 x 4 x 4 is lost, 1 x 2 x 2 is won.
    assert gains([CUBE], [0]) == gains([CUBE], [2]) == [16 + 4]
    # Two at 1: F_opt keeps 3 x 3 x 4, F_pess becomes 3 x 3 x 2. All three: no region is left.
    assert gains([CUBE], [0, 1]) == [(64 - 36) + (18 - 8)]
    assert gains([CUBE], [0, 1, 2]) == [64 - 8]


def test_a_corner_on_the_way_keeps_its_part():
    # The slab 1 x 4 x 4 of the first is lost but for the box from (0.5, 2, 2) to (1, 4, 4).
    hidden = [(0.5, 0.5, 9), (2, 2, 9), (2, 2, 9)]
    assert gains([CUBE, hidden], [0])[0] == pytest.approx(16 - 0.5 * 2 * 2 + 4)


def test_boxes_pinned_together_are_counted_once():
    first, second = [(0, 1, 4), (0, 0, 0), (2, 2, 2)], [(0, 1, 4), (2, 2, 2), (0, 0, 0)]
    # Each dominates 4 x 4 x 2, both together 4 x 12; F_pess is empty. Pinned at 1, F_opt loses 1 x 12, F_pess gets
    # 3 x 12.
    assert gains([first, second], [0], keys=[7, 7]) == [12 + 36]
    # Apart, each loses only what the other does not dominate, 1 x 4, and wins 3 x 8.
    assert gains([first, second], [0]) == [4 + 24] * 2


def test_a_constraint_that_its_mean_breaks_takes_the_best_corner_away():
    rows = [[(0, 1, 2), (0, 1, 2), (0, 1.5, 2)], [(1, 1, 9), (1, 1, 9), (0, 1.5, 2)]]
    goals = {"optimised": [0, 1], "limits": [np.inf, np.inf, 1.0]}
    # The first leaves 16, of which the second keeps 3 x 3.
    assert gains(rows, [2], reference=np.full(2, 4.0), **goals) == [16 - 9, 0]


def test_in_the_plane_it_agrees_with_the_gains_made_for_it():
    rng = np.random.default_rng(1)
    rows = np.sort(rng.integers(0, 9, size=(40, 2, 3)), axis=2)
    boxes, reference = boxes_of(rows), np.array([8.0, 7.0])
    pins = [pins_of(boxes, j) for j in range(2)]
    for flat, solid in zip(plane_gains(boxes, reference, pins), solid_gains(boxes, reference, pins), strict=True):
        assert solid == pytest.approx(flat, abs=1e-9)
        assert flat.max() > 0


@pytest.mark.parametrize(("name", "value"), [("_CROWD", 1), ("_MOST_PAIRS", 3)])
def test_how_many_corners_are_compared_at_a_time_changes_nothing(monkeypatch, name, value):
    rows = np.sort(np.random.default_rng(2).random((40, 3, 3)), axis=2)
    keys = (np.arange(40) % 5).tolist()
    for bundle in ([0], [0, 2]):
        expected = gains(rows, bundle, reference=np.ones(3), keys=keys)
        with monkeypatch.context() as patch:
            patch.setattr(_solid, name, value)
            assert gains(rows, bundle, reference=np.ones(3), keys=keys) == pytest.approx(expected, abs=1e-12)
        assert max(expected) > 0
