import numpy as np
import pytest

from flexibo.errors import InvalidValueError
from flexibo.pareto import pareto_region, pinned_gains

# The paper's figure on pruning, designs B to G, with numbers that fit its text. The paper maximises, so these are
# (pessimistic, optimistic) values of f1 and f2 where more is better, and the origin is the reference point.
FIGURE = {
    "B": [(3, 6), (5, 9)],
    "C": [(6, 4), (9, 7)],
    "D": [(1, 8), (2, 10)],
    "E": [(9, 1), (10, 2)],
    "F": [(2, 5), (4, 8)],
    "G": [(5, 2), (8, 6)],
}
ORIGIN = np.zeros(2)


@pytest.fixture
def figure():
    values = np.array(list(FIGURE.values()), dtype=float)
    return -values[:, 1], -values[:, 0]


def names(mask):
    return "".join(name for name, chosen in zip(FIGURE, mask, strict=True) if chosen)


def test_in_the_papers_figure_f_and_g_stay_alive_but_are_on_neither_front(figure):
    region = pareto_region(*figure, ORIGIN)
    assert names(region.alive) == "BCDEFG"
    # B's optimistic (5, 9) dominates F's (4, 8), C's (9, 7) dominates G's (8, 6).
    assert names(region.optimistic) == "BCDE"
    # B's pessimistic (3, 6) dominates F's (2, 5), C's (6, 4) dominates G's (5, 2).
    assert names(region.pessimistic) == "BCDE"


def test_in_the_papers_figure_the_region_has_the_area_between_two_staircases(figure):
    region = pareto_region(*figure, ORIGIN)
    # F_opt, along f1: D 2 wide and 10 high, B 3 x 9, C 4 x 7, E 1 x 2: 20 + 27 + 28 + 2 = 77
    assert region.optimistic_volume == pytest.approx(77.0)
    # F_pess, along f1: D 1 x 8, B 2 x 6, C 3 x 4, E 3 x 1: 8 + 12 + 12 + 3 = 35
    assert region.volume == pytest.approx(77.0 - 35.0)


def test_in_the_papers_figure_every_gain_is_the_area_worked_out_by_hand(figure):
    lower, upper = figure
    keys = np.arange(12).reshape(6, 2)
    gains = pinned_gains(lower, (lower + upper) / 2, upper, ORIGIN, keys, [(0,), (1,)])
    expected = {
        # f1 := 4.   F_pess grows by 1 x 2 (to C's 4). F_opt loses 1 x 2 (to C's 7); F reaches no further than 4.
        # f2 := 7.5. F_pess grows by 2 x 1.5 (from D's 1). F_opt loses 3 x 1.5 (from D's 2), but F, hidden so far, comes
        #            up and keeps 2 x 0.5.
        "B": [2.0 + 2.0, 3.0 + 4.5 - 1.0],
        # f1 := 7.5. F_pess grows by 1.5 x 3. F_opt loses 1.5 x 5, but G comes up and keeps 0.5 x 4.
        # f2 := 5.5. F_pess grows by 3 x 1.5. F_opt loses 4 x 1.5, but G keeps 3 x 0.5.
        "C": [4.5 + 7.5 - 2.0, 4.5 + 6.0 - 1.5],
        # f1 := 1.5: 0.5 x 2 and 0.5 x 1. f2 := 9: 1 x 1 and 2 x 1.
        "D": [1.0 + 0.5, 1.0 + 2.0],
        # f1 := 9.5: 0.5 x 1 and 0.5 x 2. f2 := 1.5: 3 x 0.5 and 1 x 0.5.
        "E": [0.5 + 1.0, 1.5 + 0.5],
        # F and G overlap with B and C, so they may be measured: F's (2, 6.5) rises over B's 6 by 1 x 0.5, while (3, 5)
        # stays dominated; G's (6.5, 2) reaches past C's 6 by 0.5 x 1, while (5, 4) stays dominated.
        "F": [0.0, 0.5],
        "G": [0.5, 0.0],
    }
    np.testing.assert_allclose(gains, list(expected.values()), rtol=0, atol=1e-12)
    assert gains[4, 0] == 0.0
    assert gains[5, 1] == 0.0


def test_who_is_worse_at_best_than_another_at_worst_is_not_alive():
    lower = np.array([[0.0, 0.0], [2.0, 2.0], [1.0, 0.5], [0.9, 5.0]])
    region = pareto_region(lower, lower + 1.0, np.array([9.0, 9.0]))
    assert region.alive.tolist() == [True, False, True, True]


def test_a_best_corner_that_equals_anothers_worst_corner_stays_alive():
    region = pareto_region(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([3.0, 3.0]))
    assert region.alive.tolist() == [True, True]


def test_measured_designs_leave_no_region_between_the_fronts():
    Y = np.array([[0.0, 2.0, 1.0], [2.0, 0.0, 1.0], [2.0, 2.0, 2.0], [0.0, 2.0, 1.0]])
    region = pareto_region(Y, Y, np.array([3.0, 3.0, 3.0]))
    assert region.volume == 0.0
    assert region.optimistic_volume == pytest.approx(2.0 * 5.0)
    assert region.alive.tolist() == [True, True, False, True]


def test_a_single_candidate_is_its_own_region():
    region = pareto_region(np.array([[0.0, 0.0]]), np.array([[1.0, 2.0]]), np.array([3.0, 3.0]))
    assert (region.alive.tolist(), region.optimistic.tolist(), region.pessimistic.tolist()) == ([True], [True], [True])
    assert region.volume == pytest.approx(9.0 - 2.0 * 1.0)


def test_corners_not_better_than_the_reference_have_no_volume_but_keep_their_place():
    lower = np.array([[4.0, 0.0], [0.0, 4.0]])
    region = pareto_region(lower, lower + 1.0, np.array([3.0, 3.0]))
    assert (region.volume, region.optimistic_volume) == (0.0, 0.0)
    assert region.optimistic.tolist() == [True, True]


def test_no_candidates_have_no_region():
    region = pareto_region(np.zeros((0, 2)), np.zeros((0, 2)), np.ones(2))
    assert (len(region.alive), region.volume, region.optimistic_volume) == (0, 0.0, 0.0)


def test_a_volume_is_never_below_zero_through_rounding():
    # Boxes one rounding step wide: now and then the two hypervolumes differ the wrong way round by as much.
    rng = np.random.default_rng(0)
    for _ in range(500):
        upper = rng.random((4, 3))
        lower = np.nextafter(upper, upper - (rng.random((4, 1)) < 0.3))
        assert pareto_region(lower, upper, np.full(3, 1.1)).volume >= 0.0


@pytest.mark.parametrize(
    ("lower", "upper", "reference", "facts"),
    [
        (np.zeros((3, 2)), np.zeros((2, 2)), np.ones(2), r"shapes \(3, 2\) and \(2, 2\)"),
        (np.zeros(2), np.zeros(2), np.ones(2), r"shapes \(2,\)"),
        (np.zeros((3, 2)), np.ones((3, 2)), np.ones(3), r"shape \(3,\).*2 objectives"),
        (np.ones((3, 2)), np.zeros((3, 2)), np.ones(2), "lower corner"),
        (np.full((1, 2), np.nan), np.zeros((1, 2)), np.ones(2), "NaN"),
    ],
)
def test_boxes_that_do_not_fit_together_are_refused(lower, upper, reference, facts):
    with pytest.raises(InvalidValueError, match=facts):
        pareto_region(lower, upper, reference)
