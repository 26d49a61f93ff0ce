"""Images in idx files, as MNIST and Fashion-MNIST are published."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from flexibo._internal.arrays import IntArray
from flexibo.systems.data.base import DamagedDataError, Dataset, Images, MissingDataError, Pixels
from flexibo.systems.data.files import check_present, content, missing_clause
from flexibo.systems.data.subsets import chosen, dataset

CLASSES: Mapping[str, tuple[str, ...]] = MappingProxyType(  # of the datasets that are published as idx files
    {
        "mnist": tuple("0123456789"),
        "fashion-mnist": (
            *("t-shirt", "trouser", "pullover", "dress", "coat"),
            *("sandal", "shirt", "sneaker", "bag", "ankle boot"),
        ),
    }
)

FIRST_LABELS: Mapping[str, bytes] = MappingProxyType(  # they tell datasets apart whose files have the same names
    {"mnist": bytes([5, 0, 4, 1, 9, 2, 1, 3, 1, 4]), "fashion-mnist": bytes([9, 0, 0, 3, 0, 2, 7, 2, 5, 5])}
)

_PARTS = ("train", "t10k")
_KINDS = {"images": 3, "labels": 1}


def missing(folder: Path, *, name: str = "mnist") -> str:
    """What is missing to load a dataset from a folder, as a clause; empty if nothing is."""
    absent = [
        f"{part}-{kind}-idx{n}-ubyte" for part in _PARTS for kind, n in _KINDS.items() if not _file(folder, part, kind)
    ]
    if absent:
        return missing_clause(absent)
    labels = _file(folder, "train", "labels")
    begins = content(labels)[8:18] if labels else b""
    for other, first in FIRST_LABELS.items():
        if other != name and begins == first:
            return f"the idx files there are those of {other}"
    return ""


def load(folder: Path, *, name: str = "mnist", limit: int | None = None, seed: int = 0) -> Dataset[Images]:
    """The images of the four idx files in a folder."""
    check_present(name, folder, missing(folder, name=name))
    (pixels, labels), (test_pixels, test_labels) = (_part(folder, part, len(CLASSES[name])) for part in _PARTS)
    if pixels.shape[1:] != test_pixels.shape[1:]:
        raise DamagedDataError(
            f"The training images in {folder} are {pixels.shape[2]} x {pixels.shape[3]} and the test images "
            f"{test_pixels.shape[2]} x {test_pixels.shape[3]} pixels; they must be of one size."
        )
    rows, test_rows = chosen(labels, test_labels, limit, seed)
    train = Images(pixels[rows], labels[rows], CLASSES[name])
    test = Images(test_pixels[test_rows], test_labels[test_rows], CLASSES[name])
    return dataset(name, train, test)


def _file(folder: Path, part: str, kind: str) -> Path | None:
    stems = [f"{part}-{kind}{mark}idx{_KINDS[kind]}-ubyte" for mark in "-."]
    paths = (folder / f"{stem}{ending}" for stem in stems for ending in ("", ".gz"))
    return next((path for path in paths if path.is_file()), None)


def _part(folder: Path, part: str, n_classes: int) -> tuple[Pixels, IntArray]:
    paths = _file(folder, part, "images"), _file(folder, part, "labels")
    if paths[0] is None or paths[1] is None:
        raise MissingDataError(f"The idx files of part {part!r} are not in {folder}.")
    pixels, labels = read_idx(paths[0], dimensions=3), read_idx(paths[1], dimensions=1)
    if len(pixels) != len(labels):
        raise DamagedDataError(
            f"{paths[0]} has {len(pixels):,} images and {paths[1].name} {len(labels):,} labels; they do not belong "
            "together."
        )
    if not len(labels):
        raise DamagedDataError(f"{paths[0]} has no images.")
    if labels.max() >= n_classes:
        raise DamagedDataError(f"{paths[1]} has the label {labels.max()}; labels are from 0 to {n_classes - 1}.")
    return pixels[:, None], labels.astype(np.int64)


def read_idx(path: Path, *, dimensions: int) -> Pixels:
    """The array of bytes in an idx file, gzipped or not, of a known number of dimensions."""
    data = content(path)
    magic = bytes([0, 0, 8, dimensions])  # 8: unsigned bytes
    if data[:4] != magic:
        raise DamagedDataError(
            f"{path} begins with {data[:4].hex() or 'nothing'} and an idx file of {dimensions} "
            f"dimension{'s' if dimensions > 1 else ''} of bytes with {magic.hex()}; it is another kind of file."
        )
    begin = 4 + 4 * dimensions
    shape = [int.from_bytes(data[at : at + 4], "big") for at in range(4, begin, 4)]
    if len(data) != begin + math.prod(shape):
        raise DamagedDataError(
            f"{path} should have {' x '.join(map(str, shape))} bytes and has {max(len(data) - begin, 0):,}; "
            "it is cut short or damaged."
        )
    return np.frombuffer(data, dtype=np.uint8, offset=begin).reshape(shape)
