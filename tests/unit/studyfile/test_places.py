"""Places that a study file names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flexibo.studyfile import read_any_file

STUDY = "name: {name}\n{line}\nsystem: resnet\nrecorded: true\n"


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def of(line: str, name: str = "nets") -> Any:
        (tmp_path / "study.yaml").write_text(STUDY.format(line=line, name=name))
        return read_any_file(tmp_path / "study.yaml")

    return of


def test_a_study_is_stored_beside_its_file_under_its_name(read: Any, tmp_path: Path) -> None:
    found = read("", name="nets, 2nd try")
    assert (found.storage, found.names_storage) == (f"sqlite:///{tmp_path}/nets-2nd-try.db", False)


@pytest.mark.parametrize("letter", ["a", "\u00e4"])
def test_a_long_name_makes_a_file_name_that_a_disk_takes(read: Any, letter: str) -> None:
    stem = Path(read("", name=150 * letter).storage.removeprefix("sqlite:///")).name
    assert len(stem.encode()) < 240
    assert set(stem.removesuffix(".db")) == {letter}


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("sqlite:///mine.db", "sqlite:///{folder}/mine.db"),
        ("sqlite:////data/mine.db", "sqlite:////data/mine.db"),
        ("postgresql://me@host/studies", "postgresql://me@host/studies"),
    ],
)
def test_a_database_is_beside_the_file_unless_its_path_is_absolute(
    read: Any, tmp_path: Path, written: str, place: str
) -> None:
    found = read(f"storage: {written}")
    assert (found.storage, found.names_storage) == (place.format(folder=tmp_path), True)


def test_known_results_are_files_beside_the_study_file_or_studies_of_a_database(read: Any, tmp_path: Path) -> None:
    known = read("known: [old.csv, {storage: 'sqlite:///old.db', study: first}]").known
    assert [(one.place, one.study) for one in known] == [
        (str(tmp_path / "old.csv"), ""),
        (f"sqlite:///{tmp_path}/old.db", "first"),
    ]


@pytest.mark.parametrize(("line", "key"), [("storage: mine.db", "storage"), ("known: 3", "known")])
def test_what_is_no_place_is_refused_by_its_key(read: Any, line: str, key: str) -> None:
    with pytest.raises(ValueError, match=key):
        read(line)
