"""Studies in a PostgreSQL database, which many machines share."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError

from flexibo._internal.interrupts import allowed_interrupts
from flexibo.errors import InvalidValueError, missing_extra
from flexibo.storage._database import Trouble
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
_SECRETS = ("password", "sslpassword", "passfile")
_MAKING = 0x666C657869626F  # "flexibo": the lock for creating the tables
_LOST = ("08", "57P01", "57P02", "57P03", "57P05", "25P03", "53300")
_BUSY = ("40001", "40P01")  # two conflicting transactions, of which the server ended one
_LOCK_TIMEOUT = "55P03"
_DISK_FULL = "53100"
_SETTINGS = """
SELECT set_config('lock_timeout', %s, false),
    set_config('idle_in_transaction_session_timeout', '30s', false),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit')
        WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)
"""


class PostgreSQL:
    """A PostgreSQL database, through psycopg; `patience` is how many seconds to wait for another writer."""

    def __init__(self, url: sa.URL, shown: str, *, patience: float) -> None:
        self.shown = shown
        # As arguments rather than in the URL, which the engine shows in messages.
        secrets = {name: str(url.query[name]) for name in _SECRETS if name in url.query}
        self._secrets = [secret for secret in (url.password, *secrets.values()) if secret]
        self._patience = patience
        try:
            self._engine = sa.create_engine(
                url.set(drivername="postgresql+psycopg").difference_update_query(_SECRETS),
                connect_args={name: value for name, value in _CONNECTING.items() if name not in url.query} | secrets,
                poolclass=sa.NullPool,
                isolation_level="AUTOCOMMIT",
                hide_parameters=True,
                use_native_hstore=False,
            )
        except ImportError:
            raise missing_extra("psycopg", "postgres") from None
        except ArgumentError:  # its message may contain secret parts of the URL
            raise InvalidValueError(f"Storage {shown!r} cannot be used; check its hosts, ports and options.") from None
        sa.event.listen(self._engine, "connect", self._set_up)

    def schema(self) -> int | None:
        with self._engine.connect() as connection:
            return version(connection)

    def prepare(self, connection: sa.Connection) -> None:
        self.begin(connection, None)
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MAKING)))
        bring_up_to_date(connection, self.shown)
        connection.exec_driver_sql("COMMIT")

    def connect(self) -> sa.Connection:
        return self._engine.connect()

    def check(self, connection: sa.Connection) -> None:
        """Nothing to do: the server reports a lost connection."""

    def begin(self, connection: sa.Connection, study: str | None) -> None:
        """Begin a transaction and lock the row of the study, which is inserted if there is none.

        Under a stricter isolation the events would be read as they were before the wait for the lock.
        """
        connection.exec_driver_sql("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
        if study is None:
            return
        row = sa.select(studies.c.study).where(studies.c.study == study).with_for_update()
        with allowed_interrupts():  # a transaction that is interrupted here is rolled back
            if connection.execute(row).scalar() is None:
                connection.execute(insert(studies).on_conflict_do_nothing(), {"study": study})
                connection.execute(row)

    def roll_back(self, connection: sa.Connection) -> None:
        connection.exec_driver_sql("ROLLBACK")

    def trouble(self, error: DBAPIError) -> Trouble:
        """LOST without a connection, BUSY if the transaction must be tried again, otherwise FINAL."""
        state = _state(error)
        if state in _BUSY:
            return Trouble.BUSY
        away = state is None and isinstance(error, (OperationalError, InterfaceError))  # no answer from a server
        if error.connection_invalidated or away or (state or "").startswith(_LOST):
            return Trouble.LOST
        return Trouble.FINAL

    def sentence(self, error: DBAPIError) -> str:
        if _state(error) == _LOCK_TIMEOUT:
            return f"{self.shown} is locked by another process that does not finish its write"
        message = (str(error.orig).strip() or "no reason was given").splitlines()[0].strip().rstrip(".:")
        for secret in self._secrets:
            message = message.replace(secret, HIDDEN)
        if _state(error) == _DISK_FULL:
            return f"{self.shown} cannot be used: the server's disk is full, so make room there and try again"
        if self.trouble(error) is Trouble.LOST:
            return f"{self.shown} cannot be reached ({message}); check that the server runs and that the URL is right"
        return f"{self.shown} cannot be used: {message}"

    def _set_up(self, driver: Any, _record: Any) -> None:
        """Independent of the server's defaults: durable commits, and no locks of workers that are suspended."""
        with driver.cursor() as cursor:
            cursor.execute(_SETTINGS, (f"{max(1, round(self._patience * 1000))}ms",))


def _state(error: DBAPIError) -> str | None:
    """PostgreSQL's code of an error, None if the error is not the server's."""
    state: str | None = getattr(error.orig, "sqlstate", None)
    return state
