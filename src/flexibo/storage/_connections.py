"""Open connections: one per thread, and none that a forked process would share."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import sqlalchemy as sa

from flexibo.storage.base import StorageError

FORK_PATIENCE = 10.0  # seconds that a fork waits for a thread to finish its transaction


class _Held:
    """The connection of one thread, and the lock that its use holds."""

    __slots__ = ("__weakref__", "connection", "lock", "process", "user")

    def __init__(self) -> None:
        self.connection: sa.Connection | None = None
        self.lock = threading.Lock()
        self.user: int | None = None
        self.process = os.getpid()

    def check_not_mine(self) -> None:
        """Refuse a nested use by the same thread: it would wait for itself, and block all others."""
        if self.user == threading.get_ident() and self.lock.locked():
            raise StorageError(
                "The storage is used inside its own transaction, by a stop rule or a callback; use it after the "
                "transaction, when ask, tell or run has returned."
            )

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
            with _fork.lock:
                self._all.add(held)
                _fork.all.add(held)
        held.check_not_mine()
        with held.lock:
            try:
                held.user = threading.get_ident()
                if held.connection is None:
                    held.connection = self._connect()
                yield held.connection
            finally:
                held.user = None

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
_fork = _Fork()
os.register_at_fork(before=_fork.before, after_in_parent=_fork.after_in_parent, after_in_child=_fork.after_in_child)
