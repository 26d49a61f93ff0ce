"""Runs a shell script or a program, and ends all its processes: when it is done, at a timeout, or with this process.

A script leads a session of its own, so Ctrl-C at a terminal does not reach it and one signal reaches all of it. A
watcher beside it holds one end of a connection whose other end this process holds: when this process dies, even by
SIGKILL, the connection ends, and the watcher kills the whole group. Over the same connection the script's end is
reported: from then on only what is already in its outputs is read, even if other processes still write there.

What left the group (``setsid``) is ended as well when the script is ended: it still has the environment that it was
started with, with a mark in it, which Linux shows under ``/proc``. What was started with another environment
(``env -i``), what runs as another user, and everything on systems without ``/proc`` is not found. When a script ends by
itself, its group is killed, and what left the group lives on: that is how services are started.

A program in the foreground has the streams of this process. With a terminal it stays in the session and
the group of this process, so that Ctrl-C, Ctrl-Z and questions at the terminal work; its processes are then found by
their mark only.
"""

from __future__ import annotations

import os
import secrets
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO

from flexibo._internal.ending import GRACE_SECONDS, MARK, SIGNAL_MARKED, ask_to_end, end_at_once, end_rest
from flexibo.errors import MachineError

SHELL = "/bin/sh"
KEPT_BYTES = 64 * 1024  # how much of the end of each output is kept
CHUNK = 64 * 1024
LARGEST_PIPE = 1024 * 1024  # how much is read at once of what a script left in an output; a pipe holds no more
LOOK_SECONDS = 0.5  # how often to check for an end that is not reported, as after a signal to the supervising shell
WATCH = f"""read -r line <&3
kill -TERM 0
sleep {GRACE_SECONDS:g}
signal=-KILL
{SIGNAL_MARKED}
kill -KILL 0
"""
WATCH_PROGRAM = f"""trap '' TERM
read -r group
read -r line
signal=-TERM
{SIGNAL_MARKED}
sleep {GRACE_SECONDS:g}
signal=-KILL
{SIGNAL_MARKED}
[ -z "$group" ] || kill -KILL "-$group"
"""
"""The same for a program, which is started after its watcher and whose group, if it has one, is told over the same
connection."""
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


class ScriptStopped(Exception):  # noqa: N818  # what happened, rather than an error of the program
    """The script was ended because nobody needs it any more."""


def run_script(
    script: str,
    *,
    folder: str,
    environment: Mapping[str, str],  # all that it sees
    seconds: float | None = None,  # then it is ended, and a ScriptTimeout is raised
    listen: Callable[[bytes], object] = lambda chunk: None,  # called with all that it prints as it arrives
    follow: Callable[[bytes], object] = lambda chunk: None,  # the same without its standard error
    is_over: Callable[[], bool] = lambda: False,  # once it says so, the script is ended, and a ScriptStopped is raised
) -> ScriptResult:
    """Run a script and return its result; when this returns or raises, none of its processes runs any more.

    What `listen`, `follow` or `is_over` raises ends the script as well.
    """
    until = None if seconds is None else time.monotonic() + seconds
    with _started(script, folder, environment) as (process, news):
        tails = {stream: b"" for stream in (process.stdout, process.stderr) if stream}
        _listen(process, news, tails, until, listen, follow, is_over)
        status = _status(process, until)
    output, errors = (tail.decode(errors="replace") for tail in tails.values())
    return ScriptResult(status, output, errors)


@contextmanager
def foreground_program(words: Sequence[str], *, stdout: int | None = None) -> Iterator[Callable[[], int]]:
    """A context for a program in the foreground; its value runs it once and returns its status, negative for a signal.

    At the end nothing of the program runs any more, except for what left its group before it ended by itself. Who
    measures its time measures that call alone.

    Raises:
        OSError, ValueError: It cannot be started.
    """
    mark = secrets.token_hex(16)
    started: list[subprocess.Popen[bytes]] = []
    with _watched(mark) as news:
        has_terminal = _has_terminal()

        def run() -> int:
            started.append(
                subprocess.Popen(
                    words, stdout=stdout, env={**os.environ, MARK: mark}, start_new_session=not has_terminal
                )
            )
            if not has_terminal:
                with suppress(BrokenPipeError):  # the watcher was killed
                    news.sendall(f"{started[0].pid}\n".encode())
            return started[0].wait()

        try:
            yield run
        finally:
            process = started[0] if started else None
            if process is None or process.returncode is None:
                ask_to_end(process, mark)  # it may run although its number is not known here yet
            else:
                end_rest(mark, group=os.getpgrp() if has_terminal else process.pid)
            if process is not None:
                end_at_once(process)


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
            ask_to_end(process, mark)
            raise
        finally:
            end_at_once(process)


def _listen(
    process: subprocess.Popen[bytes],
    news: socket.socket,
    tails: dict[IO[bytes], bytes],
    until: float | None,
    listen: Callable[[bytes], object],
    follow: Callable[[bytes], object],
    is_over: Callable[[], bool],
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
            if is_over():
                raise ScriptStopped
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


@contextmanager
def _watched(mark: str) -> Iterator[socket.socket]:
    """A context in which all marked processes are ended if this process dies, even by SIGKILL.

    Its value takes the number of a group that is killed as well.
    """
    environment = {name: value for name, value in os.environ.items() if name != MARK}
    news, life = socket.socketpair()
    with news:
        with life:
            watcher = subprocess.Popen(
                [SHELL, "-c", WATCH_PROGRAM, "flexibo", mark],
                stdin=life.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
        try:
            yield news
        finally:
            watcher.kill()
            watcher.wait()


def _has_terminal() -> bool:
    """Whether this process has a terminal, from which signals and input come."""
    try:
        os.close(os.open(os.ctermid(), os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
