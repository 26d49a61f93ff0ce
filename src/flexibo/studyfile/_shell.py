"""Runs a shell script, and ends all its processes: when it is done, at its timeout, or with this process.

The script leads a session of its own, so Ctrl-C at a terminal does not reach it and one signal reaches all of it. A
watcher beside it holds one end of a connection whose other end this process holds: when this process dies, even by
SIGKILL, the connection ends, and the watcher kills the whole group. Over the same connection the script's end is
reported: from then on only what is already in its outputs is read, even if other processes still write there.

What left the group (``setsid``) is ended as well when the script is ended: it still has the environment that it was
started with, with a mark in it, which Linux shows under ``/proc``. What was started with another environment
(``env -i``), what runs as another user, and everything on systems without ``/proc`` is not found. When a script ends by
itself, its group is killed, and what left the group lives on: that is how services are started.
"""

from __future__ import annotations

import logging
import os
import secrets
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from flexibo.errors import MachineError

logger = logging.getLogger(__name__)

SHELL = "/bin/sh"
PROC = Path("/proc")
MARK = "FLEXIBO_MARK"  # the variable whose value identifies the processes of one command
MOST_ROUNDS = 20  # how often to look again after a kill: a process may have started others in the meantime
GRACE_SECONDS = 1.0  # how long a script may clean up after SIGTERM before it is killed
END_SECONDS = 5.0  # how long to wait for a process that was killed; one that waits for a device may not die at once
KEPT_BYTES = 64 * 1024  # how much of the end of each output is kept
CHUNK = 64 * 1024
LARGEST_PIPE = 1024 * 1024  # how much is read at once of what a script left in an output; a pipe holds no more
LOOK_SECONDS = 0.5  # how often to check for an end that is not reported, as after a signal to the supervising shell
WATCH = f"""read -r line <&3
kill -TERM 0
sleep {GRACE_SECONDS:g}
for file in $(grep -lsF "{MARK}=$1" /proc/[0-9]*/environ); do
    file=${{file#/proc/}}
    kill -KILL "${{file%/environ}}"
done
kill -KILL 0
"""
SUPERVISED = f"""exec 3<&0 </dev/null
trap : TERM
(trap '' TERM; mark=${MARK}; unset {MARK}; exec {SHELL} -c "$2" flexibo "$mark" >/dev/null 2>&1) &
watcher=$!
{SHELL} -c "$1" flexibo 3<&-
status=$?
echo >&3
{{ kill -KILL "$watcher"; wait "$watcher"; }} 2>/dev/null
exit "$status"
"""
"""Waits for the script, reports its end, and ends the watcher; the trap lets the script clean up at SIGTERM."""


@dataclass(frozen=True, slots=True)
class ScriptResult:
    """The exit status of a script, negative for a signal, and the end of its output and of its standard error."""

    status: int
    output: str
    errors: str


class ScriptTimeout(Exception):  # noqa: N818  # what happened, rather than an error of the program
    """The script exceeded its timeout."""


def run_script(
    script: str,
    *,
    folder: str,
    environment: Mapping[str, str],  # all that it sees
    seconds: float | None = None,  # then it is ended, and a ScriptTimeout is raised
    listen: Callable[[bytes], object] = lambda chunk: None,  # called with all that it prints as it arrives
    follow: Callable[[bytes], object] = lambda chunk: None,  # the same without its standard error
) -> ScriptResult:
    """Run a script and return its result; when this returns or raises, none of its processes runs any more."""
    until = None if seconds is None else time.monotonic() + seconds
    with _started(script, folder, environment) as (process, news):
        tails = {stream: b"" for stream in (process.stdout, process.stderr) if stream}
        _listen(process, news, tails, until, listen, follow)
        status = _status(process, until)
    output, errors = (tail.decode(errors="replace") for tail in tails.values())
    return ScriptResult(status, output, errors)


def syntax_error(script: str) -> str:
    """Why the shell cannot parse a script, or an empty text; nothing is run."""
    try:
        done = subprocess.run([SHELL, "-n", "-c", script], capture_output=True, stdin=subprocess.DEVNULL, timeout=10)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""  # it will be seen when it runs
    if done.returncode == 0:
        return ""
    last = done.stderr.decode(errors="replace").strip().splitlines()
    return last[-1] if last else f"exit status {done.returncode}"


@contextmanager
def _started(
    script: str, folder: str, environment: Mapping[str, str]
) -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    """A running script, and a socket that is readable once it has ended; on exit its group is killed."""
    mark = secrets.token_hex(16)
    news, life = socket.socketpair()
    with news:
        try:
            process = subprocess.Popen(
                [SHELL, "-c", SUPERVISED, "flexibo", script, WATCH],
                stdin=life.fileno(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env={**environment, MARK: mark},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise MachineError(f"A command cannot be started in {folder}: {error}.") from None
        finally:
            life.close()
        try:
            yield process, news
        except BaseException:
            _ask_to_end(process, mark)
            raise
        finally:
            _end(process)


def _listen(
    process: subprocess.Popen[bytes],
    news: socket.socket,
    tails: dict[IO[bytes], bytes],
    until: float | None,
    listen: Callable[[bytes], object],
    follow: Callable[[bytes], object],
) -> None:
    """Read until the script ends, and then what is already there: processes it left behind may still print."""

    def read(stream: IO[bytes], most: int) -> bool:
        chunk = os.read(stream.fileno(), most)
        tails[stream] = (tails[stream] + chunk)[-KEPT_BYTES:]
        listen(chunk)
        if stream is process.stdout:
            follow(chunk)
        return bool(chunk)

    with selectors.DefaultSelector() as selector:
        for stream in tails:
            selector.register(stream, selectors.EVENT_READ, stream)
        selector.register(news, selectors.EVENT_READ)
        has_ended = False
        while not has_ended:
            if until is not None and time.monotonic() >= until:
                raise ScriptTimeout
            wait = LOOK_SECONDS if until is None else min(LOOK_SECONDS, until - time.monotonic())
            ready = [key.data for key, _ in selector.select(wait)]
            has_ended = None in ready or process.poll() is not None
            for stream in () if has_ended else ready:
                if not read(stream, CHUNK):
                    selector.unregister(stream)
        for stream in [key.data for key in selector.get_map().values() if key.data is not None]:
            os.set_blocking(stream.fileno(), False)
            with suppress(BlockingIOError):
                read(stream, LARGEST_PIPE)


def _status(process: subprocess.Popen[bytes], until: float | None) -> int:
    """The exit status; a script may close its outputs and continue, so this may wait."""
    try:
        status = process.wait(None if until is None else max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise ScriptTimeout from None
    is_signal = 128 < status <= 128 + signal.NSIG  # how a shell reports that a program was killed
    return 128 - status if is_signal else status


def _ask_to_end(process: subprocess.Popen[bytes], mark: str) -> None:
    """Let the whole group, and what left it, clean up for a moment; then kill what left it."""
    _signal(process, signal.SIGTERM)
    _signal_escaped(mark, signal.SIGTERM, group=process.pid)
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_SECONDS)
    _signal(process, signal.SIGKILL)
    for _ in range(MOST_ROUNDS):
        if not _signal_escaped(mark, signal.SIGKILL, group=process.pid):
            return


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the whole group, including the watcher, and release what was held."""
    _signal(process, signal.SIGKILL)
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        logger.warning("A command was killed but does not end; it may wait for a device.")
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    # The number of the group stays in use while the watcher lives, even after the script itself is reaped.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _signal_escaped(mark: str, number: int, *, group: int) -> bool:
    """Send a signal to the marked processes outside of a group; returns whether there were any."""
    sent = False
    for pid in _escaped_processes(mark):
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(pid) != group:
                os.kill(pid, number)
                sent = True
    return sent


def _escaped_processes(mark: str) -> list[int]:
    """The processes that were started with a mark; empty where the system does not show them."""
    entry, found = f"{MARK}={mark}".encode(), []
    for name in filter(str.isdecimal, os.listdir(PROC) if PROC.is_dir() else ()):
        with suppress(OSError):  # it has ended, or belongs to another user
            if entry in (PROC / name / "environ").read_bytes().split(b"\0"):
                found.append(int(name))
    return found
