"""Files are read whole or refused, before they fill the memory."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from flexibo.systems.data import files
from flexibo.systems.data.base import (
    DamagedDataError,
    MissingDataError,
)


def test_a_file_that_unpacks_to_more_than_it_may_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(100_000)))
    assert len(files.content(path, most_bytes=100_000)) == 100_000
    with pytest.raises(DamagedDataError, match=rf"{path} unpacks .*\b99,999 bytes"):
        files.content(path, most_bytes=99_999)
    with pytest.raises(DamagedDataError, match=rf"{path} has .*\b10 bytes"):
        files.content(path, most_bytes=10)
    with pytest.raises(MissingDataError, match="cannot be read"):
        files.content(tmp_path / "nothing")
