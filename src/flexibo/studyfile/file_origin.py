"""Which commands are run: only those of a file that the user has, never any from a database.

A stored study is shared. Everyone who may write to its database can write anything into it: designs, names, and its
origin. Two rules follow.

- **A command or a function never comes from the database.** A study that was created from a file stores only the path
  and the SHA-256 of the file. ``flexibo resume`` and ``flexibo worker`` take the commands from the file that the user
  names with ``--file``. Without it they read the stored path, and use that file only if its content is unchanged and no
  other user can have written it. Otherwise an attacker who writes to the database could store the path and the hash of
  their own file, and have its commands run by others.
- **The designs are those of the file.** A study is opened with the options of the file, and a stored study of other
  options is refused, so that a command is never given a value that the file does not allow. Values reach a command
  through its environment, and the shell never parses them (see `flexibo.studyfile.template`).

What a study file itself names (its commands, the modules beside it) is the user's own code, run with the user's rights.

Whether another user can have written a file is decided as ssh does for its keys (`flexibo.studyfile._permissions`):

- Links are resolved first; the rules hold for the path without links, which is also the one that is read.
- The file, its folder and all folders above belong to this user or to root, and neither everybody nor a group may write
  to them. A group with this user as the only member, as many systems create one for each user, does not count.
- A folder such as /tmp, in which everyone may write but change only their own files (the sticky bit), may be above the
  folder of the file. It must not be the folder of the file: others could put a module or a program beside it.
- The same holds for what the file names beside it: the modules of its functions, with what Python compiled of them, and
  the files that a word of a command names.

What those modules import and those programs run is not checked, nor are the search paths of Python and the shell.
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
    """Whether a study was created from a study file."""
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
        doubt = doubtful(path)  # before it is read: what passes cannot be changed by other users in the meantime
        source = read_file_text(path) if path.is_absolute() else None
    except (StudyFileError, ValueError, OSError, RuntimeError):
        source = None
    if source is None:
        raise StudyFileError(
            f"Study {study!r} was created from {shown}, which was not found here; {remedy}, if you have a copy."
        )
    if source.digest != origin["sha256"]:
        raise StudyFileError(
            f"{shown} has changed since study {study!r} was created from it; check it, and to resume with it, "
            f"{remedy}: --file {shlex.quote(shown)}."
        )
    doubt = doubt or doubtful_beside(nodes_of(source.text, Mistakes(source.shown)), source.path.parent)
    if doubt is not None:
        raise StudyFileError(
            f"{printable_line(doubt)} belongs to another user or may be written by others, so the commands of {shown}, "
            f"from which study {study!r} was created, are not run; check it, and if you trust it, "
            f"{remedy}: --file {shlex.quote(shown)}."
        )
    return study_file_of(source)


def has_changed(file: StudyFile, origin: Mapping[str, Any]) -> bool:
    """Whether a file has changed since the study was created from it."""
    return is_from_file(origin) and origin["sha256"] != file.source.digest
