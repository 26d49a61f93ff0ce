"""Studies in a PostgreSQL database, which many machines share.

A process has one connection, for all its threads and heartbeats. Nothing depends on the session of the server: settings
are those of a transaction and no statement is prepared, so a pool such as PgBouncer may give each transaction another
session.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError

from flexibo._internal.interrupts import allowed_interrupts
from flexibo.errors import InvalidValueError, missing_extra
from flexibo.storage._connections import SharedConnection
from flexibo.storage._database import Trouble, short_pause
from flexibo.storage._schema import bring_up_to_date, studies, version
from flexibo.storage._urls import HIDDEN

# Defaults of a connection: a server that does not answer is noticed within seconds, not hours.
_CONNECTING = {
    "application_name": "flexibo",
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_SECRETS = ("password", "sslpassword", "passfile", "oauth_client_secret", "scram_client_key", "scram_server_key")
_MAKING = 0x666C657869626F  # "flexibo": the lock of a transaction that creates the tables
_LOST = ("08", "57P01", "57P02", "57P05", "25P03")
_STARTING, _FULL = "57P03", "53300"
_LOCK_TIMEOUT = "55P03"
_BUSY = ("40001", "40P01", _LOCK_TIMEOUT)  # two conflicting transactions, of which the server ended one
_DISK_FULL = "53100"
_LOCK_SECONDS = 3.0  # at most, to wait for another writer at a time: meanwhile the heartbeats of the process wait, too
_ADD_STUDY = sa.text(f"INSERT INTO {studies.name} (study) VALUES (:study) ON CONFLICT DO NOTHING")
# libpq does not report the code of a server that refuses a connection. A server that speaks another language is not
# waited for when a storage is opened, and its message is shown.
_REFUSALS = {
    "the database system is ": _STARTING,  # starting up, shutting down, in recovery mode, not accepting connections
    "server login has been failing": _STARTING,  # PgBouncer lives, and the server behind it is away
    "too many clients": _FULL,
    "remaining connection slots": _FULL,
    "too many connections": _FULL,  # for a database or a role
    "no more connections allowed": _FULL,  # PgBouncer
}
# Independent of the server's defaults: durable commits, and no locks of workers that are suspended. Under a stricter
# isolation the events would be read as they were before the wait for the lock.
_BEGIN = """
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SELECT set_config('lock_timeout', '{milliseconds}ms', true),
    set_config('idle_in_transaction_session_timeout', '30s', true),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit')
        WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)
"""


class PostgreSQL:
    """A PostgreSQL database, through psycopg; `patience` is how many seconds to wait for another writer."""

    def __init__(self, url: sa.URL, shown: str, *, patience: float) -> None:
        self.shown = shown
        # As arguments rather than in the URL, which the engine shows in messages.
        secrets = {name: str(url.query[name]) for name in _SECRETS if name in url.query}
        self._secrets = [secret for secret in (url.password, *secrets.values()) if secret]
        self._begin = _BEGIN.format(milliseconds=max(1, round(min(patience, _LOCK_SECONDS) * 1000)))
        defaults = {name: value for name, value in _CONNECTING.items() if name not in url.query}
        try:
            self._engine = sa.create_engine(
                url.set(drivername="postgresql+psycopg").difference_update_query(_SECRETS),
                connect_args={**defaults, **secrets, "prepare_threshold": None},
                poolclass=sa.NullPool,
                isolation_level="AUTOCOMMIT",
                hide_parameters=True,
                use_native_hstore=False,
            )
        except ImportError:
            raise missing_extra("psycopg", "postgres") from None
        except ArgumentError:  # its message may contain secret parts of the URL
            raise InvalidValueError(f"Storage {shown!r} cannot be used; check its hosts, ports and options.") from None
        # Variables such as PGHOST and PGUSER complete the URL.
        variables = tuple(sorted(item for item in os.environ.items() if item[0].startswith("PG")))
        self._shared = SharedConnection((url, variables), self._engine.connect)

    def schema(self) -> int | None:
        """The version of the tables; a kept connection that the server has ended meanwhile is replaced."""
        was_open = self._shared.is_open
        try:
            return self._version()
        except DBAPIError as error:
            if not was_open or self.trouble(error) is not Trouble.LOST:
                raise
        return self._version()

    def prepare(self, connection: sa.Connection) -> None:
        self.begin(connection, None)
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MAKING)))
        bring_up_to_date(connection, self.shown)
        connection.exec_driver_sql("COMMIT")

    def connections(self) -> SharedConnection:
        return self._shared

    def check(self, connection: sa.Connection) -> None:
        """Nothing to do: the server reports a lost connection."""

    def settle(self, connection: sa.Connection) -> None:
        """Nothing to do: the server acknowledges a commit only when it is durable."""

    def begin(self, connection: sa.Connection, study: str | None) -> None:
        """Begin a transaction and lock the row of the study, which is inserted if there is none."""
        connection.exec_driver_sql(self._begin)
        if study is None:
            return
        row = sa.select(studies.c.study).where(studies.c.study == study).with_for_update()
        with allowed_interrupts():  # a transaction that is interrupted here is rolled back
            if connection.execute(row).scalar() is None:
                connection.execute(_ADD_STUDY, {"study": study})
                connection.execute(row)

    def examined(self, connection: sa.Connection, study: str) -> AbstractContextManager[None]:
        """Nothing to do: what a server reads is what it stored."""
        return nullcontext()

    def pause(self, waited: float) -> float:
        return short_pause()

    def roll_back(self, connection: sa.Connection) -> None:
        connection.exec_driver_sql("ROLLBACK")

    def trouble(self, error: DBAPIError) -> Trouble:
        """What to do; REFUSED if the server lives but accepts no connection now."""
        state = _state(error)
        if state in _BUSY:
            return Trouble.BUSY
        if state in (_STARTING, _FULL):
            return Trouble.REFUSED
        away = state is None and isinstance(error, (OperationalError, InterfaceError))  # no answer from a server
        if error.connection_invalidated or away or (state or "").startswith(_LOST):
            return Trouble.LOST
        return Trouble.FINAL

    def loss(self, error: DBAPIError) -> None:
        """Nothing to do: the chain of digests shows what a server lost."""

    def sentence(self, error: DBAPIError) -> str:
        if _state(error) == _LOCK_TIMEOUT:
            return f"{self.shown} is locked by another process that does not finish its write"
        message = (str(error.orig).strip() or "no reason was given").splitlines()[0].strip().rstrip(".:")
        for secret in self._secrets:
            message = message.replace(secret, HIDDEN)
        if _state(error) == _DISK_FULL:
            return f"{self.shown} cannot be used: the server's disk is full, so make room there and try again"
        if _state(error) == _FULL:
            return (
                f"{self.shown} accepts no more connections ({message}), and each process needs one; start fewer "
                "processes, raise max_connections of the server, or connect through PgBouncer"
            )
        if self.trouble(error) in (Trouble.LOST, Trouble.REFUSED):
            return f"{self.shown} cannot be reached ({message}); check that the server runs and that the URL is right"
        return f"{self.shown} cannot be used: {message}"

    def _version(self) -> int | None:
        with self._shared.use() as connection:
            try:
                return version(connection)
            except BaseException:
                self._shared.drop()
                raise


def _state(error: DBAPIError) -> str | None:
    """PostgreSQL's code of an error, None if the error is not the server's.

    What PgBouncer says about the server behind it has the code of any broken connection, so its words count first.
    """
    state: str | None = getattr(error.orig, "sqlstate", None)
    if not isinstance(error, OperationalError) or not (state or "08").startswith("08"):
        return state
    return next((code for words, code in _REFUSALS.items() if words in str(error.orig)), state)
