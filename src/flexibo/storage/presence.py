"""Signs of life: how a worker says that it lives, and how others see that one has vanished.

No clock is compared with another one. A worker counts its signs; whoever watches takes the time, on a clock that never
jumps, for which the count has not grown. A process of the same machine is looked at directly.
"""

from __future__ import annotations

import logging
import math
import os
import secrets
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from flexibo.storage.base import Sign, Storage, StorageError
from flexibo.storage.memory import MemoryStorage

LEASE = 60.0
"""A worker is taken for gone after so many seconds without a sign."""
SIGNS_PER_LEASE = 4
PARTING_SECONDS = 2.0
"""How long the end of a process waits for its last sign to be written."""

logger = logging.getLogger(__name__)


class Presence:
    """This process as a worker of a study, and its view of the other workers.

    Args:
        storage: Where the signs are kept.
        lease: After so many seconds without a sign others take this worker for gone.
        clock: Gives seconds and never goes back.
        proc: Where Linux shows its processes.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        lease: float = LEASE,
        clock: Callable[[], float] = time.monotonic,
        proc: Path = Path("/proc"),
    ) -> None:
        self._storage = storage
        self._lease = lease
        self._clock = clock
        self._proc = proc
        self._watched: dict[str, tuple[int, float]] = {}
        self._pid = 0
        self._signs: _Signs | None = None
        self._leave: Callable[[], object] | None = None
        self._begun = clock()
        self.worker = secrets.token_hex(8)

    @property
    def seconds(self) -> float:
        """How long this worker has lived."""
        return self._clock() - self._begun

    def begin(self) -> None:
        """Give the first sign, and go on giving signs in the background until `leave`."""
        if self._pid == os.getpid():
            return
        if self._pid:  # a copy of the parent's worker, made by a fork: another worker from now on
            self.worker, self._begun = secrets.token_hex(8), self._clock()
        about = about_this_process(self._proc)
        in_memory = isinstance(self._storage, MemoryStorage)  # nobody outlives it
        lease = math.inf if in_memory else self._lease
        self._storage.sign(self.worker, Sign(0, 0.0, lease, about))
        if in_memory:
            self._leave = weakref.finalize(self, self._storage.sign, self.worker, None)
        else:
            stop = threading.Event()
            self._signs = _Signs(self._storage, self.worker, lease, about, self._clock, self._begun)
            thread = threading.Thread(target=self._signs.give, args=(stop,), name="flexibo-signs", daemon=True)
            thread.start()
            self._leave = weakref.finalize(self, _part, stop, thread)
        self._pid = os.getpid()

    def leave(self) -> None:
        """Say that this worker is gone; what it holds may be given to others at once."""
        if self._leave is not None and self._pid == os.getpid():
            self._leave()
        self._leave, self._pid = None, 0
        self.worker, self._begun = secrets.token_hex(8), self._clock()

    def gone(self, workers: Iterable[str]) -> dict[str, float | None]:
        """Which of these workers have vanished, and for how long each had lived at its last sign, if it left one."""
        wanted = set(workers) - {self.worker}
        if not wanted:
            return {}
        signs = self._storage.workers()
        return {
            worker: None if worker not in signs else signs[worker].seconds
            for worker in wanted
            if worker not in signs or self._is_gone(worker, signs[worker])
        }

    def _is_gone(self, worker: str, sign: Sign) -> bool:
        if is_dead(sign.about, self._proc):
            return True
        beat, since = self._watched.get(worker, (None, 0.0))
        if beat != sign.beat:
            self._watched[worker] = (sign.beat, self._clock())
            return False
        if self._signs is not None:
            if self._signs.is_late():
                return False  # a storage that does not take our signs does not take those of others
            since = max(since, self._signs.since)
        return self._clock() - since > sign.lease


class _Signs:
    """What the background thread needs; it must not keep the `Presence` alive."""

    def __init__(
        self,
        storage: Storage,
        worker: str,
        lease: float,
        about: Mapping[str, Any],
        clock: Callable[[], float],
        begun: float,
    ) -> None:
        self._storage, self._worker, self._lease, self._about = storage, worker, lease, about
        self._clock, self._begun = clock, begun
        self._last = clock()
        self.since = self._last
        """Since when signs were kept without a break."""

    def is_late(self) -> bool:
        """Whether the next sign should have been kept long ago: the storage is away, or this process stood still."""
        return self._clock() - self._last > 2 * self._lease / SIGNS_PER_LEASE

    def give(self, stop: threading.Event) -> None:
        """Sign again and again, and take leave at the end."""
        beat = 0
        while not stop.wait(self._lease / SIGNS_PER_LEASE):
            beat += 1
            try:
                self._storage.sign(self._worker, Sign(beat, self._clock() - self._begun, self._lease, self._about))
            except StorageError as error:
                logger.warning("No sign of life could be given: %s", error)
                continue
            if self.is_late():
                self.since = self._clock()
            self._last = self._clock()
        with suppress(StorageError):
            self._storage.sign(self._worker, None)


def _part(stop: threading.Event, thread: threading.Thread) -> None:
    """Let the thread give its last sign; wait for it only where nothing else would keep the process until then."""
    stop.set()
    if thread is not threading.current_thread():
        thread.join(PARTING_SECONDS)


def about_this_process(proc: Path = Path("/proc")) -> dict[str, Any]:
    """Where this process runs; with what Linux says, others on the same machine can see whether it is alive."""
    about: dict[str, Any] = {"host": socket.gethostname(), "pid": os.getpid()}
    with suppress(OSError, ValueError, IndexError):
        about |= _place(proc) | {"started": _started(proc, os.getpid())}
    return about


def is_dead(about: Mapping[str, Any], proc: Path = Path("/proc")) -> bool:
    """Whether a process is surely dead: it ran since this machine's last start, in the same name space, and is gone."""
    pid = about.get("pid")
    if "boot" not in about or not isinstance(pid, int):
        return False
    try:
        if _place(proc) != {"boot": about["boot"], "pids": about.get("pids")}:
            return False
        if not (proc / str(pid)).exists():
            return True
        return _started(proc, pid) != about.get("started")
    except (OSError, ValueError, IndexError):
        return False  # it cannot be told; the lease decides


def _place(proc: Path) -> dict[str, Any]:
    """Identity of the running kernel and of the name space of process numbers."""
    boot = (proc / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return {"boot": boot, "pids": os.readlink(proc / "self/ns/pid")}


def _started(proc: Path, pid: int) -> int:
    """When a process started, in ticks since the machine's start: a number is used again, a start is not."""
    text = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    return int(text.rpartition(")")[2].split()[19])
