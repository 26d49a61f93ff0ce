from __future__ import annotations

import numpy as np
import pytest

from flexibo import Space
from flexibo.space import unseen
from flexibo.space.unseen import distances, fresh, is_new


def test_distances_are_squared_and_equal_where_they_are_equal() -> None:
    X = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [1.0, 1.0, 1.0]])
    away = distances(X, np.array([0.2, 0.2, 0.2]))
    assert away == pytest.approx([0.02, 0.02, 3 * 0.64])
    assert away[0] == away[1]


def test_fresh_designs_are_new_distinct_and_as_many_as_are_left() -> None:
    space = Space({"a": (1, 6)})
    seen = {*space.designs([{"a": 2}, {"a": 5}]).keys().tolist()}
    rng = np.random.default_rng(0)
    assert sorted(design["a"] for design in fresh(space, seen, 10, rng)) == [1, 3, 4, 6]
    assert len({*fresh(space, seen, 3, rng)}) == 3
    assert len(fresh(space, {*space.enumerate().keys().tolist()}, 3, rng)) == 0


def test_what_a_draw_does_not_meet_is_found_in_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    space = Space({"a": (1, 200), "b": (1, 200)}, valid=lambda design: design["a"] == design["b"] == 77)
    monkeypatch.setattr(unseen, "DRAWS", 1)
    assert [*fresh(space, set(), 1, np.random.default_rng(0))] == [{"a": 77, "b": 77}]


def test_a_design_is_new_while_its_key_is_not_among_those_seen() -> None:
    designs = Space({"a": (1, 3)}).enumerate()
    assert is_new(designs, {int(designs.keys()[1])}).tolist() == [True, False, True]
    assert is_new(designs[:0], set()).tolist() == []
