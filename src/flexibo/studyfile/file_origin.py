"""Whose commands are run: only those of a file that the user has, never any that come out of a database.

A stored study is shared. Whoever may write to its database can write anything into it: designs, names, and what it says
of its own origin. Two rules follow.

- **A command or a function never comes from the database.** A study that was begun from a file stores only the path
  and the SHA-256 of the file. ``flexibo resume`` and ``flexibo worker`` take the commands from the file that the user
  names with ``--file``. Without one they look at the stored path, and use what is there only if its content is still
  the same and nobody else can have put it there: otherwise whoever wrote the path and the hash into the database could
  have put a file of theirs at a place that they can write to, and had its commands run by others.
- **The designs are those of the file.** A study is opened with the options of the file, and a stored study of other
  options is refused, so that a command is never given a value that the file does not allow. Values reach a command
  through its environment and are never read by the shell as a program (see `flexibo.studyfile.template`).

What a study file itself names (its commands, the modules beside it) is the user's own code, run with the user's rights.

That nobody else can have put a file at its path is decided as ssh does for its keys (`flexibo.studyfile._permissions`):

- Links are followed first; what is said here holds for the path without links, which is also the one that is read.
- The file, its folder and all folders above belong to this user or to root, and neither everybody nor a group may write
  to them. A group in which the user is alone, as many systems make one for each user, does not count.
- A folder such as /tmp, in which everybody may write but only touch what is their own (the sticky bit), may stand above
  the folder of the file. It may not be the folder of the file: others could put a module or a program beside it.
- The same holds for what the file names beside it: the modules of its functions, with what Python compiled of them, and
  the files that a word of a command names.

What those modules import and those programs run in turn is not looked at, nor the search paths of Python and the shell.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flexibo._internal.text import printable_line
from flexibo.studyfile._permissions import doubtful, doubtful_beside
from flexibo.studyfile._yaml_nodes import nodes_of
from flexibo.studyfile.file import StudyFile, study_file_of
from flexibo.studyfile.file_text import read_file_text
from flexibo.studyfile.mistakes import Mistakes, StudyFileError


def is_from_file(origin: Mapping[str, Any]) -> bool:
    """Whether a study was begun from a study file."""
    return isinstance(origin.get("study_file"), str) and isinstance(origin.get("sha256"), str)


def stored_file(origin: Mapping[str, Any], study: str) -> StudyFile:
    """The study file that a stored study names, if it may be trusted.

    Args:
        origin: What is stored with the study.
        study: The name of the study, for messages.
    """
    path = Path(str(origin["study_file"]))
    shown, remedy = printable_line(path), "name the file with --file"
    doubt: Path | None = None
    try:
        path = path.resolve(strict=True) if path.is_absolute() else path
        doubt = doubtful(path)  # before it is read: what passes can be changed by nobody else meanwhile
        source = read_file_text(path) if path.is_absolute() else None
    except (StudyFileError, ValueError, OSError, RuntimeError):
        source = None
    if source is None:
        raise StudyFileError(
            f"Study {study!r} was begun from {shown}, which is not to be found here; {remedy}, if you have a copy."
        )
    if source.digest != origin["sha256"]:
        raise StudyFileError(
            f"{shown} has changed since study {study!r} was begun from it; look at it, and if it may go on, "
            f"{remedy}: --file {shlex.quote(shown)}."
        )
    doubt = doubt or doubtful_beside(nodes_of(source.text, Mistakes(source.shown)), source.path.parent)
    if doubt is not None:
        raise StudyFileError(
            f"{printable_line(doubt)} belongs to somebody else or may be written by others, so that the commands of "
            f"{shown}, from which study {study!r} was begun, are not run unasked; look at it, and if you trust it, "
            f"{remedy}: --file {shlex.quote(shown)}."
        )
    return study_file_of(source)


def has_changed(file: StudyFile, origin: Mapping[str, Any]) -> bool:
    """Whether a file says something else than when the study was begun from it."""
    return is_from_file(origin) and origin["sha256"] != file.source.digest
