"""Whether another user can have written or can replace a file, as ssh checks before it reads its keys."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from flexibo.studyfile._yaml_nodes import Node, YamlList, YamlMapping, YamlScalar

FUNCTION_KEYS = ("function", "valid", "cost")
PROGRAM_WORD = re.compile(r"[^\s;&|()<>'\"`$={}]+")


def doubtful(path: Path, *, uid: int | None = None) -> Path | None:
    """The first part of a path without links that another user owns or may write to; None if there is none.

    Each of the file and the folders above it must belong to the user or to root, and only they may write to it. One
    kind of folder that others may write to is allowed, if it does not hold the file itself: where the sticky bit is
    set, as for /tmp, no user can replace what belongs to another.

    Args:
        path: A file or a folder.
        uid: The user; by default the one who runs this.
    """
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
        elif isinstance(text, str) and entry.key == "command":
            yield from _programs(text, folder)
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
