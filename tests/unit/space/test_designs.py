"""Designs: many designs as an array of codes, their encodings and keys."""

from __future__ import annotations

import hashlib
import os
import pickle
import struct
import subprocess
import sys

import numpy as np
import pytest

from flexibo.errors import InvalidValueError, UnknownNameError
from flexibo.space import Designs, Integer, Real, Space


@pytest.fixture
def space() -> Space:
    return Space(
        {
            "filters": [16, 32, 64],
            "kernel": ["1x1", "3x3", "5x5"],
            "ghz": (0.5, 2.5),
            "cores": (1, 5),
            "rate": Real(1e-4, 1e-2, log=True),
            "board": ["orin"],
            "units": Integer(1, 100, log=True),
        }
    )


@pytest.fixture
def designs(space: Space) -> Designs:
    low = {"filters": 16, "kernel": "1x1", "ghz": 0.5, "cores": 1, "rate": 1e-4, "board": "orin", "units": 1}
    middle = {"filters": 32, "kernel": "3x3", "ghz": 1.5, "cores": 3, "rate": 1e-3, "board": "orin", "units": 10}
    high = {"filters": 64, "kernel": "5x5", "ghz": 2.5, "cores": 5, "rate": 1e-2, "board": "orin", "units": 100}
    return space.designs([low, middle, high])


def test_pickled_designs_keep_their_codes_and_space(designs: Designs) -> None:
    copy = pickle.loads(pickle.dumps(designs))
    assert copy.table == designs.table
    assert list(copy) == list(designs)


def test_values_come_back_as_plain_python_scalars(designs: Designs) -> None:
    assert [type(value) for value in designs[1].values()] == [int, str, float, int, float, str, int]
    assert [type(value) for value in next(iter(designs)).values()] == [int, str, float, int, float, str, int]


def test_codes_are_positions_and_numbers(designs: Designs) -> None:
    assert designs.codes.tolist() == [
        [0, 0, 0.5, 1, 1e-4, 0, 1],
        [1, 1, 1.5, 3, 1e-3, 0, 10],
        [2, 2, 2.5, 5, 1e-2, 0, 100],
    ]


def test_codes_and_encodings_cannot_be_written(designs: Designs) -> None:
    for array in (designs.codes, designs.encoded()):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1.0


def test_rows_are_chosen_by_int_slice_and_array(designs: Designs) -> None:
    assert designs[-1] == designs[2]
    assert designs[np.int64(1)] == designs[1]  # type: ignore[call-overload]
    assert list(designs[1:]) == [designs[1], designs[2]]
    assert list(designs[np.array([2, 0])]) == [designs[2], designs[0]]
    assert list(designs[[2, 0]]) == [designs[2], designs[0]]
    assert list(designs[np.array([True, False, True])]) == [designs[0], designs[2]]
    assert len(designs[[]]) == 0


@pytest.mark.parametrize("row", [3, -4])
def test_a_row_that_is_not_there_is_an_index_error(designs: Designs, row: int) -> None:
    with pytest.raises(IndexError):
        designs[row]


def test_iterating_gives_the_same_designs_as_indexing(space: Space) -> None:
    many = space.sample(10_000, np.random.default_rng(0))  # more than one block
    assert list(many)[::997] == [many[i] for i in range(0, 10_000, 997)]


def test_designs_of_one_space_can_be_joined(designs: Designs) -> None:
    joined = designs + designs[:1]
    assert len(joined) == 4
    assert list(joined.unique()) == list(designs)


def test_designs_of_different_spaces_cannot_be_joined(designs: Designs) -> None:
    other = Space({"a": [1, 2]}).enumerate()
    with pytest.raises(InvalidValueError, match="different spaces"):
        designs + other
    with pytest.raises(TypeError):
        designs + 1  # type: ignore[operator]


def test_codes_of_the_wrong_shape_are_refused(space: Space) -> None:
    with pytest.raises(InvalidValueError, match=r"\(2, 3\).*\(m, 7\)"):
        space.from_codes(np.zeros((2, 3)))


def test_the_encoding_puts_every_option_on_its_scale(designs: Designs) -> None:
    half = np.sqrt(0.5)
    expected = [
        [0.0, half, 0, 0, 0.0, 0.0, 0.0, 0.0],
        [0.5, 0, half, 0, 0.5, 0.5, 0.5, 0.5],
        [1.0, 0, 0, half, 1.0, 1.0, 1.0, 1.0],
    ]
    np.testing.assert_allclose(designs.encoded(), expected, atol=1e-15)


def test_two_categories_are_at_distance_one(designs: Designs) -> None:
    X = designs.encoded(["kernel"])
    assert np.sum((X[0] - X[2]) ** 2) == pytest.approx(1.0)


def test_some_options_can_be_encoded_in_any_order(designs: Designs) -> None:
    X = designs.encoded()
    np.testing.assert_array_equal(designs.encoded(["cores", "filters"]), X[:, [5, 0]])


def test_the_encoding_is_computed_once(designs: Designs) -> None:
    assert designs.encoded() is designs.encoded()


def test_a_space_of_constants_has_an_encoding_without_columns() -> None:
    space = Space({"a": [1], "b": ["x"], "c": (2, 2), "d": (0.5, 0.5)})
    every = space.enumerate()
    assert every.encoded().shape == (1, 0)
    assert space.groups().tolist() == []
    assert list(space.decode(np.empty((3, 0)))) == [every[0]] * 3
    assert dict(every[0]) == {"a": 1, "b": "x", "c": 2, "d": 0.5}


def test_inactive_options_are_encoded_in_the_middle_or_as_no_category() -> None:
    space = Space(
        {"p": ["on", "off"], "x": (0.0, 1.0), "c": ["a", "b"]}, conditions={"x": {"p": "on"}, "c": {"p": "on"}}
    )
    off = space.designs([{"p": "off"}])
    assert np.isnan(off.codes[0, 1:]).all()
    np.testing.assert_allclose(off.encoded(["x", "c"]), [[0.5, 0.0, 0.0]])
    assert dict(space.decode(off.encoded())[0]) == {"p": "off", "x": None, "c": None}


def test_decoding_takes_the_nearest_legal_values(space: Space, designs: Designs) -> None:
    X = designs.encoded() + np.random.default_rng(0).uniform(-0.1, 0.1, designs.encoded().shape)
    near = space.decode(X)
    assert [design["filters"] for design in near] == [16, 32, 64]
    assert [design["kernel"] for design in near] == ["1x1", "3x3", "5x5"]
    assert all(0.5 <= design["ghz"] <= 2.5 for design in near)


@pytest.mark.parametrize("X", [np.zeros((2, 3)), np.zeros(8), np.full((1, 8), np.nan)])
def test_decoding_refuses_the_wrong_shape_and_nan(space: Space, X: np.ndarray) -> None:
    with pytest.raises(InvalidValueError, match=r"\(m, 8\).*finite"):
        space.decode(X)


def test_keys_agree_exactly_where_the_options_do(space: Space, designs: Designs) -> None:
    other = space.designs([dict(designs[0]) | {"cores": 2}])
    assert other.keys()[0] != designs.keys()[0]
    assert other.keys(["filters", "kernel"])[0] == designs.keys(["filters", "kernel"])[0]
    assert designs.keys().dtype == np.uint64


def test_keys_do_not_depend_on_the_order_in_which_options_are_named(designs: Designs) -> None:
    np.testing.assert_array_equal(designs.keys(["cores", "ghz"]), designs.keys(["ghz", "cores"]))
    np.testing.assert_array_equal(designs.keys(designs.table.names), designs.keys())


def test_keys_take_both_zeros_and_all_nans_for_one() -> None:
    space = Space({"x": (-1.0, 1.0), "y": (-1.0, 1.0)})
    other_nan = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)[0]
    keys = space.from_codes(np.array([[0.0, np.nan], [-0.0, other_nan], [0.0, 0.0]])).keys()
    assert keys[0] == keys[1]
    assert keys[0] != keys[2]


def test_swapped_values_have_different_keys() -> None:
    space = Space({"x": (0, 9), "y": (0, 9)})
    keys = space.designs([{"x": 1, "y": 2}, {"x": 2, "y": 1}]).keys()
    assert keys[0] != keys[1]


def test_all_keys_of_a_large_space_differ() -> None:
    space = Space({name: list(range(10)) for name in "abcde"})
    assert len(np.unique(space.enumerate().keys())) == 100_000


def test_keys_are_the_same_in_another_process_and_as_published() -> None:
    program = (
        "from flexibo.space import Space; "
        "s = Space({'a': [1, 2], 'b': ['x', 'y'], 'c': (0.0, 1.0)}); "
        "print(s.designs([{'a': 2, 'b': 'y', 'c': 0.25}]).keys()[0])"
    )
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    expected = sum(splitmix(name, code) for name, code in {"a": 1.0, "b": 1.0, "c": 0.25}.items()) % 2**64
    assert int(run.stdout) == expected


def splitmix(name: str, code: float) -> int:
    """The finaliser of splitmix64, in Python's own integers."""
    salt = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
    bits = struct.unpack("<Q", struct.pack("<d", code))[0] ^ salt
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB % 2**64
    return int(bits ^ (bits >> 31))


def test_options_that_do_not_exist_have_neither_encoding_nor_keys(designs: Designs) -> None:
    with pytest.raises(UnknownNameError):
        designs.encoded(["core"])
    with pytest.raises(UnknownNameError):
        designs.keys(["core"])


def test_designs_show_how_many_they_are(designs: Designs) -> None:
    assert repr(designs) == "Designs(3; 7 options: filters, kernel, ghz, cores, ...)"
