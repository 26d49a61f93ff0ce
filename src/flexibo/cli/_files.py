"""Reading files, and writing them atomically."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from flexibo.errors import InvalidValueError

_SIDES = ("-wal", "-shm", "-journal")  # what SQLite appends to the name of a file for its parts


def check_free(path: Path, *, force: bool) -> None:
    """Refuse a path that cannot be written, or an existing file without `force`."""
    try:
        is_writable = not path.is_dir() and path.absolute().parent.is_dir() and not path.name.endswith(_SIDES)
        parts = [part for part in _parts(path) if part.exists()]
        is_there = path.exists()
        is_writable = is_writable and (path.is_file() or not is_there)  # a pipe or a device is not replaced
    except OSError as error:  # for example, a name that is too long
        raise InvalidValueError(f"{path} cannot be written: {error.strerror or error}.") from None
    if not is_writable:
        raise InvalidValueError(f"{path} cannot be written; give a file in a folder that exists.")
    if is_there and not force:
        raise _exists(path)
    if parts:
        raise InvalidValueError(
            f"{parts[0]} is there, and SQLite would take it for a part of {path.name}; end the programs that use it, "
            "move it away, or give another name."
        )


def write_whole(path: Path, lines: Iterable[str], *, force: bool) -> None:
    """Write a file that appears complete or not at all, even after a power failure."""
    with whole_file(path, force=force) as draft, open(draft, "x", encoding="utf-8", newline="") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def whole_file(path: Path, *, force: bool) -> Iterator[Path]:
    """A name for a new file, which gets the name `path` at the end, or is removed after an error."""
    check_free(path, force=force)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield draft
        _put_in_place(draft, path, force=force)
    except OSError as error:
        raise InvalidValueError(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        for rest in (draft, *_parts(draft)):
            with suppress(OSError):
                rest.unlink()


def _put_in_place(draft: Path, path: Path, *, force: bool) -> None:
    if not force:
        try:
            os.link(draft, path)  # unlike a rename, it fails if the file exists by now
            return
        except FileExistsError:
            raise _exists(path) from None
        except OSError:  # a file system without links
            pass
    os.replace(draft, path)


def _parts(path: Path) -> list[Path]:
    """The files that belong to a SQLite file of this name."""
    return [path.with_name(path.name + side) for side in _SIDES]


def _exists(path: Path) -> Exception:
    return InvalidValueError(f"{path} exists already; give another name, or --force to replace it.")


@contextmanager
def read_lines(path: Path) -> Iterator[BinaryIO]:
    """An open file in binary mode; - is standard input."""
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open(path, "rb"))
        except OSError as error:
            raise InvalidValueError(f"{path} cannot be read: {error.strerror or error}.") from None
        yield file


def format_of(path: Path, given: str) -> str:
    """The format of a file: the given one, or the suffix of its name."""
    form = given or path.suffix.lstrip(".").lower()
    if form not in ("jsonl", "csv"):
        what = f"The format of {path} is {form!r}" if form else f"The format of {path} is not given"
        raise InvalidValueError(f"{what}; give a name that ends in .jsonl or .csv, or --format jsonl or csv.")
    return form
