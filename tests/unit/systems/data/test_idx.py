"""Idx files are read as published, and damaged ones are refused."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.systems.data.image_files import RNG

from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.systems.data import idx
from flexibo.systems.data.base import (
    DamagedDataError,
    MissingDataError,
)

N, N_TEST = 20, 10


DIGITS = RNG.integers(0, 256, (N + N_TEST, 5, 4), dtype=np.uint8)


LABELS = np.arange(N + N_TEST) % 10


def idx_bytes(values: Any) -> bytes:
    array = np.asarray(values, dtype=np.uint8)
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def write_idx(folder: Path, *, mark: str = "-", gz: bool = False, **replaced: bytes) -> Path:
    files = {
        f"train-images{mark}idx3-ubyte": idx_bytes(DIGITS[:N]),
        f"train-labels{mark}idx1-ubyte": idx_bytes(LABELS[:N]),
        f"t10k-images{mark}idx3-ubyte": idx_bytes(DIGITS[N:]),
        f"t10k-labels{mark}idx1-ubyte": idx_bytes(LABELS[N:]),
    }
    for key, data in replaced.items():
        files[next(name for name in files if name.startswith(key.replace("_", "-")))] = data
    for name, data in files.items():
        (folder / (name + ".gz" if gz else name)).write_bytes(gzip.compress(data) if gz else data)
    return folder


@pytest.mark.parametrize("gz", [False, True])
@pytest.mark.parametrize("mark", ["-", "."])
def test_idx_files_are_read_under_each_of_their_usual_names(tmp_path: Path, mark: str, gz: bool) -> None:
    data = idx.load(write_idx(tmp_path, mark=mark, gz=gz))
    assert data.name == "mnist"
    assert np.array_equal(data.train.pixels, DIGITS[:N, None])
    assert np.array_equal(data.test.pixels, DIGITS[N:, None])
    assert data.train.labels.dtype == np.int64
    assert data.train.labels.tolist() == LABELS[:N].tolist()
    assert data.test.labels.tolist() == LABELS[N:].tolist()
    assert data.train.classes[3] == "3"


def test_fashion_has_its_own_classes(tmp_path: Path) -> None:
    data = idx.load(write_idx(tmp_path), name="fashion-mnist")
    assert (data.name, data.train.classes[9], len(data.train.classes)) == ("fashion-mnist", "ankle boot", 10)


def test_missing_idx_files_are_named(tmp_path: Path) -> None:
    write_idx(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(MissingDataError, match=f"{tmp_path}: t10k-labels-idx1-ubyte is missing"):
        idx.load(tmp_path)


@pytest.mark.parametrize(("asked", "there"), [("mnist", "fashion-mnist"), ("fashion-mnist", "mnist")])
def test_the_files_of_one_dataset_are_not_taken_for_the_other(tmp_path: Path, asked: str, there: str) -> None:
    first = list(idx.FIRST_LABELS[there])
    write_idx(tmp_path, train_labels=idx_bytes(first + first), gz=True)
    assert idx.missing(tmp_path, name=there) == ""
    with pytest.raises(MissingDataError, match=f"those of {there}"):
        idx.load(tmp_path, name=asked)


@pytest.mark.parametrize(
    ("replaced", "facts"),
    [
        ({"train_images": idx_bytes(DIGITS[:N])[:-1]}, "20 x 5 x 4 bytes .* 399;"),
        ({"train_images": b"\x00\x00\x08\x03\x00"}, "cut short"),
        ({"train_images": b""}, "begins with nothing"),
        ({"train_images": b"\x00\x00\x0d\x03" + idx_bytes(DIGITS[:N])[4:]}, "begins with 00000d03 .* with 00000803"),
        ({"train_labels": idx_bytes([0] * (N - 1) + [10])}, "label 10; .*0 to 9"),
        ({"train_labels": idx_bytes(LABELS[: N - 1])}, "20 images .*train-labels-idx1-ubyte 19 labels"),
        ({"t10k_images": idx_bytes(DIGITS[N:, :4])}, "5 x 4 .*test images 4 x 4"),
        ({"train_images": idx_bytes(DIGITS[:0]), "train_labels": idx_bytes([])}, "has no images"),
        ({"train_images": gzip.compress(idx_bytes(DIGITS[:N]))[:-9]}, "middle .*gzip stream"),
        ({"train_images": gzip.compress(idx_bytes(DIGITS[:N]))[:-8] + bytes(8)}, "no whole gzip"),
    ],
)
def test_damaged_idx_files_are_refused(tmp_path: Path, replaced: dict[str, bytes], facts: str) -> None:
    write_idx(tmp_path, **replaced)
    with pytest.raises(DamagedDataError, match=facts):
        idx.load(tmp_path)


@pytest.mark.parametrize(
    ("limit", "error"), [(0, InvalidValueError), (1.5, InvalidTypeError), (True, InvalidTypeError)]
)
def test_a_limit_that_is_no_positive_whole_number_is_refused(tmp_path: Path, limit: Any, error: type) -> None:
    with pytest.raises(error, match=f"The limit is {limit}"):
        idx.load(write_idx(tmp_path), limit=limit)


def test_a_limit_takes_pixels_and_labels_of_the_same_rows(tmp_path: Path) -> None:
    data = idx.load(write_idx(tmp_path), limit=10)
    assert sorted(data.train.labels) == list(range(10))
    for pixels, label in zip(data.train.pixels, data.train.labels, strict=True):
        at = next(row for row in range(N) if np.array_equal(DIGITS[row], pixels[0]))
        assert LABELS[at] == label


def test_the_same_files_have_the_same_fingerprint_and_other_rows_another(tmp_path: Path) -> None:
    folder = write_idx(tmp_path)
    assert idx.load(folder).fingerprint == idx.load(folder).fingerprint != idx.load(folder, limit=10).fingerprint
