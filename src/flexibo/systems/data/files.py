"""Reading data files: plain or gzipped, zip archives, text.

An archive is never unpacked to disk. It is refused if a name points outside of it or its sizes are implausible.
"""

from __future__ import annotations

import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from flexibo.systems.data.base import DamagedDataError, MissingDataError

MOST_BYTES = 2**31  # the uncompressed size above which a file is not read into memory

MOST_BYTES_OF_ARCHIVE = 2**30
MOST_BYTES_OF_MEMBER = 2**26
MOST_MEMBERS = 500_000


def missing_clause(absent: Sequence[str], where: str = "") -> str:
    """That some files are missing, as a clause; empty if none is.

    >>> missing_clause(["a.csv", "b.csv"])
    'a.csv, b.csv are missing'
    """
    if not absent:
        return ""
    return f"{', '.join(absent)} {'is' if len(absent) == 1 else 'are'} missing{where}"


def check_present(name: str, folder: Path, missing: str) -> None:
    """Raise an error if something of a dataset is missing in a folder."""
    if missing:
        raise MissingDataError(f"{name} cannot be loaded from {folder}: {missing}.")


def content(path: Path, *, most_bytes: int = MOST_BYTES) -> bytes:
    """The bytes of a file, uncompressed if it is gzipped, whatever its name."""
    try:
        if path.stat().st_size > most_bytes:
            raise DamagedDataError(f"{path} has more than {most_bytes:,} bytes, which no file of this kind has.")
        data = path.read_bytes()
    except OSError as error:
        raise MissingDataError(f"{path} cannot be read: {error.strerror}.") from error
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            plain = file.read(most_bytes + 1)
    except EOFError:
        raise DamagedDataError(f"{path} ends in the middle of its gzip stream; fetch it again.") from None
    except (OSError, zlib.error) as error:
        raise DamagedDataError(f"{path} is no whole gzip file ({error}); fetch it again.") from error
    if len(plain) > most_bytes:
        raise DamagedDataError(f"{path} unpacks to more than {most_bytes:,} bytes, which no file of this kind has.")
    return plain


def text_of(data: bytes, where: str) -> str:
    """Bytes decoded as UTF-8 text."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DamagedDataError(
            f"{where} is not UTF-8 text: byte {error.start} is 0x{data[error.start]:02x}; convert or fetch it again."
        ) from error
    if not text.strip():
        raise DamagedDataError(f"{where} has no text.")
    return text


def natural(name: str) -> tuple[tuple[int, ...], str]:
    """A sort key that puts 2 before 10.

    >>> sorted(["10_7.txt", "2_7.txt"], key=natural)
    ['2_7.txt', '10_7.txt']
    """
    return tuple(int(number) for number in re.findall(r"\d+", name)), name


def member_names(path: Path) -> list[str]:
    """The names of the files in a zip archive, in natural order; hidden files are left out."""
    with _opened(path) as archive:
        found = archive.infolist()
    size = sum(info.file_size for info in found)
    if len(found) > MOST_MEMBERS or size > MOST_BYTES_OF_ARCHIVE:
        raise DamagedDataError(
            f"{path} says that it holds {len(found):,} files of {size:,} bytes in all; at most {MOST_MEMBERS:,} files "
            f"and {MOST_BYTES_OF_ARCHIVE:,} bytes are read."
        )
    for info in found:
        _check_member(path, info)
    names = [info.filename for info in found if not info.is_dir()]
    if len(set(names)) < len(names):
        raise DamagedDataError(f"{path} has two files of one name: {next(n for n in names if names.count(n) > 1)}.")
    # macOS adds a file of its own for each one.
    return sorted((name for name in names if not PurePosixPath(name).name.startswith(".")), key=natural)


def _check_member(path: Path, info: zipfile.ZipInfo) -> None:
    name = info.filename
    if re.match(r"/|[A-Za-z]:", name) or "\\" in name or ".." in PurePosixPath(name).parts:
        raise DamagedDataError(f"{path} has a file named {name!r}, which points out of the archive; do not trust it.")
    if info.file_size > MOST_BYTES_OF_MEMBER:
        raise DamagedDataError(
            f"{path} says that {name} has {info.file_size:,} bytes; at most {MOST_BYTES_OF_MEMBER:,} are read."
        )


def members(path: Path, names: Sequence[str]) -> list[bytes]:
    """The content of some files of a zip archive; checksums are verified."""
    with _opened(path) as archive:
        return [_member(path, archive, name) for name in names]


def _member(path: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        return archive.read(name)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise DamagedDataError(f"{name} in {path} is damaged ({error}); fetch the archive again.") from error
    except (RuntimeError, NotImplementedError) as error:
        raise DamagedDataError(f"{name} in {path} cannot be read: {error}.") from error


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise DamagedDataError(f"{path} is no whole zip archive ({error}); fetch it again.") from error
