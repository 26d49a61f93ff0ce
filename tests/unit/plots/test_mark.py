"""The mark in a picture tells flexibo's own pictures from all others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flexibo import Study, plots
from flexibo.plots.mark import is_marked

pytest.importorskip("matplotlib")


def study() -> Study:
    made = Study({"x": [1, 2, 3, 4]}, ["error", "joules"], seed=0, n_initial=3, stop={"max_evaluations": 6})
    made.run({"error": lambda d: (d["x"], 1.0), "joules": lambda d: (5 - d["x"], 1.0)}, progress=False)
    return made


def test_a_picture_that_was_saved_bears_it(tmp_path: Path) -> None:
    path = tmp_path / "front.png"
    plots.save(study(), path)
    assert is_marked(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])  # half written
    assert is_marked(path)


def test_a_picture_of_another_program_does_not_bear_it(tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    path = tmp_path / "mine.png"
    Figure().savefig(path)
    assert not is_marked(path)
    Figure().savefig(path, metadata={"Title": "flexibo 1", "Software": "about flexibo 1"})
    assert not is_marked(path)


@pytest.mark.parametrize(
    "data", [b"", b"Software\0flexibo 1", b"\x89PNG\r\n\x1a\n", b"\x89PNG\r\n\x1a\n\xff\xff\xff\xfftEXt", b"x" * 99]
)
def test_what_is_no_picture_does_not_bear_it(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "odd.png"
    path.write_bytes(data)
    assert not is_marked(path)


def test_what_cannot_be_read_does_not_bear_it(tmp_path: Path) -> None:
    assert not is_marked(tmp_path)
    assert not is_marked(tmp_path / "nothing.png")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.png")
        assert not is_marked(tmp_path / "pipe.png")


@pytest.mark.parametrize("suffix", [".svg", ".pdf"])
def test_other_formats_name_it_too(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"front{suffix}"
    plots.save(study(), path)
    assert b"flexibo " in path.read_bytes()
