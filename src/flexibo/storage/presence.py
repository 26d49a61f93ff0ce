"""Signs of life: how a worker says that it lives, and how others see that one has vanished.

No clock is compared with another one. A worker counts its signs; whoever watches takes the time, on a clock that never
jumps, for which the count has not grown. A process of the same machine is looked at directly.

A hand is a worker that is no process: a person, or a script that asks in one process and answers in another. It signs
once, when it asks, and its lease is how long it may take.
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

from flexibo.errors import InvalidValueError
from flexibo.storage.base import Sign, Storage, StorageError
from flexibo.storage.memory import MemoryStorage

LEASE = 60.0
"""A worker is taken for gone after so many seconds without a sign."""
SIGNS_PER_LEASE = 4
PARTING_SECONDS = 2.0
"""How long the end of a process waits for its last sign to be written."""
HAND = "hand-"
"""What the names of hands begin with."""

logger = logging.getLogger(__name__)


class Presence:
    """This process as a worker of a study, and its view of the other workers.

    Args:
        storage: Where the signs are kept.
        lease: After so many seconds without a sign others take this worker for gone.
        hand: The name of a hand to be, as `new_hand` makes it; empty: this process.
        clock: Gives seconds and never goes back.
        proc: Where Linux shows its processes.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        lease: float = LEASE,
        hand: str = "",
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
        self._forgotten: weakref.finalize[..., Presence] | None = None
        self._begun = clock()
        if hand and not is_hand(hand):
            raise InvalidValueError(f"hand is {hand!r}; give a name that flexibo.storage.presence.new_hand() made.")
        self._hand = hand
        self.worker = hand or secrets.token_hex(8)

    @property
    def seconds(self) -> float:
        """How long this worker has lived."""
        return self._clock() - self._begun

    def begin(self) -> None:
        """Give the first sign, and go on giving signs in the background until `leave`; a hand signs once."""
        if self._pid == os.getpid():
            return
        if self._hand:
            self._storage.sign(self.worker, Sign(0, 0.0, self._lease, about_a_hand(self._clock(), self._proc)))
            self._pid = os.getpid()
            return
        if self._pid:  # a copy of the parent's worker, made by a fork: another worker from now on
            self.worker, self._begun = secrets.token_hex(8), self._clock()
        about = about_this_process(self._proc)
        forgotten: weakref.finalize[..., Presence]
        if isinstance(self._storage, MemoryStorage):  # nobody outlives it
            self._storage.sign(self.worker, Sign(0, 0.0, math.inf, about))
            forgotten = weakref.finalize(self, _left.setdefault(self._storage, deque()).append, self.worker)
        else:
            self._storage.sign(self.worker, Sign(0, 0.0, self._lease, about))
            self._signs = _Signs(self._storage, self.worker, self._lease, about, self._clock, self._begun)
            forgotten = weakref.finalize(self, self._signs.stop)
            self._signs.begin()
        forgotten.atexit = False
        if self._forgotten is not None:
            self._forgotten.detach()
        self._forgotten, self._pid = forgotten, os.getpid()

    def leave(self, *, holds: bool = False) -> None:
        """Say that this worker is gone; what it holds may be given to others at once.

        Args:
            holds: Whether it still has something to answer: a hand then stays until its lease is over.
        """
        if self._hand:
            if not holds:
                self._remove(self.worker)
            return
        if self._forgotten is not None:
            self._forgotten.detach()
        if self._pid == os.getpid():
            if self._signs is None:
                self._storage.sign(self.worker, None)
            else:
                self._signs.stop()
                self._signs.join(PARTING_SECONDS)
        self._forgotten, self._signs, self._pid = None, None, 0
        self.worker, self._begun = secrets.token_hex(8), self._clock()

    def gone(self, workers: Iterable[str]) -> dict[str, float | None]:
        """Which of these workers have vanished, and for how long each had lived at its last sign, if it left one."""
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
            if worker not in signs or self._is_gone(worker, signs[worker])
        }

    def forget(self, worker: str) -> None:
        """Remove the last sign of a worker that `gone` called gone, unless it has given another one since.

        A sign that stays behind does no harm, so an error of the storage is none here.
        """
        beat, _ = self._watched.pop(worker, (None, 0.0))
        if beat is not None:
            self._remove(worker, beat)

    def _remove(self, worker: str, beat: int | None = None) -> None:
        """Remove the sign of a worker, if it is of this beat; an error of the storage is none here."""
        try:
            sign = self._storage.workers().get(worker)
            if sign is not None and beat in (None, sign.beat):
                self._storage.sign(worker, None)
        except Exception:
            logger.debug("The sign of worker %s could not be removed.", worker, exc_info=True)

    def _sign_for_the_forgotten(self) -> None:
        """Take leave for the workers in this memory that ended without a word."""
        left = _left.get(self._storage, ()) if isinstance(self._storage, MemoryStorage) else ()
        while left:
            self._storage.sign(left.popleft(), None)

    def _is_gone(self, worker: str, sign: Sign) -> bool:
        beat, since = self._watched.get(worker, (None, 0.0))
        if beat != sign.beat:
            since = self._clock()
            self._watched[worker] = (sign.beat, since)
        if is_dead(sign.about, self._proc) or is_over(sign, self._clock(), self._proc):
            return True
        if beat != sign.beat:
            return False
        if self._signs is not None:
            if self._signs.is_late():
                return False  # a storage that does not take our signs does not take those of others
            since = max(since, self._signs.since)
        return self._clock() - since > sign.lease


class _Signs:
    """Gives the signs of one worker from a thread, which must not keep the `Presence` alive."""

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
        # Of all that a thread can wait for, this alone may be used by the garbage collector, wherever that runs.
        self._stop: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._give, name="flexibo-signs", daemon=True)

    def begin(self) -> None:
        """Give signs from now on."""
        self._thread.start()
        _giving.add(self)
        _leave_at_exit()

    def stop(self) -> None:
        """Let the last sign be given soon; does not wait, and takes no lock."""
        self._stop.put(None)

    def join(self, seconds: float) -> None:
        """Wait until the last sign is given, but not for long."""
        if self._thread is not threading.current_thread():
            self._thread.join(max(0.0, seconds))

    def is_late(self) -> bool:
        """Whether the next sign should have been kept long ago: the storage is away, or this process stood still."""
        return self._clock() - self._last > 2 * self._lease / SIGNS_PER_LEASE

    def _give(self) -> None:
        """Sign again and again, and take leave at the end."""
        beat = 0
        while not self._is_stopped(self._lease / SIGNS_PER_LEASE):
            beat += 1
            if self._signed(Sign(beat, self._clock() - self._begun, self._lease, self._about)):
                if self.is_late():
                    self.since = self._clock()
                self._last = self._clock()
        self._signed(None)
        _giving.discard(self)

    def _is_stopped(self, seconds: float) -> bool:
        """Whether the signs shall end, after a wait of so many seconds at most."""
        try:
            self._stop.get(timeout=min(seconds, threading.TIMEOUT_MAX))
        except queue.Empty:
            return False
        return True

    def _signed(self, sign: Sign | None) -> bool:
        """Whether the storage took the sign."""
        try:
            self._storage.sign(self._worker, sign)
        except StorageError as error:
            logger.log(logging.DEBUG if sign is None else logging.WARNING, "No sign of life could be given: %s", error)
        except Exception:  # a storage that is closed under a thread, as at the end of a process, says anything
            logger.debug("No sign of life could be given.", exc_info=True)
        else:
            return True
        return False


_giving: set[_Signs] = set()
"""Whose last sign the end of the process waits for."""
_left: weakref.WeakKeyDictionary[MemoryStorage, deque[str]] = weakref.WeakKeyDictionary()
"""Workers that the garbage collector found: it must not wait for the lock of their storage."""
os.register_at_fork(after_in_child=_giving.clear)  # the threads are the parent's


@functools.cache
def _leave_at_exit() -> None:
    """Have the last signs given at the end of the process.

    What is registered last runs first: a finalizer must be there before, since finalizers close the storage.
    """
    atexit.register(_all_leave)


def _all_leave() -> None:
    """Let all threads give their last signs, and wait for them together."""
    end = time.monotonic() + PARTING_SECONDS
    giving = list(_giving)
    for signs in giving:
        signs.stop()
    for signs in giving:
        signs.join(end - time.monotonic())


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


def new_hand() -> str:
    """The name of a hand that nobody has."""
    return f"{HAND}{secrets.token_hex(8)}"


def is_hand(worker: object) -> bool:
    """Whether a worker is a hand, by its name."""
    return isinstance(worker, str) and worker.startswith(HAND)


def about_a_hand(now: float, proc: Path = Path("/proc")) -> dict[str, Any]:
    """Where a hand asked, and when by the clock that all processes of this machine share until its next start."""
    about: dict[str, Any] = {"host": socket.gethostname()}
    with suppress(OSError):
        about |= _place(proc) | {"asked": now}
    return about


def is_over(sign: Sign, now: float, proc: Path = Path("/proc")) -> bool:
    """Whether the lease of a hand that asked since this machine's last start is surely over.

    Elsewhere nobody's clock says when it asked: there, and after a start, the lease counts from the first look.
    """
    asked = sign.about.get("asked")
    if not isinstance(asked, int | float) or isinstance(asked, bool):
        return False
    try:
        here = _place(proc)
    except OSError:
        return False
    return here == {"boot": sign.about.get("boot"), "pids": sign.about.get("pids")} and now - asked > sign.lease


def _place(proc: Path) -> dict[str, Any]:
    """Identity of the running kernel and of the name space of process numbers."""
    boot = (proc / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return {"boot": boot, "pids": os.readlink(proc / "self/ns/pid")}


def _started(proc: Path, pid: int) -> int:
    """When a process started, in ticks since the machine's start: a number is used again, a start is not."""
    text = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    return int(text.rpartition(")")[2].split()[19])
