"""Places that a study file names: where it is stored, what is known before, and functions of modules beside it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexibo.studyfile._fields import Fields
from flexibo.studyfile._yaml_nodes import YamlList, YamlMapping, YamlScalar
from flexibo.studyfile.functions import found

MOST_BYTES = 200  # of the name of a file, which has a suffix and may have neighbours with longer ones


@dataclass(frozen=True, slots=True)
class KnownSource:
    """Where results are known from: a table, or a study of a database."""

    place: str  # a file, absolute, or a database URL
    study: str = ""


def known_of(fields: Fields, folder: Path) -> tuple[KnownSource, ...]:
    """The sources of known results: a file, a mapping with a storage and a study, or a list of these."""
    node = fields.table.get("known")
    if node is None:
        return ()
    found = []
    for item in node.items if isinstance(node, YamlList) else (node,):
        if isinstance(item, YamlMapping):
            inner = Fields(item, fields.mistakes, " of known")
            inner.check_keys(("study", "storage"))
            place, study = inner.text("storage"), inner.text("study") or ""
        else:
            place, study = (item.value if isinstance(item, YamlScalar) else None), ""
        if not isinstance(place, str) or not place.strip():
            fields.note("known", "known must be a file such as old.csv, or {storage: old.db, study: NAME}.")
            continue
        scheme, sign, rest = place.partition("://")
        if not sign:
            place = str(folder / Path(place).expanduser())
        elif scheme.startswith("sqlite") and rest[:1] == "/" and rest[1:2] not in ("/", "~", ""):
            place = f"{scheme}:///{folder / rest[1:]}"
        found.append(KnownSource(place, study))
    return tuple(found)


def function_of(fields: Fields, key: str, folder: Path) -> Callable[..., Any] | None:
    place = fields.text(key)
    if place is None:
        return None
    try:
        return found(place, str(folder))
    except ValueError as error:
        fields.note(key, f"{key}: {error}")
        return None


def file_stem(name: str) -> str:
    """What the files of a study are called, without their suffix; what is too long for a file is cut off.

    >>> file_stem("nets, 2nd try")
    'nets-2nd-try'
    """
    stem = re.sub(r"[^\w.-]+", "-", name).encode()[:MOST_BYTES].decode(errors="ignore")
    return stem.strip("-.") or "study"


def storage_of(fields: Fields, name: str, folder: Path) -> str:
    """The database URL; a SQLite file is beside the study file unless its path is absolute."""
    url = fields.text("storage")
    if url is None:
        return f"sqlite:///{folder / file_stem(name)}.db"
    scheme, sign, rest = url.partition("://")
    if not sign:
        fields.note(
            "storage", "storage is not a URL; give one such as sqlite:///study.db or postgresql://me@host/studies."
        )
        return url
    is_relative = scheme.startswith("sqlite") and rest[:1] == "/" and rest[1:2] not in ("/", "~", "")
    return f"{scheme}:///{folder / rest[1:]}" if is_relative else url
