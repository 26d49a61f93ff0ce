"""What ``flexibo doctor`` finds: facts, and the checks that find them, all at once and each within a limit."""

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
    """One fact about this machine."""

    group: str  # the section of the report
    name: str  # for --need
    state: State
    text: str  # what was found, or its purpose
    remedy: str = ""  # what to do, if possible a command; empty if nothing


@dataclass(frozen=True, slots=True)
class Check:
    """Something to check: `look` returns findings of this group, by this name if it fails."""

    group: str
    name: str
    look: Callable[[], Iterable[Finding]]


def found(checks: Sequence[Check], *, limit: float) -> list[Finding]:
    """The findings of the checks, in their order; all run at once, and one that exceeds the limit is abandoned."""
    answers: dict[str, list[Finding]] = {}

    def run(check: Check) -> None:
        try:
            answers[check.name] = list(check.look())
        except Exception as error:  # the other checks continue
            answers[check.name] = [Finding(check.group, check.name, "wrong", f"{type(error).__name__}: {error}")]

    threads = [threading.Thread(target=run, args=(check,), daemon=True) for check in checks]
    end = time.monotonic() + limit
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    late = f"It did not answer within {limit:g} s."
    return [
        finding
        for check in checks
        for finding in answers.get(check.name, [Finding(check.group, check.name, "wrong", late)])
    ]


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
