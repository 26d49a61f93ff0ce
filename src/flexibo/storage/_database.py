"""The differences between databases, and retries while one is busy or not reachable."""

from __future__ import annotations

import enum
import logging
import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from flexibo._internal.interrupts import allowed_interrupts
from flexibo.storage._chain import Mark
from flexibo.storage._connections import Connections, SharedConnection
from flexibo.storage.base import StorageError

T = TypeVar("T")
logger = logging.getLogger(__name__)
_chance = random.SystemRandom()  # independent of the user's seeds, and different in forked processes


class Trouble(enum.Enum):
    """How to react to an error of a database."""

    BUSY = "wait a moment"
    LOST = "connect again"
    REFUSED = "connect again later"
    FINAL = "give up"


class Database(Protocol):
    """Where SQLite and PostgreSQL differ."""

    shown: str  # the database in messages, without a password

    def schema(self) -> int | None:
        """The version of its tables, None if there are none; changes nothing."""

    def prepare(self, connection: sa.Connection) -> None:
        """Create or update the tables; several processes may do so at once."""

    def connections(self) -> Connections | SharedConnection:
        """Its connections, on which every statement is its own transaction until one is begun."""

    def check(self, connection: sa.Connection) -> None:
        """Refuse a connection that no longer leads to the database."""

    def settle(self, connection: sa.Connection) -> None:
        """Refuse a result that cannot be acknowledged: the connection no longer led to the database."""

    def begin(self, connection: sa.Connection, study: str | None) -> None:
        """Begin a transaction; if a study is given, nothing else can add events to it meanwhile."""

    def examined(self, connection: sa.Connection, study: str) -> AbstractContextManager[Mark | None]:
        """The place from which on the log of a study must be read in a transaction; None if nothing hints at a loss."""

    def pause(self, waited: float) -> float:
        """Seconds until the next attempt while the database is busy, after `waited` seconds of attempts."""

    def roll_back(self, connection: sa.Connection) -> None:
        """Roll back the transaction, if there is one."""

    def trouble(self, error: DBAPIError) -> Trouble:
        """What to do about an error."""

    def loss(self, error: DBAPIError) -> StorageError | None:
        """The error for a database that no longer holds what was stored, if that is why it fails."""

    def sentence(self, error: DBAPIError) -> str:
        """What is wrong and what to do, in one sentence without its full stop and without passwords."""


class Session:
    """Runs actions on a database, and retries after temporary errors.

    It retries for `patience` seconds; if it does not `keep` connections, each action opens one.
    """

    def __init__(self, database: Database, patience: float, *, keep: bool = True) -> None:
        self.database = database
        self._patience = patience
        self._keep = keep
        self._connections = database.connections()

    def close(self) -> None:
        self._connections.close()

    def do(self, action: Callable[[sa.Connection], T], *, ending: Callable[[], str] = lambda: ".") -> T:
        """The result of the action, retried after temporary errors, undone if it raises; `ending` ends a message."""
        return self.patiently(lambda: self._tried(action), ending=ending)

    def patiently(
        self, attempt: Callable[[], T], *, ending: Callable[[], str] = lambda: ".", reconnect: bool = True
    ) -> T:
        """The same for any attempt; without `reconnect` a database that cannot be reached is an error at once."""
        start = time.monotonic()
        tries = 0
        while True:
            try:
                return attempt()
            except DBAPIError as error:
                trouble = self.database.trouble(error)
                late = time.monotonic() - start >= self._patience or (trouble is Trouble.LOST and not reconnect)
                if trouble is Trouble.FINAL or late:
                    sentence = self.database.sentence(error) + ending()
                    raise self.database.loss(error) or StorageError(sentence) from None
                if trouble in (Trouble.LOST, Trouble.REFUSED) and tries == 0:
                    logger.warning("%s; trying again for up to %g s.", self.database.sentence(error), self._patience)
            tries += 1
            with allowed_interrupts():  # no transaction is open while this waits
                busy = trouble is Trouble.BUSY
                time.sleep(self.database.pause(time.monotonic() - start) if busy else _longer_pause(tries))

    def _tried(self, action: Callable[[sa.Connection], T]) -> T:
        """The result of the action on a connection, which is dropped if it may be broken."""
        with self._connections.use() as connection:
            try:
                self.database.check(connection)
                result = action(connection)
                self.database.settle(connection)
                return result
            except DBAPIError as error:
                self._clean_up(connection, keep=self.database.trouble(error) is Trouble.BUSY)
                raise
            except Exception as error:
                self._clean_up(connection, keep=not isinstance(error, StorageError))
                raise
            except BaseException:  # Ctrl-C anywhere: the state of the connection is unknown
                self._connections.drop()
                raise
            finally:
                if not self._keep:
                    self._connections.drop()

    def _clean_up(self, connection: sa.Connection, *, keep: bool) -> None:
        """Roll back, and keep the connection if that worked and `keep` is set."""
        try:
            self.database.roll_back(connection)
        except Exception:
            keep = False
        if not keep:
            self._connections.drop()


def short_pause() -> float:
    """Seconds between two attempts where conflicts are rare and short; random, so that no two agree."""
    return _chance.uniform(0.0003, 0.0015)


def _longer_pause(tries: int) -> float:
    """Seconds between two attempts to reach a database; growing."""
    return _chance.uniform(0.5, 1.0) * min(0.1 * 2.0**tries, 2.0)
