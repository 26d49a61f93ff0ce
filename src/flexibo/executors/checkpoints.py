"""Checkpoint folders: one for each design and objective with steps, with the values that were reported there."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexibo._internal.files import append_line, write_atomically
from flexibo.errors import MachineError
from flexibo.history.reports import Reports
from flexibo.objectives import LARGEST, Objective

REPORTS = "flexibo-reports.jsonl"  # the values that were reported, a line each: a step and a value
ABOUT = "flexibo-design.json"  # which design and objective the folder belongs to, for people
ATTEMPT = "flexibo-attempt"  # the token of the attempt that has the folder
LONGEST_LINE = 200  # bytes: a longer one is no report
SHOWN = 40  # characters of a name in the name of a folder


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checkpoint folder of one design and objective."""

    folder: Path

    def open(self, objective: Objective, design: Mapping[str, Any]) -> None:
        """Create the folder; a `MachineError` if that is not possible, as all designs would fail then."""
        about = {"objective": objective.name, "design": dict(design)}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not (self.folder / ABOUT).exists():
                write_atomically(self.folder / ABOUT, json.dumps(about, indent=1).encode())
        except OSError as error:
            raise _unusable(self.folder, error) from None

    def take(self, token: str) -> None:
        """Give the folder to an attempt; an earlier one, whose worker was given up as lost but lives, has lost it."""
        try:
            if token and self.holder() != token:
                write_atomically(self.folder / ATTEMPT, token.encode())
        except OSError as error:
            raise _unusable(self.folder, error) from None

    def holder(self) -> str:
        """The token of the attempt that has the folder; empty if none has."""
        try:
            return (self.folder / ATTEMPT).read_text(errors="replace")
        except OSError:
            return ""

    def reports(self) -> Reports:
        """The values that were reported, by ascending step; the first one of a step counts. Damaged lines are skipped.

        A process that is killed may leave an incomplete line behind.
        """
        found: dict[int, float] = {}
        with suppress(OSError):
            for line in (self.folder / REPORTS).read_bytes().splitlines():
                with suppress(ValueError, TypeError):
                    step, value = json.loads(line[: LONGEST_LINE + 1])
                    if type(step) is int and step > 0 and type(value) is float and abs(value) <= LARGEST:
                        found.setdefault(step, value)
        return tuple(sorted(found.items()))

    def add(self, step: int, value: float) -> None:
        """Add a value, which is on the disk when this returns."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)  # a function may have removed it
            append_line(self.folder / REPORTS, json.dumps([step, value]).encode())
        except OSError as error:
            raise _unusable(self.folder, error) from None

    def forget(self, *, after: int = 0) -> None:
        """Forget the values that were reported of later steps than `after`; by default all."""
        path = self.folder / REPORTS
        kept = [json.dumps(report).encode() + b"\n" for report in self.reports() if report[0] <= after]
        try:
            if not kept:
                path.unlink(missing_ok=True)
                return
            draft = path.with_suffix(".new")
            draft.write_bytes(b"".join(kept))
            draft.replace(path)  # at once: a killed process loses none of what is kept
        except OSError as error:
            raise _unusable(self.folder, error) from None


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoint folders of a study, below one folder; where a study has many machines, they share it."""

    root: Path

    def of(self, objective: Objective, design: Mapping[str, Any]) -> Checkpoint:
        """The checkpoint of a design; designs that its objective cannot tell apart share one.

        The name of its folder is made of the objective's name and a hash, so that no name leads elsewhere.
        """
        names = sorted(design if objective.options is None else objective.options)
        content = json.dumps([objective.name, {name: design[name] for name in names}])
        return Checkpoint(self.root / folder_name(objective.name, content))


def folder_name(name: str, content: str) -> str:
    """A name of a folder that people recognise, and that differs where the content differs.

    >>> folder_name("../error", "1")
    '.._error-6b86b273ff34fce1'
    """
    return f"{re.sub('[^A-Za-z0-9._-]', '_', name)[:SHOWN]}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def _unusable(folder: Path, error: OSError) -> MachineError:
    return MachineError(
        f"The checkpoint folder {folder} cannot be used ({error.strerror or error}); name another one with checkpoints."
    )
