"""Checks of events that are read from a storage or a file, which may be damaged or edited."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from itertools import pairwise
from typing import Any

from flexibo.errors import FlexiBOError, InvalidValueError
from flexibo.history import History, event_dicts, events
from flexibo.objectives import LARGEST, Objective
from flexibo.optimizer import StopKind
from flexibo.space import Space
from flexibo.storage.base import DamagedStudyError
from flexibo.study.settings import ADDED_LATER, MOST_CANDIDATES, Settings, every_design
from flexibo.study.stop_rules import stop_rules

DAMAGE = (FlexiBOError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError)
"""The errors that a damaged event may raise when it is read."""


class EventCheck:
    """Converts stored contents to events, which may be added to the history at once or later; refuses wrong ones."""

    def __init__(self, history: History) -> None:
        self.history = history
        self._follow(history)
        self._to_come = history.changes_to_come
        self._before = self._asked = len(history.asked)
        self._questions: dict[int, events.Evaluation] = {}
        self._tokens: dict[int, list[str]] = {}
        self._enqueued = history.enqueued
        self._closed: set[int] = set()
        self._has_begun = bool(history.events)

    def checked(self, contents: Sequence[Mapping[str, Any]]) -> list[events.Event]:
        """The events in `contents`, in less time than one by one; raises one of `DAMAGE` if any is wrong."""
        for content in contents:
            self._check_content(content)
        found = event_dicts.events_from_dicts(contents, self._space)
        for event in found:
            self._check(event)
        return found

    def event(self, content: Mapping[str, Any]) -> events.Event:
        """The event in `content`; raises one of `DAMAGE` if it is wrong."""
        self._check_content(content)
        event = event_dicts.event_from_dict(content, self._space)
        self._check(event)
        return event

    def _follow(self, history: History) -> None:
        """The next events are those of a study with the settings of this history."""
        self._space = history.space
        self._names = frozenset(history.names)
        self._leads = frozenset(purchase.objective for purchase in history.purchases)
        self._optimised = tuple(history.names[j] for j in history.optimised)
        self._last_steps = {objective.name: max(objective.stops, default=None) for objective in history.objectives}

    def _check_content(self, content: Mapping[str, Any]) -> None:
        if not isinstance(content, dict):
            raise InvalidValueError("it is not a JSON object.")
        kind = content.get("event")
        if kind == "created" and self._has_begun:
            raise InvalidValueError("a study is created once.")
        if isinstance(kind, str) and kind in _KINDS:  # otherwise the next line raises the error
            check_fields(content, kind)
        self._has_begun = True

    def _check(self, event: events.Event) -> None:
        match event:
            case events.Changed():
                check_settings(event.settings)
                if not self._to_come:  # or else the history has the last settings, with which all events are read
                    self._follow(self.history.emptied(event.settings))
                self._to_come = max(0, self._to_come - 1)
            case events.Asked(evaluation):
                self._check_question(evaluation)
                self._questions[evaluation.number] = evaluation
                self._asked += 1
            case events.Told() | events.Failed() | events.Released() | events.Reissued() | events.Spent():
                self._check_answer(event)
            case events.Enqueued():
                if not event.objectives or not self._leads.issuperset(event.objectives):
                    raise InvalidValueError(f"it queues {', '.join(event.objectives) or 'nothing'}.")
                self._enqueued += 1
            case events.Dequeued():
                self._check_queued(event.number)
            case events.Added():
                self._check_names(event.values)
                self._check_names(event.costs)
                self._check_names(event.noise)
                if not self._leads.issuperset(event.failed):
                    raise InvalidValueError("it has a failure of something that cannot be asked for.")
            case events.ReferenceFixed():
                self._check_names(event.values)
                # Before a change, it names what was optimised then.
                for name in () if self._to_come else self._optimised:
                    if name not in event.values:
                        raise InvalidValueError(f"it has no value of {name!r}.")
            case events.StopSet():
                stop_rules(event.rules)
            case events.Stopped():
                if event.kind not in [kind.value for kind in StopKind]:
                    raise InvalidValueError(f"its kind {event.kind!r} is unknown; it may come from a newer version.")
            case _:
                pass

    def _check_question(self, question: events.Evaluation) -> None:
        if question.number != self._asked:
            raise InvalidValueError(f"evaluation {question.number} does not follow {self._asked - 1}.")
        if question.objective not in self._leads or not self._leads.issuperset(question.then):
            name = next(name for name in (question.objective, *question.then) if name not in self._leads)
            raise InvalidValueError(f"{name!r} is not an objective that can be asked for.")
        if question.runner_up is not None and question.runner_up.objective not in self._leads:
            raise InvalidValueError(f"{question.runner_up.objective!r} is not an objective that can be asked for.")
        if question.queued is not None:
            self._check_queued(question.queued)
        if question.start or question.stop is not None:
            last = self._last_steps[question.objective]
            if question.stop is None or last is None or not question.start < question.stop <= last:
                raise InvalidValueError(f"it goes from step {question.start} to {question.stop} of {last}.")
        if not question.yields or not self._names.issuperset(question.yields):
            raise InvalidValueError(f"it yields {', '.join(question.yields) or 'nothing'}.")

    def _check_answer(
        self, event: events.Told | events.Failed | events.Released | events.Reissued | events.Spent
    ) -> None:
        number = event.number
        if number >= self._asked:
            raise InvalidValueError(f"evaluation {number} was never asked.")
        if isinstance(event, events.Told):
            self._check_names(event.values)
            self._check_names(event.noise)
            for name in self._question(number).yields:
                if name not in event.values:
                    raise InvalidValueError(f"it has no value of {name!r}, which was asked for.")
            if event.begun is not None and event.begun > (self._question(number).stop or 0):
                raise InvalidValueError(f"it went on from step {event.begun}, beyond its last.")
        if isinstance(event, events.Told | events.Failed) and event.reports:
            question = self._question(number)
            steps = [question.start, *(step for step, _ in event.reports), question.stop or 0]
            if any(step >= later for step, later in pairwise(steps)):
                raise InvalidValueError("its reports are not at ascending steps of the evaluation.")
        if isinstance(event, events.Reissued):
            self._tokens.setdefault(number, []).append(event.token)
        elif not isinstance(event, events.Released) and event.token and event.token not in self._known_tokens(number):
            raise InvalidValueError(f"it answers another question than evaluation {number}.")
        if isinstance(event, events.Reissued | events.Released) and not self._is_pending(number):
            raise InvalidValueError(f"evaluation {number} is not pending any more.")
        if isinstance(event, events.Told | events.Failed | events.Released):
            self._closed.add(number)

    def _question(self, number: int) -> events.Evaluation:
        return self._questions[number] if number >= self._before else self.history.asked[number]

    def _known_tokens(self, number: int) -> tuple[str, ...]:
        before = self.history.tokens(number) if number < self._before else (self._questions[number].token,)
        return (*before, *self._tokens.get(number, ()))

    def _check_queued(self, number: int) -> None:
        if number >= self._enqueued:
            raise InvalidValueError(f"design {number} was never queued.")

    def _is_pending(self, number: int) -> bool:
        return number not in self._closed and (number >= self._before or number in self.history.pending)

    def _check_names(self, named: Mapping[str, object]) -> None:
        if not self._names.issuperset(named):
            unknown = next(name for name in named if name not in self._names)
            raise InvalidValueError(f"there is no objective {unknown!r}.")


def check_beginning(content: Mapping[str, Any]) -> None:
    """Refuse a first event that does not begin a study, by one of `DAMAGE`."""
    if not isinstance(content, dict):
        raise InvalidValueError("it is not a JSON object.")
    if content.get("event") != "created":
        raise InvalidValueError("a study begins with the event 'created'.")
    check_fields(content, "created")
    check_settings(content["settings"])


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse settings that are missing or of a wrong type, by one of `DAMAGE`."""
    for name in Settings.__dataclass_fields__:
        if name not in settings and name in ADDED_LATER:
            continue
        if name not in settings:
            raise InvalidValueError(f"it has no setting {name!r}.")
        if name in _SETTINGS and not _SETTINGS[name](settings[name]):
            raise InvalidValueError(f"its setting {name!r} is {_short(settings[name])}.")
    if settings["n_given"] > len(settings["initial_designs"]):
        raise InvalidValueError(f"its setting 'n_given' is {settings['n_given']}, more than the initial designs.")


def check_meaning(settings: Mapping[str, Any]) -> None:
    """Refuse settings without a valid space and valid objectives, by one of `DAMAGE`."""
    Space.from_dict(settings["space"], valid=every_design if settings["space"].get("has_rule") else None)
    for objective in settings["objectives"]:
        Objective.from_dict(objective)


def check_first(content: Mapping[str, Any], study: str, where: str = "") -> None:
    """Refuse a stored event that no study can begin with; `where` is the storage, for the message."""
    try:
        check_beginning(content)
        check_meaning(content["settings"])
    except DAMAGE as error:
        raise damaged_event(0, f"study {study!r}", error, where) from None


def damage(error: BaseException) -> str:
    """The description of one of `DAMAGE`, as the end of a sentence."""
    if isinstance(error, DamagedStudyError):
        return error.damage
    if isinstance(error, FlexiBOError):
        return str(error)
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return "it is not JSON."
    return f"it is not an event of a study ({type(error).__name__}: {error})."


def damaged_event(number: int, study: str, error: BaseException, where: str = "") -> DamagedStudyError:
    """The error for a stored event that raised one of `DAMAGE`; `study` is text such as "study 'net'"."""
    return DamagedStudyError(f"Event {number} of {study} is damaged: {damage(error)}", where)


def check_fields(content: Mapping[str, Any], kind: str) -> None:
    """Refuse fields that are missing, unknown or of a wrong type: some are used long after the event was read."""
    needed, known = _KINDS[kind]
    names = content.keys()
    if not needed <= names:
        raise InvalidValueError(f"it has no field {min(needed - names)!r}.")
    if not names <= known:
        raise InvalidValueError(
            f"its field {min(names - known, key=str)!r} is unknown; it may come from a newer version of flexibo."
        )
    for name, value in content.items():
        is_legal = _FIELDS.get(name)
        if is_legal is not None and not is_legal(value):
            raise InvalidValueError(f"its field {name!r} is {_short(value)}.")


def _short(value: object, most: int = 80) -> str:
    """A value for a message; a damaged one may be anything."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # ValueError: a number of too many digits
        return "too long to be shown"
    return text if len(text) <= most else f"{text[:most]}..."


def is_whole(value: object) -> bool:
    """Whether it is a whole number, zero or more."""
    return type(value) is int and value >= 0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_price(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LARGEST


def _is_error_bar(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and _is_price(value[0]) and is_whole(value[1]) and value[1] > 0


def _is(kind: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, kind)


_is_text, _is_flag, _is_object = _is(str), _is(bool), _is(dict)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_named(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) and _is_text(one.get("name")) for one in value)


def _is_runner_up(value: object) -> bool:
    if not isinstance(value, dict) or value.keys() != {f.name for f in fields(events.RunnerUp)}:
        return False
    return (
        _is_object(value["design"])
        and _is_text(value["objective"])
        and _is_number(value["gain"])
        and _is_price(value["cost"])
    )


def _is_report(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 2:
        return False
    step, number = value
    return is_whole(step) and _is_number(number) and abs(number) <= LARGEST


_FIELDS: Mapping[str, Callable[[Any], bool]] = {
    "time": _is_number,
    **dict.fromkeys(("number", "attempt"), is_whole),
    **dict.fromkeys(("cost", "seconds"), _is_price),
    "budget": lambda value: value is None or (_is_price(value) and value != 0),
    **dict.fromkeys(("gain", "volume"), lambda value: value is None or _is_number(value)),
    **dict.fromkeys(("objective", "worker", "kind", "reason", "text", "why", "token"), _is_text),
    **dict.fromkeys(("timed", "impossible", "initial", "rule", "found"), _is_flag),
    **dict.fromkeys(("yields", "then", "objectives", "changes"), _are_texts),
    "readings": lambda value: is_whole(value) and value > 0,
    "queued": lambda value: value is None or is_whole(value),
    **dict.fromkeys(("design", "settings", "origin", "rules"), _is_object),
    "runner_up": _is_runner_up,
    "start": is_whole,
    "begun": lambda value: value is None or is_whole(value),
    "stop": lambda value: value is None or (is_whole(value) and value > 0),
    "reports": lambda value: isinstance(value, list) and all(map(_is_report, value)),
    "noise": lambda value: _is_object(value) and all(map(_is_error_bar, value.values())),
    "values": lambda value: _is_object(value) and all(_is_number(v) and abs(v) <= LARGEST for v in value.values()),
    "failed": lambda value: _is_object(value) and all(map(_is_text, value.values())),
    "costs": lambda value: _is_object(value) and all(map(_is_price, value.values())),
}
_SETTINGS: Mapping[str, Callable[[Any], bool]] = {
    "space": lambda value: isinstance(value, dict) and _are_named(value.get("options")),
    "objectives": _are_named,
    "initial_designs": lambda value: isinstance(value, list) and all(map(_is_object, value)),
    **dict.fromkeys(("seed", "n_given"), is_whole),
    "candidates": lambda value: is_whole(value) and 0 < value <= MOST_CANDIDATES,
    "delta": _is_number,
    "full_start": _is_flag,
    **dict.fromkeys(("method", "cost", "surrogate"), _is_text),
}


def _fields_of(kind: str) -> tuple[frozenset[str], frozenset[str]]:
    """The fields that an event of this kind must have, and those that it may have."""
    if kind == "asked":
        # Always stored, although the dataclass has defaults.
        needed = {f.name for f in fields(events.Evaluation) if f.default is MISSING} | {"yields", "then"}
        known = {f.name for f in fields(events.Evaluation)} | {"worker", "seconds"}
    else:
        own = fields(event_dicts.EVENTS[kind])
        needed = {f.name for f in own if f.default is MISSING and f.default_factory is MISSING}
        known = {f.name for f in own}
    return frozenset(needed), frozenset(known | {"event", "time"})


_KINDS = {kind: _fields_of(kind) for kind in event_dicts.EVENTS}
