"""What a SQLite file holds by itself, without the log beside it.

What a study holds is the file with the log on top. A connection that has read a page keeps it in memory as long as the
locks say that nobody wrote, so it does not notice a file that another program overwrites. Who reads the file by itself
does: an older copy lacks events that are in the log no more.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from flexibo.storage._chain import Mark
from flexibo.storage._sqlite_inspection import file_uri

_LAST = "SELECT number, digest FROM flexibo_events WHERE study = ? ORDER BY number DESC LIMIT 1"


def end_in_file(path: Path, study: str) -> Mark:
    """The place in the log of a study up to which the file has its events.

    It is the beginning of the log if that cannot be told: the file has no tables yet, is damaged, or is written to now.
    """
    try:
        with closing(sqlite3.connect(file_uri(path, "mode=ro&immutable=1"), uri=True)) as connection:
            number, digest = connection.execute(_LAST, (study,)).fetchone() or (-1, "")
    except (sqlite3.Error, UnicodeDecodeError):
        return Mark()
    return Mark(number + 1, digest) if isinstance(number, int) and isinstance(digest, str) else Mark()


def is_readable(path: Path) -> bool:
    """Whether the last event can be read from the file and the log beside it, by who remembers nothing of them."""
    try:
        with closing(sqlite3.connect(file_uri(path, "mode=ro"), uri=True)) as connection:
            return bool(connection.execute("SELECT digest FROM flexibo_events ORDER BY rowid DESC LIMIT 1").fetchall())
    except (sqlite3.Error, UnicodeDecodeError):
        return False
