"""What a disk holds after a power loss, by the writes and flushes that were recorded before it.

What was flushed is there. Of what was written since, any part may be: the writes of a file in any choice, each of them
as far as any of its sectors. A file that was removed may be back until its folder, or a new file of its name, is
flushed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

SECTOR = 512


@dataclass(frozen=True, slots=True)
class Operation:
    """One call of a process.

    Attributes:
        kind: "write", "truncate", "flush" or "remove".
        path: The file, from the folder that is watched; a folder can be flushed, too.
        offset: Where data begin, or the new size.
        data: What was written.
    """

    kind: str
    path: str
    offset: int = 0
    data: bytes = b""


KINDS = {"W": "write", "T": "truncate", "S": "flush", "U": "remove"}
Keep = Callable[[Operation], float]
"""The share of an operation that reached the disk although it was not flushed."""


def operations(record: bytes) -> list[Operation]:
    """The calls in a record; one that was cut off at its end is none."""
    found = []
    place = 0
    while (end := record.find(b"\n", place)) >= 0:
        kind, path, offset, size = record[place:end].decode().split(" ")
        length = int(size) if kind == "W" else 0
        place = end + 1 + length
        if place > len(record):
            break
        found.append(Operation(KINDS[kind], path.lstrip("/"), int(offset), record[end + 1 : place]))
    return found


@dataclass(slots=True)
class _File:
    content: bytes | None = None  # what is safe; None: there is no such file
    waiting: list[Operation] = field(default_factory=list)

    def flush(self, count: int | None = None) -> None:
        """Make the first waiting operations safe, or all of them."""
        done = self.waiting[:count]
        self.waiting = self.waiting[len(done) :]
        for operation in done:
            self.content = _applied(self.content, operation, 1.0)

    def flush_names(self) -> None:
        """Make the last removal safe, and all before it."""
        removals = [n for n, operation in enumerate(self.waiting, start=1) if operation.kind == "remove"]
        self.flush(removals[-1] if removals else 0)

    def after_loss(self, keep: Keep) -> bytes | None:
        content = self.content
        for operation in self.waiting:
            share = keep(operation)
            if operation.kind == "remove" and not share:
                break  # what follows went into another file, which has no name
            content = _applied(content, operation, share)
        return content


def after_power_loss(done: Iterable[Operation], keep: Keep) -> dict[str, bytes]:
    """The files after these operations and a power loss."""
    files: dict[str, _File] = {}
    for operation in done:
        if operation.kind != "flush":
            files.setdefault(operation.path, _File()).waiting.append(operation)
        elif operation.path in files:
            files[operation.path].flush()
        else:  # a folder
            for path in files:
                if path.rpartition("/")[0] == operation.path:
                    files[path].flush_names()
    left = {path: file.after_loss(keep) for path, file in files.items()}
    return {path: content for path, content in left.items() if content is not None}


def written(done: Sequence[Operation], path: str) -> bytes:
    """All that was written to one file, whether it was flushed or not."""
    content: bytes | None = None
    for operation in done:
        if operation.path == path:
            content = _applied(content, operation, 1.0)
    return content or b""


def _applied(content: bytes | None, operation: Operation, share: float) -> bytes | None:
    if operation.kind == "flush" or not share:
        return content
    if operation.kind == "remove":
        return None
    before = content or b""
    if operation.kind == "truncate":
        return before[: operation.offset].ljust(operation.offset, b"\0")
    sectors = -(-len(operation.data) // SECTOR)
    data = operation.data[: round(share * sectors) * SECTOR]
    padded = before.ljust(operation.offset, b"\0")
    return padded[: operation.offset] + data + padded[operation.offset + len(data) :]
