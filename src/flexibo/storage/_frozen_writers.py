"""A process that was stopped (Ctrl-Z, SIGSTOP) in the middle of a write to a SQLite file, for which all others wait.

Nobody can take its lock away. So it is continued until it has finished this write, which takes milliseconds, and
stopped again: nothing is lost, and it stays as it was found.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from flexibo.storage._file_watch import Identity, identity

logger = logging.getLogger(__name__)
PROC = Path("/proc")
_WRITE_LOCKS = range(120, 123)  # the bytes of the file of locks that writers lock: write, checkpoint, recover
_STOPPED = "T"
_STEP, _STEPS, _ROUNDS = 0.001, 2000, 5


def writers(locks: Path, proc: Path = PROC) -> list[int]:
    """The processes that hold a lock for writing to the database with this file of locks, as far as Linux tells."""
    found = identity(locks)
    try:
        lines = (proc / "locks").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
    processes = {pid for line in lines if found and (pid := _holder(line, found[1])) is not None}
    return sorted(pid for pid in processes if pid != os.getpid() and _has_open(pid, found, proc))


def is_stopped(pid: int, proc: Path = PROC) -> bool:
    """Whether a process was stopped by a signal; one that a debugger holds is not."""
    try:
        text = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[:1] == [_STOPPED]


def finish_frozen_writes(
    locks: Path,
    *,
    proc: Path = PROC,
    send: Callable[[int, int], None] = os.kill,
    sleep: Callable[[float], None] = time.sleep,
) -> list[int]:
    """Let each process that was stopped in the middle of a write finish it; the processes that did."""
    done = []
    for pid in writers(locks, proc):
        if not is_stopped(pid, proc):
            continue
        try:
            finished = any(_finished(pid, locks, proc, send, sleep) for _ in range(_ROUNDS))
        except OSError:  # it is another user's, or it has ended
            continue
        if finished:
            done.append(pid)
            logger.warning(
                "Process %d was stopped in the middle of a write to %s, and continued until the write was finished.",
                pid,
                locks.name.removesuffix("-shm"),
            )
    return done


def _finished(
    pid: int, locks: Path, proc: Path, send: Callable[[int, int], None], sleep: Callable[[float], None]
) -> bool:
    """Continue a stopped process until it holds no lock, and stop it again; whether it holds none then."""
    send(pid, signal.SIGCONT)
    try:
        for _ in range(_STEPS):
            if pid not in writers(locks, proc):
                break
            sleep(_STEP)
    finally:
        with suppress(ProcessLookupError):
            send(pid, signal.SIGSTOP)
    sleep(_STEP)
    return pid not in writers(locks, proc)


def _holder(line: str, inode: int) -> int | None:
    """The process of a line of /proc/locks that locks this file for writing, None if it is something else."""
    words = line.split()
    if len(words) != 8 or words[1] != "POSIX" or words[3] != "WRITE" or words[5].rpartition(":")[2] != str(inode):
        return None
    with suppress(ValueError):
        pid, first = int(words[4]), int(words[6])
        return pid if pid > 0 and first in _WRITE_LOCKS else None
    return None


def _has_open(pid: int, wanted: Identity, proc: Path) -> bool:
    """Whether a process has this file open: numbers of files are unique only within a file system."""
    try:
        return any(identity(link) == wanted for link in (proc / str(pid) / "fd").iterdir())
    except OSError:
        return False
