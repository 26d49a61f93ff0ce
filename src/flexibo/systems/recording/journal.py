"""The journal of a recording: a line of JSON for each network and each combination, written to disk at once."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flexibo._internal.files import append_line
from flexibo._internal.text import printable_line, shortened
from flexibo._internal.untrusted_json import untrusted_json
from flexibo.errors import FlexiBOError, InvalidValueError, MachineError
from flexibo.systems.recording.columns import outcome_fault
from flexibo.systems.recording.plan import Plan, plan_from

_FIRST, _ENTRY = b'{"plan":', b'{"network":'  # the beginnings of the first line and of the others


class RecordingJournal:
    """The file of an unfinished recording; one that belongs to another plan, or is damaged, is refused."""

    def __init__(self, path: Path, plan: Plan, heading: dict[str, Any]) -> None:
        self._path = path
        self.heading = heading  # the description of the machine that made the first entry
        self.errors: dict[int, dict[str, Any]] = {}  # the outcome of each training, by network
        self.readings: dict[tuple[int, int], dict[str, Any]] = {}  # of each reading, by network and deployment
        content = path.read_bytes() if path.exists() else b""
        if b"\n" not in content and _is_cut_short(content, _FIRST):  # nothing was recorded yet
            path.write_bytes(b"")
            self._append({"plan": plan.fingerprint, "heading": heading, "grid": plan.plain})
        else:
            self._read(content.splitlines(), plan)

    def add_error(self, network: int, outcome: dict[str, Any]) -> None:
        """Store the outcome of a training."""
        self._check(outcome, f"the training of network {network}")
        self._append({"network": network, "outcome": outcome})
        self.errors[network] = outcome

    def add_reading(self, network: int, deployment: int, outcome: dict[str, Any]) -> None:
        """Store the outcome of a reading."""
        self._check(outcome, f"the reading of network {network} in deployment {deployment}")
        self._append({"network": network, "deployment": deployment, "outcome": outcome})
        self.readings[network, deployment] = outcome

    def _check(self, outcome: dict[str, Any], what: str) -> None:
        """Raise an error for numbers that cannot be: a journal with them would be refused."""
        if fault := outcome_fault(outcome):
            raise MachineError(f"In {what}, {fault}; it is not stored in {self._path}. Check the meter.")

    def _read(self, lines: Sequence[bytes], plan: Plan) -> None:
        first = _first_entry(lines)
        if not isinstance(first.get("plan"), str) or not isinstance(first.get("heading"), dict):
            raise InvalidValueError(f"{self._path} is not an unfinished recording; give another --out.")
        if first["plan"] != plan.fingerprint:
            raise InvalidValueError(
                f"{self._path} belongs to a recording with other networks, deployments, data or settings; "
                "repeat that command to finish it, or give another --out."
            )
        self.heading = first["heading"]
        for number, line in enumerate(lines[1:], 2):
            if _is_cut_short(line, _ENTRY):
                continue
            try:
                n, d, outcome = _entry(untrusted_json(line), plan)
            except ValueError as error:
                raise InvalidValueError(
                    f"{self._path} is damaged in line {number}: {printable_line(error)}. Remove that line; what it "
                    "measured is then measured again."
                ) from None
            if d is None:
                self.errors[n] = outcome
            else:
                self.readings[n, d] = outcome

    def _append(self, entry: dict[str, Any]) -> None:
        append_line(self._path, json.dumps(entry, separators=(",", ":")).encode())


def left_behind(path: Path) -> tuple[Plan, RecordingJournal]:
    """The plan and the journal of a recording that was started on any machine; the file is not changed."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InvalidValueError(f"{path} cannot be read: {error.strerror or error}; record something first.") from error
    try:
        plan = plan_from(_first_entry(lines)["grid"])
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


def _first_entry(lines: Sequence[bytes]) -> dict[str, Any]:
    """The first line of a journal; empty if it is none."""
    try:
        entry = untrusted_json(lines[0]) if lines else {}
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


def _is_cut_short(line: bytes, beginning: bytes) -> bool:
    """Whether a kill or a full disk left only a part of a line that begins like this."""
    if line[: len(beginning)] != beginning[: len(line)]:
        return False
    try:
        untrusted_json(line)
    except json.JSONDecodeError:
        return True
    except ValueError:
        return False
    return False


def _entry(entry: Any, plan: Plan) -> tuple[int, int | None, dict[str, Any]]:
    """The network, the deployment (None for a training) and the outcome; ValueError says what is wrong with them."""
    if not isinstance(entry, dict) or not isinstance(entry.get("outcome"), dict):
        raise ValueError("it has no outcome of a measurement")
    for name, known in (("network", plan.networks), ("deployment", plan.deployments)):
        place = entry.get(name, None if name == "network" else 0)
        if type(place) is not int or place not in range(len(known)):
            raise ValueError(f"its {name} is {shortened(repr(place), 40)}; it must be 0 to {len(known) - 1}")
    outcome = entry["outcome"]
    if "failed" in outcome and not isinstance(outcome["failed"], str):
        raise ValueError("it failed, and the reason is no text")
    if fault := outcome_fault(outcome):
        raise ValueError(f"of network {entry['network']}, {fault}")
    return entry["network"], entry.get("deployment"), outcome
