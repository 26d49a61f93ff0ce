"""The databases of the soak: a SQLite file and a throw-away PostgreSQL server, and their rows as they stand there."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.postgres import Pool, Server

Rows = list[tuple[int, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Database:
    """A database that studies are kept in, looked at with nothing but its driver.

    Attributes:
        kind: "SQLite", "PostgreSQL" or "PgBouncer".
        url: What a study is opened with.
        server: The server of a PostgreSQL database.
    """

    kind: str
    url: str
    server: Server | None = field(default=None, compare=False)

    @property
    def path(self) -> Path:
        """The file of a SQLite database."""
        return Path(self.url.removeprefix("sqlite:///"))

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """A connection of the database's own driver."""
        if self.server is None:
            with closing(sqlite3.connect(self.path, isolation_level=None, timeout=30)) as connection:
                yield connection
            return
        import psycopg

        place = {"host": str(self.server.folder), "port": self.server.port, "user": "postgres", "dbname": self.name}
        with psycopg.connect(**place, autocommit=True) as connection:  # type: ignore[arg-type]
            yield connection

    def count(self, study: str) -> int:
        """How many events a study has; 0 before its tables are made."""
        found = self._rows(f"SELECT count(*) FROM flexibo_events WHERE study = {self._mark}", (study,))
        return int(found[0][0]) if found else 0

    def events(self, study: str) -> Rows:
        """The rows of a study in the order of their numbers, read without the library."""
        query = f"SELECT number, content FROM flexibo_events WHERE study = {self._mark} ORDER BY number"
        return [(number, json.loads(content)) for number, content in self._rows(query, (study,))]

    def lose(self, study: str, count: int) -> Rows:
        """Lose the last events of a study, as a fail-over to a copy that lags behind does; returns what was lost.

        The first event, which holds the settings, stays.
        """
        with self.connected() as connection:
            connection.execute("BEGIN IMMEDIATE" if self.server is None else "BEGIN")
            if self.server is not None:  # no worker writes meanwhile, as none does to a server that goes down
                connection.execute("LOCK TABLE flexibo_studies, flexibo_events IN ACCESS EXCLUSIVE MODE")
            query = f"SELECT number, content FROM flexibo_events WHERE study = {self._mark} ORDER BY number"
            rows = connection.execute(query, (study,)).fetchall()
            lost = [(number, json.loads(content)) for number, content in rows[1:][-count:]]
            condition = f"study = {self._mark} AND number >= {self._mark}"
            connection.execute(f"DELETE FROM flexibo_events WHERE {condition}", (study, lost[0][0]))
            connection.execute("COMMIT")
        return lost

    def damage(self) -> str:
        """What SQLite finds wrong with its file; an empty string if nothing."""
        if self.server is not None:
            return ""
        found = self._rows("PRAGMA integrity_check", ())
        return "" if found == [("ok",)] else f"The file is damaged: {found}."

    @property
    def name(self) -> str:
        """The name of a PostgreSQL database on its server."""
        return self.url.partition("?")[0].rpartition("/")[2]

    @property
    def _mark(self) -> str:
        return "?" if self.server is None else "%s"

    def _rows(self, query: str, values: tuple[object, ...]) -> list[Any]:
        """What a query gives; nothing where there is no such file or table yet."""
        if self.server is None and not self.path.exists():
            return []
        with self.connected() as connection:
            try:
                return list(connection.execute(query, values).fetchall())
            except Exception as error:
                if "no such table" in str(error) or "does not exist" in str(error):
                    return []
                raise


def sqlite_file(folder: Path) -> Database:
    """A SQLite file that does not exist yet."""
    return Database("SQLite", f"sqlite:///{folder / 'study.db'}")


def pooled(pool: Pool, server: Server) -> Database:
    """A new database on a server, which workers reach through a pool of connections; the soak does so directly."""
    return Database("PgBouncer", pool.new_database(), server)


def postgresql(server: Server) -> Database:
    """A new database on a server."""
    return Database("PostgreSQL", server.new_database(), server)
