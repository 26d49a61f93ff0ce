"""Runs a shell script with all that it starts, and ends all of it: by itself, in time, or with this process.

The script leads a session of its own, so that Ctrl-C at a terminal does not reach it and one signal reaches all of it.
A watcher beside it holds the reading end of a pipe whose other end this process holds: when this process dies, even by
SIGKILL, the pipe ends, and the watcher kills the whole group.
"""

from __future__ import annotations

import logging
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO

from flexibo.errors import MachineError

logger = logging.getLogger(__name__)

SHELL = "/bin/sh"
GRACE_SECONDS = 1.0
"""How long a script that is told to end (SIGTERM) may tidy up before it is killed."""
END_SECONDS = 5.0
"""How long to wait for a process that was killed; one that waits for a device may not die before it."""
KEPT_BYTES = 64 * 1024
"""How much of the end of each output is kept."""
CHUNK = 64 * 1024
LOOK_SECONDS = 0.1
"""How often to look whether the script has ended, while something that it left behind holds its output open."""
DRAINED_CHUNKS = 64
"""How much is read of what a script that has ended left behind."""
SUPERVISED = f"""exec 3<&0 </dev/null
trap : TERM
(trap '' TERM; exec >/dev/null 2>&1; read -r line <&3; kill -TERM 0; sleep {GRACE_SECONDS:g}; kill -KILL 0) &
watcher=$!
exec 3<&-
{SHELL} -c "$1" flexibo
status=$?
{{ kill -KILL "$watcher"; wait "$watcher"; }} 2>/dev/null
exit "$status"
"""
"""Waits for the script and then for the watcher; the trap lets the script tidy up first when all are told to end."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of a script.

    Attributes:
        status: Its exit status, negative for a signal.
        output: The end of what it printed.
        errors: The end of what it wrote to the standard error.
    """

    status: int
    output: str
    errors: str


class Overdue(Exception):  # noqa: N818  # what happened, rather than an error of the program
    """The script took longer than it may."""


def run_script(
    script: str,
    *,
    folder: str,
    environment: Mapping[str, str],
    seconds: float | None = None,
    listen: Callable[[bytes], object] = lambda chunk: None,
) -> Ended:
    """What became of a script; when this returns or raises, nothing of it runs any more.

    Args:
        script: What the shell runs.
        folder: Where.
        environment: All variables that it sees.
        seconds: How long it may take.
        listen: Called with all that it prints, as it comes.

    Raises:
        Overdue: It took longer; it was ended.
        MachineError: It could not be started.
    """
    until = None if seconds is None else time.monotonic() + seconds
    tails = (_Tail(), _Tail())
    with _started(script, folder, environment) as process:
        streams = {stream: tail for stream, tail in zip((process.stdout, process.stderr), tails, strict=True) if stream}
        _listen(process, streams, until, listen)
        status = _status(process, until)
    return Ended(status, tails[0].text(), tails[1].text())


def syntax_error(script: str) -> str:
    """Why the shell cannot read a script, or an empty text; nothing is run."""
    try:
        done = subprocess.run([SHELL, "-n", "-c", script], capture_output=True, stdin=subprocess.DEVNULL, timeout=10)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""  # it will be seen when it runs
    if done.returncode == 0:
        return ""
    last = done.stderr.decode(errors="replace").strip().splitlines()
    return last[-1] if last else f"exit status {done.returncode}"


@contextmanager
def _started(script: str, folder: str, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A running script; at the end of the context all that it started is killed."""
    life, hold = os.pipe()
    try:
        try:
            process = subprocess.Popen(
                [SHELL, "-c", SUPERVISED, "flexibo", script],
                stdin=life,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env=dict(environment),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise MachineError(f"A command cannot be started in {folder}: {error}.") from None
        finally:
            os.close(life)
        try:
            yield process
        except BaseException:
            _ask_to_end(process)
            raise
        finally:
            _end(process)
    finally:
        os.close(hold)


def _listen(
    process: subprocess.Popen[bytes],
    streams: Mapping[IO[bytes], _Tail],
    until: float | None,
    listen: Callable[[bytes], object],
) -> None:
    """Read until both outputs end, or the script did and what it left behind says nothing more."""
    with selectors.DefaultSelector() as selector:
        for stream, tail in streams.items():
            selector.register(stream, selectors.EVENT_READ, tail)
        drained = 0
        while selector.get_map():
            if until is not None and time.monotonic() >= until:
                raise Overdue
            ready = selector.select(LOOK_SECONDS if until is None else min(LOOK_SECONDS, until - time.monotonic()))
            for key, _ in ready:
                chunk = os.read(key.fd, CHUNK)
                if not chunk:
                    selector.unregister(key.fileobj)
                    continue
                key.data.add(chunk)
                listen(chunk)
            if process.poll() is not None:
                drained += 1
                if not ready or drained > DRAINED_CHUNKS:
                    return


def _status(process: subprocess.Popen[bytes], until: float | None) -> int:
    """The exit status, which may have to be waited for: a script may close its outputs and go on."""
    try:
        status = process.wait(None if until is None else max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise Overdue from None
    is_signal = 128 < status <= 128 + signal.NSIG  # how a shell reports that a program was killed
    return 128 - status if is_signal else status


def _ask_to_end(process: subprocess.Popen[bytes]) -> None:
    """Let the whole group tidy up for a moment."""
    _signal(process, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_SECONDS)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the whole group, the watcher included, and give back what was held."""
    _signal(process, signal.SIGKILL)
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        logger.warning("A command was killed but does not end; it may wait for a device.")
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    # The number of the group stays taken as long as the watcher lives, also when the script itself is reaped.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


class _Tail:
    """The end of an output."""

    def __init__(self) -> None:
        self._kept = b""

    def add(self, chunk: bytes) -> None:
        self._kept = (self._kept + chunk)[-KEPT_BYTES:]

    def text(self) -> str:
        return self._kept.decode(errors="replace")
