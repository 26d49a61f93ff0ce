"""The text of a study file, read once: what is checked, hashed and run is the same."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from flexibo.studyfile._yaml_nodes import MOST_BYTES
from flexibo.studyfile.mistakes import StudyFileError, nearest

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class FileText:
    """A study file as it was read.

    Attributes:
        path: Where it is, as an absolute path without links.
        shown: Its name in messages.
        text: Its text.
        digest: The SHA-256 of its bytes.
    """

    path: Path
    shown: str
    text: str
    digest: str


def read_file_text(path: Path) -> FileText:
    """What a study file holds; what is not text, or too long to be one, is refused."""
    shown = str(path)
    try:
        if path.exists() and not path.is_file():  # reading from a pipe or a device may never end
            raise StudyFileError(f"{shown} is not a file; give a study file such as study.yaml.")
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        files = sorted(p.name for p in path.absolute().parent.glob("*") if p.suffix in SUFFIXES)
        hint = nearest(path.name, files) if files else "; flexibo init writes one."
        raise StudyFileError(f"There is no study file {shown}{hint}") from None
    except OSError as error:
        raise StudyFileError(f"{shown} cannot be read: {error.strerror or error}; give another file.") from None
    if len(data) > MOST_BYTES:
        raise StudyFileError(f"{shown} is longer than {MOST_BYTES} bytes, too long for a study file.")
    return file_text_of(data, path)


def file_text_of(data: bytes, path: Path) -> FileText:
    """The text of these bytes, as a study file at a path."""
    return FileText(path.resolve(), str(path), _text(data, str(path)), hashlib.sha256(data).hexdigest())


def _text(data: bytes, shown: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StudyFileError(
            f"{shown} is not UTF-8 text (see byte {error.start}); save it as such, or give another file."
        ) from None
    if "\0" in text:
        raise StudyFileError(f"{shown} is not text: it has zero bytes; give a study file such as study.yaml.")
    if not text.strip():
        raise StudyFileError(f"{shown} is empty; flexibo init writes an example.")
    return text
