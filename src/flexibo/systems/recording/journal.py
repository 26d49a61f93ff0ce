"""The journal of a recording: a line of JSON for each network and each combination, written to disk at once."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flexibo._internal.files import append_line
from flexibo.errors import FlexiBOError, InvalidValueError
from flexibo.systems.recording.plan import Plan, plan_from


class RecordingJournal:
    """The file of an unfinished recording; one that belongs to another plan is refused."""

    def __init__(self, path: Path, plan: Plan, heading: dict[str, Any]) -> None:
        self._path = path
        self.heading = heading  # the description of the machine that made the first entry
        self.errors: dict[int, dict[str, Any]] = {}  # the outcome of each training, by network
        self.readings: dict[tuple[int, int], dict[str, Any]] = {}  # of each reading, by network and deployment
        if not self._is_new():
            self._read(plan)
        else:
            path.write_bytes(b"")
            self._append({"plan": plan.fingerprint, "heading": heading, "grid": plan.plain})

    def add_error(self, network: int, outcome: dict[str, Any]) -> None:
        """Store the outcome of a training."""
        self._append({"network": network, "outcome": outcome})
        self.errors[network] = outcome

    def add_reading(self, network: int, deployment: int, outcome: dict[str, Any]) -> None:
        """Store the outcome of a reading."""
        self._append({"network": network, "deployment": deployment, "outcome": outcome})
        self.readings[network, deployment] = outcome

    def _is_new(self) -> bool:
        """Whether nothing was recorded: no file, or one whose first line was cut short by a kill or a full disk."""
        if not self._path.exists():
            return True
        content = self._path.read_bytes()
        return b"\n" not in content and (not content or content.startswith(b'{"plan"'))

    def _read(self, plan: Plan) -> None:
        lines = [entry for line in self._path.read_bytes().splitlines() if (entry := _parsed(line)) is not None]
        if not lines or not {"plan", "heading"} <= lines[0].keys():
            raise InvalidValueError(f"{self._path} is not an unfinished recording; give another --out.")
        if lines[0]["plan"] != plan.fingerprint:
            raise InvalidValueError(
                f"{self._path} belongs to a recording with other networks, deployments, data or settings; "
                "repeat that command to finish it, or give another --out."
            )
        self.heading = lines[0]["heading"]
        for entry in lines[1:]:
            n, d, outcome = entry.get("network", -1), entry.get("deployment", -1), entry.get("outcome")
            if n not in range(len(plan.networks)) or not isinstance(outcome, dict):
                continue
            if "deployment" not in entry:
                self.errors[int(n)] = outcome
            elif d in range(len(plan.deployments)):
                self.readings[int(n), int(d)] = outcome

    def _append(self, entry: dict[str, Any]) -> None:
        append_line(self._path, json.dumps(entry, separators=(",", ":")).encode())


def left_behind(path: Path) -> tuple[Plan, RecordingJournal]:
    """The plan and the journal of a recording that was started on any machine."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InvalidValueError(f"{path} cannot be read: {error.strerror or error}; record something first.") from error
    first = _parsed(lines[0]) if lines else None
    try:
        plan = plan_from((first or {})["grid"])
    except (LookupError, TypeError, ValueError):
        raise InvalidValueError(f"{path} has no plan; finish it with the command that started it.") from None
    return plan, RecordingJournal(path, plan, {})


@contextmanager
def opened(path: Path, plan: Plan, heading: dict[str, Any]) -> Iterator[RecordingJournal]:
    """A context with the journal locked: two recordings at once would measure each other's energy."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path.with_name(f"{path.name}.lock"), "w", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InvalidValueError(f"Another process is recording into {path}; wait for it.") from None
            yield RecordingJournal(path, plan, heading)
    except OSError as error:
        if isinstance(error, FlexiBOError):
            raise
        raise InvalidValueError(
            f"{error.filename or path} cannot be written: {error.strerror or error}; what was measured is kept."
        ) from error


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None
