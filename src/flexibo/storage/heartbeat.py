"""Heartbeats: how a worker shows that it is alive, and how others notice that one is gone.

Clocks of different machines are never compared. A worker counts its beats; an observer measures, on its own monotonic
clock, for how long the count has not grown. A process of the same machine is looked up directly: what is seen to be
alive is not gone, however long it gives no beat, as while a function holds the interpreter lock.

A detached worker is no process: a person, or a script that asks in one process and answers in another. It has a single
beat, when it asks, and its lease is how long it may take.
"""

from __future__ import annotations

import atexit
import functools
import logging
import math
import os
import queue
import secrets
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from flexibo._internal.interrupts import deferred_interrupts
from flexibo.errors import InvalidValueError
from flexibo.storage import processes
from flexibo.storage.base import MemoryStorage, Sign, Storage, StorageError
from flexibo.storage.processes import PROC, Kill, ProcessState, is_here, place, process_state

LEASE = 60.0  # a worker is considered gone after this many seconds without a beat
SIGNS_PER_LEASE = 4
PARTING_SECONDS = 2.0  # how long the end of a process waits until its sign-off is written
LEAST_PAUSE = 1.0  # seconds between two attempts to write a sign-off, at least
DETACHED = "hand-"  # the prefix of the names of detached workers; it is stored

logger = logging.getLogger(__name__)


class Heartbeat:
    """This process, or a detached worker of that name, as a worker of a study, and the state of the other workers.

    After `lease` seconds without a beat others consider this worker gone, unless they see its process alive. Linux
    shows its processes in `proc`, and `kill` tells whether there is one that it hides.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        lease: float = LEASE,
        detached_worker: str = "",
        clock: Callable[[], float] = time.monotonic,
        proc: Path = PROC,
        kill: Kill = os.kill,
    ) -> None:
        self._storage = storage
        self._lease = lease
        self._clock = clock
        self._proc = proc
        self._kill = kill
        self._watched: dict[str, tuple[int, float]] = {}
        self._pid = 0
        self._beats: _BeatThread | None = None
        self._forgotten: weakref.finalize[..., Heartbeat] | None = None
        self._begun = clock()
        if detached_worker and not is_detached(detached_worker):
            raise InvalidValueError(
                f"detached_worker is {detached_worker!r}; give a name that "
                "flexibo.storage.heartbeat.new_detached_worker() returned."
            )
        self._is_detached = bool(detached_worker)
        self.worker = detached_worker or secrets.token_hex(8)

    @property
    def seconds(self) -> float:
        """How long this worker has lived."""
        return self._clock() - self._begun

    def begin(self) -> None:
        """Write the first beat, and beat in the background until `leave`; a detached worker beats once."""
        if self._pid == os.getpid():
            return
        with deferred_interrupts():  # a thread that nobody knows would beat for ever
            self._begin()

    def _begin(self) -> None:
        if self._is_detached:
            self._storage.sign(self.worker, Sign(0, 0.0, self._lease, about_detached(self._clock(), self._proc)))
            self._pid = os.getpid()
            return
        if self._pid:  # a copy of the parent's worker, made by a fork: another worker from now on
            self.worker, self._begun = secrets.token_hex(8), self._clock()
        about = processes.about_this_process(self._proc)
        forgotten: weakref.finalize[..., Heartbeat]
        if isinstance(self._storage, MemoryStorage):  # nobody outlives it
            self._storage.sign(self.worker, Sign(0, 0.0, math.inf, about))
            forgotten = weakref.finalize(self, _left.setdefault(self._storage, deque()).append, self.worker)
        else:
            self._storage.sign(self.worker, Sign(0, 0.0, self._lease, about))
            self._beats = _BeatThread(self._storage, self.worker, self._lease, about, self._clock, self._begun)
            forgotten = weakref.finalize(self, self._beats.stop)
            self._beats.begin()
        forgotten.atexit = False
        if self._forgotten is not None:
            self._forgotten.detach()
        self._forgotten, self._pid = forgotten, os.getpid()

    def leave(self, *, holds: bool = False) -> None:
        """Sign off: what this worker holds may be given to others at once.

        A detached worker that still `holds` something to answer stays until its lease is over.
        """
        if self._is_detached:
            if not holds:
                self._remove(self.worker)
            return
        if self._forgotten is not None:
            self._forgotten.detach()
        if self._pid == os.getpid():
            if self._beats is None:
                self._storage.sign(self.worker, None)
            else:
                self._beats.stop()
                self._beats.join(PARTING_SECONDS)
        self._forgotten, self._beats, self._pid = None, None, 0
        self.worker, self._begun = secrets.token_hex(8), self._clock()

    def gone(self, workers: Iterable[str]) -> dict[str, float | None]:
        """Which of these workers are gone, and for how long each had lived at its last beat, if one is stored."""
        wanted = set(workers) - {self.worker}
        if not wanted:
            return {}
        self._sign_for_the_forgotten()
        signs = self._storage.workers()
        for left in set(self._watched) - set(signs):
            self._watched.pop(left, None)
        return {
            worker: None if worker not in signs else signs[worker].seconds
            for worker in wanted
            if worker not in signs or worker in _unsigned or self._is_gone(worker, signs[worker])
        }

    def others(self) -> frozenset[str]:
        """The other workers that are not known to be gone."""
        signed = self._storage.workers()
        return frozenset(signed) - {self.worker} - set(self.gone(signed))

    def forget(self, worker: str) -> None:
        """Remove the last beat of a worker that `gone` returned, unless there has been another one since.

        A beat that stays does no harm, so errors of the storage are ignored.
        """
        beat, _ = self._watched.pop(worker, (None, 0.0))
        if beat is not None:
            self._remove(worker, beat)

    def _remove(self, worker: str, beat: int | None = None) -> None:
        """Remove the last beat of a worker, if it is this one; errors of the storage are ignored."""
        try:
            sign = self._storage.workers().get(worker)
            if sign is not None and beat in (None, sign.beat):
                self._storage.sign(worker, None)
        except Exception:
            logger.debug("The heartbeat of worker %s could not be removed.", worker, exc_info=True)

    def _sign_for_the_forgotten(self) -> None:
        """Sign off for the workers in this memory that were garbage collected."""
        left = _left.get(self._storage, ()) if isinstance(self._storage, MemoryStorage) else ()
        while left:
            self._storage.sign(left.popleft(), None)

    def _is_gone(self, worker: str, sign: Sign) -> bool:
        beat, since = self._watched.get(worker, (None, 0.0))
        state = process_state(sign.about, self._proc, self._kill)
        if beat != sign.beat or state is ProcessState.ALIVE:
            since = self._clock()
            self._watched[worker] = (sign.beat, since)
        if state is ProcessState.DEAD or is_lease_over(sign, self._clock(), self._proc):
            return True
        if beat != sign.beat or state is ProcessState.ALIVE:
            return False
        if self._beats is not None:
            if self._beats.is_late():
                return False  # a storage that does not accept our beats does not accept those of other workers either
            since = max(since, self._beats.since)
        return self._clock() - since > sign.lease


class _BeatThread:
    """Writes the beats of one worker in a thread, which must not keep the `Heartbeat` alive."""

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
        self.since = self._last  # since when the storage has accepted the beats without a gap
        # Of all that a thread can wait for, this alone may be used by the garbage collector, wherever that runs.
        self._stop: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._has_parted = threading.Event()
        self._thread = threading.Thread(target=self._give, name="flexibo-signs", daemon=True)

    def begin(self) -> None:
        self._thread.start()
        _giving.add(self)
        _leave_at_exit()

    def stop(self) -> None:
        """Request the sign-off; does not wait, and takes no lock."""
        self._stop.put(None)

    def join(self, seconds: float) -> None:
        """Wait until it has tried to sign off, and if it has, until its connection is closed; at most this long."""
        if self._thread is threading.current_thread():
            return
        end = time.monotonic() + seconds
        if self._has_parted.wait(max(0.0, seconds)) and self._worker not in _unsigned:
            self._thread.join(max(0.0, end - time.monotonic()))

    def is_late(self) -> bool:
        """Whether the last beat is too old: the storage is not reachable, or this process was suspended."""
        return self._clock() - self._last > 2 * self._lease / SIGNS_PER_LEASE

    def _give(self) -> None:
        beat = 0
        while not self._is_stopped(self._lease / SIGNS_PER_LEASE):
            beat += 1
            if self._signed(Sign(beat, self._clock() - self._begun, self._lease, self._about)):
                if self.is_late():
                    self.since = self._clock()
                self._last = self._clock()
        if not (is_signed := self._signed(None)):
            _unsigned.add(self._worker)
        _giving.discard(self)
        self._has_parted.set()
        while not is_signed:  # as long as its process is seen alive, no other one takes over what this worker held
            time.sleep(max(LEAST_PAUSE, self._lease / SIGNS_PER_LEASE))
            is_signed = self._signed(None)
        _unsigned.discard(self._worker)

    def _is_stopped(self, seconds: float) -> bool:
        """Whether to stop, after a wait of at most this many seconds."""
        try:
            self._stop.get(timeout=min(seconds, threading.TIMEOUT_MAX))
        except queue.Empty:
            return False
        return True

    def _signed(self, sign: Sign | None) -> bool:
        """Whether the storage has accepted a sign, or will accept nothing more."""
        try:
            self._storage.sign(self._worker, sign)
        except StorageError as error:
            logger.log(logging.DEBUG if sign is None else logging.WARNING, "No heartbeat could be written: %s", error)
            return False
        except Exception:  # a storage that is closed under a thread, as at the end of a process, says anything
            logger.debug("No heartbeat could be written.", exc_info=True)
            return sign is None
        return True


_giving: set[_BeatThread] = set()  # the threads whose sign-off the end of the process waits for
_unsigned: set[str] = set()
"""Workers of this process that left, and whose storage refused their sign-off, as a file that was overwritten does."""
_left: weakref.WeakKeyDictionary[MemoryStorage, deque[str]] = weakref.WeakKeyDictionary()
"""Workers that were garbage collected: the collector must not wait for the lock of their storage."""
os.register_at_fork(after_in_child=_giving.clear)  # the threads are the parent's


@functools.cache
def _leave_at_exit() -> None:
    """Sign off at the end of the process.

    What is registered last runs first: a finalizer must be there before, since finalizers close the storage.
    """
    atexit.register(_all_leave)


def _all_leave() -> None:
    """Let all threads sign off, and wait for them together."""
    end = time.monotonic() + PARTING_SECONDS
    giving = list(_giving)
    for signs in giving:
        signs.stop()
    for signs in giving:
        signs.join(end - time.monotonic())


def new_detached_worker() -> str:
    """A new name for a detached worker."""
    return f"{DETACHED}{secrets.token_hex(8)}"


def is_detached(worker: object) -> bool:
    """Whether a worker is detached, by its name."""
    return isinstance(worker, str) and worker.startswith(DETACHED)


def about_detached(now: float, proc: Path = PROC) -> dict[str, Any]:
    """Where a detached worker asked, and when by the clock that all processes share until the next boot."""
    about: dict[str, Any] = {"host": socket.gethostname()}
    with suppress(OSError):
        about |= place(proc) | {"asked": now}
    return about


def is_lease_over(sign: Sign, now: float, proc: Path = PROC) -> bool:
    """Whether the lease of a detached worker that asked on this machine since its last boot is over.

    On other machines, and after a boot, no clock tells when it asked: the lease then counts from the first look.
    """
    asked = sign.about.get("asked")
    if not isinstance(asked, int | float) or isinstance(asked, bool):
        return False
    return is_here(sign.about, proc) and now - asked > sign.lease
