"""What people do to a study while it runs, written down by those who did it, against the rows of the database.

1. A note, a known result, a queued design or a change that somebody was told is stored is there once, as a whole.
2. What was refused is not there; what somebody was killed at is there once, as a whole, or not at all.
3. No question is of a design that the study does not have at that moment, or of an objective that it does not have.
4. Who gives a question back because it cannot measure it has no function for its objective.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.soak.problem import DEPENDS_ON

Row = tuple[int, Mapping[str, Any]]
NO_FUNCTION = "no function"


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that was done, or meant to be done.

    Attributes:
        kind: "note", "add", "learn", "enqueue" or "change".
        marks: What identifies its events, one each, in order.
        outcome: "safe" if the study said so, "refused", or "unknown" if the process was killed before it heard.
    """

    kind: str
    marks: tuple[object, ...]
    outcome: str


def deeds(path: Path) -> list[Deed]:
    """What a journal says; a last line without its end was being written when its process was killed."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = [json.loads(line) for line in text.split("\n")[:-1]]
    heard = {line["number"]: line["what"] for line in lines if line["what"] in ("safe", "refused")}
    meant = [line for line in lines if line["what"] == "means"]
    return [Deed(line["kind"], tuple(line["marks"]), heard.get(line["number"], "unknown")) for line in meant]


def deeds_wrong(rows: Sequence[Row], done: Sequence[Deed]) -> list[str]:
    """Which deeds are lost, doubled, torn apart, or stored although they were refused."""
    places: dict[object, list[int]] = {}
    for number, event in rows:
        if (mark := _mark(event)) is not None:
            places.setdefault(mark, []).append(number)
    wrong = []
    for deed in done:
        found = [number for mark in deed.marks for number in places.get((deed.kind, mark), [])]
        counts = {"safe": (len(deed.marks),), "refused": (0,), "unknown": (0, len(deed.marks))}[deed.outcome]
        if len(found) not in counts:
            wrong.append(f"{deed} is stored {len(found)} times.")
        elif found != list(range(found[0], found[0] + len(found)) if found else []):
            wrong.append(f"{deed} is stored in pieces: rows {found}.")
    return wrong


def questions_wrong(rows: Sequence[Row]) -> list[str]:
    """Which questions the study as it was at that moment does not have, and which were given back for no reason."""
    wrong, settings, objectives = [], dict[str, Any](), dict[int, str]()
    for number, event in rows:
        if event["event"] in ("created", "changed"):
            settings = event["settings"]
        elif event["event"] == "asked":
            objectives[event["number"]] = event["objective"]
            x = _option(settings, "x")
            if not x["low"] <= event["design"]["x"] <= x["high"]:
                wrong.append(f"Row {number} asks for x = {event['design']['x']}, beyond {x['low']} to {x['high']}.")
            if event["objective"] not in [one["name"] for one in settings["objectives"]]:
                wrong.append(f"Row {number} asks for {event['objective']!r}, which the study does not have.")
        elif _has_no_function(event) and objectives[event["number"]] in DEPENDS_ON:
            wrong.append(f"Row {number} gives back what every worker can measure: {dict(event)}.")
    return wrong


def _has_no_function(event: Mapping[str, Any]) -> bool:
    """Whether a worker gave a question back since it cannot measure it."""
    return event["event"] == "released" and NO_FUNCTION in event["reason"]


def _option(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(one for one in settings["space"]["options"] if one["name"] == name)
    return found


def _mark(event: Mapping[str, Any]) -> tuple[str, object] | None:
    """The kind of deed and the mark of an event that somebody's deed may be."""
    kind = event["event"]
    if kind == "note":
        return "note", event["text"]
    if kind == "added":
        value = event["values"]["energy"]
        return ("learn" if value < 0 else "add"), value
    if kind == "enqueued":
        return "enqueue", event["why"]
    if kind == "changed":
        return "change", _option(event["settings"], "x")["high"]
    return None
