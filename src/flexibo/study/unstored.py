"""Answers that a study refused or could not store: kept in a file beside it until `flexibo import` brings them back."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexibo.history.event_dicts import event_to_dict
from flexibo.history.events import Evaluation, Failed, Told

FORMAT = "flexibo-answers"
VERSION = 1  # the version of a line; a newer one is refused


@dataclass(frozen=True, slots=True)
class UnstoredAnswer:
    """What was measured, and the question that it answers."""

    study: str  # the name of the study that refused it
    design: Mapping[str, Any]
    objective: str  # what was asked for
    answer: Mapping[str, Any]  # the event that was not stored
    why: str  # why it was not

    @classmethod
    def of(cls, study: str, evaluation: Evaluation, answer: Told | Failed, why: str) -> UnstoredAnswer:
        """The answer to an evaluation."""
        return cls(study, dict(evaluation.design), evaluation.objective, event_to_dict(answer), why)


def keep(unstored: UnstoredAnswer, path: Path, place: str = "", *, clock: Callable[[], float] = time.time) -> str:
    """Append an answer to a file, or to one in the temporary folder; returns a sentence that says where it is.

    It names the command that brings it back to its study, whose `place` is a file or a URL.
    """
    fields = {name: getattr(unstored, name) for name in UnstoredAnswer.__dataclass_fields__}
    line = json.dumps({"format": FORMAT, "version": VERSION, **fields, "time": clock()}, default=str) + "\n"
    for file in (path, Path(tempfile.gettempdir()) / path.name):
        try:
            _append(file, line.encode())
        except OSError:
            continue
        url = place if "://" in place or not place else f"sqlite:///{place}"
        storage = ["--storage", url] if url and "***" not in url else []  # a password is not shown
        command = shlex.join(["flexibo", "import", str(file), *storage, "--name", unstored.study])
        return f"What was measured is kept in {file}. Bring it back with: {command}"
    return f"What was measured could not be kept in a file: {line.strip()}"


def _append(path: Path, line: bytes) -> None:
    """Add a line to a file, durably, while others may do so too; a line that another could not finish is ended."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            line = b"\n" + line
        written = os.write(file, line)
        if written < len(line):
            if os.fstat(file).st_size == size + written:  # nobody has added anything after it
                os.ftruncate(file, size)
            raise OSError("The disk is full.")
        os.fsync(file)
    finally:
        os.close(file)
