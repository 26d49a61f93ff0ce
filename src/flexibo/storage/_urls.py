"""Storage URLs for messages: passwords are hidden."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path, PurePath

from flexibo.errors import InvalidTypeError, InvalidValueError

HIDDEN = "***"
_SHOWN_OPTIONS = {
    "application_name",
    "connect_timeout",
    "dbname",
    "host",
    "port",
    "sslmode",
    "target_session_attrs",
    "user",
}
_SECRET_OPTIONS = {"passfile", "password", "sslpassword"}
_PLACE = re.compile(r"(?P<host>\[[^\]]*\]|[^:/]*)(?::(?P<port>[^/]*))?(?P<path>/.*)?")


def shown_url(url: str) -> str:
    """A storage URL without its secrets, for messages. What may be a secret is hidden too.

    >>> shown_url("postgresql://ada:secret@board/studies?sslmode=require&password=secret")
    'postgresql://ada:***@board/studies?sslmode=require&password=***'
    >>> shown_url("sqlite:///study.db")
    'sqlite:///study.db'
    """
    scheme, mark, rest = url.partition("://")
    if not mark:  # show a path that was meant as a URL; anything else may be a password
        return url if not re.search(r"[:@=]", url) else HIDDEN
    if scheme in ("sqlite", "sqlite+pysqlite") and rest.startswith("/"):
        path, asked, options = rest.partition("?")
        return f"{scheme}://{path}{asked}{_shown_options(options)}"
    if "?" in rest and rest.rfind("@") > rest.find("?"):
        return f"{scheme}://{HIDDEN}"  # the ? may belong to a password, or the @ to an option
    who, at, where = rest.rpartition("@")
    user, colon, _ = who.partition(":")
    place, asked, options = where.partition("?")
    secret = f":{HIDDEN}" if colon else ""
    return f"{scheme}://{user}{secret}{at}{_shown_place(place)}{asked}{_shown_options(options)}"


def sqlite_file(url: str) -> Path | None:
    """The file of a SQLite URL; None for a database on a server."""
    scheme, _, path = url.partition(":///")
    return Path(path).expanduser().absolute() if scheme.startswith("sqlite") and path else None


def rescue_advice(where: str) -> str:
    """The commands that show what is damaged in a file or a database, and bring out the rest.

    >>> rescue_advice("/data/study.db")
    'Next: flexibo verify /data/study.db (shows the damage), flexibo salvage /data/study.db --out study-salvaged.db \
(brings out the rest), or restore a copy.'

    Args:
        where: The file, or the URL without its secrets.
    """
    if not where:
        return "Restore a copy of it."
    out = "salvaged.db" if "://" in where else f"{PurePath(where).stem}-salvaged.db"
    place = f" {shlex.quote(where)}" if HIDDEN not in where else ""
    hint = "" if place else ", with FLEXIBO_STORAGE set to its URL"
    return (
        f"Next: flexibo verify{place} (shows the damage), flexibo salvage{place} --out {shlex.quote(out)} (brings out "
        f"the rest){hint}, or restore a copy."
    )


def check_url(url: object) -> None:
    """Refuse what is not a URL, and URLs in which the password cannot be identified.

    The message does not show the given value, which may contain a secret.
    """
    if isinstance(url, os.PathLike):
        raise InvalidTypeError(f"The storage is a {type(url).__name__}; give the URL sqlite:///PATH of the file.")
    if not isinstance(url, str):
        raise InvalidTypeError(f"The storage is of type {type(url).__name__}; give a URL such as sqlite:///study.db.")
    scheme, _, rest = url.partition("://")
    if not scheme.startswith("sqlite") and rest.count("@") > 1:
        raise InvalidValueError(
            "The storage URL has more than one @; write @ in a user name, a password or an option as %40."
        )


def _shown_place(place: str) -> str:
    """Host, port and database; a port that is not a number may be a password."""
    match = _PLACE.fullmatch(place)
    if match is None or not re.fullmatch(r"[0-9]*", match["port"] or ""):
        return HIDDEN
    return place


def _shown_options(options: str) -> str:
    """The options of a URL, with their values unless these may be secret."""
    shown = []
    for option in options.split("&") if options else ():
        name = option.partition("=")[0]
        hidden = f"{name}={HIDDEN}" if name in _SECRET_OPTIONS else HIDDEN
        shown.append(option if name in _SHOWN_OPTIONS else hidden)
    return "&".join(shown)
