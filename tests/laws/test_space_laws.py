"""Laws of the space: what holds for every space and every design."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.laws.effort import examples

from flexibo.space import Categorical, Design, Integer, Option, Ordinal, Real, Space

SETTINGS = settings(max_examples=examples(20), deadline=None)
NAMES = ["a", "b", "c", "d", "e"]
texts = st.text('ab="\\\n\0 é€😀', max_size=3)  # all of Unicode takes seconds to load
finite_floats = st.floats(-1e6, 1e6, allow_nan=False)


@st.composite
def integers(draw: st.DrawFn) -> Integer:
    log = draw(st.booleans())
    low = draw(st.integers(1, 50) if log else st.integers(-50, 50))
    return Integer(low, low + draw(st.integers(0, 5)), log=log)


@st.composite
def reals(draw: st.DrawFn) -> Real:
    if draw(st.booleans()):
        low = draw(st.floats(1e-8, 1e3))
        return Real(low, low * draw(st.floats(1.001, 1e6)), log=True)
    low, high = sorted([draw(finite_floats), draw(finite_floats)])
    return Real(low, high)


listed = st.one_of(
    st.lists(texts, min_size=1, max_size=4, unique=True).map(Categorical),
    st.lists(st.booleans(), min_size=1, unique=True).map(Categorical),
    st.lists(st.integers(-9, 9) | finite_floats, min_size=1, max_size=5, unique=True).map(Ordinal),
)
finite_options = listed | integers()


def allowed(design: Design) -> bool:
    """A rule that any space can have: it forbids about a third of the designs, and never the same third of a space."""
    return sum(ord(letter) for value in design.values() for letter in str(value)) % 3 != 0


@st.composite
def spaces(draw: st.DrawFn, options: st.SearchStrategy[Option] = finite_options, rules: bool = True) -> Space:
    chosen = draw(st.dictionaries(st.sampled_from(NAMES), options, min_size=1, max_size=4))
    names = draw(st.permutations(sorted(chosen)))
    conditions: dict[str, dict[str, Any]] = {}
    for child, parent in zip(names[1:], names, strict=False):
        values = _values(chosen[parent])
        if values and draw(st.booleans()):
            conditions[child] = {parent: draw(st.lists(st.sampled_from(values), min_size=1, unique=True))}
    return Space(chosen, conditions=conditions, valid=allowed if rules and draw(st.booleans()) else None)


def _values(option: Option) -> list[Any]:
    if isinstance(option, (Categorical, Ordinal)):
        return list(option.values)
    return list(range(option.low, option.high + 1)) if isinstance(option, Integer) else []


any_space = spaces(finite_options | reals(), rules=False)
seeds = st.integers(0, 2**32 - 1)


@SETTINGS
@given(spaces())
def test_decoding_undoes_encoding_for_every_design_of_a_finite_space(space: Space) -> None:
    every = space.enumerate()
    np.testing.assert_array_equal(space.decode(every.encoded()).codes, every.codes)


@SETTINGS
@given(any_space, seeds)
def test_decoding_undoes_encoding_up_to_rounding(space: Space, seed: int) -> None:
    drawn = space.sample(20, np.random.default_rng(seed))
    decoded = space.decode(drawn.encoded())
    for position, option in enumerate(space.options.values()):
        before, after = drawn.codes[:, position], decoded.codes[:, position]
        if not isinstance(option, Real):
            np.testing.assert_array_equal(after, before)
        elif option.log:
            np.testing.assert_allclose(after, before, rtol=1e-12)
        else:
            np.testing.assert_allclose(after, before, rtol=0, atol=1e-12 * max(abs(option.low), abs(option.high)))


@SETTINGS
@given(any_space, seeds)
def test_encodings_lie_in_the_unit_cube_and_have_one_group_per_column(space: Space, seed: int) -> None:
    X = space.sample(20, np.random.default_rng(seed)).encoded()
    assert X.shape[1] == len(space.groups())
    assert np.all((X >= 0) & (X <= 1))


@SETTINGS
@given(spaces(finite_options | reals()), seeds, st.integers(0, 40))
def test_samples_are_distinct_and_legal_and_as_many_as_there_are(space: Space, seed: int, m: int) -> None:
    assume(space.size > 0)
    if space.valid is not None:
        assume(space.size != np.inf)
    drawn = space.sample(m, np.random.default_rng(seed))
    assert len(drawn) == min(m, space.size)
    assert len(set(drawn)) == len(drawn)
    assert all(dict(design) in space for design in drawn)


@SETTINGS
@given(spaces())
def test_enumeration_has_as_many_distinct_legal_members_as_the_size_says(space: Space) -> None:
    every = space.enumerate()
    assert len(every) == len(set(every)) == space.size
    assert all(dict(design) in space for design in every)


@SETTINGS
@given(any_space, seeds, st.data())
def test_keys_are_equal_exactly_if_the_designs_agree(space: Space, seed: int, data: st.DataObject) -> None:
    options = data.draw(st.lists(st.sampled_from(space.names), unique=True))
    drawn = space.sample(12, np.random.default_rng(seed))
    keys = drawn.keys(options)
    for first, key in zip(drawn, keys, strict=True):
        for second, other in zip(drawn, keys, strict=True):
            assert (key == other) == all(first[name] == second[name] for name in options)


@SETTINGS
@given(spaces(finite_options | reals()))
def test_a_space_survives_json(space: Space) -> None:
    copy = Space.from_dict(json.loads(json.dumps(space.to_dict())), valid=space.valid)
    assert copy == space
    assert copy.to_dict() == space.to_dict()


@SETTINGS
@given(spaces(finite_options | reals()), seeds)
def test_neighbours_are_legal_and_differ_in_one_option_and_its_children(space: Space, seed: int) -> None:
    assume(space.size > 0)
    if space.valid is not None:
        assume(space.size != np.inf)
    rng = np.random.default_rng(seed)
    design = space.sample(1, rng)[0]
    around = list(space.neighbours(design, rng))
    assert design not in around
    assert len(set(around)) == len(around)
    for neighbour in around:
        assert dict(neighbour) in space
        changed = {name for name in space.names if neighbour[name] != design[name]}
        # Only an option that is switched on or off by a changed parent changes besides the one.
        toggled = {name for name in changed if neighbour[name] is None or design[name] is None}
        assert len(changed - toggled) == 1
        assert all(changed & set(space.conditions[name]) for name in toggled)


@SETTINGS
@given(st.dictionaries(st.sampled_from(NAMES), st.integers() | texts | st.booleans() | st.none()), st.randoms())
def test_designs_are_equal_and_hash_alike_by_value(values: dict[str, Any], random: Any) -> None:
    names = list(values)
    random.shuffle(names)
    first, second = Design(values), Design({name: values[name] for name in names})
    assert first == second == values
    assert hash(first) == hash(second)
    assert first != Design(values | {"other": 1})


@SETTINGS
@given(spaces(finite_options | reals(), rules=False), seeds)
def test_designs_are_the_same_however_they_are_given(space: Space, seed: int) -> None:
    drawn = space.sample(10, np.random.default_rng(seed))
    np.testing.assert_array_equal(space.designs(list(drawn)).codes, drawn.codes)
    np.testing.assert_array_equal(space.designs([dict(design) for design in drawn]).codes, drawn.codes)


@SETTINGS
@given(st.lists(st.fixed_dictionaries({"x": st.integers(0, 3), "y": st.sampled_from("abc")}), min_size=1), seeds)
def test_a_pool_has_exactly_the_rows_of_its_table(rows: list[dict[str, Any]], seed: int) -> None:
    pool = Space.from_designs(rows)
    distinct = {Design(row) for row in rows}
    assert set(pool.enumerate()) == set(pool.sample(len(rows), np.random.default_rng(seed))) == distinct
    assert pool.size == len(distinct)
    assert Space.from_dict(json.loads(json.dumps(pool.to_dict()))) == pool
