"""What a worker was asked, meant to tell, and was told is safe: lines on disk that outlive the worker."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


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
        """Add a line, with the time on the machine's steady clock."""
        line = json.dumps({"what": what, "number": number, "at": time.monotonic(), **content}) + "\n"
        os.write(self._file, line.encode())
        if self._sync:
            os.fsync(self._file)


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer that a worker gave or was about to give.

    Attributes:
        number: The evaluation.
        kind: "told" or "failed".
        values: The values; None of a failure.
        cost: What it cost; no two attempts cost the same.
        outcome: "safe" once the study said so; "refused" if another's answer came first; "unknown" if the worker was
            killed before it heard.
    """

    number: int
    kind: str
    values: Mapping[str, float] | None
    cost: float
    outcome: str


@dataclass(slots=True)
class Account:
    """What one worker wrote down.

    Attributes:
        names: The names under which it was asked.
        answers: What it answered.
        safe: When it was told that an answer is safe, on the machine's steady clock.
        slowest: The longest that the study let it wait, in seconds, by what it did.
        span: When it first asked and when it was last told, on the machine's steady clock.
        end: Why it ended, if it came to its end.
    """

    names: set[str] = field(default_factory=set)
    answers: list[Answered] = field(default_factory=list)
    safe: list[float] = field(default_factory=list)
    slowest: dict[str, float] = field(default_factory=dict)
    span: tuple[float, float] | None = None
    end: str | None = None


def account(path: Path) -> Account:
    """What a journal says; a last line without its end was being written when the worker was killed."""
    result = Account()
    meant: dict[int, dict[str, Any]] = {}
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for line in map(json.loads, text.split("\n")[:-1]):
        match line["what"]:
            case "asked":
                result.names.add(line["worker"])
            case "means":
                meant[line["number"]] = line
            case "safe" | "refused" as outcome:
                result.answers.append(_answered(meant.pop(line["number"]), outcome))
                result.safe += [line["at"]] if outcome == "safe" else []
            case "end":
                result.end = line["why"]
                result.slowest = line["slowest"]
                result.span = (line["first"], line["last"])
    result.answers += [_answered(line, "unknown") for line in meant.values()]
    return result


def _answered(line: Mapping[str, Any], outcome: str) -> Answered:
    return Answered(line["number"], line["kind"], line["values"], line["cost"], outcome)
