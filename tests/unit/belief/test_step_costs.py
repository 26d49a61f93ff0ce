"""Tests of what the steps of an evaluation cost."""

from __future__ import annotations

import numpy as np
import pytest

from flexibo import Objective, Space
from flexibo.belief.costs import Costs, mean_costs
from flexibo.belief.step_costs import learned_shares, may_look, paid_shares, paid_up_to, whole_costs
from flexibo.history import History
from flexibo.history.events import Added, Asked, Evaluation, Told
from flexibo.space import Design

STOPS = (1, 3, 9)
TRUE = np.array([0.5, 0.7, 1.0])  # half of a training is paid in its first step


def asked(design: Design, start: int, stop: int, number: int = 0) -> Evaluation:
    return Evaluation(design, "error", None, 1.0, "", number=number, yields=("error",), start=start, stop=stop)


def history_of(*pieces: tuple[float, int, int, float], resumable: bool = True) -> History:
    """A study in which the design x went from one step to another for a cost, piece by piece."""
    space = Space({"x": (0.0, 100.0)})
    history = History(space, [Objective("error", steps=list(STOPS), resumable=resumable), Objective("joules")])
    for number, (x, start, stop, cost) in enumerate(pieces):
        question = asked(space.design({"x": x}), start, stop, number)
        history.append(Asked(question))
        history.append(Told(number, {"error": 1.0 / stop}, cost))
    return history


def in_pieces(x: float, whole: float) -> list[tuple[float, int, int, float]]:
    before = np.concatenate([[0.0], TRUE[:-1]])
    starts = (0, *STOPS[:-1])
    return [(x, *span) for span in zip(starts, STOPS, (whole * (TRUE - before)).tolist(), strict=True)]


def test_steps_cost_the_same_until_a_design_was_measured_in_pieces() -> None:
    equal = [1 / 9, 3 / 9, 1.0]
    assert paid_shares(history_of(), 0) == pytest.approx(equal)
    assert paid_shares(history_of((1.0, 0, 9, 90.0), (2.0, 0, 1, 80.0)), 0) == pytest.approx(equal)


def test_shares_are_learned_from_designs_of_very_different_costs() -> None:
    few = paid_shares(history_of(*in_pieces(1.0, 10.0)), 0)
    many = paid_shares(history_of(*(piece for x in range(1, 40) for piece in in_pieces(x, 10.0 ** (x % 4)))), 0)
    assert few == pytest.approx((np.array([1 / 9, 3 / 9, 1.0]) + TRUE) / 2)  # the prior counts as one design
    assert many == pytest.approx(TRUE, abs=0.02)


def test_designs_that_went_part_of_the_way_tell_how_that_part_is_divided() -> None:
    pieces = [piece for x in range(1, 40) for piece in in_pieces(x, 9.0)[:2]]
    shares = paid_shares(history_of(*pieces), 0)
    assert shares[0] / shares[1] == pytest.approx(TRUE[0] / TRUE[1], abs=0.03)
    assert shares[-1] == pytest.approx(1.0)


def test_a_function_that_begins_anew_pays_its_first_steps_each_time() -> None:
    pieces = [(float(x), 0, stop, 10.0 * share) for x in range(1, 40) for stop, share in zip(STOPS, TRUE, strict=True)]
    found = paid_shares(history_of(*pieces, resumable=False), 0)
    assert (np.diff(found) > 0.0).all()
    assert found[0] > 0.35  # the truth is 0.5, and equal steps would be 0.11


def test_costs_of_pieces_count_as_if_each_had_gone_all_the_way() -> None:
    history = history_of(*(piece for x in range(1, 40) for piece in in_pieces(x, 10.0)))
    history.append(
        Added(history.space.design({"x": 50.0}), {"error": 0.5, "joules": 1.0}, {"error": 11.0, "joules": 3.0})
    )
    assert whole_costs(history, 0)[1] == pytest.approx([10.0] * 117 + [11.0], rel=0.15)
    assert whole_costs(history, 1)[1].tolist() == [3.0]
    assert mean_costs(history)[0] == pytest.approx(10.0, rel=0.1)


def test_what_is_missing_costs_what_its_steps_cost() -> None:
    history = history_of(*(piece for x in range(1, 40) for piece in in_pieces(x, 10.0)), (60.0, 0, 1, 5.0))
    prices = Costs("ratio", seed=0).prices(history, history.space.designs([{"x": 60.0}, {"x": 70.0}]))
    assert prices[0, 0] / prices[1, 0] == pytest.approx(0.5, abs=0.02)
    question = asked(history.space.design({"x": 60.0}), 1, 3)
    assert Costs("ratio", seed=0).prices_of(history, [question])[0] == pytest.approx(2.0, rel=0.1)


def test_a_step_between_two_stops_lies_on_the_line_between_them() -> None:
    assert paid_up_to(np.array([0, 2, 9]), STOPS, TRUE) == pytest.approx([0.0, 0.6, 1.0])


def test_free_pieces_and_pieces_from_anywhere_teach_without_errors() -> None:
    keys = np.array([1, 1, 2, 2, 3], dtype=np.uint64)
    spans = np.array([[0, 2], [2, 9], [4, 5], [5, 9], [0, 9]])
    with np.errstate(all="raise"):
        free = learned_shares(np.array(STOPS), keys, spans, np.zeros(5))
        some = learned_shares(np.array(STOPS), keys, spans, np.array([5.0, 1.0, 3.0, 0.0, 7.0]))
    assert free == pytest.approx([1 / 9, 3 / 9, 1.0])
    assert (np.diff(some, prepend=0.0) > 0.0).all()


def test_looks_may_cost_the_more_the_more_they_are_believed_until_a_training_is_completed() -> None:
    whole, look = (1.0, 0, 9, 90.0), (0, 3, 30.0)  # a look costs a third of a training, the first stop a ninth
    assert may_look(history_of(), 0, odds=0.1)
    for looks, odds in ((0, 1.2), (1, 4.5), (2, 7.8)):  # a tenth of the odds: 0.12, 0.45 and 0.78
        history = history_of(whole, *((2.0 + k, *look) for k in range(looks)))
        assert may_look(history, 0, odds)
        assert not may_look(history, 0, odds - 0.2)
    assert may_look(history, 0, odds=float("inf"))
    assert may_look(history, 1, odds=0.0)  # it has no steps
    assert may_look(history_of(whole, (2.0, *look), (2.0, 3, 9, 60.0)), 0, odds=1.2)


def test_looks_that_are_being_taken_count() -> None:
    history = history_of((1.0, 0, 9, 90.0))
    assert may_look(history, 0, odds=4.4)
    history.append(Asked(asked(history.space.design({"x": 3.0}), 0, 3, 1)))
    assert not may_look(history, 0, odds=4.4)
    assert may_look(history, 0, odds=4.5)
