"""Space: checking designs, conditions, rules, counting, neighbours and storage."""

from __future__ import annotations

import json
import math
import pickle
import re

import numpy as np
import pytest

from flexibo.errors import InvalidTypeError, InvalidValueError, UnknownNameError
from flexibo.space import Design, Integer, Real, Space


@pytest.fixture
def space() -> Space:
    return Space(
        {"filters": [16, 32], "kernel": ["1x1", "3x3"], "cores": (1, 6), "ghz": (0.5, 2.0), "gpu": [False, True]}
    )


@pytest.fixture
def training() -> Space:
    """A chain of conditions: nesterov needs momentum's parent twice over."""
    return Space(
        {
            "nesterov": [False, True],
            "optimiser": ["sgd", "adam", "rms"],
            "schedule": ["flat", "step"],
            "momentum": [0.5, 0.9, 0.99],
            "drop": (2, 4),
        },
        conditions={
            "momentum": {"optimiser": ["sgd", "rms"]},
            "nesterov": {"momentum": [0.9, 0.99]},
            "drop": {"schedule": ["step"], "optimiser": ["sgd"]},
        },
    )


GOOD = {"filters": 16, "kernel": "3x3", "cores": 4, "ghz": 1.0, "gpu": True}


def test_a_design_has_one_value_per_option(space: Space) -> None:
    assert space.design(GOOD) == Design(GOOD)


def test_values_are_made_plain(space: Space) -> None:
    given = {"filters": np.int64(16), "kernel": np.str_("3x3"), "cores": 4.0, "ghz": 1, "gpu": np.bool_(True)}
    design = space.design(given)
    assert [type(value) for value in design.values()] == [int, str, int, float, bool]


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        ({"cores": 9}, ("'cores' is 9", "1", "6")),
        ({"cores": 2.5}, ("'cores' is 2.5", "whole", "1", "6")),
        ({"cores": "4"}, ("'cores' is '4'", "whole", "1", "6")),
        ({"cores": True}, ("'cores' is True", "whole", "1", "6")),
        ({"cores": None}, ("'cores' is None", "whole", "1", "6")),
        ({"ghz": 3.0}, ("'ghz' is 3.0", "0.5", "2.0")),
        ({"ghz": math.nan}, ("'ghz' is nan", "0.5", "2.0")),
        ({"ghz": "fast"}, ("'ghz' is 'fast'", "0.5", "2.0")),
        ({"filters": 20}, ("'filters' is 20", "16, 32")),
        ({"kernel": ["3x3"]}, ("'kernel' is ['3x3']", "'1x1', '3x3'")),
        ({"kernal": "3x3"}, ("'kernal'", "'kernel'")),
    ],
)
def test_a_wrong_value_is_refused(space: Space, change: dict[str, object], facts: tuple[str, ...]) -> None:
    with pytest.raises(InvalidValueError, match=".*".join(map(re.escape, facts))):
        space.design(GOOD | change)
    assert GOOD | change not in space


def test_a_boolean_is_no_number() -> None:
    with pytest.raises(InvalidValueError, match=r"'x' is True.*1, 2"):
        Space({"x": [1, 2]}).design({"x": True})


def test_a_missing_option_is_refused(space: Space) -> None:
    values = {name: value for name, value in GOOD.items() if name != "cores"}
    with pytest.raises(InvalidValueError, match=r"'cores' is missing.*1.*6"):
        space.design(values)


def test_many_values_are_not_all_listed() -> None:
    with pytest.raises(InvalidValueError, match=re.escape("one of 0, 1, 2, 3, 4, 5, 6, 7, ... (99 values).")):
        Space({"x": list(range(99))}).design({"x": 100})


def test_a_design_must_be_a_mapping(space: Space) -> None:
    with pytest.raises(InvalidTypeError, match=r"3.*mapping"):
        space.design(3)  # type: ignore[arg-type]
    assert 3 not in space


def test_many_rows_become_designs_and_errors_say_which_row(space: Space) -> None:
    assert list(space.designs([GOOD, GOOD | {"cores": 1}])) == [GOOD, GOOD | {"cores": 1}]
    with pytest.raises(InvalidValueError, match=r"Row 1:.*'cores' is 0"):
        space.designs([GOOD, GOOD | {"cores": 0}])


def test_designs_are_taken_over_from_the_same_space_and_from_another(space: Space) -> None:
    drawn = space.sample(50, np.random.default_rng(0))
    other: Space = pickle.loads(pickle.dumps(space))
    for rows in (drawn, list(drawn), [dict(row) for row in drawn], [drawn[0], *map(dict, drawn[1:])]):
        np.testing.assert_array_equal(space.designs(rows).codes, drawn.codes)
        np.testing.assert_array_equal(other.designs(rows).codes, drawn.codes)


def test_no_rows_are_no_designs(space: Space) -> None:
    assert len(space.designs([])) == 0


def test_one_mapping_is_no_list_of_rows(space: Space) -> None:
    with pytest.raises(InvalidTypeError, match=r"design\(\)"):
        space.designs(GOOD)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "error", "facts"),
    [
        ({}, InvalidValueError, ("no options",)),
        ([1], InvalidTypeError, ("[1]", "mapping")),
        ({1: [1, 2]}, InvalidTypeError, ("named 1",)),
        ({"": [1, 2]}, InvalidTypeError, ("named ''",)),
    ],
)
def test_a_space_that_cannot_be_used_is_refused(
    options: object, error: type[Exception], facts: tuple[str, ...]
) -> None:
    with pytest.raises(error, match=".*".join(map(re.escape, facts))):
        Space(options)  # type: ignore[arg-type]


def test_a_rule_must_be_a_function() -> None:
    with pytest.raises(InvalidTypeError, match="rule is 3"):
        Space({"a": [1]}, valid=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("conditions", "facts"),
    [
        ({"momentun": {"optimiser": "sgd"}}, ("'momentun'", "'momentum'")),
        ({"momentum": {"optimizer": "sgd"}}, ("'optimizer'", "'optimiser'")),
        (
            {"momentum": {"optimiser": ["sdg"]}},
            ("'momentum'", "'sdg'", "'optimiser'", "'sgd', 'adam'"),
        ),
        ({"momentum": {"optimiser": []}}, ("'momentum'", "no values", "'optimiser'")),
        ({"momentum": {"rate": [0.5]}}, ("'momentum'", "'rate'", "Real")),
        ({"momentum": {"momentum": 1}}, ("cycle", "momentum -> momentum")),
        ({"momentum": {"optimiser": "sgd"}, "optimiser": {"momentum": 1}}, ("cycle",)),
    ],
)
def test_conditions_that_make_no_sense_are_refused(
    conditions: dict[str, dict[str, object]], facts: tuple[str, ...]
) -> None:
    options = {"momentum": [1, 2], "optimiser": ["sgd", "adam"], "rate": (0.0, 1.0)}
    with pytest.raises(InvalidValueError, match=".*".join(map(re.escape, facts))):
        Space(options, conditions=conditions)


@pytest.mark.parametrize("conditions", [["a"], {"a": "b"}, {"a": {}}])
def test_conditions_must_be_mappings(conditions: object) -> None:
    with pytest.raises(InvalidTypeError, match="give a mapping"):
        Space({"a": [1, 2], "b": [1, 2]}, conditions=conditions)  # type: ignore[arg-type]


def test_equal_conditions_compare_equal_however_they_are_written() -> None:
    options = {"a": ["x", "y", "z"], "b": [1, 2]}
    first = Space(options, conditions={"b": {"a": ["y", "x"]}})
    assert first == Space(options, conditions={"b": {"a": ("x", "y", "x")}})
    assert first != Space(options, conditions={"b": {"a": "x"}})
    assert first.conditions == {"b": {"a": ("x", "y")}}


def test_inactive_options_are_none_and_may_be_left_out(training: Space) -> None:
    design = training.design({"optimiser": "adam", "schedule": "flat"})
    assert dict(design) == {
        "nesterov": None,
        "optimiser": "adam",
        "schedule": "flat",
        "momentum": None,
        "drop": None,
    }
    assert training.design(dict(design)) == design


def test_an_inactive_option_must_not_have_a_value(training: Space) -> None:
    with pytest.raises(InvalidValueError, match=r"'momentum' is 0\.9.*inactive"):
        training.design({"optimiser": "adam", "schedule": "flat", "momentum": 0.9})


def test_a_chain_of_conditions_holds_link_by_link(training: Space) -> None:
    values = {"optimiser": "rms", "schedule": "step"}
    assert training.design(values | {"momentum": 0.5})["nesterov"] is None
    assert training.design(values | {"momentum": 0.9, "nesterov": True})["nesterov"] is True
    with pytest.raises(InvalidValueError, match="'nesterov' is missing"):
        training.design(values | {"momentum": 0.9})


def test_all_parents_must_agree(training: Space) -> None:
    assert training.design({"optimiser": "sgd", "schedule": "step", "momentum": 0.5, "drop": 3})["drop"] == 3
    assert {"optimiser": "rms", "schedule": "step", "momentum": 0.5, "drop": 3} not in training


def test_designs_under_conditions_are_counted_exactly(training: Space) -> None:
    # sgd: (1 + 2 + 2) momenta with nesterov, times flat or three drops; rms: the same five times two; adam: two.
    assert training.size == 5 * 4 + 5 * 2 + 2
    assert len(training.enumerate()) == training.size
    assert len(set(training.enumerate())) == training.size


def test_large_spaces_under_conditions_are_counted_without_listing_them() -> None:
    options: dict[str, object] = {f"x{i}": (1, 1000) for i in range(10)} | {"p": ["on", "off"]}
    space = Space(options, conditions={"x0": {"p": "on"}, "x1": {"x0": [1, 2]}, "x2": {"x3": list(range(1, 6))}})
    first = 1 + (2 * 1000 + 998)  # p, x0, x1
    second = 5 * 1000 + 995  # x3, x2
    assert space.size == first * second * 1000**6


def test_an_option_that_is_never_active_neither_counts_nor_hinders() -> None:
    space = Space(
        {"p": ["on", "off"], "q": [1, 2], "x": (1, 10**9)},
        conditions={"q": {"p": "on"}, "x": {"q": [1], "p": "off"}},
    )
    assert space.size == 3
    assert [tuple(design.values()) for design in space.enumerate()] == [
        ("on", 1, None),
        ("on", 2, None),
        ("off", None, None),
    ]


def test_a_count_that_would_take_too_long_is_an_upper_bound() -> None:
    options: dict[str, object] = {f"p{i}": ["on", "off"] for i in range(20)} | {"x": (1, 3)}
    space = Space(options, conditions={"x": {f"p{i}": "on" for i in range(20)}})
    assert space.size == 2**20 * 3


def test_the_size_is_infinite_if_a_real_option_varies(space: Space) -> None:
    assert space.size == math.inf
    assert Space({"a": [1, 2], "b": (0.5, 0.5)}).size == 2


def test_sizes_beyond_64_bits_are_exact() -> None:
    assert Space({f"x{i}": (1, 10**12) for i in range(10)}).size == 10**120


def test_a_rule_makes_the_space_smaller() -> None:
    space = Space({"a": [1, 2, 3], "b": [1, 2, 3]}, valid=lambda design: design["a"] < design["b"])
    assert space.size == 3
    assert [dict(design) for design in space.enumerate()] == [{"a": 1, "b": 2}, {"a": 1, "b": 3}, {"a": 2, "b": 3}]
    assert {"a": 1, "b": 2} in space
    assert {"a": 2, "b": 2} not in space
    with pytest.raises(InvalidValueError, match=r"Design\(a=2, b=1\).*rule"):
        space.design({"a": 2, "b": 1})


def test_a_rule_is_ignored_in_the_size_of_a_space_too_large_to_list() -> None:
    space = Space({"a": (1, 2000), "b": (1, 2000)}, valid=lambda design: False)
    assert space.size == 4_000_000


def test_a_rule_that_fails_is_reported_with_the_design() -> None:
    space = Space({"a": [0, 1]}, valid=lambda design: 1 / design["a"] > 0)
    facts = r"rule.*Design\(a=0\).*ZeroDivisionError: division by zero"
    with pytest.raises(InvalidValueError, match=facts):
        space.enumerate()
    with pytest.raises(InvalidValueError, match=facts):
        assert {"a": 0} in space
    assert {"a": 1} in space


def test_enumeration_follows_the_order_of_the_values() -> None:
    space = Space({"a": [1, 2], "b": ["x", "y"], "c": (5, 6)})
    assert [tuple(design.values()) for design in space.enumerate()] == [
        (a, b, c) for a in (1, 2) for b in ("x", "y") for c in (5, 6)
    ]


def test_what_cannot_be_enumerated_is_refused(space: Space) -> None:
    with pytest.raises(InvalidValueError, match=r"'ghz'.*sample\(\)"):
        space.enumerate()
    with pytest.raises(InvalidValueError, match=r"4000000 designs.*1000000"):
        Space({"a": (1, 2000), "b": (1, 2000)}).enumerate()


def test_neighbours_change_categories_to_anything_and_ranks_by_one() -> None:
    space = Space({"k": ["a", "b", "c"], "f": [1, 2, 4, 8], "n": (1, 9)})
    around = space.neighbours(space.design({"k": "b", "f": 2, "n": 9}), np.random.default_rng(0))
    expected = [("a", 2, 9), ("c", 2, 9), ("b", 1, 9), ("b", 4, 9), ("b", 2, 8)]
    assert {tuple(design.values()) for design in around} == set(expected)
    assert len(around) == len(expected)


def test_neighbours_can_be_more_steps_away() -> None:
    space = Space({"f": [1, 2, 4, 8], "n": (1, 9)})
    around = space.neighbours(space.design({"f": 1, "n": 9}), np.random.default_rng(0), steps=2)
    assert {tuple(design.values()) for design in around} == {(2, 9), (4, 9), (1, 8), (1, 7)}


def test_intervals_are_perturbed_on_their_scale() -> None:
    space = Space({"x": Real(1e-6, 1.0, log=True), "n": Integer(1, 10**6, log=True)})
    design = space.design({"x": 1e-3, "n": 1000})
    around = space.neighbours(design, np.random.default_rng(0), draws=500)
    changes = around.encoded() - space.designs([design]).encoded()
    for column in changes.T:
        moved = column[np.abs(column) > 1e-3]
        assert 400 < len(moved) < 600
        assert 0.08 < moved.std() < 0.12


def test_neighbours_are_the_same_for_the_same_seed(space: Space) -> None:
    design = space.design(GOOD)
    first, second = (space.neighbours(design, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(first.codes, second.codes)


def test_a_changed_parent_switches_its_children(training: Space) -> None:
    adam = training.design({"optimiser": "adam", "schedule": "step"})
    around = list(training.neighbours(adam, np.random.default_rng(0)))
    assert {design["optimiser"] for design in around} == {"sgd", "rms", "adam"}
    sgd = next(design for design in around if design["optimiser"] == "sgd")
    assert sgd["momentum"] is not None
    assert sgd["drop"] in (2, 3, 4)
    assert adam not in around


def test_neighbours_obey_the_rule() -> None:
    space = Space({"a": [1, 2, 3], "b": [1, 2, 3]}, valid=lambda design: design["a"] <= design["b"])
    around = space.neighbours(space.design({"a": 2, "b": 2}), np.random.default_rng(0))
    assert {tuple(design.values()) for design in around} == {(1, 2), (2, 3)}


def test_the_only_design_has_no_neighbours() -> None:
    space = Space({"a": [1], "b": (2, 2)})
    assert len(space.neighbours(space.enumerate()[0], np.random.default_rng(0))) == 0


def test_a_space_survives_json(space: Space, training: Space) -> None:
    for each in (space, training, Space({"r": Real(1e-5, 0.1, log=True), "i": Integer(1, 9, log=True)})):
        text = json.dumps(each.to_dict())
        assert Space.from_dict(json.loads(text)) == each


def test_a_stored_rule_must_be_given_again() -> None:
    def rule(design: Design) -> bool:
        return bool(design["a"] < 2)

    space = Space({"a": [1, 2]}, valid=rule)
    data = json.loads(json.dumps(space.to_dict()))
    assert data["has_rule"] is True
    with pytest.raises(InvalidValueError, match="valid="):
        Space.from_dict(data)
    assert Space.from_dict(data, valid=rule) == space


def test_what_is_no_stored_space_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="to_dict"):
        Space.from_dict({})
    with pytest.raises(UnknownNameError, match=r"'reel'.*'real'"):
        Space.from_dict({"options": [{"name": "x", "kind": "reel"}]})


def test_spaces_are_equal_by_value() -> None:
    options = {"a": [1, 2], "b": ["x", "y"]}
    assert Space(options) == Space(options)
    assert hash(Space(options)) == hash(Space(options))
    assert Space(options) != Space({"b": ["x", "y"], "a": [1, 2]})
    assert Space(options) != Space(options, valid=lambda design: True)
    assert Space(options) != Space.from_designs(list(Space(options).enumerate()))
    assert Space(options) != options


def test_a_space_shows_its_options(space: Space) -> None:
    assert repr(space) == "Space(5 options: filters, kernel, cores, ghz, ...)"


def test_the_options_of_a_space_cannot_be_changed(space: Space) -> None:
    with pytest.raises(TypeError):
        space.options["filters"] = Integer(1, 2)  # type: ignore[index]
