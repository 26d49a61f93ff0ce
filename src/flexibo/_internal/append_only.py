"""Files of lines that are only ever added to, and survive a kill or a crash of the machine."""

from __future__ import annotations

import os
from pathlib import Path


def append_line(path: Path, line: bytes) -> None:
    """Add a line; when this returns it is on the disk.

    A kill may have cut the last line short: what follows begins on a line of its own.
    """
    with open(path, "a+b") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(line + b"\n")
        file.flush()
        os.fsync(file.fileno())
