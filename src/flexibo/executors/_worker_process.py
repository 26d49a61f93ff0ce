"""One worker process, seen from the process that started it."""

from __future__ import annotations

import logging
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress

from flexibo.errors import MachineError
from flexibo.executors._messages import CHUNK, MessageReader, ProcessTask, Recent, Reply, WorkingContext, encoded

logger = logging.getLogger(__name__)

START = (
    "import sys; sys.path[:] = sys.argv[4:]; "  # first of all, so that nothing is imported from elsewhere
    "from flexibo.executors._worker_main import main; main(*map(int, sys.argv[1:4]))"
)
SLOT = "FLEXIBO_WORKER_SLOT"
SEND_SECONDS = 60.0  # how long a worker process may take to start up and to read a large task
END_SECONDS = 5.0  # how long to wait for a process that was killed; one that waits for a device may not die before it


def working_context() -> WorkingContext:
    try:
        folder = os.getcwd()
    except FileNotFoundError:
        folder = None
    return WorkingContext(tuple(entry for entry in sys.path if isinstance(entry, str)), folder)


class WorkerProcess:
    """A worker process. It leads a session: Ctrl-C does not reach it, and killing it takes along what it started."""

    def __init__(self, slot: int, environment: Mapping[str, str]) -> None:
        self.slot = slot
        self._functions: Recent[bool] = Recent()
        self._context: WorkingContext | None = None
        self._frames = MessageReader()
        self._has_hung_up = False
        self.has_served = False
        if not sys.executable:
            raise MachineError("Python does not know its own program (sys.executable is empty); use another executor.")
        self._channel, theirs = socket.socketpair()
        life, self._life = os.pipe()
        ends = (theirs.fileno(), life)
        command = [sys.executable, "-c", START, *map(str, ends), str(os.getpid()), *working_context().path]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **environment, SLOT: str(slot)},
                pass_fds=ends,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._channel.close()
            os.close(self._life)
            raise MachineError(f"A worker process cannot be started ({error}); free memory or processes.") from None
        finally:
            theirs.close()
            os.close(life)
        self._channel.setblocking(False)
        self._exit = _exit_descriptor(self._process.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def descriptors(self) -> list[int]:
        """What becomes readable when there is something to receive, or when the process ends."""
        return [self._channel.fileno()] + ([] if self._exit is None else [self._exit])

    @property
    def tells_its_end(self) -> bool:
        """Whether its end shows in `descriptors` even while a process that it forked keeps the connection open."""
        return self._exit is not None

    def send(self, objective: str, digest: str, function: bytes, question: bytes) -> bool:
        """Hand over a task; False if the process is not there to take it."""
        here = working_context()
        is_known = self._functions.get(digest) is not None
        task = ProcessTask(
            objective, digest, None if is_known else function, question, None if here == self._context else here
        )
        self._functions.use(digest, True)
        self._context = here
        self._channel.settimeout(SEND_SECONDS)
        try:
            self._channel.sendall(encoded(task))
        except OSError:  # it died, or it never started to read
            return False
        self._channel.setblocking(False)
        return True

    def received(self) -> list[Reply]:
        """The replies that are there; does not wait."""
        replies: list[Reply] = []
        while not self._has_hung_up:
            try:
                chunk = self._channel.recv(CHUNK)
            except BlockingIOError:
                break
            except OSError:  # it ended before it read all that was sent
                chunk = b""
            self._has_hung_up = not chunk
            replies += self._frames.feed(chunk)
        self.has_served = self.has_served or bool(replies)
        return replies

    def is_over(self) -> bool:
        """Whether the process has ended, or cannot be reached any more. It is not reaped: its number stays its own."""
        return self._has_hung_up or self._has_ended()

    def _has_ended(self) -> bool:
        if self._process.returncode is not None:
            return True
        if not hasattr(os, "waitid"):
            return self._process.poll() is not None
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # something else in this process reaped it
            return True

    def dismiss(self) -> None:
        """Let it end by itself, if it is idle."""
        self._channel.close()

    def await_end(self, seconds: float) -> bool:
        if self._exit is not None:
            events = select.poll()
            events.register(self._exit, select.POLLIN)
            return bool(events.poll(max(0.0, seconds) * 1000))
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, seconds))
        return self._process.returncode is not None

    def end(self) -> int | None:
        """Kill it and all that it started; returns its exit status, negative for a signal, None if it does not die."""
        with suppress(ProcessLookupError, PermissionError):  # the latter: a Mac has only dead processes to kill
            os.killpg(self.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        if self._process.returncode is None:
            logger.warning("Worker process %d was killed but does not end; it may wait for a device.", self.pid)
        self._channel.close()
        for descriptor in (self._life, self._exit):
            if descriptor is not None:
                os.close(descriptor)
        return self._process.returncode


def _exit_descriptor(pid: int) -> int | None:
    """What becomes readable when the process ends, where the system has such a thing."""
    if hasattr(os, "pidfd_open"):
        with suppress(OSError):  # an old kernel, or a container that forbids it
            return int(os.pidfd_open(pid))
    return None
