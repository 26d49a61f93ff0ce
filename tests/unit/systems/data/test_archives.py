"""Zip archives are checked before they are read."""

from __future__ import annotations

import re
import struct
import zipfile
from pathlib import Path

import pytest
from tests.unit.systems.data.review_files import write_archive

from flexibo.systems.data import files, reviews
from flexibo.systems.data.base import DamagedDataError, MissingDataError


def test_files_that_macos_adds_are_passed_over(tmp_path: Path) -> None:
    plain = reviews.load_movie_reviews(write_archive(tmp_path)).fingerprint
    write_archive(tmp_path, {"__MACOSX/movie_reviews/pos/._cv000.txt": b"\x00\xff"})
    assert reviews.load_movie_reviews(tmp_path).fingerprint == plain


@pytest.mark.parametrize("name", ["../pos/x.txt", "/etc/pos/x.txt", "C:/pos/x.txt", "a/../../pos/x.txt", "pos\\x.txt"])
def test_archives_with_names_that_point_out_of_them_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DamagedDataError, match=re.escape(f"{name!r}, which points out")):
        reviews.load_movie_reviews(write_archive(tmp_path, {name: b"x"}))


def test_archives_of_absurd_sizes_are_refused_before_they_are_unpacked(tmp_path: Path) -> None:
    path = write_archive(tmp_path) / reviews.ARCHIVE
    whole = path.read_bytes()
    at = whole.index(b"PK\x01\x02") + 24
    for size, facts in ((2**27, r"cv000\.txt .*\b134,217,728 bytes;"), (2**31, "bytes in all;")):
        path.write_bytes(whole[:at] + struct.pack("<I", size) + whole[at + 4 :])
        with pytest.raises(DamagedDataError, match=facts):
            reviews.load_movie_reviews(tmp_path)


def test_archives_with_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_archive(tmp_path)
    monkeypatch.setattr(files, "MOST_MEMBERS", 20)
    with pytest.raises(DamagedDataError, match=r"\b21 files .*\b20 files"):
        reviews.load_movie_reviews(tmp_path)


def test_an_archive_with_two_files_of_one_name_is_refused(tmp_path: Path) -> None:
    path = write_archive(tmp_path) / reviews.ARCHIVE
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("movie_reviews/pos/cv000.txt", "again")
    with pytest.raises(DamagedDataError, match=r"two .*: movie_reviews/pos/cv000\.txt"):
        reviews.load_movie_reviews(tmp_path)


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=rf"movie-reviews .*{tmp_path}: movie_reviews\.zip .*missing"):
        reviews.load_movie_reviews(tmp_path)
    path = write_archive(tmp_path) / reviews.ARCHIVE
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    with pytest.raises(DamagedDataError, match=rf"{path} .*zip archive"):
        reviews.load_movie_reviews(tmp_path)
    at = whole.index(b"PK\x01\x02") + 16  # the checksum of the first file
    path.write_bytes(whole[:at] + b"\x00\x00\x00\x00" + whole[at + 4 :])
    with pytest.raises(DamagedDataError, match=rf"cv000\.txt in {path} .*CRC"):
        reviews.load_movie_reviews(tmp_path)
    path.write_bytes(whole[: at - 8] + b"\x01" + whole[at - 7 :])  # says that the first file is encrypted
    with pytest.raises(DamagedDataError, match=rf"cv000\.txt in {path} "):
        reviews.load_movie_reviews(tmp_path)
