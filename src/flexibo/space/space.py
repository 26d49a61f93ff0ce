"""Space: all legal designs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray, KeyArray
from flexibo.errors import InvalidTypeError, InvalidValueError, unknown_name
from flexibo.space import encoding, record
from flexibo.space.conditions import Conditions, activity_of, checked_conditions
from flexibo.space.counting import count, every_design
from flexibo.space.design import Design
from flexibo.space.designs import Designs
from flexibo.space.legality import legal, require_legal
from flexibo.space.neighbours import neighbours
from flexibo.space.options import Option, as_option
from flexibo.space.pool import read_pool
from flexibo.space.rows import codes_of_row, codes_of_rows
from flexibo.space.sampling import sampled

Rule = Callable[[Design], object]
"""Says whether a design is legal."""

ENUMERATION_LIMIT = 1_000_000
# Larger lists are quick to make again, unless a rule had to be asked about every design.
LARGEST_KEPT = 100_000
SHOWN_NAMES = 4
DERIVED = ("size", "_count", "_every_design", "_pool_keys")
"""What a space keeps once it was asked for."""


class Space:
    """All legal designs.

    Args:
        options: The legal values of each option: a list of numbers (ordered), a list of anything else (unordered), a
            pair of ints (whole numbers, both ends included), a pair with a float (an interval), or a `Categorical`,
            `Ordinal`, `Integer` or `Real`.
        valid: A rule that says whether a design is legal, for combinations that are forbidden.
        conditions: Options that only matter when other options, their parents, have one of some values, as in
            `{"momentum": {"optimiser": ["sgd"]}}`. Otherwise they are inactive, and their value is None. Several
            parents must all agree; an inactive parent never does.

    Attributes:
        names: The names of the options, in order.
        valid: The rule, or None.

    >>> space = Space({"filters": [16, 32, 64], "kernel": ["1x1", "3x3"], "cores": (1, 6)})
    >>> space.size
    36
    >>> space.design({"filters": 32, "kernel": "3x3", "cores": 4})
    Design(filters=32, kernel='3x3', cores=4)
    >>> space.sample(100, np.random.default_rng(0)).encoded().shape
    (36, 4)
    """

    names: tuple[str, ...]
    valid: Rule | None

    def __init__(
        self,
        options: Mapping[str, object],
        *,
        valid: Rule | None = None,
        conditions: Mapping[str, Mapping[str, object]] | None = None,
    ) -> None:
        if not isinstance(options, Mapping):
            raise InvalidTypeError(f"The options are {options!r}; give a mapping of names to values.")
        if not options:
            raise InvalidValueError("The space has no options; give at least one.")
        if valid is not None and not callable(valid):
            raise InvalidTypeError(f"The rule is {valid!r}; it must be a function of a design.")
        for name in options:
            if not isinstance(name, str) or not name:
                raise InvalidTypeError(f"An option is named {name!r}; names must be strings that are not empty.")
        self._options: dict[str, Option] = {name: as_option(name, given) for name, given in options.items()}
        self.names = tuple(self._options)
        self.valid = valid
        self._index = {name: position for position, name in enumerate(self.names)}
        self._conditions = checked_conditions(conditions, self._options)
        self._activity = activity_of(self._conditions, self._options)
        self._pool: Designs | None = None

    @classmethod
    def from_designs(cls, rows: object) -> Space:
        """A finite pool: the space whose only legal designs are the rows of a table.

        Args:
            rows: A list of mappings, a mapping of columns, or a pandas data frame. Numbers become an `Ordinal` of the
                sorted values, strings and booleans a `Categorical`; repeated rows count once.

        >>> Space.from_designs([{"cores": 1, "ghz": 2.0}, {"cores": 4, "ghz": 0.5}]).size
        2
        """
        options, codes = read_pool(rows)
        return cls(options)._limited_to(codes)

    @property
    def options(self) -> Mapping[str, Option]:
        """The options by name, in order."""
        return MappingProxyType(self._options)

    @property
    def conditions(self) -> Conditions:
        """For each conditional option, for each parent, the values that keep it active."""
        return {child: dict(parents) for child, parents in self._conditions.items()}

    @property
    def pool(self) -> Designs | None:
        """The only legal designs, if the space was made from a table."""
        return self._pool

    @cached_property
    def size(self) -> int | float:
        """How many legal designs there are; infinity if a `Real` option varies.

        With a rule, the designs are enumerated once and counted; above 1,000,000 combinations the rule is ignored. With
        so many linked conditions that they cannot be counted exactly, it is an upper bound.
        """
        if self._pool is not None:
            return len(self._pool)
        return len(self.enumerate()) if self.valid is not None and self._can_enumerate else self._count

    def design(self, values: Mapping[str, object]) -> Design:
        """The legal design with these values; inactive options may be left out or None.

        Raises:
            InvalidValueError: If an option is missing, unknown or has no legal value, or the design is not legal.
        """
        design = Designs(self, np.array([codes_of_row(self, values)]))
        require_legal(self, design)
        return design[0]

    def designs(self, rows: Iterable[Mapping[str, object]]) -> Designs:
        """The legal designs with these values, one per row; quick if the rows are designs of this space."""
        if isinstance(rows, (str, Mapping)):
            raise InvalidTypeError(f"The rows are {rows!r}; give a list of mappings, or use design() for one.")
        if isinstance(rows, Designs) and rows.space is self:
            designs = rows
        else:
            designs = Designs(self, codes_of_rows(self, list(rows)))
        require_legal(self, designs)
        return designs

    def sample(self, m: int, rng: np.random.Generator, *, draws: int | None = None) -> Designs:
        """Random legal designs, m of them and all distinct; fewer only if the space has fewer.

        Args:
            m: How many are wanted.
            rng: Source of the draws.
            draws: Give up after so many draws, even without a legal design, where a rule forbids most of them.

        Every legal design is equally likely, with two exceptions: an option with a logarithmic scale is drawn uniformly
        on that scale, and under conditions each active option is drawn on its own, so a design with more inactive
        options is more likely than one with fewer. A space too large to enumerate also gives fewer than m if a million
        draws, and twenty more per design wanted, do not find them.
        """
        if isinstance(m, bool) or not isinstance(m, (int, np.integer)) or m < 0:
            raise InvalidValueError(f"The number of designs is {m!r}; it must be a whole number of at least 0.")
        if not isinstance(rng, np.random.Generator):
            raise InvalidTypeError(f"rng is {rng!r}; give a generator such as np.random.default_rng(0).")
        return sampled(self, int(m), rng, draws)

    def enumerate(self) -> Designs:
        """Every legal design; an error if there are more than 1,000,000 combinations of values."""
        if self._pool is not None:
            return self._pool
        if self.valid is None and self._count > LARGEST_KEPT:
            return self._every_combination()
        return self._every_design

    def groups(self, options: Sequence[str] | None = None) -> IntArray:
        """For each column (d,) of `Designs.encoded(options)`, the position of its option among `options`."""
        chosen = [self._options[self.names[position]] for position in self._positions(options)]
        return np.repeat(np.arange(len(chosen)), [encoding.width(option) for option in chosen]).astype(np.int64)

    def decode(self, X: FloatArray) -> Designs:
        """The designs whose encoding is nearest to the rows of X (m, d), option by option.

        The inverse of `Designs.encoded`. Rules and pools are not consulted.
        """
        X = np.asarray(X, dtype=np.float64)
        groups = self.groups()
        if X.ndim != 2 or X.shape[1] != len(groups) or not np.isfinite(X).all():
            raise InvalidValueError(f"X has shape {X.shape}; it must be (m, {len(groups)}) with finite numbers.")
        options = list(self._options.values())
        columns = [encoding.decode(option, X[:, groups == place]) for place, option in enumerate(options)]
        codes = np.stack(columns, axis=1)
        self._activity.settle(codes, options)
        return Designs(self, codes)

    def neighbours(self, design: Design, rng: np.random.Generator, *, steps: int = 1, draws: int = 4) -> Designs:
        """The legal designs that differ from a design in one option.

        Args:
            design: A design of this space.
            rng: Draws the perturbations, and the values of options that a changed parent makes active.
            steps: How far to go along an `Ordinal` or `Integer`. All values of a `Categorical` are neighbours.
            draws: How many normal perturbations, with a deviation of 0.1 on the encoded scale, to make of each `Real`
                and of each `Integer` with more than ten values.

        In a pool these are the (at most 20) members that differ in the fewest options.
        """
        return neighbours(self, self.designs([design]), rng, steps=steps, draws=draws)

    def to_dict(self) -> dict[str, Any]:
        """The space as JSON-able values; a rule cannot be stored, so only `has_rule` says that there is one."""
        return record.space_to_dict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, valid: Rule | None = None) -> Space:
        """The space that `to_dict` wrote; its rule, if it had one, must be given again."""
        options = record.options_of_dict(data)
        if data.get("has_rule") and valid is None:
            raise InvalidValueError(
                "The space was stored without its rule; give it as valid=..., "
                "or give valid=lambda design: True to do without."
            )
        space = cls(options, valid=valid, conditions=data.get("conditions"))
        codes = record.pool_of_dict(data)
        return space if codes is None else space._limited_to(codes)

    def to_configspace(self) -> Any:
        """The space as a `ConfigSpace.ConfigurationSpace`; needs the extra `configspace`."""
        from flexibo.space.configspace import to_configspace

        return to_configspace(self)

    @classmethod
    def from_configspace(cls, configspace: Any) -> Space:
        """The space of a `ConfigSpace.ConfigurationSpace`; forbidden clauses become the rule."""
        from flexibo.space.configspace import from_configspace

        return from_configspace(configspace)

    def __contains__(self, values: object) -> bool:
        try:
            row = codes_of_row(self, values)
        except (InvalidTypeError, InvalidValueError):
            return False
        return bool(legal(self, Designs(self, np.array([row])))[0])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        return (
            self.names == other.names
            and self._options == other._options
            and self._conditions == other._conditions
            and self.valid == other.valid
            and (self._pool is None) == (other._pool is None)
            and (self._pool is None or other._pool is None or np.array_equal(self._pool.codes, other._pool.codes))
        )

    def __hash__(self) -> int:
        return hash((self.names, tuple(self._options.values())))

    def __getstate__(self) -> dict[str, Any]:
        # The pool refers back to its space, so only its codes travel; what can be worked out again stays behind.
        state = {name: value for name, value in self.__dict__.items() if name not in DERIVED}
        return state | {"_pool": None if self._pool is None else self._pool.codes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if state["_pool"] is not None:
            self._pool = Designs(self, state["_pool"])

    def __repr__(self) -> str:
        shown = ", ".join(self.names[:SHOWN_NAMES]) + (", ..." if len(self.names) > SHOWN_NAMES else "")
        pool = "" if self._pool is None else f"; a pool of {len(self._pool)} designs"
        return f"Space({len(self.names)} options: {shown}{pool})"

    @cached_property
    def _count(self) -> int | float:
        """How many designs there are before the rule is asked."""
        return count(list(self._options.values()), self._activity)

    @property
    def _can_enumerate(self) -> bool:
        return self._count <= ENUMERATION_LIMIT

    @cached_property
    def _every_design(self) -> Designs:
        every = self._every_combination()
        return every if self.valid is None else every[legal(self, every)]

    @cached_property
    def _pool_keys(self) -> KeyArray | None:
        return None if self._pool is None else np.sort(self._pool.keys())

    def _every_combination(self) -> Designs:
        infinite = [name for name, option in self._options.items() if option.size == math.inf]
        if infinite:
            raise InvalidValueError(
                f"Option {infinite[0]!r} has infinitely many values, so designs cannot be enumerated; use sample()."
            )
        codes = every_design(list(self._options.values()), self._activity, ENUMERATION_LIMIT)
        if codes is None:
            raise InvalidValueError(
                f"The space has {self._count} designs; at most {ENUMERATION_LIMIT} can be enumerated, so use sample()."
            )
        return Designs(self, codes)

    def _limited_to(self, codes: FloatArray) -> Space:
        """This space, still new, with the rows of codes (m, k) as its only legal designs."""
        self._pool = Designs(self, codes).unique()
        return self

    def _positions(self, options: Sequence[str] | None) -> Sequence[int]:
        """The positions of the named options; of all of them for None."""
        if options is None:
            return range(len(self.names))
        if isinstance(options, str):
            raise InvalidTypeError(f"The options are {options!r}; give a list of names.")
        for name in options:
            if name not in self._index:
                raise unknown_name("option", name, self.names)
        if len(set(options)) < len(options):
            raise InvalidValueError(f"The options are {list(options)}; each may be named once.")
        return [self._index[name] for name in options]
