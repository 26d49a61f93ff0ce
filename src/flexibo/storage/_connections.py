"""Open connections: one per thread or one per process, and none that a forked process would share."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress

import sqlalchemy as sa

from flexibo.storage.base import StorageError

FORK_PATIENCE = 10.0  # seconds that a fork waits for a thread to finish its transaction
IDLE_SECONDS = 2.0  # a shared connection that is not used for this long is closed: servers allow a limited number


class _Held:
    """A connection that is opened when it is needed, and the lock that its use holds."""

    __slots__ = ("__weakref__", "connection", "lock", "opened", "process", "used", "user")

    def __init__(self) -> None:
        self.connection: sa.Connection | None = None
        self.lock = threading.Lock()
        self.user: int | None = None
        self.process = os.getpid()
        self.opened = 0  # how often a connection was opened
        self.used = 0.0  # when the last use ended
        with _fork.lock:
            _fork.all.add(self)

    @contextmanager
    def use(self, connect: Callable[[], sa.Connection]) -> Iterator[sa.Connection]:
        """The connection, for this thread alone."""
        with self.lock:
            try:
                self.user = threading.get_ident()
                if self.connection is None:
                    self.connection = connect()
                    self.opened += 1
                yield self.connection
            finally:
                self.user = None
                self.used = time.monotonic()

    def is_mine(self) -> bool:
        """Whether this thread uses it: to wait for it would never end."""
        return self.user == threading.get_ident() and self.lock.locked()

    def check_not_mine(self) -> None:
        if self.is_mine():
            raise _nested()

    def close_if_idle(self, opened: int, now: float) -> float | None:
        """Close the connection that was opened as this one, if nobody used it lately.

        Returns:
            The seconds after which it may be idle; None if it is closed.
        """
        if self.opened != opened or self.connection is None:
            return None
        if not self.lock.acquire(blocking=False):
            return IDLE_SECONDS
        try:
            left = self.used + IDLE_SECONDS - now
            if left <= 0:
                self.close()
            return left if left > 0 else None
        finally:
            self.lock.release()

    def close(self) -> None:
        connection, self.connection = self.connection, None
        if connection is None:
            return
        if self.process != os.getpid():
            _inherited.append(connection)  # closing it would end the session of the parent
            return
        with suppress(Exception):  # a broken connection raises when it is closed
            connection.close()

    def __del__(self) -> None:
        self.close()


class Connections:
    """The connections to one database, opened when a thread first needs one.

    All are closed before the process forks, and opened again when needed: SQLite keeps the locks of a file per process,
    so a child that inherits a connection does not hold its lock, and others could delete the log that it uses.
    """

    def __init__(self, connect: Callable[[], sa.Connection]) -> None:
        self._connect = connect
        self._mine = threading.local()
        self._all: weakref.WeakSet[_Held] = weakref.WeakSet()
        weakref.finalize(self, _close_all, self._all)

    @contextmanager
    def use(self) -> Iterator[sa.Connection]:
        """This thread's connection; a fork waits until it is not in use."""
        held: _Held | None = getattr(self._mine, "held", None)
        if held is None or held.process != os.getpid():
            held = self._mine.held = _Held()
            self._all.add(held)
        held.check_not_mine()
        with held.use(self._connect) as connection:
            yield connection

    def drop(self) -> None:
        """Close this thread's connection; the next use opens another."""
        held: _Held | None = getattr(self._mine, "held", None)
        if held is not None:
            held.close()

    def close(self) -> None:
        """Close the connections of all threads, each when it is no longer used; the next use opens another."""
        for held in list(self._all):
            if held.process != os.getpid():
                held.close()  # its lock belongs to a thread of the parent
                continue
            held.check_not_mine()
            with held.lock:
                held.close()


class SharedConnection:
    """The one connection of this process to a database, as one storage uses it; its threads use it in turn.

    It is closed when it is idle, and opened again when needed. Storages with the same `key` share it; the connection is
    closed with the last of them. A storage that is used within the transaction of another one gets a connection of its
    own meanwhile.
    """

    def __init__(self, key: Hashable, connect: Callable[[], sa.Connection]) -> None:
        self._connect = connect
        self._mine = threading.local()  # what this thread uses now
        self._line = _lines.setdefault(key, _Line())

    @property
    def is_open(self) -> bool:
        return self._line.held().connection is not None

    @contextmanager
    def use(self) -> Iterator[sa.Connection]:
        """The connection, when no other thread uses it."""
        self._check_not_mine()
        held = self._line.held()
        is_inner = held.is_mine()
        if is_inner:
            held = _Held()
        self._line.users.add(self)
        with held.use(self._connect) as connection:
            self._mine.held = held
            try:
                yield connection
            finally:
                self._mine.held = None
                if is_inner:
                    held.close()
                else:
                    self._line.watch(held)

    def drop(self) -> None:
        """Close the connection that this thread uses; the next use opens another."""
        held: _Held | None = getattr(self._mine, "held", None)
        if held is not None:
            held.close()

    def close(self) -> None:
        """Close the connection when it is no longer used, unless another storage needs it."""
        self._check_not_mine()
        self._line.users.discard(self)
        held = self._line.held()
        if self._line.users or held.is_mine():
            return
        with held.lock:
            held.close()

    def _check_not_mine(self) -> None:
        if getattr(self._mine, "held", None) is not None:
            raise _nested()


class _Line:
    """What the storages of a process that share a connection have in common."""

    def __init__(self) -> None:
        self.users: weakref.WeakSet[SharedConnection] = weakref.WeakSet()
        self._held = _Held()
        self._watched = 0
        self._all: weakref.WeakSet[_Held] = weakref.WeakSet([self._held])
        weakref.finalize(self, _close_all, self._all)

    def held(self) -> _Held:
        if self._held.process != os.getpid():
            self._held, self._watched = _Held(), 0
            self._all.add(self._held)
        return self._held

    def watch(self, held: _Held) -> None:
        """Have the connection closed when it is idle."""
        if held.connection is None or self._watched == held.opened:
            return
        self._watched = held.opened
        what = (weakref.ref(held), held.opened)
        with suppress(RuntimeError):  # at the end of a process no thread can be started, and none is needed
            threading.Thread(target=_close_when_idle, args=what, name="flexibo-idle", daemon=True).start()


def _close_when_idle(reference: weakref.ref[_Held], opened: int) -> None:
    """Wait until a connection is idle or closed; keeps nothing alive."""
    pause: float | None = IDLE_SECONDS
    while pause is not None:
        time.sleep(pause)
        held = reference()
        pause = None if held is None else held.close_if_idle(opened, time.monotonic())
        del held


def _nested() -> StorageError:
    return StorageError(
        "The storage is used inside its own transaction, by a stop rule or a callback; use it after the "
        "transaction, when ask, tell or run has returned."
    )


class _Fork:
    """All connections of this process, and the locks that are held while it forks."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.all: weakref.WeakSet[_Held] = weakref.WeakSet()
        self.stopped: list[_Held] = []

    def before(self) -> None:
        """Close every connection that is not in use, and prevent new ones."""
        self.lock.acquire()
        for held in list(self.all):
            if held.user != threading.get_ident() and held.lock.acquire(timeout=FORK_PATIENCE):
                self.stopped.append(held)
                held.close()

    def after_in_parent(self) -> None:
        stopped, self.stopped = self.stopped, []
        for held in stopped:
            held.lock.release()
        self.lock.release()

    def after_in_child(self) -> None:
        """Forget the parent's connections: the locks of its other threads would never be released here."""
        self.__init__()  # type: ignore[misc]  # a new object in place of the old: the hooks are bound to this one


def _close_all(connections: weakref.WeakSet[_Held]) -> None:
    for held in list(connections):
        held.close()


_inherited: list[sa.Connection] = []
_lines: weakref.WeakValueDictionary[Hashable, _Line] = weakref.WeakValueDictionary()
_fork = _Fork()
os.register_at_fork(before=_fork.before, after_in_parent=_fork.after_in_parent, after_in_child=_fork.after_in_child)
