"""Evaluations, and the events that a study is the replay of, as values and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from flexibo.errors import InvalidValueError
from flexibo.space import Design, Space


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A question: measure this objective of this design.

    Attributes:
        design: The option values to use.
        objective: The objective to measure.
        gain: The volume that this is expected to remove from the Pareto region, or the score of a method that is not
            about the region; None for an initial design and where nothing is scored.
        cost: What it is expected to cost; 0 while nothing is known.
        why: One line for people.
        number: The how-manieth question of the study this is, from 0.
        yields: All objectives that this one measurement gives, the asked one first.
        attempt: 1, or more when earlier attempts failed.
        volume: The volume of the Pareto region when this was asked; None for an initial design and for methods that are
            not about the region.
        then: Objectives of the same design that are asked next, because the method measures them together.
        initial: Whether it belongs to the initial designs.
    """

    design: Design
    objective: str
    gain: float | None
    cost: float
    why: str
    number: int
    yields: tuple[str, ...]
    attempt: int = 1
    volume: float | None = None
    then: tuple[str, ...] = ()
    initial: bool = False


@dataclass(frozen=True, slots=True)
class Created:
    """A study began, with these settings."""

    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """An evaluation was handed out."""

    evaluation: Evaluation


@dataclass(frozen=True, slots=True)
class Told:
    """An evaluation was answered."""

    number: int
    values: Mapping[str, float]
    cost: float


@dataclass(frozen=True, slots=True)
class Failed:
    """An attempt at an evaluation gave no value."""

    number: int
    reason: str
    cost: float


@dataclass(frozen=True, slots=True)
class Released:
    """An evaluation was given back without an attempt."""

    number: int


@dataclass(frozen=True, slots=True)
class Added:
    """A result from before the study was brought in; it costs this study nothing."""

    design: Design
    values: Mapping[str, float]
    costs: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ReferenceFixed:
    """The reference point was fixed, in the users' values."""

    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class BudgetSet:
    """The budget was set or raised; None is without limit."""

    budget: float | None


Event: TypeAlias = Created | Asked | Told | Failed | Released | Added | ReferenceFixed | BudgetSet
EVENTS: dict[str, type[Event]] = {
    "created": Created,
    "asked": Asked,
    "told": Told,
    "failed": Failed,
    "released": Released,
    "added": Added,
    "reference": ReferenceFixed,
    "budget": BudgetSet,
}


def event_to_dict(event: Event) -> dict[str, Any]:
    """The event as a dictionary ready for JSON."""
    kind = next(name for name, cls in EVENTS.items() if isinstance(event, cls))
    if isinstance(event, Asked):
        content = {name: getattr(event.evaluation, name) for name in Evaluation.__dataclass_fields__}
        content |= {"design": dict(event.evaluation.design)}
        content |= {"yields": list(event.evaluation.yields), "then": list(event.evaluation.then)}
    elif isinstance(event, Added):
        content = {"design": dict(event.design), "values": dict(event.values), "costs": dict(event.costs)}
    else:
        content = asdict(event)
    return {"event": kind, **content}


def event_from_dict(content: Mapping[str, Any], space: Space) -> Event:
    """The event that `event_to_dict` wrote down."""
    fields = dict(content)
    kind = fields.pop("event", None)
    if kind not in EVENTS:
        raise InvalidValueError(f"The event {kind!r} is unknown; it may come from a newer version of flexibo.")
    if "design" in fields:
        fields["design"] = space.design(fields["design"])
    if kind == "asked":
        fields |= {"yields": tuple(fields["yields"]), "then": tuple(fields["then"])}
        return Asked(Evaluation(**fields))
    return EVENTS[kind](**fields)
