"""Ends processes: a process group and all that was started with the same mark, after a moment to clean up.

A mark is a value of the environment variable `MARK`. Linux shows under ``/proc`` the environment that a process was
started with, so a marked process is found even if it left the group of the one that started it.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

logger = logging.getLogger(__name__)

PROC = Path("/proc")
MARK = "FLEXIBO_MARK"  # the variable whose value identifies the processes of one command
MOST_ROUNDS = 20  # how often to look again after a kill: a process may have started others in the meantime
GRACE_SECONDS = 1.0  # how long a script may clean up after SIGTERM before it is killed
GRACE_LOOK_SECONDS = 0.02  # how often to check whether all have cleaned up
END_SECONDS = 5.0  # how long to wait for a process that was killed; one that waits for a device may not die at once
SIGNAL_MARKED = f"""for file in $(grep -lsF "{MARK}=$1" /proc/[0-9]*/environ); do
    file=${{file#/proc/}}
    kill "$signal" "${{file%/environ}}"
done"""
"""A shell script that sends a signal to all processes whose mark is its first argument."""


def ask_to_end(process: subprocess.Popen[bytes] | None, mark: str) -> None:
    """Let the whole group, and what left it, clean up for a moment; then kill what is left.

    An interrupt in the meantime ends the moment.
    """
    group = 0 if process is None else process.pid
    try:
        _signal(process, signal.SIGTERM)
        _signal_escaped(mark, signal.SIGTERM, group=group)
        until = time.monotonic() + GRACE_SECONDS
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_SECONDS)
        _wait_for_marked(mark, until)
    finally:
        _signal(process, signal.SIGKILL)
        for _ in range(MOST_ROUNDS):
            if not _signal_escaped(mark, signal.SIGKILL, group=group):
                break


def end_rest(mark: str, *, group: int) -> None:
    """End what a program that ended by itself left in its group, after a moment to clean up."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        rest = [pid for pid in _marked_processes(mark) if _group_of(pid) == group]
        for pid in rest:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        if rest and number == signal.SIGTERM:
            _wait_for_marked(mark, time.monotonic() + GRACE_SECONDS, group=group)


def _wait_for_marked(mark: str, until: float, *, group: int | None = None) -> None:
    """Wait until the marked processes, or those of a group, have ended, but not longer than until a time."""
    while time.monotonic() < until:
        if not any(group in (None, _group_of(pid)) for pid in _marked_processes(mark)):
            return
        time.sleep(GRACE_LOOK_SECONDS)


def end_at_once(process: subprocess.Popen[bytes]) -> None:
    """Kill the whole group, including the watcher, and release what was held."""
    _signal(process, signal.SIGKILL)
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        logger.warning("A command was killed but does not end; it may wait for a device.")
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _signal(process: subprocess.Popen[bytes] | None, number: int) -> None:
    """Send a signal to the group of a process, or to the process alone if it has no group of its own."""
    if process is None:
        return
    # The number of a script's group stays in use while the watcher lives, even after the script itself is reaped.
    with suppress(ProcessLookupError, PermissionError):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            process.send_signal(number)


def _group_of(pid: int) -> int | None:
    with suppress(ProcessLookupError, PermissionError):
        return os.getpgid(pid)
    return None


def _signal_escaped(mark: str, number: int, *, group: int) -> bool:
    """Send a signal to the marked processes outside of a group; returns whether there were any."""
    sent = False
    for pid in _marked_processes(mark):
        with suppress(ProcessLookupError, PermissionError):
            if group not in (pid, os.getpgid(pid)):
                os.kill(pid, number)
                sent = True
    return sent


def _marked_processes(mark: str) -> list[int]:
    """The processes that were started with a mark; empty where the system does not show them."""
    entry, found = f"{MARK}={mark}".encode(), []
    for name in filter(str.isdecimal, os.listdir(PROC) if PROC.is_dir() else ()):
        with suppress(OSError):  # it has ended, or belongs to another user
            if entry in (PROC / name / "environ").read_bytes().split(b"\0"):
                found.append(int(name))
    return found
