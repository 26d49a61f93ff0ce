"""Events as dictionaries of JSON-able values: how they are stored, exchanged and read again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from sys import intern
from typing import Any

from flexibo.errors import InvalidValueError
from flexibo.history.events import (
    Added,
    Asked,
    BudgetSet,
    Changed,
    Created,
    Dequeued,
    Enqueued,
    Evaluation,
    Event,
    Failed,
    FailureKind,
    Forgiven,
    Noted,
    ReferenceFixed,
    Reissued,
    Released,
    RunnerUp,
    Spent,
    Stopped,
    StopSet,
    Told,
    cut,
)
from flexibo.space import Design, Space

EVENTS: dict[str, type[Event]] = {
    "created": Created,
    "changed": Changed,
    "asked": Asked,
    "reissued": Reissued,
    "told": Told,
    "failed": Failed,
    "released": Released,
    "spent": Spent,
    "added": Added,
    "enqueued": Enqueued,
    "dequeued": Dequeued,
    "reference": ReferenceFixed,
    "budget": BudgetSet,
    "stop": StopSet,
    "forgiven": Forgiven,
    "note": Noted,
    "stopped": Stopped,
}
_REPEATED = frozenset({"objective", "worker"})  # fields with texts that most events repeat


class UnknownEventError(InvalidValueError):
    """An event has a kind that this version does not know."""


def event_to_dict(event: Event) -> dict[str, Any]:
    """The event as JSON-able values."""
    kind = next(name for name, cls in EVENTS.items() if isinstance(event, cls))
    if isinstance(event, Asked):
        content = {name: getattr(event.evaluation, name) for name in Evaluation.__dataclass_fields__}
        content |= {"design": dict(event.evaluation.design)}
        content |= {"yields": list(event.evaluation.yields), "then": list(event.evaluation.then)}
        second = content.pop("runner_up")
        if second is not None:
            names = RunnerUp.__dataclass_fields__
            content["runner_up"] = {n: getattr(second, n) for n in names} | {"design": dict(second.design)}
        for name, default in (("queued", None), ("start", 0), ("stop", None)):
            if content[name] == default:
                del content[name]
        content |= {"worker": event.worker, "seconds": event.seconds}
    elif isinstance(event, Added):
        content = {"design": dict(event.design), "values": dict(event.values), "costs": dict(event.costs)}
        content |= {"failed": dict(event.failed)} if event.failed else {}
        content |= {"noise": {name: list(one) for name, one in event.noise.items()}} if event.noise else {}
    elif isinstance(event, Enqueued):
        content = {"design": dict(event.design), "objectives": list(event.objectives)}
        content |= {"readings": event.readings, "why": event.why}
    elif isinstance(event, Changed):
        content = {"settings": dict(event.settings), "changes": list(event.changes)}
        content |= {"origin": dict(event.origin)} if event.origin else {}
        content |= {"rule": True} if event.rule else {}
    else:
        content = asdict(event)
    if isinstance(event, ReferenceFixed) and not event.found:
        del content["found"]
    if isinstance(event, Failed):
        content["kind"] = event.kind.value
    if isinstance(event, Told | Failed):
        content["reports"] = [list(report) for report in event.reports]
        for name in ("reports", "begun", "noise"):
            if content.get(name) in ([], None, {}):
                content.pop(name, None)
        if "noise" in content:
            content["noise"] = {name: list(one) for name, one in content["noise"].items()}
    if content.get("token") == "":
        del content["token"]
    return {"event": kind, **content}


def event_from_dict(content: Mapping[str, Any], space: Space) -> Event:
    """The event that `event_to_dict` wrote."""
    return _event(content, space.known_design)


def events_from_dicts(contents: Sequence[Mapping[str, Any]], space: Space) -> list[Event]:
    """The events that `event_to_dict` wrote, many at once in less time; an error if any of them is wrong."""
    rows = []
    for content in contents:
        if "design" in content:
            rows.append(content["design"])
        if content.get("runner_up"):
            rows.append(content["runner_up"]["design"])
    designs = iter(space.known_designs(rows))
    return [_event(content, lambda _: next(designs)) for content in contents]


def _event(content: Mapping[str, Any], design: Callable[[Mapping[str, Any]], Design]) -> Event:
    fields = dict(content)
    fields.pop("time", None)  # for people; it decides nothing
    kind = fields.pop("event", None)
    if not isinstance(kind, str):
        raise InvalidValueError("it names no kind of event.")
    if kind not in EVENTS:
        raise UnknownEventError(f"The event {kind!r} is unknown; it may come from a newer version of flexibo.")
    if "design" in fields:
        fields["design"] = design(fields["design"])
    for name in _REPEATED & fields.keys():  # one object for equal texts, or they would fill the memory
        fields[name] = intern(fields[name])
    if kind == "asked":
        fields["yields"], fields["then"] = _names(*fields["yields"]), _names(*fields["then"])
        if second := fields.get("runner_up"):
            chosen, objective = design(second["design"]), intern(second["objective"])
            fields["runner_up"] = RunnerUp(**{**second, "design": chosen, "objective": objective})
        worker, seconds = fields.pop("worker", ""), fields.pop("seconds", 0.0)
        fields["why"] = cut(fields["why"])
        return Asked(Evaluation(**fields), worker, seconds)
    if kind == "failed":
        fields["kind"] = _failure_kind(fields.get("kind", FailureKind.ERROR.value))
    if kind == "enqueued":
        fields["objectives"] = tuple(fields["objectives"])
    if kind == "changed":
        fields["changes"] = tuple(fields["changes"])
    if "reports" in fields:
        fields["reports"] = tuple((step, value) for step, value in fields["reports"])
    if kind == "told":
        fields["values"] = {intern(name): value for name, value in fields["values"].items()}
    if "noise" in fields:
        fields["noise"] = {intern(name): (deviation, n) for name, (deviation, n) in fields["noise"].items()}
    return EVENTS[kind](**fields)


@lru_cache(maxsize=256)
def _names(*names: str) -> tuple[str, ...]:
    return names


def _failure_kind(value: str) -> FailureKind:
    try:
        return FailureKind(value)
    except ValueError:
        raise InvalidValueError(f"its kind {value!r} is unknown; it may come from a newer version.") from None
