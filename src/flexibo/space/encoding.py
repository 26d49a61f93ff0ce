"""Codes: the values of an option in arrays, and their encoding for surrogates.

Every value has a *code*, one float64: its position for `Categorical` and `Ordinal`, the number itself for `Integer` and
`Real`, NaN where the option is inactive. The *encoding* of a code lies in [0, 1]: a column with the rank, or with the
position between the bounds, for ordered options; scaled one-hot columns for a `Categorical`; nothing for a constant.

An option may know values that were legal before. They have codes and encodings, on one scale with the legal ones, but
are never drawn, stepped to or decoded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray, KeyArray, plain
from flexibo.space.options import (
    Categorical,
    Integer,
    Option,
    Ordinal,
    Real,
    Value,
    is_number,
    is_whole,
    with_known_legal,
    without_known,
)

ONE_HOT = math.sqrt(0.5)  # two categories then have squared distance 1, like the two ends of an ordered option
WIDE = 10  # an interval with more values than this also has random neighbours
PERTURBATION = 0.1
SHOWN_VALUES = 8
MOST_ONE_HOT = 256  # a `Categorical` with more values has `HASHED` columns instead of one per value
HASHED = 128
HASH = math.sqrt(2.0 / HASHED)  # two values differ in half of the columns
MOST_NEIGHBOURS = 100  # of such a value; they are drawn at random


def code_of(option: Option, value: Any) -> float | None:
    """The code of a value, None if the value is not legal.

    >>> code_of(Ordinal([16, 32, 64]), 32)
    1.0
    >>> code_of(Integer(1, 6), 9)
    """
    value = plain(value)
    if isinstance(option, (Categorical, Ordinal)):
        # True equals 1 in Python; among numbers it is a mistake.
        if isinstance(value, bool) and all(is_number(level) for level in option.values):
            return None
        if option.known and value not in option.values:
            return None
        return option._codes.get(value) if isinstance(value, (str, int, float, bool)) else None
    legal = is_whole(value) if isinstance(option, Integer) else is_number(value)
    return float(value) if legal and option.low <= value <= option.high else None


def expected(option: Option, value: object) -> str:
    """A description of the legal values, to complete the sentence "it must be ...".

    >>> expected(Integer(1, 6), 9)
    'between 1 and 6'
    """
    if isinstance(option, (Categorical, Ordinal)):
        shown = ", ".join(repr(level) for level in option.values[:SHOWN_VALUES])
        return f"one of {shown}" + (f", ... ({option.size} values)" if option.size > SHOWN_VALUES else "")
    what = ""
    if isinstance(option, Integer) and not is_whole(plain(value)):
        what = "a whole number "
    elif not is_number(plain(value)):
        what = "a number "
    return f"{what}between {option.low!r} and {option.high!r}"


def codes_of(option: Option, column: Sequence[Value]) -> FloatArray:
    """The codes (m,) of legal values, NaN for None."""
    if isinstance(option, (Categorical, Ordinal)):
        return np.array([option._codes[value] for value in column], dtype=np.float64)
    return np.array(column, dtype=np.float64)


def legal_codes(option: Option, column: Sequence[object]) -> FloatArray | None:
    """The codes (m,) of plain values, as `code_of` gives them one by one; None if one may not be legal."""
    kinds = {type(value) for value in column}
    if isinstance(option, (Categorical, Ordinal)):
        if not kinds <= {str, int, float, bool} or (bool in kinds and all(map(is_number, option.values))):
            return None
        codes = [option._codes.get(value) for value in column]
        if None in codes or (option.known and not set(column) <= set(option.values)):
            return None
        return np.array(codes, dtype=np.float64)
    if not kinds <= {int, float}:
        return None
    try:
        numbers = np.array(column, dtype=np.float64)
    except OverflowError:
        return None
    legal = (numbers >= option.low) & (numbers <= option.high)
    if isinstance(option, Integer):
        legal &= numbers == np.rint(numbers)
    return numbers if legal.all() else None


def value_of(option: Option, code: float) -> Value:
    """The value of one code, None for NaN."""
    if code != code:
        return None
    if isinstance(option, Real):
        return code
    return int(code) if isinstance(option, Integer) else (option.known or option.values)[int(code)]


def values_of(option: Option, codes: FloatArray) -> list[Value]:
    """The values of codes (m,), None for NaN.

    >>> values_of(Ordinal([16, 32, 64]), np.array([2.0, np.nan]))
    [64, None]
    """
    active = ~np.isnan(codes)
    if isinstance(option, Real):
        return codes.tolist() if active.all() else [None if code != code else code for code in codes.tolist()]
    whole = np.where(active, codes, 0.0).astype(np.int64).tolist()
    values: list[Value] = whole
    if not isinstance(option, Integer):
        values = list(map((option.known or option.values).__getitem__, whole))
    if not active.all():
        values = [value if here else None for value, here in zip(values, active.tolist(), strict=True)]
    return values


def levels(option: Option, digits: FloatArray) -> FloatArray:
    """The codes of the values at positions 0, 1, ..., size - 1 of a finite option."""
    if isinstance(option, (Integer, Real)):
        return digits + option.low
    return among_known(option, digits)


def among_known(option: Option, codes: FloatArray) -> FloatArray:
    """The codes (m,) of an option's legal values, given those that they have in the option without known values."""
    if isinstance(option, (Integer, Real)) or not option.known:
        return codes
    places = np.array([option._codes[value] for value in option.values])
    active = ~np.isnan(codes)
    return np.where(active, places[np.where(active, codes, 0.0).astype(np.int64)], np.nan)


def _among_legal(option: Option, codes: FloatArray) -> FloatArray:
    """The inverse of `among_known`; of a value that is not legal, the code of the next legal one in order."""
    if isinstance(option, (Integer, Real)):
        return np.clip(codes, option.low, option.high)  # NaN stays
    places = np.array([option._codes[value] for value in option.values])
    found = np.minimum(np.searchsorted(places, codes), len(places) - 1).astype(np.float64)
    return np.where(np.isnan(codes), np.nan, found)


def is_legal_code(option: Option, codes: FloatArray) -> BoolArray:
    """Whether each code (m,) is that of a legal value; inactive ones are."""
    if isinstance(option, (Integer, Real)):
        legal = (codes >= option.low) & (codes <= option.high)
    else:
        legal = np.isin(codes, [option._codes[value] for value in option.values])
    return np.asarray(legal | np.isnan(codes))


def draw(option: Option, m: int, rng: np.random.Generator) -> FloatArray:
    """Random codes (m,), uniform over the values, or over the logarithmic scale of the option."""
    if option.known:
        return among_known(option, draw(without_known(option), m, rng))
    if isinstance(option, Real):
        return _from_unit(option, rng.random(m))
    if isinstance(option, Integer) and option.log:
        # Each whole number has the part of the scale within half a unit.
        scale = _between(math.log(option.low - 0.5), math.log(option.high + 0.5), rng.random(m))
        return np.clip(np.rint(np.exp(scale)), option.low, option.high)
    return levels(option, rng.integers(option.size, size=m).astype(np.float64))


def log_weight(option: Option, codes: FloatArray) -> FloatArray:
    """The log probability of each code (m,) of a finite option under `draw`; 0 for inactive."""
    if isinstance(option, Integer) and option.log:
        total = math.log((option.high + 0.5) / (option.low - 0.5))
        weight = np.log(np.log1p(1.0 / (codes - 0.5)) / total)
    else:
        weight = np.full(len(codes), -math.log(option.size))
    weight[np.isnan(codes)] = 0.0
    return weight


def width(option: Option) -> int:
    """The number of columns of the encoding of an option."""
    option = with_known_legal(option)
    if option.size == 1:
        return 0
    if not isinstance(option, Categorical):
        return 1
    return int(option.size) if option.size <= MOST_ONE_HOT else HASHED


def encode(option: Option, codes: FloatArray) -> FloatArray:
    """The columns (m, width) in [0, 1] of codes (m,); inactive is 0.5, or all zeros for a `Categorical`."""
    option = with_known_legal(option)
    if isinstance(option, Categorical) and option.size > MOST_ONE_HOT:
        return _hashed(codes)
    if isinstance(option, Categorical):
        return np.where(codes[:, None] == np.arange(width(option)), ONE_HOT, 0.0)
    if option.size == 1:
        return np.empty((len(codes), 0))
    unit = _to_unit(option, codes)
    unit[np.isnan(unit)] = 0.5
    return unit.reshape(-1, 1)


def _hashed(codes: FloatArray) -> FloatArray:
    """Columns (m, HASHED) that are `HASH` in half of the places, which depend on the code; inactive is all zeros.

    The squared distance of two values is 1, give or take a tenth, as between those that have a column each.
    """
    active = ~np.isnan(codes)
    bits = np.where(active, codes, 0.0).astype(np.uint64)[:, None] * np.uint64(HASHED)
    bits = mixed(bits + np.arange(HASHED, dtype=np.uint64))
    chosen = np.argsort(bits, axis=1)[:, : HASHED // 2]
    columns = np.zeros((len(codes), HASHED))
    np.put_along_axis(columns, chosen, HASH, axis=1)
    columns[~active] = 0.0
    return columns


def mixed(bits: KeyArray) -> KeyArray:
    """The finaliser of splitmix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators")."""
    bits ^= bits >> np.uint64(30)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return bits


def decode(option: Option, columns: FloatArray) -> FloatArray:
    """The codes (m,) of the legal values nearest to columns (m, width)."""
    if option.size == 1:
        return levels(option, np.zeros(len(columns)))
    if isinstance(option, Categorical):
        codes = levels(option, np.arange(option.size, dtype=np.float64))
        if len(option.known or option.values) > MOST_ONE_HOT:
            values = _hashed(codes)
            return np.array([float(codes[np.argmax(values @ row)]) for row in columns])
        nearest: IntArray = columns[:, codes.astype(np.int64)].argmax(axis=1)
        return codes[nearest]
    if option.known:
        codes = decode(with_known_legal(option), columns)
        return _nearest(option, codes)
    return _from_unit(option, np.clip(columns[:, 0], 0.0, 1.0))


def _nearest(option: Ordinal | Integer | Real, codes: FloatArray) -> FloatArray:
    """The legal codes (m,) nearest to codes of legal or known values."""
    if not isinstance(option, Ordinal):
        return np.clip(codes, option.low, option.high)
    legal = levels(option, np.arange(option.size, dtype=np.float64))
    return np.asarray(legal[np.abs(codes[:, None] - legal).argmin(axis=1)])


def near(option: Option, code: float, rng: np.random.Generator, *, steps: int, draws: int) -> FloatArray:
    """The codes of the values next to one code.

    These are all other values of a `Categorical`, or some if there are very many; the values at most `steps` away on an
    `Ordinal` or `Integer`; and `draws` normal perturbations on the scale of a `Real`, and of an `Integer` with more
    than `WIDE` values.
    """
    if option.known:
        legal = without_known(option)
        around = near(legal, float(_among_legal(option, np.array([code]))[0]), rng, steps=steps, draws=draws)
        return among_known(option, around)
    if isinstance(option, Categorical) and option.size > MOST_ONE_HOT:
        others = rng.integers(option.size, size=MOST_NEIGHBOURS).astype(np.float64)
    elif isinstance(option, Categorical):
        others = np.arange(option.size, dtype=np.float64)
    elif isinstance(option, Ordinal):
        others = np.clip(code + np.arange(-steps, steps + 1), 0, option.size - 1)
    else:
        others = np.empty(0)
        if isinstance(option, Integer):
            others = np.clip(code + np.arange(-steps, steps + 1), option.low, option.high)
        if option.size > WIDE:
            unit = _to_unit(option, np.array([code])) + PERTURBATION * rng.standard_normal(draws)
            others = np.concatenate([others, _from_unit(option, np.clip(unit, 0.0, 1.0))])
    return np.unique(others[others != code])


def stepped(option: Option, codes: FloatArray, scales: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Codes a random step away from codes (m,), which may be inactive.

    A step goes to any other value of a `Categorical`. On the scale of another option it is normal, with these standard
    deviations (m,), and at least to the next value of an `Ordinal` or `Integer`.
    """
    if option.known:
        return among_known(option, stepped(without_known(option), _among_legal(option, codes), scales, rng))
    if option.size == 1:
        return codes
    if isinstance(option, Categorical):
        return np.asarray((codes + rng.integers(1, option.size, size=len(codes))) % option.size)
    steps = scales * rng.standard_normal(len(codes))
    moved = _from_unit(option, np.clip(_to_unit(option, codes) + steps, 0.0, 1.0))
    if isinstance(option, Real):
        return moved
    low, high, _ = _ends(option)
    return np.where(moved == codes, np.clip(codes + np.sign(steps), low, high), moved)


def at_ends(option: Option, codes: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The codes of an end of an option's range (m,), each end as often; those of a `Categorical` stay as they are."""
    if option.known:
        return among_known(option, at_ends(without_known(option), _among_legal(option, codes), rng))
    if isinstance(option, Categorical):
        return codes
    low, high, _ = _ends(option)
    return np.where(rng.random(len(codes)) < 0.5, low, high)


def is_at_end(option: Option, codes: FloatArray) -> BoolArray:
    """Whether each code (m,) is that of an end of an option's range; those of a `Categorical` and inactive ones are."""
    legal = without_known(option)
    if isinstance(legal, Categorical):
        return np.ones(len(codes), dtype=np.bool_)
    low, high, _ = _ends(legal)
    own = _among_legal(option, codes) if option.known else codes
    return np.asarray((own == low) | (own == high) | np.isnan(codes))


def _ends(option: Ordinal | Integer | Real) -> tuple[float, float, bool]:
    if isinstance(option, Ordinal):
        return 0.0, option.size - 1.0, False
    return float(option.low), float(option.high), option.log


def _to_unit(option: Ordinal | Integer | Real, codes: FloatArray) -> FloatArray:
    low, high, log = _ends(option)
    if log:
        low, high, codes = math.log(low), math.log(high), np.log(codes)
    return np.asarray((codes - low) / (high - low))


def _from_unit(option: Ordinal | Integer | Real, unit: FloatArray) -> FloatArray:
    low, high, log = _ends(option)
    codes = np.exp(_between(math.log(low), math.log(high), unit)) if log else _between(low, high, unit)
    return np.clip(codes if isinstance(option, Real) else np.rint(codes), low, high)


def _between(low: float, high: float, unit: FloatArray) -> FloatArray:
    # In this form both ends are exact.
    return low * (1.0 - unit) + high * unit
