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

Whether another user can have written a file is decided as ssh does for its keys:

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

import os
import re
import shlex
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flexibo._internal.text import printable_line
from flexibo.studyfile._yaml_nodes import Node, YamlList, YamlMapping, YamlScalar, nodes_of
from flexibo.studyfile.file import StudyFile, read_file_text
from flexibo.studyfile.mistakes import Mistakes, StudyFileError
from flexibo.studyfile.system_file import SystemFile, any_file_of

FUNCTION_KEYS = ("function", "valid", "cost")
PROGRAM_WORD = re.compile(r"[^\s;&|()<>'\"`$={}]+")


class UnnamedFileError(StudyFileError):
    """A study file is only used if the user names it; the command line completes the sentence with a command."""

    def __init__(self, problem: str, path: Path) -> None:
        super().__init__(f"{problem}: --file {shlex.quote(str(path))}")
        self.problem = problem
        self.path = path


def is_from_file(origin: Mapping[str, Any]) -> bool:
    """Whether a study was created from a study file."""
    return isinstance(origin.get("study_file"), str) and isinstance(origin.get("sha256"), str)


def stored_file(origin: Mapping[str, Any], study: str) -> StudyFile | SystemFile:
    """The study file that the origin of a stored study names, if it may be trusted."""
    path = Path(str(origin["study_file"]))
    shown = printable_line(path)
    doubt: Path | None = None
    try:
        path = path.resolve(strict=True) if path.is_absolute() else path
        doubt = doubtful(path)  # before it is read: what passes cannot be changed by other users in the meantime
        source = read_file_text(path) if path.is_absolute() else None
    except (StudyFileError, ValueError, OSError, RuntimeError):
        source = None
    if source is None:
        raise StudyFileError(
            f"Study {study!r} was created from {shown}, which was not found here; if you have a copy, name it with "
            "--file FILE."
        )
    if source.digest != origin["sha256"]:
        raise UnnamedFileError(
            f"{shown} has changed since study {study!r} was created from it; check it, and to use it, name it", path
        )
    doubt = doubt or doubtful_beside(nodes_of(source.text, Mistakes(source.shown)), source.path.parent)
    if doubt is not None:
        raise UnnamedFileError(
            f"{printable_line(doubt)} belongs to another user or may be written by others, so the commands of {shown}, "
            f"from which study {study!r} was created, are not run; check it, and if you trust it, name it",
            path,
        )
    return any_file_of(source)


def changed_file(origin: Mapping[str, Any]) -> Path | None:
    """The file that a stored study was created from, if it has changed since and must be named; None otherwise.

    A file that another user can have written is not proposed: the refusal of `stored_file` says why, and what to do.
    """
    if not is_from_file(origin) or not os.path.isabs(origin["study_file"]):
        return None
    try:
        path = Path(origin["study_file"]).resolve(strict=True)
        source = None if doubtful(path) else read_file_text(path)
        if source is None or source.digest == origin["sha256"]:
            return None
        doubt = doubtful_beside(nodes_of(source.text, Mistakes(source.shown)), source.path.parent)
    except (StudyFileError, ValueError, OSError, RuntimeError):
        return None
    return None if doubt else path


def has_changed(file: StudyFile, origin: Mapping[str, Any]) -> bool:
    """Whether a file has changed since the study was created from it."""
    return is_from_file(origin) and origin["sha256"] != file.source.digest


def doubtful(path: Path, *, uid: int | None = None) -> Path | None:
    """The first part of a path without links that a user other than `uid` owns or may write to; None if none is."""
    if not hasattr(os, "geteuid"):
        return None
    uid = os.geteuid() if uid is None else uid
    for distance, place in enumerate([path, *path.parents]):
        try:
            status = os.lstat(place)
        except OSError:
            return place
        is_sticky_above = distance > 1 and stat.S_ISDIR(status.st_mode) and bool(status.st_mode & stat.S_ISVTX)
        if status.st_uid not in (uid, 0) or (_is_open(status, uid) and not is_sticky_above):
            return place
    return None


def doubtful_beside(root: Node | None, folder: Path) -> Path | None:
    """The first module or program beside a study file, named in it, that another user owns or may write to."""
    for path in _named(root, folder):
        try:
            found = doubtful(path.resolve(strict=True))
        except (OSError, RuntimeError):  # gone, or a cycle of links
            return path
        if found is not None:
            return found
    return None


def _is_open(status: os.stat_result, uid: int) -> bool:
    """Whether users other than this one and root may write to it."""
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_private(status.st_gid, uid)


def _is_private(gid: int, uid: int) -> bool:
    """Whether a group is the user's own, as many systems create one for each user, or root's."""
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(gid), pwd.getpwuid(uid)
    except KeyError:
        return False
    if gid == 0:
        return set(group.gr_mem) <= {"root", user.pw_name}
    return gid == user.pw_gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def _named(node: Node | None, folder: Path) -> Iterator[Path]:
    """The files beside a study file that its functions and commands name."""
    if isinstance(node, YamlList):
        for item in node.items:
            yield from _named(item, folder)
    for entry in node.entries if isinstance(node, YamlMapping) else ():
        text = entry.node.value if isinstance(entry.node, YamlScalar) else None
        if isinstance(text, str) and entry.key in FUNCTION_KEYS and ":" in text:
            yield from _modules(text.partition(":")[0], folder)
        elif isinstance(text, str) and entry.key in ("command", "meter"):
            yield from _programs(text, folder)
        elif entry.key == "meter" and isinstance(entry.node, YamlMapping):
            name = entry.node.get("name")
            yield from _programs(str(name.value), folder) if isinstance(name, YamlScalar) else ()
        yield from _named(entry.node, folder)


def _modules(name: str, folder: Path) -> Iterator[Path]:
    """All files that a module beside the file can be loaded from, including compiled ones."""
    for part in name.split("."):
        if not part.isidentifier():
            return
        for inner in (folder, folder / part):
            stem = part if inner == folder else "__init__"
            yield from inner.glob(f"{stem}.*")
            yield from inner.glob("__pycache__")
            yield from inner.glob(f"__pycache__/{stem}.*")
        folder = folder / part
        yield from [folder] if folder.is_dir() else []


def _programs(command: str, folder: Path) -> Iterator[Path]:
    """The files beside the study file that words of a command name."""
    for word in sorted(set(PROGRAM_WORD.findall(command))):
        path = folder / word
        try:
            if not Path(word).is_absolute() and path.is_file():
                yield path
        except (OSError, ValueError):
            continue
