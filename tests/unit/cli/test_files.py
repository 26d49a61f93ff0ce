"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from flexibo.cli._files import write_whole
from flexibo.errors import InvalidValueError


class TestWriting:
    def test_a_file_appears_whole_or_not_at_all(self, tmp_path: Path) -> None:
        def interrupted() -> Iterator[str]:
            yield "half of it"
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write_whole(tmp_path / "f.csv", interrupted(), force=False)
        assert list(tmp_path.iterdir()) == []

        def overtaken() -> Iterator[str]:
            (tmp_path / "f.csv").write_text("theirs")
            yield "ours"

        with pytest.raises(InvalidValueError, match=r"f\.csv.*--force"):
            write_whole(tmp_path / "f.csv", overtaken(), force=False)
        assert [path.read_text() for path in tmp_path.iterdir()] == ["theirs"]

    @pytest.mark.parametrize("side", ["-wal", "-shm", "-journal"])
    @pytest.mark.parametrize("force", [False, True])
    def test_no_file_is_put_beside_the_log_of_another_database(self, tmp_path: Path, side: str, force: bool) -> None:
        (tmp_path / f"f.db{side}").write_text("theirs")
        with pytest.raises(InvalidValueError, match=f"f.db{side}"):
            write_whole(tmp_path / "f.db", ["ours"], force=force)
        assert [path.read_text() for path in tmp_path.iterdir()] == ["theirs"]

    def test_a_pipe_or_a_device_is_not_replaced(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.db")
        with pytest.raises(InvalidValueError, match="cannot be written"):
            write_whole(tmp_path / "pipe.db", ["ours"], force=True)
        assert (tmp_path / "pipe.db").is_fifo()

    @pytest.mark.parametrize("name", ["x" * 300, "f.db-wal", "f.db-shm", "none/f.db"])
    def test_a_name_that_cannot_be_used_is_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(InvalidValueError, match="cannot be written"):
            write_whole(tmp_path / name, ["ours"], force=False)
        assert list(tmp_path.iterdir()) == []
