"""What ``flexibo doctor`` finds: small facts, each looked for within a time limit, so that nothing hangs."""

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
        group: Where it stands in the report.
        name: A short name, by which it may be needed.
        state: "good", "absent" (which may be as it should be) or "wrong".
        text: What was found, or what it would be for.
        remedy: What to do, a command where there is one; empty where nothing is to be done.
    """

    group: str
    name: str
    state: State
    text: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """Something to look at.

    Attributes:
        group: Where its findings stand in the report.
        name: The name of its finding, also when it does not end.
        look: Finds.
    """

    group: str
    name: str
    look: Callable[[], Iterable[Finding]]


def found(checks: Sequence[Check], *, limit: float, clock: Callable[[], float] = time.monotonic) -> list[Finding]:
    """What the checks find, in their order, all looking at once; one that takes longer than the limit is left alone.

    Args:
        checks: What to look at.
        limit: Seconds until a check is given up.
        clock: Gives seconds and never goes back.
    """
    looks = [_Look(check) for check in checks]
    end = clock() + limit
    for look in looks:
        look.thread.start()
    for look in looks:
        look.thread.join(max(0.0, end - clock()))
    return [finding for look in looks for finding in look.findings(limit)]


class _Look:
    """A check in a thread, which does not keep the process from ending."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self._found: list[Finding] | None = None
        self.thread = threading.Thread(target=self._run, name=f"flexibo-doctor-{check.name}", daemon=True)

    def _run(self) -> None:
        check = self._check
        try:
            self._found = list(check.look())
        except Exception as error:  # whatever a library says, the other checks go on
            self._found = [Finding(check.group, check.name, "wrong", f"{type(error).__name__}: {error}")]

    def findings(self, limit: float) -> list[Finding]:
        if self._found is not None:
            return self._found
        return [Finding(self._check.group, self._check.name, "wrong", f"It did not answer within {limit:g} s.")]


def output_of(command: Sequence[str], *, limit: float) -> tuple[int, str]:
    """The exit status of a program and what it printed, the last line of its complaints if it failed.

    It is killed after the limit. Nothing of it reaches this terminal.
    """
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
    """The same of a few lines of Python, in a process of their own: what they import may hang or crash."""
    return output_of([sys.executable, "-c", code, *arguments], limit=limit)
