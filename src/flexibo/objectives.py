"""Objective: what is measured, and the only place where signs flip.

Users see values in their own direction; everything that decides works with losses (lower is better).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Literal

from flexibo._internal.arrays import plain
from flexibo.errors import InvalidTypeError, InvalidValueError, unknown_name

Direction = Literal["min", "max"]
LARGEST = 1e100
"""Greater values cannot be squared, multiplied and added without overflow; they are taken as failed measurements."""

PLAIN = ("noisy", "repeats", "remeasure", "cost", "timeout", "at_most", "at_least", "optimise", "tolerance")
"""The fields that may be given as numpy's numbers."""


@dataclass(frozen=True, slots=True)
class Objective:
    """One property of a design that is measured: an objective, a constraint, or both.

    With a bound (`at_most` or `at_least`) it is a constraint: measured and modelled, but not optimised unless
    ``optimise=True``.

    Attributes:
        name: What users and callables call it.
        direction: ``"min"`` (the default) or ``"max"``; a bound decides it where it is not given.
        unit: Shown beside values, e.g. ``"J"``.
        options: The options it depends on; ``None`` means all of them. Designs that agree in these share one value.
        noisy: Whether two readings of one design differ. A noisy objective is believed, never taken as exact.
        repeats: How many readings make one evaluation; their median counts.
        remeasure: Whether a noisy objective of one design may be asked more than once.
        measured_with: The objective whose evaluation yields this one too.
        cost: What one evaluation is expected to cost before any was made.
        timeout: Seconds after which an evaluation counts as failed.
        at_most: Designs with a greater value are not feasible.
        at_least: Designs with a smaller value are not feasible.
        optimise: Whether it is optimised; by default it is unless it has a bound.
        tolerance: A difference that does not matter, for methods that classify designs (`epsilon-pal`).
        resources: What an evaluation needs of a worker, as in ``{"GPU": 1}``; workers that do not offer it are not
            asked.

    >>> Objective("images_per_second", "max").loss(30.0)
    -30.0
    >>> Objective("latency_ms", at_most=50).is_constraint, Objective("latency_ms", at_most=50).optimise
    (True, False)
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
    at_most: float | None = None
    at_least: float | None = None
    optimise: bool | None = None
    tolerance: float | None = None
    resources: Mapping[str, float] = dataclasses.field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InvalidValueError(f"An objective is named {self.name!r}; give it a non-empty string.")
        if not (self.direction is None or (isinstance(self.direction, str) and self.direction in ("min", "max"))):
            raise InvalidValueError(
                f"Objective {self.name!r} has direction {self.direction!r}; it must be 'min' or 'max'."
            )
        for name in PLAIN:
            object.__setattr__(self, name, plain(getattr(self, name)))
        object.__setattr__(self, "options", self._checked_options())
        object.__setattr__(self, "resources", checked_resources(self.resources, f"Objective {self.name!r}"))
        for field in ("noisy", "remeasure"):
            if not isinstance(getattr(self, field), bool):
                raise InvalidTypeError(
                    f"Objective {self.name!r} has {field} {getattr(self, field)!r}; it must be True or False."
                )
        if not isinstance(self.unit, str):
            raise InvalidTypeError(f"Objective {self.name!r} has unit {self.unit!r}; it must be a string.")
        if isinstance(self.repeats, bool) or not isinstance(self.repeats, int) or self.repeats < 1:
            raise InvalidValueError(f"Objective {self.name!r} has repeats {self.repeats!r}; it must be 1 or more.")
        if self.remeasure and not self.noisy:
            raise InvalidValueError(
                f"Objective {self.name!r} has remeasure=True but is exact; a second reading would tell nothing new. "
                "Set noisy=True."
            )
        self._check_bound()
        for field, least in (("cost", "zero or more"), ("timeout", "above zero"), ("tolerance", "zero or more")):
            number = getattr(self, field)
            if number is None:
                continue
            good = isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= LARGEST
            if not good or (field == "timeout" and number == 0):
                raise InvalidValueError(f"Objective {self.name!r} has {field} {number!r}; it must be {least}.")

    def _check_bound(self) -> None:
        """Check the bound, and let it decide what was left open: the direction, and whether to optimise."""
        bounds = [field for field in ("at_most", "at_least") if getattr(self, field) is not None]
        if len(bounds) == 2:
            raise InvalidValueError(
                f"Objective {self.name!r} has at_most and at_least; give one of them, and a second objective "
                "measured_with the first for the other."
            )
        if self.optimise is not None and not isinstance(self.optimise, bool):
            raise InvalidTypeError(f"Objective {self.name!r} has optimise {self.optimise!r}; it must be True or False.")
        if not bounds and self.optimise is False:
            raise InvalidValueError(
                f"Objective {self.name!r} has optimise=False and no bound; give at_most or at_least, or leave it out."
            )
        optimise = bool(self.optimise) if self.optimise is not None else not bounds
        object.__setattr__(self, "optimise", optimise)
        for field in bounds:
            bound, direction = getattr(self, field), "min" if field == "at_most" else "max"
            good = isinstance(bound, int | float) and not isinstance(bound, bool) and abs(bound) <= LARGEST
            if not good:
                raise InvalidValueError(
                    f"Objective {self.name!r} has {field} {bound!r}; it must be a number, at most {LARGEST:g} in size."
                )
            if self.direction not in (None, direction):
                raise InvalidValueError(
                    f"Objective {self.name!r} has direction {self.direction!r} and {field}; a bound limits how bad a "
                    f"value may be, so {field} goes with direction {direction!r}."
                )
            object.__setattr__(self, "direction", direction)
        if self.direction is None:
            object.__setattr__(self, "direction", "min")

    @property
    def is_constraint(self) -> bool:
        """Whether it has a bound."""
        return self.at_most is not None or self.at_least is not None

    @property
    def limit(self) -> float:
        """The greatest loss that is feasible; infinite without a bound."""
        bound = self.at_most if self.at_most is not None else self.at_least
        return math.inf if bound is None else self.loss(float(bound))

    def _checked_options(self) -> tuple[str, ...] | None:
        if self.options is None:
            return None
        if isinstance(self.options, str) or not isinstance(self.options, Iterable):
            raise InvalidTypeError(
                f"Objective {self.name!r} has options {self.options!r}; give a list of option names."
            )
        options = tuple(self.options)
        if not all(isinstance(name, str) for name in options):
            raise InvalidTypeError(
                f"Objective {self.name!r} has options {list(options)!r}; give a list of option names."
            )
        if len(set(options)) != len(options):
            raise InvalidValueError(f"Objective {self.name!r} names an option twice: {', '.join(map(str, options))}.")
        return options

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
        """The value as a finite float, or a sentence about what was given instead."""
        try:
            number = float(value)  # type: ignore[arg-type]  # anything float() takes is a number here
        except (TypeError, ValueError, OverflowError):
            raise InvalidTypeError(f"Objective {self.name!r} was told {value!r}; it must be a number.") from None
        if isinstance(value, str | bytes):
            raise InvalidTypeError(f"Objective {self.name!r} was told {value!r}; it must be a number, not text.")
        if not math.isfinite(number) or abs(number) > LARGEST:
            raise InvalidValueError(
                f"Objective {self.name!r} was told {number}; it must be finite and at most {LARGEST:g} in size. "
                "Report a measurement that failed with fail()."
            )
        return number

    def to_dict(self) -> dict[str, Any]:
        """The fields that differ from their defaults, ready for JSON."""
        shown = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        shown["resources"] = dict(self.resources)
        if not self.resources:
            del shown["resources"]
        if shown["optimise"] is not self.is_constraint:
            del shown["optimise"]  # it follows from the bound
        if shown["direction"] == ("max" if self.at_least is not None else "min"):
            del shown["direction"]  # so does this
        if "options" in shown:
            shown["options"] = list(shown["options"])
        return shown

    def __reduce__(self) -> tuple[Any, ...]:
        return Objective.from_dict, (self.to_dict(),)  # the mapping of resources is a view, which does not travel

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Objective:
        """The objective that `to_dict` wrote."""
        return cls(**data)


def checked_resources(resources: object, whose: str) -> Mapping[str, float]:
    """Amounts above zero by name."""
    if not isinstance(resources, Mapping) or not all(isinstance(name, str) and name.strip() for name in resources):
        raise InvalidTypeError(f"{whose} has resources {resources!r}; give a mapping such as {{'GPU': 1}}.")
    amounts = {str(name): plain(amount) for name, amount in resources.items()}
    for name, amount in amounts.items():
        if isinstance(amount, bool) or not isinstance(amount, int | float) or not 0 < amount <= LARGEST:
            raise InvalidValueError(f"{whose} has {amount!r} of resource {name!r}; it must be a number above zero.")
    return MappingProxyType(amounts)


@dataclass(frozen=True, slots=True)
class Purchase:
    """What one evaluation buys: the objective that is asked for and those measured with it.

    Attributes:
        objective: Name of the objective that is asked for.
        members: Indices of all objectives it yields, the asked one first.
        options: The options that decide the outcome; ``None`` means all.
    """

    objective: str
    members: tuple[int, ...]
    options: tuple[str, ...] | None


def purchases(objectives: Sequence[Objective]) -> tuple[Purchase, ...]:
    """What can be bought, in the order of the objectives.

    >>> [p.members for p in purchases([Objective("error"), Objective("joules"),
    ...                                Objective("ms", measured_with="joules")])]
    [(0,), (1, 2)]
    """
    names = [objective.name for objective in objectives]
    leads = [_lead(objective, objectives) for objective in objectives]
    bought = []
    for index, objective in enumerate(objectives):
        if leads[index] != objective.name:
            continue
        members = (index, *(i for i, lead in enumerate(leads) if lead == objective.name and i != index))
        bought.append(Purchase(names[index], members, _union([objectives[i].depends_on for i in members])))
    return tuple(bought)


def _lead(objective: Objective, objectives: Sequence[Objective]) -> str:
    """The objective that must be asked for to get this one."""
    by_name = {other.name: other for other in objectives}
    seen = [objective.name]
    while objective.measured_with is not None:
        objective = by_name[objective.measured_with]
        if objective.name in seen:
            raise InvalidValueError(f"measured_with goes in a circle: {' -> '.join([*seen, objective.name])}.")
        seen.append(objective.name)
    return objective.name


def _union(options: Sequence[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    if any(names is None for names in options):
        return None
    return tuple(dict.fromkeys(name for names in options if names is not None for name in names))


def check_objectives(objectives: Iterable[Objective | str], options: Sequence[str]) -> tuple[Objective, ...]:
    """The objectives of a study, after checking that they fit together and that their options exist."""
    if isinstance(objectives, str | Objective | Mapping) or not isinstance(objectives, Iterable):
        raise InvalidTypeError(
            f"objectives is {objectives!r}; give a list such as [Objective('error'), Objective('speed', 'max')]."
        )
    checked = tuple(Objective(o) if isinstance(o, str) else o for o in objectives)
    for objective in checked:
        if not isinstance(objective, Objective):
            raise InvalidTypeError(f"An objective is {objective!r}; give Objective(...) or a name.")
    names = [objective.name for objective in checked]
    if len(names) < 2:
        raise InvalidValueError(
            f"A study needs at least two objectives, or one and a constraint; {len(names)} given. "
            "For one objective alone use a single-objective optimiser."
        )
    if not any(objective.optimise for objective in checked):
        raise InvalidValueError(
            f"Every objective is a constraint only ({', '.join(names)}); leave the bound of one away, or give it "
            "optimise=True."
        )
    for name in names:
        if names.count(name) > 1:
            raise InvalidValueError(f"Two objectives are named {name!r}; names must differ.")
    for objective in checked:
        for option in objective.options or ():
            if option not in options:
                raise unknown_name(f"option of objective {objective.name!r}:", option, options)
        if objective.measured_with is not None and objective.measured_with not in names:
            raise unknown_name(f"objective in measured_with of {objective.name!r}:", objective.measured_with, names)
    # In the order of the space, so that a set of options means the same in every process.
    checked = tuple(
        replace(o, options=tuple(name for name in options if name in o.options)) if o.options is not None else o
        for o in checked
    )
    purchases(checked)
    return checked
