from __future__ import annotations

import numpy as np
import pytest

from flexibo import Design, Objective, Space
from flexibo.history import History
from flexibo.history.events import Added, Asked, Evaluation, Failed
from flexibo.methods.legal_designs import askable, keys_by_options, nearest_legal


def test_in_a_pool_the_nearest_member_takes_the_place_of_an_illegal_design() -> None:
    rng = np.random.default_rng(3)
    pool = Space.from_designs([{"a": int(a), "b": int(b)} for a, b in rng.integers(0, 30, (60, 2))])
    grid = Space(dict(pool.options)).sample(40, rng)
    stray = pool.decode(grid.encoded())
    near, kept = nearest_legal(pool, stray, rng)
    assert kept.tolist() == list(range(40))
    distances = ((stray.encoded()[:, None] - pool.enumerate().encoded()) ** 2).sum(axis=2).min(axis=1)
    assert ((near.encoded() - stray.encoded()) ** 2).sum(axis=1) == pytest.approx(distances)


def test_designs_that_a_rule_forbids_move_by_one_option_or_are_drawn_anew() -> None:
    def even(design: Design) -> bool:
        return (design["a"] + design["b"]) % 2 == 0

    space = Space({"a": (0, 50), "b": (0, 50), "kind": ["u", "v"]}, valid=even)
    stray = space.decode(np.random.default_rng(0).random((30, 4)))
    near, kept = nearest_legal(space, stray, np.random.default_rng(1))
    assert kept.tolist() == list(range(30))
    for here, there in zip(near, stray, strict=True):
        assert even(here)
        assert abs(here["a"] - there["a"]) + abs(here["b"] - there["b"]) == (not even(there))
        assert here["kind"] == there["kind"]
    alone = Space(dict.fromkeys("abc", (0, 9)), valid=lambda d: d["a"] == d["b"] == d["c"])
    stray = alone.decode(np.array([[0.0, 0.5, 1.0]]))
    drawn, kept = nearest_legal(alone, stray, np.random.default_rng(1))
    assert kept.tolist() == [0]
    assert drawn[0] in alone


def test_a_design_for_which_no_legal_one_is_found_is_left_out() -> None:
    space = Space({"a": (0.0, 1.0), "b": (0.0, 1.0)}, valid=lambda design: design["a"] == design["b"] == 0.5)
    given = space.from_codes(np.array([[0.5, 0.5], [0.1, 0.9]]))
    near, kept = nearest_legal(space, given, np.random.default_rng(0))
    assert kept.tolist() == [0]
    assert [*near] == [given[0]]


LINE = Space({"x": (1, 4), "y": (1, 4)})


def history_of(*objectives: Objective) -> History:
    return History(LINE, objectives)


def test_keys_are_made_for_each_set_of_options_that_something_depends_on() -> None:
    designs = LINE.designs([{"x": 1, "y": 1}, {"x": 1, "y": 2}])
    keys = keys_by_options(history_of(Objective("a", options=["x"]), Objective("b")), designs)
    assert {*keys} == {("x",), None}
    assert keys[("x",)][0] == keys[("x",)][1]
    assert keys[None][0] != keys[None][1]


def test_a_design_is_askable_while_something_of_it_is_unknown_and_not_under_way() -> None:
    history = history_of(Objective("a"), Objective("b"))
    known, half, waiting, failed = (LINE.design({"x": x, "y": 1}) for x in (1, 2, 3, 4))
    history.append(Added(known, {"a": 1.0, "b": 1.0}, {}))
    history.append(Added(half, {"a": 1.0}, {}))
    for design in (waiting, failed):
        history.append(Added(design, {"a": 1.0}, {}))
        number = len(history.asked)
        history.append(Asked(Evaluation(design, "b", None, 0.0, "", number, ("b",))))
    history.append(Failed(number, "too large", 1.0, impossible=True))
    assert askable(history, LINE.designs([known, half, waiting, failed])).tolist() == [False, True, False, False]


def test_a_loss_that_another_design_determines_is_not_asked_again() -> None:
    history = history_of(Objective("a", options=["x"]), Objective("b", options=["x"]))
    history.append(Added(LINE.design({"x": 1, "y": 1}), {"a": 1.0, "b": 1.0}, {}))
    assert askable(history, LINE.designs([{"x": 1, "y": 4}, {"x": 2, "y": 1}])).tolist() == [False, True]
