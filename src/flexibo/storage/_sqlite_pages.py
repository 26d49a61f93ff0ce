"""Reads the rows of a damaged SQLite file page by page, whatever of its structure is left.

SQLite itself gives up on a file with a damaged page. Here every page that looks like the leaf of a table is read on its
own, also pages that nothing points to any more, with the write-ahead log on top (https://sqlite.org/fileformat2.html).
Nothing is checked but the form, so whoever uses the rows must recognise the right ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

Row: TypeAlias = tuple[Any, ...]
PAGE_SIZES = [2**power for power in range(9, 17)]
DEFAULT_PAGE_SIZE = 4096
TABLE_LEAF = 0x0D
FILE_HEADER, WAL_HEADER, FRAME_HEADER = 100, 32, 24  # bytes
READINGS = 10  # how often to read a file again because its log was begun again meanwhile
_LARGEST_VARINT = 9  # bytes
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # by the type of a column
_CONSTANTS = {0: None, 8: 0, 9: 1}
_REAL, _FIRST_BLOB = 7, 12


def readable_rows(path: Path) -> Iterator[Row]:
    """The rows of all tables of a file that can be decoded, in no particular order; some may be out of date."""
    data, log = _file_with_log(path)
    size = page_size(data)
    usable = size - data[20] if len(data) > FILE_HEADER and data[20] < size // 4 else size
    pages = {i + 1: data[i * size : (i + 1) * size] for i in range((len(data) + size - 1) // size)}
    pages |= logged_pages(log, size)
    for number, page in pages.items():
        yield from _rows_of_page(page, FILE_HEADER if number == 1 else 0, usable, pages)


def _file_with_log(path: Path) -> tuple[bytes, bytes]:
    """The bytes of a file and of its log as of one moment, also while others write."""
    log = path.with_name(f"{path.name}-wal")
    for _ in range(READINGS):
        before = _beginning(path, log)
        found = path.read_bytes(), _bytes(log)
        if _beginning(path, log) == before:
            break
    return found


def _beginning(path: Path, log: Path) -> object:
    """What changes when a log is begun, begun again or removed: what it held is then in the file."""
    return _bytes(log, WAL_HEADER) or (path.stat().st_size, path.stat().st_mtime_ns)


def _bytes(path: Path, count: int = -1) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(count)
    except FileNotFoundError:
        return b""


def page_size(data: bytes) -> int:
    """The size of a page by the header of a file, or the usual one if that is damaged."""
    size = int.from_bytes(data[16:18], "big")
    size = 65536 if size == 1 else size
    return size if size in PAGE_SIZES else DEFAULT_PAGE_SIZE


def logged_pages(log: bytes, size: int) -> dict[int, bytes]:
    """The last version of each page in a write-ahead log, as far as whole transactions go."""
    salts = log[16:24]
    found: dict[int, bytes] = {}
    open_transaction: dict[int, bytes] = {}
    for start in range(WAL_HEADER, len(log) - FRAME_HEADER - size + 1, FRAME_HEADER + size):
        header = log[start : start + FRAME_HEADER]
        if header[8:16] != salts:
            break  # left over from before the log was started again
        open_transaction[int.from_bytes(header[:4], "big")] = log[start + FRAME_HEADER : start + FRAME_HEADER + size]
        if int.from_bytes(header[4:8], "big"):  # the size of the file after a commit
            found |= open_transaction
            open_transaction = {}
    return found


def _rows_of_page(page: bytes, start: int, usable: int, pages: dict[int, bytes]) -> Iterator[Row]:
    if len(page) < start + 8 or page[start] != TABLE_LEAF:
        return
    for i in range(int.from_bytes(page[start + 3 : start + 5], "big")):
        at = start + 8 + 2 * i
        try:
            yield _record(_payload(page, int.from_bytes(page[at : at + 2], "big"), usable, pages))
        except (IndexError, ValueError, KeyError):  # this row is damaged, the others of the page may not be
            continue


def _payload(page: bytes, at: int, usable: int, pages: dict[int, bytes]) -> bytes:
    """The bytes of a row, from its page and those where it continues."""
    length, at = _varint(page, at)
    _, at = _varint(page, at)
    if not 0 < length <= usable * len(pages):
        raise ValueError("This is no row.")
    most, least = usable - 35, (usable - 12) * 32 // 255 - 23
    here = length
    if length > most:
        here = least + (length - least) % (usable - 4)
        here = here if here <= most else least
    payload = page[at : at + here]
    following = int.from_bytes(page[at + here : at + here + 4], "big")
    while len(payload) < length:
        part = pages[following]
        following = int.from_bytes(part[:4], "big")
        payload += part[4 : min(usable, 4 + length - len(payload))]
        if len(part) <= 4:
            raise ValueError("This row is cut off.")
    return payload


def _record(payload: bytes) -> Row:
    end, at = _varint(payload, 0)
    kinds = []
    while at < end:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    values = []
    for kind in kinds:
        value, at = _value(payload, kind, at)
        values.append(value)
    if at != len(payload):
        raise ValueError("This is no row.")
    return tuple(values)


def _value(payload: bytes, kind: int, at: int) -> tuple[Any, int]:
    if kind in _CONSTANTS:
        return _CONSTANTS[kind], at
    if kind in _INTEGER_BYTES:
        end = at + _INTEGER_BYTES[kind]
        return int.from_bytes(payload[at:end], "big", signed=True), end
    if kind == _REAL:
        return payload[at : at + 8], at + 8  # no row that matters here has one
    if kind < _FIRST_BLOB:
        raise ValueError("There is no such type.")
    end = at + (kind - _FIRST_BLOB) // 2
    if end > len(payload):
        raise ValueError("This row is cut off.")
    return (payload[at:end].decode("utf-8") if kind % 2 else payload[at:end]), end


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    value = 0
    for i in range(_LARGEST_VARINT - 1):
        byte = data[at + i]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + i + 1
    return value << 8 | data[at + _LARGEST_VARINT - 1], at + _LARGEST_VARINT
