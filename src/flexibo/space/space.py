"""Space: all legal designs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from flexibo._internal.arrays import BoolArray, FloatArray, IntArray
from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.space import _configspace, _neighbours, _record
from flexibo.space._conditions import Conditions
from flexibo.space._corners import corners, is_corner
from flexibo.space._legal_designs import LegalDesigns, Rule
from flexibo.space._option_table import Families, OptionTable
from flexibo.space._pool import read_pool
from flexibo.space._sampling import sampled
from flexibo.space.design import Design
from flexibo.space.designs import Designs, decoded
from flexibo.space.options import Option


class Space:
    """All legal designs.

    Args:
        options: The legal values of each option: a list of numbers (ordered), a list of anything else (unordered), a
            pair of ints (whole numbers, both ends included), a pair with a float (an interval), or a `Categorical`,
            `Ordinal`, `Integer` or `Real`.
        valid: A rule that returns whether a design is legal, for combinations that are forbidden.
        conditions: Options that only matter when other options, their parents, have one of some values, as in
            `{"momentum": {"optimiser": ["sgd"]}}`. Otherwise they are inactive, and their value is None. If there are
            several parents, all must have such a value; an inactive parent never has.

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
        if valid is not None and not callable(valid):
            raise InvalidTypeError(f"The rule is {valid!r}; it must be a function of a design.")
        self._table = OptionTable(options, conditions)
        self.names = self._table.names
        self.valid = valid
        self._legal = LegalDesigns(self._table, valid, None)

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

    def limited_to(self, designs: Designs) -> Space:
        """A finite pool: a space with the same options, whose only legal designs are these."""
        return Space(self.options, conditions=self.conditions)._limited_to(designs.codes)

    @property
    def options(self) -> Mapping[str, Option]:
        """The options by name, in order."""
        return MappingProxyType(self._table.options)

    @property
    def conditions(self) -> Conditions:
        """For each conditional option, for each parent, the values that keep it active."""
        return {child: dict(parents) for child, parents in self._table.conditions.items()}

    @property
    def pool(self) -> Designs | None:
        """The only legal designs, if the space was made from a table."""
        return self._legal.pool

    @property
    def size(self) -> int | float:
        """The number of legal designs; infinity if a `Real` option varies.

        With a rule, the designs are enumerated once and counted; above 1,000,000 combinations the rule is ignored. It
        is an upper bound if too many conditions are linked to count the designs exactly.
        """
        return self._legal.size

    def design(self, values: Mapping[str, object]) -> Design:
        """The legal design with these values; inactive options may be left out or None.

        Raises:
            InvalidValueError: If an option is missing, unknown or has no legal value, or the design is not legal.
        """
        design = self.from_codes(np.array([self._table.codes_of_row(values)]))
        self._legal.check(design)
        return design[0]

    def designs(self, rows: Iterable[Mapping[str, object]]) -> Designs:
        """The legal designs with these values, one per row; fast if the rows are designs of this space."""
        if isinstance(rows, (str, Mapping)):
            raise InvalidTypeError(f"The rows are {rows!r}; give a list of mappings, or use design() for one.")
        if isinstance(rows, Designs) and rows.table is self._table:
            designs = rows
        else:
            designs = self.from_codes(self._table.codes_of_rows(list(rows)))
        self._legal.check(designs)
        return designs

    def known_designs(self, rows: Iterable[Mapping[str, object]]) -> Designs:
        """The designs with these values, which are legal, or were before the space was changed."""
        if self._table.defaults is None:
            return self.designs(rows)
        return self.from_codes(self._table.known.codes_of_rows(list(rows)))

    def known_design(self, values: Mapping[str, object]) -> Design:
        """The design with these values, which is legal, or was before the space was changed."""
        return self.known_designs([values])[0]

    def _after_change(self, defaults: Mapping[str, Any] | None) -> Space:
        """This space, still new, with the values that earlier designs have of later options; None if none changed."""
        if defaults is not None:
            self._table = OptionTable(self.options, self.conditions, defaults)
            self._legal = LegalDesigns(self._table, self.valid, None)
        return self

    def from_codes(self, codes: FloatArray) -> Designs:
        """The designs with these codes (m, k), legal or not; see `Designs`."""
        return Designs(self._table, codes)

    def legal(self, designs: Designs) -> BoolArray:
        """Whether each design (m,) is in the pool, if there is one, and obeys the rule, if there is one."""
        return self._legal.allows(designs)

    def sample(self, m: int, rng: np.random.Generator, *, draws: int | None = None) -> Designs:
        """M distinct random legal designs; fewer only if the space has fewer.

        Args:
            m: The number of designs.
            rng: Source of the draws.
            draws: The most draws to make where a rule forbids most designs; there may then be fewer designs, or none.

        Every legal design is equally likely, with two exceptions: an option with a logarithmic scale is drawn uniformly
        on that scale, and under conditions each active option is drawn on its own, so a design with more inactive
        options is more likely than one with fewer. A space too large to enumerate also gives fewer than m if a million
        draws, and twenty more per design wanted, do not find them.
        """
        if isinstance(m, bool) or not isinstance(m, (int, np.integer)) or m < 0:
            raise InvalidValueError(f"The number of designs is {m!r}; it must be a whole number of at least 0.")
        if not isinstance(rng, np.random.Generator):
            raise InvalidTypeError(f"rng is {rng!r}; give a generator such as np.random.default_rng(0).")
        return sampled(self._legal, int(m), rng, draws)

    def enumerate(self) -> Designs:
        """Every legal design; an error if there are more than 1,000,000 combinations of values."""
        return self._legal.enumerate()

    def groups(self, options: Sequence[str] | None = None) -> IntArray:
        """For each column (d,) of `Designs.encoded(options)`, the position of its option among `options`."""
        return self._table.groups(options)

    def families(self, options: Sequence[str] | None = None) -> Families:
        """The options of each family, two or more: for each of them its columns in `Designs.encoded(options)`.

        A family has one list of values, and names that differ in their numbers only.

        >>> Space({"width_1": [16, 32], "width_2": [16, 32], "depth": [1, 2, 3]}).families()
        (((0,), (1,)),)
        """
        return self._table.families(options)

    def decode(self, X: FloatArray) -> Designs:
        """The designs whose encoding is nearest to the rows of X (m, d), option by option.

        The inverse of `Designs.encoded`. Rules and pools are not consulted.
        """
        return decoded(self._table, X)

    def neighbours(
        self, design: Design | Designs, rng: np.random.Generator, *, steps: int = 1, draws: int = 4
    ) -> Designs:
        """The legal designs that differ from a design in one option.

        Args:
            design: A legal design of this space, or `Designs` with a single one, legal or not.
            rng: Draws the perturbations, and the values of options that a changed parent makes active.
            steps: How far to go along an `Ordinal` or `Integer`. All values of a `Categorical` are neighbours,
                or 100 random ones if it has more than 256.
            draws: The number of normal perturbations, with a standard deviation of 0.1 on the encoded scale, of each
                `Real` and of each `Integer` with more than ten values.

        In a pool these are the (at most 20) members that differ in the fewest options.
        """
        single = design if isinstance(design, Designs) else self.designs([design])
        return _neighbours.neighbours(self._legal, single, rng, steps=steps, draws=draws)

    def steps_away(self, parents: Designs, count: int, rng: np.random.Generator) -> Designs:
        """At most `count` legal designs, each a random step away from a random parent; none if there is a pool.

        The length of a step and the number of options it changes vary by orders of magnitude: which of them helps
        depends on the space and on how much is known already.
        """
        return _neighbours.steps_away(self._legal, parents, count, rng)

    def corners(self, count: int, rng: np.random.Generator) -> Designs:
        """At most `count` random legal designs whose numbers are all at an end of their range; none if there is a pool.

        Categories are drawn. A uniform draw of many options hardly ever has a corner, and losses that rise or fall with
        every option are least there.
        """
        return corners(self._legal, count, rng)

    def is_corner(self, designs: Designs) -> BoolArray:
        """Whether all numbers of each design (m,) are at an end of their range; categories do not count."""
        return is_corner(designs)

    def to_dict(self) -> dict[str, Any]:
        """The space as JSON-able values; a rule cannot be stored, only that there is one (`has_rule`)."""
        return _record.space_to_dict(self._legal)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, valid: Rule | None = None) -> Space:
        """The space that `to_dict` wrote; its rule, if it had one, must be given again."""
        options = _record.options_of_dict(data)
        if data.get("has_rule") and valid is None:
            raise InvalidValueError(
                "The space was stored without its rule; give it as valid=..., "
                "or give valid=lambda design: True to do without."
            )
        space = cls(options, valid=valid, conditions=data.get("conditions"))._after_change(data.get("defaults"))
        codes = _record.pool_of_dict(data)
        return space if codes is None else space._limited_to(codes)

    def to_configspace(self) -> Any:
        """The space as a `ConfigSpace.ConfigurationSpace`; needs the extra `configspace`."""
        return _configspace.to_configspace(self._legal)

    @classmethod
    def from_configspace(cls, configspace: Any) -> Space:
        """The space of a `ConfigSpace.ConfigurationSpace`; forbidden clauses become the rule."""
        options, conditions, rule = _configspace.parts_of_configspace(configspace)
        return cls(options, conditions=conditions, valid=rule)

    def __contains__(self, values: object) -> bool:
        try:
            row = self._table.codes_of_row(values)
        except (InvalidTypeError, InvalidValueError):
            return False
        return bool(self.legal(self.from_codes(np.array([row])))[0])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        if self._table != other._table or self.valid != other.valid:
            return False
        if self.pool is None or other.pool is None:
            return self.pool is other.pool
        return np.array_equal(self.pool.codes, other.pool.codes, equal_nan=True)

    def __hash__(self) -> int:
        return hash(self._table)

    def __repr__(self) -> str:
        pool = "" if self.pool is None else f"; a pool of {len(self.pool)} designs"
        return f"Space({self._table.summary()}{pool})"

    def _limited_to(self, codes: FloatArray) -> Space:
        """This space, still new, with the rows of codes (m, k) as its only legal designs."""
        self._legal = LegalDesigns(self._table, self.valid, self.from_codes(codes))
        return self
