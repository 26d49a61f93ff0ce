"""What a worker was asked, meant to tell, and was told is safe: lines on disk that outlive the worker."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OUTCOMES = ("safe", "refused", "kept")


class Journal:
    """Lines of JSON, each on disk before the next thing happens.

    Args:
        path: The file; it must not exist.
        sync: Whether to flush each line to the disk; not where only the speed of the study is looked at.
    """

    def __init__(self, path: Path, *, sync: bool = True) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND)
        self._sync = sync

    def write(self, what: str, number: int | None = None, **content: Any) -> None:
        """Add a line, with the time on the machine's steady clock, which all its processes share."""
        line = json.dumps({"what": what, "number": number, "at": time.monotonic(), **content}) + "\n"
        os.write(self._file, line.encode())
        if self._sync:
            os.fsync(self._file)


@dataclass(frozen=True, slots=True)
class Claim:
    """An evaluation in the hands of a worker, as the worker saw it.

    Attributes:
        holder: The process that was asked, by the name of its journal.
        number: The index of the question.
        token: Identifies this attempt.
        objective: What was to be measured.
        design: Of which design.
        since: When the question had arrived, on the machine's steady clock.
        until: When the answer was about to be told, or the process ended; infinite if its journal has no end.
    """

    holder: str
    number: int
    token: str
    objective: str
    design: Mapping[str, Any]
    since: float = 0.0
    until: float = math.inf


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer that a worker gave or was about to give.

    Attributes:
        claim: The question.
        kind: "told" or "failed".
        values: The values; None of a failure.
        cost: What it cost; no two attempts cost the same.
        outcome: "safe" once the study said so; "refused" if the attempt was answered before; "kept" if it was refused
            and is in a file beside the study; "unknown" if the worker was killed before it heard, or heard that
            nobody knows.
    """

    claim: Claim
    kind: str
    values: Mapping[str, float] | None
    cost: float
    outcome: str


@dataclass(slots=True)
class Account:
    """What one worker wrote down.

    Attributes:
        names: The names under which it was asked, without those under which it left with something in its hands.
        claims: What it was asked.
        answers: What it answered.
        safe: When it was told that an answer is safe, on the machine's steady clock.
        slowest: The longest that the study let it wait, in seconds, by what it did.
        span: When it first asked and when it was last told, on the machine's steady clock.
        end: Why it ended, if it came to its end.
    """

    names: set[str] = field(default_factory=set)
    claims: list[Claim] = field(default_factory=list)
    answers: list[Answered] = field(default_factory=list)
    safe: list[float] = field(default_factory=list)
    slowest: dict[str, float] = field(default_factory=dict)
    span: tuple[float, float] | None = None
    end: str | None = None


def is_asked(path: Path) -> bool:
    """Whether the worker of a journal has a question in its hands."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
    return bool(lines) and json.loads(lines[-1])["what"] == "asked"


def account(path: Path) -> Account:
    """What a journal says; a last line without its end was being written when the worker was killed."""
    result = Account()
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = [json.loads(line) for line in text.split("\n")[:-1]]
    asked: dict[str, dict[str, Any]] = {}
    meant: dict[str, dict[str, Any]] = {}
    heard: dict[str, str] = {}
    for line in lines:
        match line["what"]:
            case "asked":
                result.names.add(line["worker"])
                asked[line["token"]] = line
            case "left":
                result.names.clear()
            case "means":
                meant.setdefault(line["token"], line)
            case "end":
                result.end = line["why"]
                result.slowest = line["slowest"]
                result.span = (line["first"], line["last"])
            case outcome if outcome in OUTCOMES:
                heard[line["token"]] = outcome
                result.safe += [line["at"]] if outcome == "safe" else []
    end = math.inf if result.end is None else lines[-1]["at"]
    for token, line in asked.items():
        until = meant[token]["at"] if token in meant else end
        question = (line["number"], token, line["objective"], line["design"])
        claim = Claim(path.stem, *question, since=line["at"], until=until)
        result.claims.append(claim)
        if token in meant:
            result.answers.append(_answered(claim, meant[token], heard.get(token, "unknown")))
    return result


def _answered(claim: Claim, line: Mapping[str, Any], outcome: str) -> Answered:
    return Answered(claim, line["kind"], line["values"], line["cost"], outcome)
