"""Files that survive a killed process and a crash of the machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4


def append_line(path: Path, line: bytes) -> None:
    """Append a line and flush it to the disk.

    If a killed process left the last line incomplete, the new line still starts on a line of its own.
    """
    with open(path, "a+b") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(line + b"\n")
        file.flush()
        os.fsync(file.fileno())


def write_atomically(path: Path, content: bytes, *, open_file: Callable[..., Any] = open) -> None:
    """Write a file so that it has either its old or its new content at every moment, also after a power failure.

    A device or a pipe, such as /dev/null, is written to; it is not replaced by a file.
    """
    if path.exists() and not path.is_file():
        with open_file(path, "wb") as file:
            file.write(content)
        return
    draft = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        with open_file(draft, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
