"""Objective: what is measured, and the only place where signs flip.

Users see values in their own direction; all decisions are made on losses (lower is better).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Literal

from flexibo._internal.arrays import plain
from flexibo._internal.checks import checked_unicode
from flexibo._internal.stops import EARLIEST, FARTHEST, MOST_STOPS, checked_steps, stops_of
from flexibo.errors import FlexiBOError, InvalidTypeError, InvalidValueError
from flexibo.objectives.reading import LARGEST

Direction = Literal["min", "max", "minimise", "minimize", "maximise", "maximize"]
DIRECTIONS = {"minimise": "min", "minimize": "min", "maximise": "max", "maximize": "max"}
"""Other words for the directions."""

NUMBERS = ("repeats", "cost", "timeout", "retries", "at_most", "at_least", "lower", "upper", "tolerance")
OWN = ("timeout", "retries", "resources", "unit")
"""The fields that affect no question, so that each process may have its own."""

PLAIN = ("noisy", "remeasure", "optimise", "resumable", *NUMBERS)
"""The fields that may be given as numpy scalars."""


@dataclass(frozen=True, slots=True)
class Objective:
    """One property of a design that is measured: an objective, a constraint, or both.

    With a bound (`at_most` or `at_least`) it is a constraint: measured and modelled, but not optimised unless
    ``optimise=True``.

    Attributes:
        name: Its name.
        direction: ``"min"`` (the default) or ``"max"``, or in full, as in ``"maximise"``; if it is not given, a bound
            decides.
        unit: Shown beside values, e.g. ``"J"``.
        options: The options it depends on; ``None`` means all of them. Designs that agree in these share one value.
        noisy: Whether two readings of one design differ.
        repeats: The number of readings per evaluation; their median counts.
        remeasure: Whether a noisy objective may be measured more than once for a design.
        measured_with: The objective whose evaluation yields this one too.
        cost: The expected cost of one evaluation, used until one was made.
        timeout: Seconds after which an evaluation counts as failed.
        retries: How many further attempts follow one that failed, at most. By default this depends on the failure: one
            after an error, two if each gives another error or the worker was lost, and none after a timeout or a wrong
            value.
        fails_with: An objective whose failures have the same cause: what cannot be measured for a design in one of them
            cannot be in the other.
        at_most: The greatest feasible value.
        at_least: The smallest feasible value.
        lower: The least value that is possible; nothing below it is predicted, and no reading below it is accepted. By
            default values are taken as positive as long as all readings and a constraint's bound are; ``-math.inf``
            says that they need not be.
        upper: The greatest value that is possible.
        optimise: Whether it is optimised; by default unless it has a bound.
        tolerance: A difference that does not matter, for methods that classify designs (`epsilon-pal`).
        resources: What an evaluation needs of a worker, as in ``{"GPU": 1}``.
        steps: The number of steps of an evaluation that tells values on its way, as a training in epochs, or the steps
            at which it may stop, ascending. Only the value at the last step counts as measured.
        resumable: Whether an evaluation can go on from the step that an earlier one of the design reached.
        proxies: Names of objectives that are cheaper to measure and may tell something of this one, as the error on a
            smaller data set. They have ``optimise=False`` and no bound; how much they tell is learned.
        reuse: The options that decide what an evaluation makes and later ones use again, as a trained network that is
            tested in another precision. Designs that agree in them pay for it once; what the rest costs is learned.

    >>> Objective("images_per_second", "max").loss(30.0)
    -30.0
    >>> Objective("latency_ms", at_most=50).is_constraint, Objective("latency_ms", at_most=50).optimise
    (True, False)
    >>> Objective("accuracy", "max", lower=0, upper=1).possible_losses
    (-1.0, 0.0)
    >>> Objective("error", steps=27).stops
    (1, 3, 9, 27)
    >>> Objective("error_small", optimise=False).is_proxy
    True
    """

    name: str
    direction: Direction | None = None
    _: KW_ONLY
    unit: str = ""
    options: Collection[str] | None = None
    noisy: bool = False
    repeats: int = 1
    remeasure: bool = False
    measured_with: str | None = None
    cost: float | None = None
    timeout: float | None = None
    retries: int | None = None
    fails_with: str | None = None
    at_most: float | None = None
    at_least: float | None = None
    lower: float | None = None
    upper: float | None = None
    optimise: bool | None = None
    tolerance: float | None = None
    resources: Mapping[str, float] = dataclasses.field(default_factory=dict, hash=False)
    steps: int | Collection[int] | None = None
    resumable: bool = True
    proxies: Collection[str] = ()
    reuse: Collection[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InvalidValueError(f"An objective is named {self.name!r}; give it a non-empty string.")
        checked_unicode("An objective is named", self.name)
        for field in PLAIN:
            object.__setattr__(self, field, plain(getattr(self, field)))
        object.__setattr__(self, "options", None if self.options is None else self._checked_names("options", "option"))
        object.__setattr__(self, "proxies", self._checked_names("proxies", "objective"))
        object.__setattr__(self, "reuse", self._checked_names("reuse", "option"))
        object.__setattr__(self, "resources", checked_resources(self.resources, f"Objective {self.name!r}"))
        if isinstance(self.direction, str):
            object.__setattr__(self, "direction", DIRECTIONS.get(self.direction.lower(), self.direction))
        is_direction = isinstance(self.direction, str) and self.direction in ("min", "max")
        self._require("direction", self.direction is None or is_direction, "'min' or 'max'")
        for field in ("noisy", "remeasure", "resumable"):
            self._require(field, isinstance(getattr(self, field), bool), "True or False", InvalidTypeError)
        self._require("optimise", isinstance(self.optimise, bool | None), "True or False", InvalidTypeError)
        self._require("unit", isinstance(self.unit, str), "a string", InvalidTypeError)
        self._require("repeats", type(self.repeats) is int and self.repeats >= 1, "a whole number, 1 or more")
        is_count = self.retries is None or (type(self.retries) is int and self.retries >= 0)
        self._require("retries", is_count, "a whole number, 0 or more")
        for field, least in (("cost", "zero or more"), ("timeout", "above zero"), ("tolerance", "zero or more")):
            number = getattr(self, field)
            is_usable = _is_number(number) and number >= 0 and (field != "timeout" or number > 0)
            self._require(field, number is None or is_usable, least)
        self._check_steps()
        if self.remeasure and not self.noisy:
            raise InvalidValueError(
                f"Objective {self.name!r} has remeasure=True but is exact; a second reading adds nothing. "
                "Set noisy=True.",
                argument="remeasure",
            )
        self._check_reuse()
        self._apply_bound()
        self._check_range()

    def _check_steps(self) -> None:
        """Check the steps, and that nothing contradicts them."""
        if self.steps is None:
            self._require("resumable", self.resumable, "True, as it has no steps")
            return
        found = checked_steps(self.steps)
        listed = f"a list of 1 to {MOST_STOPS} such numbers, ascending, or left out"
        self._require("steps", found is not None, f"a whole number from 1 to {FARTHEST}, or {listed}")
        object.__setattr__(self, "steps", found)
        for field, without in (("measured_with", None), ("repeats", 1), ("remeasure", False)):
            if getattr(self, field) != without:
                raise InvalidValueError(
                    f"Objective {self.name!r} has steps and {field} {getattr(self, field)!r}; an objective with steps "
                    f"is measured alone and once, so leave out {field}.",
                    argument=field,
                )

    def _check_reuse(self) -> None:
        """Check that what is used again belongs to an evaluation of this objective."""
        for field in ("measured_with", "steps"):
            if self.reuse and getattr(self, field) is not None:
                raise InvalidValueError(
                    f"Objective {self.name!r} has reuse and {field}; give reuse to an objective without steps that is "
                    "asked for by its own name.",
                    argument="reuse",
                )
        other = [name for name in self.reuse if self.options is not None and name not in self.options]
        if other:
            raise InvalidValueError(
                f"Objective {self.name!r} has reuse {other[0]!r}, which is not among its options; add it to them or "
                "leave it out.",
                argument="reuse",
            )

    @property
    def stops(self) -> tuple[int, ...]:
        """The steps at which an evaluation may stop, ascending; the last of them is the last step. Empty without."""
        return stops_of(self.steps)  # type: ignore[arg-type]  # it was checked

    @property
    def looks(self) -> tuple[int, ...]:
        """The stops at which a method may end an evaluation: those that were listed, or those after a tenth of the way.

        Empty without steps.
        """
        if isinstance(self.steps, tuple):
            return self.stops
        return tuple(stop for stop in self.stops if stop >= EARLIEST * self.stops[-1])

    def _require(
        self, field: str, is_usable: bool, expected: str, kind: type[FlexiBOError] = InvalidValueError
    ) -> None:
        if not is_usable:
            raise kind(
                f"Objective {self.name!r} has {field} {getattr(self, field)!r}; it must be {expected}.", argument=field
            )

    def _apply_bound(self) -> None:
        """Check the bound, and derive from it what was not given: the direction, and whether to optimise."""
        bounds = [field for field in ("at_most", "at_least") if getattr(self, field) is not None]
        if len(bounds) == 2:
            raise InvalidValueError(
                f"Objective {self.name!r} has at_most and at_least; give one of them, and a second objective "
                "measured_with the first for the other.",
                argument="at_least",
            )
        if self.optimise is None:
            object.__setattr__(self, "optimise", not bounds)
        for field in bounds:
            self._require(field, _is_number(getattr(self, field)), f"a number, at most {LARGEST:g} in size")
            direction = "min" if field == "at_most" else "max"
            if self.direction not in (None, direction):
                raise InvalidValueError(
                    f"Objective {self.name!r} has direction {self.direction!r} and {field}; a bound limits how bad a "
                    f"value may be, so {field} goes with direction {direction!r}.",
                    argument="direction",
                )
            object.__setattr__(self, "direction", direction)
        if self.direction is None:
            object.__setattr__(self, "direction", "min")

    @property
    def range_text(self) -> str:
        """The possible values in words, as far as bounds are given; empty without any.

        >>> Objective("error", lower=0, upper=100).range_text, Objective("error", lower=-math.inf).range_text
        ('between 0 and 100', '')
        """
        least, most = self._range
        if least > -math.inf and most < math.inf:
            return f"between {least:.10g} and {most:.10g}"
        if least > -math.inf:
            return f"never below {least:.10g}"
        return f"never above {most:.10g}" if most < math.inf else ""

    def _check_range(self) -> None:
        """Check the possible values, and that some of them are feasible."""
        for field, no_bound in (("lower", -math.inf), ("upper", math.inf)):
            bound = getattr(self, field)
            is_usable = bound is None or bound == no_bound or _is_number(bound)
            self._require(field, is_usable, f"a number, at most {LARGEST:g} in size, or {no_bound} for no bound")
        least, most = self._range
        if not least < most:
            raise InvalidValueError(
                f"Objective {self.name!r} has lower {self.lower!r} and upper {self.upper!r}; it must be below upper.",
                argument="upper",
            )
        if (self.at_most is not None and self.at_most < least) or (self.at_least is not None and self.at_least > most):
            field, beyond = ("at_most", "lower") if self.at_most is not None else ("at_least", "upper")
            raise InvalidValueError(
                f"Objective {self.name!r} has {field} {getattr(self, field)!r} beyond its {beyond} "
                f"{getattr(self, beyond)!r}, so that no design is feasible; change one of them.",
                argument=field,
            )

    @property
    def _range(self) -> tuple[float, float]:
        """The least and the greatest value that is possible, as far as they are given."""
        least, most = -math.inf if self.lower is None else self.lower, math.inf if self.upper is None else self.upper
        return float(least), float(most)

    @property
    def possible_losses(self) -> tuple[float, float]:
        """The least and the greatest loss that is possible, as far as bounds are given."""
        least, most = self._range
        return (least, most) if self.direction == "min" else (0.0 - most, 0.0 - least)

    @property
    def is_constraint(self) -> bool:
        """Whether it has a bound."""
        return self.at_most is not None or self.at_least is not None

    @property
    def is_proxy(self) -> bool:
        """Whether it is measured only for what it tells about other objectives: it is neither optimised nor limited."""
        return not self.optimise and not self.is_constraint

    @property
    def limit(self) -> float:
        """The greatest loss that is feasible; infinite without a bound."""
        bound = self.at_most if self.at_most is not None else self.at_least
        return math.inf if bound is None else self.loss(float(bound))

    def _checked_names(self, field: str, what: str) -> tuple[str, ...]:
        given = getattr(self, field)
        is_list = isinstance(given, Iterable) and not isinstance(given, str)
        names = tuple(given) if is_list else ()
        is_usable = is_list and all(isinstance(name, str) for name in names)
        self._require(field, is_usable, f"a list of {what} names", InvalidTypeError)
        if len(set(names)) != len(names):
            raise InvalidValueError(
                f"Objective {self.name!r} names an {what} twice: {', '.join(names)}.", argument=field
            )
        return names

    @property
    def depends_on(self) -> tuple[str, ...] | None:
        """The options it depends on, in order; None means all."""
        return None if self.options is None else tuple(self.options)

    def loss(self, value: float) -> float:
        """The value as a loss: lower is better."""
        return value if self.direction == "min" else -value

    def value(self, loss: float) -> float:
        """The loss as the user's value; the inverse of `loss`."""
        return loss if self.direction == "min" else -loss

    def checked_value(self, value: object) -> float:
        """A reading as a float; an error if it is not a finite number that is possible."""
        number = self.checked_number(value)
        least, most = self._range
        if not least <= number <= most:
            where = f"below its lower bound {least:.10g}" if number < least else f"above its upper bound {most:.10g}"
            raise InvalidValueError(
                f"Objective {self.name!r} got the value {number:.10g}, which is {where}; check the measurement or the "
                "bound."
            )
        return number

    def checked_number(self, value: object) -> float:
        """The value as a finite float; an error if it is anything else."""
        try:
            number = float(value)  # type: ignore[arg-type]  # anything float() takes is a number here
        except (TypeError, ValueError, OverflowError):
            raise InvalidTypeError(f"Objective {self.name!r} got the value {value!r}; it must be a number.") from None
        if isinstance(value, str | bytes):
            raise InvalidTypeError(f"Objective {self.name!r} got the value {value!r}; it must be a number, not text.")
        if not _is_number(number):
            raise InvalidValueError(
                f"Objective {self.name!r} got the value {number}; it must be finite and at most {LARGEST:g} in size."
            )
        return number

    def to_dict(self) -> dict[str, Any]:
        """The fields that differ from their defaults, as JSON-able values."""
        shown = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        shown["resources"] = dict(self.resources)
        if not self.resources:
            del shown["resources"]
        if shown["optimise"] is not self.is_constraint:
            del shown["optimise"]  # it follows from the bound
        if shown["direction"] == ("max" if self.at_least is not None else "min"):
            del shown["direction"]  # so does this
        for field in ("options", "steps", "proxies", "reuse"):
            if isinstance(shown.get(field), tuple):
                shown[field] = list(shown[field])
        for field in ("lower", "upper"):
            if field in shown and math.isinf(shown[field]):
                shown[field] = str(shown[field])  # JSON has no infinite numbers
        return shown

    def __reduce__(self) -> tuple[Any, ...]:
        return Objective.from_dict, (self.to_dict(),)  # the mapping of resources is a view, which cannot be pickled

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Objective:
        """The objective that `to_dict` wrote."""
        infinite = {field: float(data[field]) for field in ("lower", "upper") if isinstance(data.get(field), str)}
        return cls(**{**data, **infinite})


def _is_number(value: object) -> bool:
    """Whether a value is a finite number of a size that can be computed with."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


def checked_resources(resources: object, whose: str) -> Mapping[str, float]:
    """Amounts above zero by name."""
    if not isinstance(resources, Mapping) or not all(isinstance(name, str) and name.strip() for name in resources):
        raise InvalidTypeError(f"{whose} has resources {resources!r}; give a mapping such as {{'GPU': 1}}.")
    amounts = {str(name): plain(amount) for name, amount in resources.items()}
    for name, amount in amounts.items():
        if not _is_number(amount) or amount <= 0:
            raise InvalidValueError(f"{whose} has {amount!r} of resource {name!r}; it must be a number above zero.")
    return MappingProxyType(amounts)


def with_own(objective: Objective, own: Objective | None) -> Objective:
    """The objective with the timeout, retries, resources and unit of a process's own one, if it has one."""
    return objective if own is None else replace(objective, **{field: getattr(own, field) for field in OWN})
