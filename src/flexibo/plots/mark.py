"""The mark that flexibo leaves in a picture, so that no other picture is ever taken for one of its own."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import flexibo

NAME = "flexibo"
SIGNATURE = b"\x89PNG\r\n\x1a\n"
LOOKED_AT = 65536
"""How many bytes are looked at; the mark stands near the beginning."""


def metadata(suffix: str) -> dict[str, str]:
    """What matplotlib writes into a picture beside the drawing, by the end of the file's name."""
    return {"Software" if suffix.lower() == ".png" else "Creator": f"{NAME} {flexibo.__version__}"}


def is_marked(path: Path) -> bool:
    """Whether a file is a picture (.png) that flexibo drew; a file that cannot be read is none."""
    try:
        if not path.is_file():  # reading from a pipe or a device might never end
            return False
        with open(path, "rb") as file:
            head = file.read(LOOKED_AT)
    except OSError:
        return False
    return any(kind == b"tEXt" and data.startswith(f"Software\0{NAME} ".encode()) for kind, data in _chunks(head))


def _chunks(head: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The kind and the data of each part of a PNG file, as far as it is there."""
    if not head.startswith(SIGNATURE):
        return
    place = len(SIGNATURE)
    while place + 8 <= len(head):
        length, kind = struct.unpack(">I4s", head[place : place + 8])
        yield kind, head[place + 8 : place + 8 + length]
        place += length + 12  # its length, its kind and its checksum
