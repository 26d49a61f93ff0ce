"""Fixtures of the study files: one that is read from a folder of its own, and what is wrong in it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flexibo.studyfile import StudyFile, StudyFileError, read_study_file


@pytest.fixture
def fresh_modules(tmp_path: Path) -> Iterator[None]:
    """Modules of the folder are forgotten afterwards, and so is that they are looked for there."""
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def read(tmp_path: Path, fresh_modules: None) -> Any:
    """Reads a text as the study file of the folder."""

    def of(text: str | bytes) -> StudyFile:
        path = tmp_path / "study.yaml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_study_file(path)

    return of


@pytest.fixture
def mistakes(read: Any) -> Any:
    """The mistakes of a text: (line, column, sentence) in order."""

    def of(text: str) -> list[tuple[int, int, str]]:
        with pytest.raises(StudyFileError) as caught:
            read(text)
        return [(m.place.line, m.place.column, m.sentence) for m in caught.value.mistakes]

    return of
