"""Spaces that replace those of a study."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flexibo.belief.candidates import filling_designs
from flexibo.errors import InvalidValueError
from flexibo.space import Categorical, Integer, Ordinal, Real, Space
from flexibo.space.changes import changed_space, present_space

OLD = Space({"lr": Real(1e-4, 1, log=True), "n": (1, 8), "opt": ["sgd", "adam"], "width": [16, 32, 64]})
NEW = Space(
    {
        "lr": Real(1e-3, 0.1, log=True),
        "n": (2, 12),
        "opt": ["adam", "rms"],
        "width": [16, 48, 64],
        "drop": (0.0, 0.5),
    }
)
EARLIER = {"lr": 1e-4, "n": 1, "opt": "sgd", "width": 32}


@pytest.fixture(name="space")
def changed() -> Space:
    return changed_space(OLD, NEW, {"drop": 0.0})


def test_what_was_legal_before_is_known_and_what_is_new_is_legal(space: Space) -> None:
    assert dict(space.known_design(EARLIER)) == {**EARLIER, "drop": 0.0}
    assert {**EARLIER, "drop": 0.0} not in space
    assert space.legal(space.known_designs([EARLIER])).tolist() == [False]
    assert {"lr": 0.01, "n": 12, "opt": "rms", "width": 48, "drop": 0.5} in space
    assert present_space(space) == NEW
    assert present_space(OLD) is OLD


def test_only_legal_designs_are_drawn_stepped_to_decoded_and_filled(space: Space) -> None:
    rng = np.random.default_rng(0)
    drawn = space.sample(500, rng)
    X = drawn.encoded()
    assert X.min() >= 0
    assert X.max() <= 1
    assert {design["opt"] for design in drawn} == {"adam", "rms"}
    for designs in (
        drawn,
        space.neighbours(drawn[0], rng),
        space.steps_away(drawn, 300, rng),
        space.decode(rng.random((300, X.shape[1]))),
        space.designs(filling_designs(space, 64, 0)),
    ):
        assert len(designs)
        assert space.legal(designs).all()
    assert np.ptp([np.log10(design["lr"]) for design in drawn]) > 1.9, "the whole range is drawn from"


def test_a_space_and_its_codes_come_back_from_json(space: Space) -> None:
    again = Space.from_dict(space.to_dict())
    assert again == space
    assert (again.known_designs([EARLIER]).codes == space.known_designs([EARLIER]).codes).all()
    assert "defaults" not in OLD.to_dict()
    assert "known" not in OLD.to_dict()["options"][0]


def test_a_space_that_was_narrowed_can_be_widened_again(space: Space) -> None:
    wide = changed_space(space, Space({**NEW.options, **OLD.options}))
    assert {**EARLIER, "drop": 0.0} in wide
    assert wide.known_design({"lr": 0.01, "n": 12, "opt": "rms", "width": 48, "drop": 0.2})["opt"] == "rms"


def test_sizes_and_lists_are_those_of_the_legal_designs() -> None:
    space = changed_space(Space({"a": [1, 2, 3], "n": (1, 4)}), Space({"a": [1, 3, 5], "n": (3, 4)}))
    assert space.size == 6 == len(space.enumerate())
    assert {design["a"] for design in space.enumerate()} == {1, 3, 5}
    assert len(space.sample(10, np.random.default_rng(0))) == 6


def test_conditions_keep_what_earlier_designs_were() -> None:
    old = Space({"o": ["a", "b"], "m": (1, 3)}, conditions={"m": {"o": ["a"]}})
    new = changed_space(old, Space({"o": ["b", "c"], "m": (1, 3)}, conditions={"m": {"o": ["c"]}}))
    assert dict(new.known_design({"o": "a", "m": 2})) == {"o": "a", "m": 2}
    assert new.known_design({"o": "b"})["m"] is None
    assert new.size == 4 == len(new.enumerate())
    added = changed_space(
        old, Space({**old.options, "p": (0.0, 1.0)}, conditions={**old.conditions, "p": {"o": ["b"]}}), {"p": 0.5}
    )
    assert added.known_design({"o": "a", "m": 1})["p"] is None
    assert added.known_design({"o": "b"})["p"] == 0.5


def test_a_default_may_be_a_value_that_is_not_legal() -> None:
    old = Space({"x": (0.0, 1.0)})
    new = changed_space(
        old, Space({"x": (0.0, 1.0), "k": ["p"], "n": (2, 4), "w": Ordinal(["s", "m"])}), {"k": "q", "n": 1, "w": "l"}
    )
    assert dict(new.known_design({"x": 0.5})) == {"x": 0.5, "k": "q", "n": 1, "w": "l"}
    assert present_space(new).options["k"] == Categorical(["p"])


def test_a_table_of_designs_can_grow_and_shrink() -> None:
    rows = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    old = Space.from_designs(rows)
    new = changed_space(old, Space.from_designs([rows[1], {"a": 3, "b": "x"}]))
    assert new.size == 2
    assert rows[0] not in new
    assert rows[1] in new
    assert dict(new.known_design(rows[0])) == rows[0]
    assert Space.from_dict(new.to_dict()) == new


def test_a_rule_is_not_asked_about_values_that_are_not_legal() -> None:
    old = Space({"n": (0, 8)})
    new = changed_space(old, Space({"n": (1, 8)}, valid=lambda design: 8 % design["n"] == 0))
    assert new.legal(new.known_designs([{"n": 0}, {"n": 3}, {"n": 4}])).tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("options", "defaults", "named"),
    [
        ({"x": (0.0, 1.0)}, {}, "k"),
        ({"x": [1, 2], "k": ["p", "q"]}, {}, "x"),
        ({"x": (0, 1), "k": ["p", "q"]}, {}, "x"),
        ({"x": Real(0.1, 1, log=True), "k": ["p", "q"]}, {}, "log"),
        ({"x": (0.0, 1.0), "k": ["p", "q"], "new": [1, 2]}, {}, "new"),
        ({"x": (0.0, 1.0), "k": ["p", "q"], "new": [1, 2]}, {"new": "three"}, "three"),
        ({"x": (0.0, 1.0), "k": ["p", "q"], "new": (1, 2)}, {"new": 0.5}, "0.5"),
        ({"x": (0.0, 1.0), "k": ["p", "q"]}, {"k": "p"}, "k"),
        ({"x": (0.0, 1.0), "k": ["p", "q"]}, {"z": 1}, "z"),
    ],
)
def test_what_would_change_the_meaning_of_designs_is_refused(
    options: dict[str, Any], defaults: dict[str, Any], named: str
) -> None:
    old = Space({"x": (0.0, 1.0), "k": ["p", "q"]})
    with pytest.raises(InvalidValueError, match=named):
        changed_space(old, Space(options), defaults)


def test_another_order_of_values_and_another_condition_are_refused() -> None:
    old = Space({"s": Ordinal(["low", "mid", "high"]), "m": (1, 3)}, conditions={"m": {"s": ["low"]}})
    with pytest.raises(InvalidValueError, match="order"):
        changed_space(old, Space({"s": Ordinal(["high", "mid", "low"]), "m": (1, 3)}, conditions=old.conditions))
    for conditions in ({}, {"m": {"s": ["low", "mid"]}}, {"m": {"s": ["mid"]}}):
        with pytest.raises(InvalidValueError, match="'m'"):
            changed_space(old, Space(old.options, conditions=conditions))


@pytest.mark.parametrize("make", [lambda: Integer(1, 4, known=(2, 9)), lambda: Categorical(["a"], known=["b"])])
def test_known_values_include_the_legal_ones(make: Any) -> None:
    with pytest.raises(InvalidValueError, match="known"):
        make()


@pytest.mark.parametrize(
    ("before", "after", "log"),
    [
        ((0.0, 0.1), (1e-5, 0.1), False),
        ((1e-2, 0.1), (1e-5, 0.1), False),
        ((1e-5, 0.1), (1e-3, 0.1), True),
        ((1e-5, 0.1), (0.0, 0.1), False),
        ((1e-2, 0.1), Real(1e-5, 0.1, log=True), True),
        ((1e-5, 0.1), Real(1e-5, 0.1, log=False), False),
        (Integer(1, 1000, log=True), (1, 500), True),
    ],
)
def test_a_range_stays_on_its_scale_unless_another_is_given(before: object, after: object, log: bool) -> None:
    option = changed_space(Space({"x": before}), Space({"x": after})).options["x"]
    assert isinstance(option, Integer | Real)
    assert option.log is log


def test_a_new_wide_range_has_a_linear_scale_if_earlier_designs_have_zero() -> None:
    old, new = Space({"x": (0.0, 1.0)}), Space({"x": (0.0, 1.0), "decay": (1e-5, 0.1)})
    for default, log in ((0.0, False), (0.5, True), (1e-3, True)):
        option = changed_space(old, new, {"decay": default}).options["decay"]
        assert isinstance(option, Real)
        assert option.log is log
