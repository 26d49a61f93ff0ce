"""Evaluations, and the events that a study is the replay of, as values and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from flexibo.errors import InvalidValueError
from flexibo.space import Design, Space


class UnknownEventError(InvalidValueError):
    """An event of a kind that this version does not know."""


@dataclass(frozen=True, slots=True)
class RunnerUp:
    """What would have been asked had the best not been there.

    Attributes:
        design: Its option values.
        objective: What would have been measured.
        gain: Its gain, as that of an `Evaluation`.
        cost: What it was expected to cost.
    """

    design: Design
    objective: str
    gain: float
    cost: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A question: measure this objective of this design.

    Attributes:
        design: The option values to use.
        objective: The objective to measure.
        gain: The volume that this is expected to add to the front (`flexibo`) or to remove from the Pareto region (the
            paper's methods), or the score of another method; None for an initial design and where nothing is scored.
        cost: What it is expected to cost; 0 while nothing is known.
        why: One line for people.
        number: The how-manieth question of the study this is, from 0.
        yields: All objectives that this one measurement gives, the asked one first.
        attempt: 1, or more when earlier attempts failed.
        volume: The volume of the Pareto region when this was asked; None for an initial design and for methods that are
            not about the region.
        then: Objectives of the same design that are asked next, because the method measures them together.
        initial: Whether it belongs to the initial designs.
        runner_up: The second best that could have been asked; None where nothing is scored, or nothing else scored.
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
    runner_up: RunnerUp | None = None


@dataclass(frozen=True, slots=True)
class Created:
    """A study began, with these settings; `origin` says what can make its functions again, if anything can."""

    settings: Mapping[str, Any]
    origin: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    """An evaluation was handed out to a worker, which had lived for so many seconds."""

    evaluation: Evaluation
    worker: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Reissued:
    """An evaluation whose worker vanished was handed to another; the lost attempt is thought to have cost so much."""

    number: int
    worker: str
    seconds: float
    cost: float


@dataclass(frozen=True, slots=True)
class Told:
    """An evaluation was answered; `timed` says that its cost is the time it took, in seconds."""

    number: int
    values: Mapping[str, float]
    cost: float
    worker: str = ""
    timed: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """An attempt at an evaluation gave no value; where that is impossible, there will be no other attempt."""

    number: int
    reason: str
    cost: float
    worker: str = ""
    timed: bool = False
    impossible: bool = False


@dataclass(frozen=True, slots=True)
class Released:
    """An evaluation was given back without an answer; a lost attempt is thought to have cost so much."""

    number: int
    reason: str = ""
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Spent:
    """An attempt whose answer came after another's: only its cost counts."""

    number: int
    cost: float
    worker: str = ""


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


@dataclass(frozen=True, slots=True)
class StopSet:
    """The named rules by which the study stops early were set."""

    rules: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Forgiven:
    """Somebody started a study again that had given up on its failures: they are counted anew."""


@dataclass(frozen=True, slots=True)
class Noted:
    """Something that people should know; it decides nothing."""

    text: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """A run ended; `kind` is the value of a `flexibo.optimizer.StopKind`. It decides no question."""

    kind: str
    reason: str


Event: TypeAlias = (
    Created
    | Asked
    | Reissued
    | Told
    | Failed
    | Released
    | Spent
    | Added
    | ReferenceFixed
    | BudgetSet
    | StopSet
    | Forgiven
    | Noted
    | Stopped
)
EVENTS: dict[str, type[Event]] = {
    "created": Created,
    "asked": Asked,
    "reissued": Reissued,
    "told": Told,
    "failed": Failed,
    "released": Released,
    "spent": Spent,
    "added": Added,
    "reference": ReferenceFixed,
    "budget": BudgetSet,
    "stop": StopSet,
    "forgiven": Forgiven,
    "note": Noted,
    "stopped": Stopped,
}


def event_to_dict(event: Event) -> dict[str, Any]:
    """The event as a dictionary ready for JSON."""
    kind = next(name for name, cls in EVENTS.items() if isinstance(event, cls))
    if isinstance(event, Asked):
        content = {name: getattr(event.evaluation, name) for name in Evaluation.__dataclass_fields__}
        content |= {"design": dict(event.evaluation.design)}
        content |= {"yields": list(event.evaluation.yields), "then": list(event.evaluation.then)}
        second = content.pop("runner_up")
        if second is not None:
            names = RunnerUp.__dataclass_fields__
            content["runner_up"] = {n: getattr(second, n) for n in names} | {"design": dict(second.design)}
        content |= {"worker": event.worker, "seconds": event.seconds}
    elif isinstance(event, Added):
        content = {"design": dict(event.design), "values": dict(event.values), "costs": dict(event.costs)}
    else:
        content = asdict(event)
    return {"event": kind, **content}


def event_from_dict(content: Mapping[str, Any], space: Space) -> Event:
    """The event that `event_to_dict` wrote down."""
    fields = dict(content)
    fields.pop("time", None)  # for people; nothing is decided by the time of day
    kind = fields.pop("event", None)
    if not isinstance(kind, str):
        raise InvalidValueError("it names no kind of event.")
    if kind not in EVENTS:
        raise UnknownEventError(f"The event {kind!r} is unknown; it may come from a newer version of flexibo.")
    if "design" in fields:
        fields["design"] = space.design(fields["design"])
    if kind == "asked":
        fields |= {"yields": tuple(fields["yields"]), "then": tuple(fields["then"])}
        if second := fields.get("runner_up"):
            fields["runner_up"] = RunnerUp(**{**second, "design": space.design(second["design"])})
        worker, seconds = fields.pop("worker", ""), fields.pop("seconds", 0.0)
        return Asked(Evaluation(**fields), worker, seconds)
    return EVENTS[kind](**fields)
