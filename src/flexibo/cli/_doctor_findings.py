"""Checks of ``flexibo doctor`` and their findings, each within a time limit."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

State: TypeAlias = Literal["good", "absent", "wrong"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact about this machine.

    Attributes:
        group: The section of the report.
        name: A short name, for --need.
        state: "good", "absent" (which may be intended) or "wrong".
        text: What was found, or its purpose.
        remedy: What to do, if possible a command; empty if nothing.
    """

    group: str
    name: str
    state: State
    text: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """Something to check.

    Attributes:
        group: The section of the report.
        name: The name of its finding, also after a timeout.
        look: Returns the findings.
    """

    group: str
    name: str
    look: Callable[[], Iterable[Finding]]


def found(checks: Sequence[Check], *, limit: float, clock: Callable[[], float] = time.monotonic) -> list[Finding]:
    """The findings of the checks, in their order; all run at once, and one that exceeds the limit is abandoned.

    Args:
        checks: The checks.
        limit: The time limit in seconds.
        clock: A monotonic clock.
    """
    running = [_RunningCheck(check) for check in checks]
    end = clock() + limit
    for one in running:
        one.thread.start()
    for one in running:
        one.thread.join(max(0.0, end - clock()))
    return [finding for one in running for finding in one.findings(limit)]


class _RunningCheck:
    """A check in a daemon thread."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self._found: list[Finding] | None = None
        self.thread = threading.Thread(target=self._run, name=f"flexibo-doctor-{check.name}", daemon=True)

    def _run(self) -> None:
        check = self._check
        try:
            self._found = list(check.look())
        except Exception as error:  # the other checks continue
            self._found = [Finding(check.group, check.name, "wrong", f"{type(error).__name__}: {error}")]

    def findings(self, limit: float) -> list[Finding]:
        if self._found is not None:
            return self._found
        return [Finding(self._check.group, self._check.name, "wrong", f"It did not answer within {limit:g} s.")]


def output_of(command: Sequence[str], *, limit: float) -> tuple[int, str]:
    """The exit status of a program and its output, or the last line of its errors; it is killed after the limit."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=limit
        )
    except subprocess.TimeoutExpired:
        return 1, f"It did not answer within {limit:g} s."
    except OSError as error:
        return 1, f"It cannot be run: {error.strerror or error}."
    if done.returncode:
        complaints = [line for line in done.stderr.splitlines() if line.strip()]
        return done.returncode, complaints[-1] if complaints else f"It ended with status {done.returncode}."
    return 0, done.stdout


def python_says(code: str, *arguments: str, limit: float) -> tuple[int, str]:
    """The same for a few lines of Python in a separate process, because what they import may hang or crash."""
    return output_of([sys.executable, "-c", code, *arguments], limit=limit)
