"""Files that the command line writes and reads: whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


def check_free(path: Path, *, force: bool) -> None:
    """Refuse a place where a file cannot be written, or where one is that must not be lost."""
    from flexibo.errors import InvalidValueError

    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InvalidValueError(f"{path} cannot be written; give a file in a folder that exists.")
    if path.exists() and not force:
        raise _exists(path)


def write_whole(path: Path, lines: Iterable[str], *, force: bool) -> None:
    """Write a file that appears complete or not at all, also when the power goes."""
    import secrets

    from flexibo.errors import InvalidValueError

    check_free(path, force=force)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(draft, "x", encoding="utf-8", newline="") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        _put_in_place(draft, path, force=force)
    except OSError as error:
        raise InvalidValueError(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        with suppress(OSError):
            draft.unlink()


def _put_in_place(draft: Path, path: Path, *, force: bool) -> None:
    if not force:
        try:
            os.link(draft, path)  # unlike a rename it fails if somebody else was faster
            return
        except FileExistsError:
            raise _exists(path) from None
        except OSError:  # a file system without links
            pass
    os.replace(draft, path)


def _exists(path: Path) -> Exception:
    from flexibo.errors import InvalidValueError

    return InvalidValueError(f"{path} exists already; give another name, or --force to replace it.")


@contextmanager
def read_lines(path: Path) -> Iterator[BinaryIO]:
    """An open file in binary mode; - is the standard input."""
    from flexibo.errors import InvalidValueError

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
    """The format of a file: what was given, or what its name ends in."""
    from flexibo.errors import InvalidValueError

    form = given or path.suffix.lstrip(".").lower()
    if form not in ("jsonl", "csv"):
        what = f"The format of {path} is {form!r}" if form else f"The format of {path} is not given"
        raise InvalidValueError(f"{what}; give a name that ends in .jsonl or .csv, or --format jsonl or csv.")
    return form
