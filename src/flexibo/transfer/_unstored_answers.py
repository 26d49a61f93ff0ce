"""Answers that a study refused or could not store, brought back from the file beside it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from flexibo.errors import FlexiBOError, InvalidValueError
from flexibo.history import History
from flexibo.history.event_dicts import event_from_dict
from flexibo.history.events import Event, Failed, Told
from flexibo.objectives import with_error_bars
from flexibo.storage import Storage
from flexibo.study.answers import added_event, answer_events
from flexibo.study.event_checks import DAMAGE, check_fields, damage
from flexibo.study.event_log import EventLog
from flexibo.study.unstored import FORMAT, VERSION, UnstoredAnswer
from flexibo.transfer._result_table import is_known, known_values
from flexibo.transfer.study_copies import StudyCopy


class _ConflictError(InvalidValueError):
    """An answer has another value of what the study has measured already."""


def holds_answers(first_line: bytes) -> bool:
    """Whether a file that begins with this line holds answers that were not stored."""
    try:
        content = json.loads(first_line)
    except DAMAGE:
        return False
    return isinstance(content, dict) and content.get("format") == FORMAT


def read_answers(lines: Iterable[bytes], source: str) -> list[UnstoredAnswer]:
    """The answers in the lines of a file; each is checked when it is imported."""
    found = []
    for number, line in enumerate(lines, start=1):
        try:
            content = json.loads(line)
            if content.get("format") != FORMAT:
                raise InvalidValueError("it is no answer of a study.")
            if content.get("version") != VERSION:
                raise InvalidValueError("it may come from a newer version of flexibo.")
            found.append(UnstoredAnswer(**{name: content[name] for name in UnstoredAnswer.__dataclass_fields__}))
        except DAMAGE as error:
            raise InvalidValueError(
                f"Line {number} of {source} is damaged: {damage(error)} Nothing was changed."
            ) from None
    return found


def import_answers(
    answers: Sequence[UnstoredAnswer], storage: Storage, copy: StudyCopy, source: str
) -> tuple[Counter[str], list[str]]:
    """Add answers to a stored study; if one is damaged, none.

    Returns:
        How many were "told" (their question is in the study, which is charged), "added" (it is not: values and costs
        are learned, and nothing is charged), "known" before, and how many "failures" have no question and no value.
        Then a sentence for each that contradicts what the study has: it is left out.
    """
    history = copy.study.history
    counts: Counter[str] = Counter()
    conflicts: list[str] = []

    def decide() -> Sequence[Event]:
        counts.clear()
        conflicts.clear()
        events: list[Event] = []
        seen: list[tuple[int, str]] = []
        for number, unstored in enumerate(answers, start=1):
            try:
                what, event = _event(unstored, history, copy)
            except _ConflictError as error:
                conflicts.append(f"Answer {number} of {source}: {error}")
                continue
            except DAMAGE as error:
                said = str(error) if isinstance(error, FlexiBOError) else damage(error)
                raise InvalidValueError(f"Line {number} of {source}: {said} Nothing was changed.") from None
            attempt = (unstored.answer["number"], unstored.answer.get("token", ""))
            if event is not None and attempt in seen:
                what, event = "known", None
            seen.append(attempt)
            counts[what] += 1
            events += [] if event is None else [event]
        return events

    EventLog(storage, history).commit(decide)
    return counts, conflicts


def _event(unstored: UnstoredAnswer, history: History, copy: StudyCopy) -> tuple[str, Event | None]:
    """What becomes of an answer, and the event that stores it, if one does."""
    answer = _checked(unstored.answer, history)
    if not isinstance(unstored.design, Mapping) or unstored.objective not in history.names:
        raise InvalidValueError("It names no design or no objective that was measured; complete it by hand.")
    if "rule" in copy.missing and unstored.study != copy.name:
        raise InvalidValueError(
            f"The space of study {copy.name!r} has a rule, which only your program has; add it there, with study.add."
        )
    design = history.space.design(unstored.design)
    known = history.asked[answer.number] if answer.number < len(history.asked) else None
    if known is not None and (known.design, known.objective) == (design, unstored.objective):
        evaluation = replace(known, token=answer.token)
        if history.is_known(evaluation):
            if history.settled(answer) is not None:
                return "known", None
            return "told", next(iter(answer_events(history, evaluation, answer)), None)
    if isinstance(answer, Failed) and not answer.impossible:
        return "failures", None
    if any(objective.name == unstored.objective and objective.stops for objective in history.objectives):
        raise _ConflictError(f"Objective {unstored.objective!r} has steps, and the study never asked for this value.")
    values = {} if isinstance(answer, Failed) else with_error_bars(answer.values, answer.noise)
    failed = {unstored.objective: answer.reason} if isinstance(answer, Failed) else None
    result = added_event(history, design, values, {unstored.objective: answer.cost}, failed)
    if is_known(result, history, known_values(history)):
        return "known", None
    try:
        history.check_agrees(result.design, result.values)
    except InvalidValueError as error:
        raise _ConflictError(str(error)) from None
    return "added", result


def _checked(content: Mapping[str, Any], history: History) -> Told | Failed:
    """The answer in a line, with fields of the right kinds."""
    kind = content.get("event")
    if kind not in ("told", "failed"):
        raise InvalidValueError("It is no answer.")
    check_fields(content, kind)
    event = event_from_dict(content, history.space)
    assert isinstance(event, Told | Failed)
    return event
