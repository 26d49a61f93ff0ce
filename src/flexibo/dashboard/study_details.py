"""The details of a study that need no model: its numbers, queue, failures, notes and settings."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from flexibo.dashboard.follower import Follower
from flexibo.dashboard.growing_copy import GrowingCopy
from flexibo.transfer import StudyCopy
from flexibo.views import status
from flexibo.views.spending import reserved_cost

SHOWN = 100
"""The number of failures and notes that are sent, the latest ones; the table of evaluations has all failures."""
LONGEST = 2000  # longer reasons and notes are shortened to this number of characters


class StudyDetails:
    """The details of one study, computed again only when it has changed."""

    def __init__(self, follower: Follower, storage: str, *, now: Callable[[], float] = time.time) -> None:
        self._follower = follower
        self._storage = storage
        self._now = now
        self._of_version: tuple[str, dict[str, Any]] = ("", {})

    def to_dict(self) -> dict[str, Any]:
        """All details, ready for JSON."""
        follower = self._follower
        summary = follower.summary(self._storage) | {"now": self._now()}
        with follower.lock:
            if follower.copy is None:
                return summary
            copy = follower.copy.copy(follower.workers)
            if self._of_version[0] != follower.version:
                self._of_version = follower.version, _of_version(follower.copy, copy)
            queue = status.in_flight(copy, follower.copy.pending(), summary["now"])
            reserved = reserved_cost(copy.study.history)
        return summary | self._of_version[1] | {"queue": queue, "reserved": reserved}


def _of_version(growing: GrowingCopy, copy: StudyCopy) -> dict[str, Any]:
    """The details that change only with events."""
    failures, notes = growing.failures, status.notes(copy)
    options = copy.study.space.options.items()
    return {
        "overview": status.overview(copy, growing.records),
        "settings": status.settings(copy),
        "options": [{"name": name, "values": _option_values(option)} for name, option in options],
        "failures": [_shortened(row, "reason") for row in status.failures(failures[-SHOWN:])],
        "failures_in_all": len(failures),
        "notes": [_shortened(note, "text") for note in reversed(notes[-SHOWN:])],
        "notes_in_all": len(notes),
    }


def _option_values(option: Any) -> str:
    values = getattr(option, "values", None)
    if values is not None:
        return ", ".join(str(value) for value in values)[:LONGEST]
    scale = ", logarithmic" if option.log else ""
    return f"{option.low:g} to {option.high:g}{scale}"


def _shortened(row: Mapping[str, Any], field: str) -> dict[str, Any]:
    text = str(row[field])
    return {**row, field: text if len(text) <= LONGEST else f"{text[:LONGEST]}…"}
