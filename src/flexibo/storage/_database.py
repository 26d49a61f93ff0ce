"""What the storage needs of a database, and patience with one that is busy or away."""

from __future__ import annotations

import enum
import logging
import random
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from flexibo._internal.interrupts import allowed_interrupts
from flexibo.storage._connections import Connections
from flexibo.storage.base import StorageError

T = TypeVar("T")
logger = logging.getLogger(__name__)
_chance = random.SystemRandom()  # the user's generator is not ours to draw from, and a forked one would repeat itself


class Trouble(enum.Enum):
    """What an error of a database calls for."""

    BUSY = "wait a moment"
    LOST = "connect anew"
    FINAL = "give up"


class Database(Protocol):
    """Where SQLite and PostgreSQL differ."""

    shown: str
    """The database in messages, without a password."""

    def schema(self) -> int | None:
        """The version of its tables, None where there are none; nothing is changed."""
        ...

    def prepare(self, connection: sa.Connection) -> None:
        """Make the tables or bring them up to date; several processes may do so at once."""
        ...

    def connect(self) -> sa.Connection:
        """A new connection, on which every statement is its own transaction until one is begun."""
        ...

    def check(self, connection: sa.Connection) -> None:
        """Refuse a connection that no longer leads to the database."""
        ...

    def begin(self, connection: sa.Connection, study: str | None) -> None:
        """Begin a transaction in which nobody else adds events to the study, if one is given."""
        ...

    def roll_back(self, connection: sa.Connection) -> None:
        """Undo the transaction, if there is one."""
        ...

    def trouble(self, error: DBAPIError) -> Trouble:
        """What to do about an error."""
        ...

    def sentence(self, error: DBAPIError) -> str:
        """What is wrong and what to do, in one sentence without its full stop and without a password."""
        ...


class Session:
    """Does things with a database, on one connection per thread, and does not give up at the first trouble.

    Args:
        database: The database.
        patience: Seconds until a database that is busy or away is given up.
        keep: Whether a connection is kept for the next time.
    """

    def __init__(self, database: Database, patience: float, *, keep: bool = True) -> None:
        self.database = database
        self._patience = patience
        self._keep = keep
        self._connections = Connections(database.connect)

    def close(self) -> None:
        """Close all connections; what is done after this opens them anew."""
        self._connections.close()

    def do(self, action: Callable[[sa.Connection], T], *, ending: Callable[[], str] = lambda: ".") -> T:
        """What the action returns, which is called again after trouble that may pass.

        Args:
            action: Uses the connection; a transaction it leaves open by an exception is undone.
            ending: What to add to the sentence of an error.
        """
        return self.patiently(lambda: self._tried(action), ending=ending)

    def patiently(
        self, attempt: Callable[[], T], *, ending: Callable[[], str] = lambda: ".", reconnect: bool = True
    ) -> T:
        """What the attempt returns, which is made again after trouble that may pass.

        Args:
            attempt: What to do.
            ending: What to add to the sentence of an error.
            reconnect: Whether to wait for a database that cannot be reached.
        """
        start = time.monotonic()
        tries = 0
        while True:
            try:
                return attempt()
            except DBAPIError as error:
                trouble = self.database.trouble(error)
                late = time.monotonic() - start >= self._patience or (trouble is Trouble.LOST and not reconnect)
                if trouble is Trouble.FINAL or late:
                    raise StorageError(self.database.sentence(error) + ending()) from None
                if trouble is Trouble.LOST and tries == 0:
                    logger.warning("%s; trying again for up to %g s.", self.database.sentence(error), self._patience)
            tries += 1
            with allowed_interrupts():  # nothing is half done while we wait
                time.sleep(_pause(trouble, tries))

    def _tried(self, action: Callable[[sa.Connection], T]) -> T:
        """What the action returns on this thread's connection, which is dropped where it may be at fault."""
        with self._connections.use() as connection:
            try:
                self.database.check(connection)
                return action(connection)
            except DBAPIError as error:
                self._clean_up(connection, keep=self.database.trouble(error) is Trouble.BUSY)
                raise
            except Exception as error:
                self._clean_up(connection, keep=not isinstance(error, StorageError))
                raise
            except BaseException:  # Ctrl-C anywhere: nobody knows where the connection stands
                self._connections.drop()
                raise
            finally:
                if not self._keep:
                    self._connections.drop()

    def _clean_up(self, connection: sa.Connection, *, keep: bool) -> None:
        """Undo what was begun, and keep the connection if that worked and it is worth keeping."""
        try:
            self.database.roll_back(connection)
        except Exception:
            keep = False
        if not keep:
            self._connections.drop()


def short_pause() -> float:
    """Seconds until who waits for another writer looks again: a write takes one flush of the disk, some milliseconds.

    By chance, so that those who wait do not come back together; and never longer, so that nobody falls behind.
    """
    return _chance.uniform(0.0003, 0.0015)


def _pause(trouble: Trouble, tries: int) -> float:
    """Seconds to wait before the next attempt; longer and longer for a server that is away."""
    if trouble is Trouble.BUSY:
        return short_pause()
    return _chance.uniform(0.5, 1.0) * min(0.1 * 2.0**tries, 2.0)
