"""The lock of a machine's settings: one session at a time, of any user and with any journal.

A journal belongs to a user, the settings belong to the machine. With two sessions at once, the second would record the
changes of the first as the original state, and restore those. So a session locks one file in a folder that all users
can write to, from before it reads the settings until everything is restored. The kernel releases the lock when the
process ends, also by kill -9. The file names the process and its journal. That entry stays until everything is
restored: after a kill, the next session finds it and refuses to start on changed settings.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timezone
from pathlib import Path

from flexibo._internal.untrusted_json import untrusted_json
from flexibo.hardware.knobs.base import Roots
from flexibo.hardware.knobs.journal import Journal, JournalError

NAME = "flexibo-knobs.lock"
FOLDERS = ("run/lock", "tmp")  # below the machine's root; the first that every user may write to is used
_LARGEST = 2**16
_EVERYBODY_READS_AND_WRITES = 0o666


class InUseError(JournalError):
    """Another session holds the settings of this machine."""


@dataclass(frozen=True, slots=True)
class LockHolder:
    """The process that holds the lock, or held it and was killed; when its session began, its journal and its boot."""

    pid: int
    since: str
    journal: str
    boot_id: str


def lock_path(roots: Roots) -> Path:
    """The file that sessions on this machine lock.

    Its folder depends on the machine only, not on the user: two users with a file each would not see each other. It is
    next to /sys, so that a container with the machine's root elsewhere locks the machine's own file.
    """
    folders = [roots.sys.parent / folder for folder in FOLDERS]
    shared = (folder for folder in folders if folder.is_dir() and folder.stat().st_mode & stat.S_IWOTH)
    return next(shared, folders[0]) / NAME


@contextmanager
def held(
    journal: Journal, *, roots: Roots, now: Callable[[], datetime] = lambda: datetime.now(timezone.utc)
) -> Iterator[None]:
    """A context in which this process alone changes settings; the entry stays if the journal exists at the end."""
    path = lock_path(roots)
    descriptor, owner = _opened(path), os.getpid()
    try:
        _lock(descriptor, path)
        _check_nothing_left(_read(descriptor), journal)
        since = now().strftime("%Y-%m-%d %H:%M:%S UTC")
        _write(descriptor, LockHolder(owner, since, str(journal.path.absolute()), journal.boot_id), path)
        try:
            yield
        finally:
            # A forked process shares the lock: it must neither release it nor clear the entry.
            if os.getpid() == owner:
                if not _is_there(journal.path):
                    _write(descriptor, None, path)
                fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # First without O_CREAT: in folders such as /tmp, kernels refuse it for the file of another user.
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        except FileNotFoundError:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, _EVERYBODY_READS_AND_WRITES)
            os.fchmod(descriptor, _EVERYBODY_READS_AND_WRITES)  # whatever the user's mask
    except OSError as error:
        raise JournalError(
            f"The lock of settings, {path}, cannot be opened: {error.strerror}; it must be a file that every user of "
            "this machine may write to. Nothing was changed."
        ) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise JournalError(f"The lock of settings, {path}, is no plain file; remove it. Nothing was changed.")
    return descriptor


def _lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise _in_use(_read(descriptor), path) from None


def _in_use(holder: LockHolder | None, path: Path) -> InUseError:
    # Shown with control characters escaped: every user can write to the file.
    if holder is None:  # it has just begun, and has not written yet
        return InUseError(f"Another session has just begun (lock {path}); wait until it ends.")
    if holder.pid == os.getpid():
        return InUseError(f"This process (pid {holder.pid}) has a session already; end it before another begins.")
    return InUseError(
        f"Process {holder.pid} is using settings of this machine, since {holder.since!r} (journal {holder.journal!r}); "
        "wait until it ends, or end it."
    )


def _check_nothing_left(holder: LockHolder | None, journal: Journal) -> None:
    """Raise an error if changes of another session may remain; those of this journal are reported by the journal."""
    if holder is None or holder.boot_id != journal.boot_id or Path(holder.journal) == journal.path.absolute():
        return
    if _is_there(Path(holder.journal)):
        raise JournalError(
            f"Settings of process {holder.pid}, which began at {holder.since!r}, were not restored; "
            f"run: flexibo knobs restore --journal {holder.journal!r}"
        )


def _is_there(path: Path) -> bool:
    """Whether a journal exists; one in a folder that this user cannot read counts as existing."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return True


def _read(descriptor: int) -> LockHolder | None:
    """The entry; None if there is none, or if it was not written by a session."""
    try:
        content = untrusted_json(os.pread(descriptor, _LARGEST, 0))
        holder = LockHolder(**content)
    except (ValueError, TypeError):
        return None
    kinds = {"int": int, "str": str}
    return holder if all(type(getattr(holder, f.name)) is kinds[str(f.type)] for f in fields(LockHolder)) else None


def _write(descriptor: int, holder: LockHolder | None, path: Path) -> None:
    content = b"" if holder is None else json.dumps(asdict(holder)).encode()
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, content, 0)
    except OSError as error:
        raise JournalError(f"The lock of settings, {path}, cannot be written: {error.strerror}.") from None
