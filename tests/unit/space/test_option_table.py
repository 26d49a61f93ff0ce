"""OptionTable: the codes of the values that users give."""

from __future__ import annotations

import math
import pickle
import re

import numpy as np
import pytest
from tests.unit.space.small_designs import GOOD

from flexibo.errors import InvalidTypeError, InvalidValueError, UnknownNameError
from flexibo.space import Categorical, Ordinal, Real, Space
from flexibo.space._option_table import OptionTable


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


def test_an_inactive_option_must_not_have_a_value(training: Space) -> None:
    with pytest.raises(InvalidValueError, match=r"'momentum' is 0\.9.*inactive"):
        training.design({"optimiser": "adam", "schedule": "flat", "momentum": 0.9})


@pytest.fixture
def table() -> OptionTable:
    return OptionTable({"filters": [16, 32], "kernel": ["1x1", "3x3", "5x5"], "board": ["orin"], "cores": (1, 5)})


def test_groups_name_the_option_of_each_column(table: OptionTable) -> None:
    assert table.groups().tolist() == [0, 1, 1, 1, 3]
    assert table.groups(["kernel", "board", "cores"]).tolist() == [0, 0, 0, 2]


def test_columns_are_found_by_name_in_any_order(table: OptionTable) -> None:
    assert list(table.columns_of(None)) == [0, 1, 2, 3]
    assert list(table.columns_of(["cores", "filters"])) == [3, 0]


def test_options_that_do_not_exist_are_named(table: OptionTable) -> None:
    with pytest.raises(UnknownNameError, match=r"'core'.*'cores'"):
        table.columns_of(["core"])


def test_options_are_named_once_and_in_a_list(table: OptionTable) -> None:
    with pytest.raises(InvalidValueError, match="once"):
        table.columns_of(["cores", "cores"])
    with pytest.raises(InvalidTypeError, match="list"):
        table.columns_of("cores")


def test_tables_are_equal_by_their_options_in_order_and_their_conditions(table: OptionTable) -> None:
    options = dict(table.options)
    assert table == OptionTable(options)
    assert hash(table) == hash(OptionTable(options))
    assert table != OptionTable(dict(reversed(options.items())))
    assert table != OptionTable(options, {"cores": {"kernel": ["1x1"]}})


def test_a_row_under_conditions_has_nan_for_what_is_inactive() -> None:
    table = OptionTable({"x": (1, 9), "p": ["on", "off"]}, {"x": {"p": ["on"]}})
    assert table.codes_of_row({"x": 4, "p": "on"}) == [4.0, 0.0]
    np.testing.assert_array_equal(table.codes_of_rows([{"p": "off"}, {"p": "off", "x": None}]), [[np.nan, 1.0]] * 2)


def test_all_mistakes_of_a_design_are_one_error(space: Space) -> None:
    with pytest.raises(InvalidValueError) as caught:
        space.design({**GOOD, "cores": 9, "ghz": "fast", "kernal": "3x3"})
    for fact in ("'kernal'", "'cores'", "'ghz'"):
        assert fact in str(caught.value)


def test_numbered_options_with_the_same_values_are_a_family_and_each_has_its_own_columns() -> None:
    widths, kernels = [16, 32, 64], Categorical(["1x1", "3x3"])
    space = Space(
        {"width_1": widths, "kernel_1": kernels, "one": [7], "width_2": widths, "kernel_2": kernels, "two": [7]}
    )
    assert space.families() == (((0,), (3,)), ((1, 2), (4, 5)))  # a constant has no column
    assert space.families(["kernel_2", "width_2", "width_1"]) == (((2,), (3,)),)
    assert space.families(["kernel_1", "width_1"]) == ()


@pytest.mark.parametrize(
    "options",
    [
        {"a1": [1, 2, 3], "a2": [1, 2, 4]},
        {"a1": [1, 2, 3], "a2": Categorical([1, 2, 3])},
        {"a1": [1, 2, 3], "b2": [1, 2, 3]},
        {"a1": Real(0, 1), "a2": Real(0, 1)},
    ],
    ids=["values", "kind", "name", "range"],
)
def test_options_with_other_values_another_kind_or_another_name_and_ranges_are_no_family(
    options: dict[str, object],
) -> None:
    assert Space(options).families() == ()


def test_an_option_stays_in_its_family_when_some_of_its_values_are_not_legal_any_more() -> None:
    narrowed = Ordinal([8, 16], known=[8, 16, 32])
    assert Space({"width_1": narrowed, "width_2": [8, 16, 32]}).families() == (((0,), (1,)),)
