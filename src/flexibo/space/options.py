"""The four kinds of option: unordered values, ordered values, whole numbers and real numbers."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from flexibo._internal.arrays import plain
from flexibo._internal.checks import checked_flag, checked_unicode
from flexibo.errors import FlexiBOError, InvalidTypeError, InvalidValueError

Level: TypeAlias = str | int | float | bool  # a value that an option can have

Value: TypeAlias = Any
"""A value in a design: a `Level`, or None if the option is inactive (`Any`, so that rules can compute with it)."""

WIDE_RANGE = 1_000  # a `Real` above 0 whose ends are this many times apart is logarithmic, unless the user says no
ROUNDING = 1e-6  # 0.1 is 1,000 times 0.0001, also as single precision has them
LARGEST_INTEGER = 10**12  # beyond this, neighbouring whole numbers are too close in [0, 1] for an exact decoding

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class _Listed:
    """An option whose values are listed, with the code of each."""

    values: Sequence[Level]
    known: Sequence[Level] = field(default=(), repr=False, kw_only=True)
    _codes: dict[Value, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        values = self._ordered(_checked_values(self.values))
        known = _checked_values(self.known) if self.known else ()
        if known and not set(values) <= set(known):
            raise InvalidValueError(f"An option has the known values {list(known)}; its values must be among them.")
        known = () if len(known) == len(values) else known
        codes: dict[Value, float] = {level: float(code) for code, level in enumerate(known or values)}
        object.__setattr__(self, "values", tuple(sorted(values, key=codes.__getitem__)) if known else values)
        object.__setattr__(self, "known", known)
        object.__setattr__(self, "_codes", codes | {None: math.nan})

    def _ordered(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        return values

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Categorical(_Listed):
    """An option with unordered values.

    Attributes:
        values: The legal values, without duplicates.
        known: The values that designs may have that were measured before the study was changed, the legal ones among
            them; empty if these are all. `Study.change` sets it.

    >>> Categorical(["1x1", "3x3"])
    Categorical(values=('1x1', '3x3'))
    """

    kind: ClassVar[str] = "categorical"


@dataclass(frozen=True, slots=True)
class Ordinal(_Listed):
    """An option with ordered values, encoded by rank.

    Attributes:
        values: The legal values, without duplicates. Numbers that neither rise nor fall throughout are sorted; any
            other order, such as that of strings, is kept as given.
        known: As for `Categorical`, in order.

    >>> Ordinal([64, 16, 32])
    Ordinal(values=(16, 32, 64))
    >>> Ordinal(["low", "medium", "high"])
    Ordinal(values=('low', 'medium', 'high'))
    """

    kind: ClassVar[str] = "ordinal"

    def _ordered(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        if not all(is_number(value) for value in values):
            return values
        rising = tuple(sorted(values))
        return values if values in (rising, rising[::-1]) else rising


@dataclass(frozen=True, slots=True)
class Integer:
    """An option with the whole numbers from `low` to `high`, both included.

    Attributes:
        low: The smallest legal number.
        high: The largest legal number.
        log: Whether the option is encoded, drawn and perturbed on a logarithmic scale.
        known: The range of designs that were measured before the study was changed, if that is wider. `Study.change`
            sets it.

    >>> Integer(1, 6).size
    6
    """

    kind: ClassVar[str] = "integer"
    low: int
    high: int
    log: bool = None  # type: ignore[assignment]  # a bool once it is made
    known: tuple[int, int] | None = field(default=None, repr=False, kw_only=True)
    is_scale_given: bool = field(init=False, repr=False, compare=False)  # whether the user said `log`

    def __post_init__(self) -> None:
        for end in (self.low, self.high):
            if not is_whole(plain(end)):
                raise InvalidTypeError(f"An option has the bound {end!r}; an Integer needs whole numbers.")
            if abs(plain(end)) > LARGEST_INTEGER:
                raise InvalidValueError(f"An option has the bound {end!r}; whole numbers reach 10**12 at most.")
        object.__setattr__(self, "low", int(self.low))
        object.__setattr__(self, "high", int(self.high))
        object.__setattr__(self, "is_scale_given", self.log is not None)
        object.__setattr__(self, "log", self.is_scale_given and checked_flag("log", self.log))
        _check_order(self.low, self.high, self.log)
        object.__setattr__(self, "known", _checked_known(self, self.known))

    @property
    def size(self) -> int:
        """The number of values."""
        return self.high - self.low + 1


@dataclass(frozen=True, slots=True)
class Real:
    """An option with the real numbers from `low` to `high`.

    Attributes:
        low: The smallest legal number.
        high: The largest legal number.
        log: As for `Integer`; by default it is on one if `low` is above 0 and `high` at least 1,000 times as large.
        known: As for `Integer`.

    >>> Real(1e-5, 1e-1)
    Real(low=1e-05, high=0.1, log=True)
    >>> Real(1e-5, 1e-1, log=False).size
    inf
    """

    kind: ClassVar[str] = "real"
    low: float
    high: float
    log: bool = None  # type: ignore[assignment]  # a bool once it is made
    known: tuple[float, float] | None = field(default=None, repr=False, kw_only=True)
    is_scale_given: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for end in (self.low, self.high):
            if not is_number(plain(end)):
                raise InvalidTypeError(f"An option has the bound {end!r}; a Real needs numbers.")
            if not abs(plain(end)) <= sys.float_info.max:  # a whole number may be too large for a float
                raise InvalidValueError(f"An option has the bound {end!r}; bounds must be finite numbers.")
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))
        object.__setattr__(self, "is_scale_given", self.log is not None)
        log = checked_flag("log", self.log) if self.is_scale_given else _is_wide(self.low, self.high)
        object.__setattr__(self, "log", log)
        _check_order(self.low, self.high, self.log)
        if not math.isfinite(self.high - self.low):
            raise InvalidValueError(
                f"An option has bounds {(self.low, self.high)}; they are too far apart for a float."
            )
        if self.log and self.low < self.high and math.log(self.low) == math.log(self.high):
            raise InvalidValueError(
                f"An option has bounds {(self.low, self.high)}; they are too close for a log scale."
            )
        object.__setattr__(self, "known", _checked_known(self, self.known))

    @property
    def size(self) -> int | float:
        """The number of values: infinity, or 1 if the bounds are equal."""
        return math.inf if self.low < self.high else 1


Option: TypeAlias = Categorical | Ordinal | Integer | Real
OPTIONS: dict[str, type[Option]] = {option.kind: option for option in (Categorical, Ordinal, Integer, Real)}


def as_option(name: str, given: object) -> Option:
    """The option for what a user gave; errors name the option.

    >>> as_option("filters", [16, 32, 64])
    Ordinal(values=(16, 32, 64))
    >>> as_option("cores", (1, 6))
    Integer(low=1, high=6, log=False)
    """
    return named(name, lambda: _inferred(given))


def named(name: str, make: Callable[[], Option]) -> Option:
    """The option that `make` returns; an error from it names the option."""
    try:
        return make()
    except FlexiBOError as error:
        raise type(error)(str(error).replace("An option", f"Option {name!r}", 1)) from None


def option_of(levels: Sequence[Level]) -> Categorical | Ordinal:
    """Numbers become an `Ordinal`; strings, booleans and mixtures a `Categorical`."""
    if levels and all(is_number(plain(level)) for level in levels):
        return Ordinal(levels)
    return Categorical(levels)


def is_number(value: object) -> bool:
    """Whether a value is an int or a float, but not a bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_whole(value: object) -> bool:
    """Whether a value is an int, or a float without a fraction, but not a bool."""
    return value.is_integer() if isinstance(value, float) else isinstance(value, int) and not isinstance(value, bool)


def option_to_dict(option: Option) -> dict[str, Any]:
    """The option as JSON-able values.

    >>> option_to_dict(Integer(1, 6))
    {'kind': 'integer', 'low': 1, 'high': 6, 'log': False}
    """
    known = {"known": list(option.known)} if option.known else {}
    if isinstance(option, (Categorical, Ordinal)):
        return {"kind": option.kind, "values": list(option.values), **known}
    return {"kind": option.kind, "low": option.low, "high": option.high, "log": option.log, **known}


def without_known(option: Option) -> Option:
    """The option with its legal values alone.

    >>> without_known(Integer(2, 4, known=(1, 6))) == Integer(2, 4)
    True
    """
    if not option.known:
        return option
    if isinstance(option, (Categorical, Ordinal)):
        return type(option)(option.values)
    return dataclasses.replace(option, known=None)


def with_known_legal(option: Option) -> Option:
    """The option with all values that designs may have, legal or known.

    >>> with_known_legal(Integer(2, 4, known=(1, 6)))
    Integer(low=1, high=6, log=False)
    """
    if not option.known:
        return option
    if isinstance(option, (Categorical, Ordinal)):
        return type(option)(option.known)
    low, high = option.known
    return Integer(int(low), int(high), option.log) if isinstance(option, Integer) else Real(low, high, option.log)


def _inferred(given: object) -> Option:
    if isinstance(given, (Categorical, Ordinal, Integer, Real)):
        return given
    if isinstance(given, tuple):
        bounds = [plain(end) for end in given]
        if len(bounds) != 2 or not all(is_number(end) for end in bounds):
            raise InvalidTypeError(
                f"An option is the tuple {given!r}; give a pair of numbers for an interval, or a list of values."
            )
        if all(isinstance(end, int) for end in bounds):
            return Integer(*bounds)
        return Real(*bounds)
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, (list, range)):
        return option_of(list(given))
    raise InvalidTypeError(
        f"An option is {given!r}; give a list of values, a pair of bounds, or a Categorical, Ordinal, Integer or Real."
    )


def _checked_values(values: object) -> tuple[Level, ...]:
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if not isinstance(values, (list, tuple, range)):
        raise InvalidTypeError(f"An option has the values {values!r}; give a list of values.")
    levels = tuple(plain(value) for value in values)
    if not levels:
        raise InvalidValueError("An option has no values; give at least one.")
    for level in levels:
        if not isinstance(level, (str, int, float, bool)):
            raise InvalidTypeError(f"An option has the value {level!r}; values must be strings, numbers or booleans.")
        if isinstance(level, float) and not math.isfinite(level):
            raise InvalidValueError(f"An option has the value {level!r}; numbers must be finite.")
        if isinstance(level, str):
            checked_unicode("An option has the value", level)
    seen: set[Level] = set()
    for level in levels:
        if level in seen:
            raise InvalidValueError(f"An option has the value {level!r} twice; each value may be given once.")
        seen.add(level)
    return levels


def _checked_known(option: Integer | Real, known: object) -> tuple[Any, Any] | None:
    """The known range of an option as a pair; None if it is not wider than the option itself."""
    if known is None:
        return None
    if not isinstance(known, (list, tuple)) or len(known) != 2 or not all(is_number(plain(end)) for end in known):
        raise InvalidTypeError(f"An option has the known range {known!r}; it must be a pair of numbers.")
    wide = type(option)(known[0], known[1], option.log)
    if not wide.low <= option.low <= option.high <= wide.high:
        raise InvalidValueError(f"An option has the known range {known!r}; its bounds must be within it.")
    return None if (wide.low, wide.high) == (option.low, option.high) else (wide.low, wide.high)


def _is_wide(low: float, high: float) -> bool:
    return low > 0 and high / low >= WIDE_RANGE * (1.0 - ROUNDING)


def _check_order(low: Number, high: Number, log: bool) -> None:
    if low > high:
        raise InvalidValueError(f"An option has bounds {(low, high)}; the lower bound must come first.")
    if log and low <= 0:
        raise InvalidValueError(f"An option has bounds {(low, high)}; a log scale needs a lower bound above 0.")
