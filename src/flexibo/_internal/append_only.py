"""Append-only files of lines that survive a killed process and a crash of the machine."""

from __future__ import annotations

import os
from pathlib import Path


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
