"""CIFAR-10: python batches (pickles, of which no code is run), binary batches, or JPEG bytes in one npz file."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path

import numpy as np

from flexibo._internal.arrays import AnyArray, BoolArray, IntArray
from flexibo._internal.safe_pickle import PickledArray, unpickled
from flexibo.errors import missing_extra
from flexibo.systems.data.base import DamagedDataError, Dataset, Images, Pixels
from flexibo.systems.data.files import MOST_BYTES, check_present, content, missing_clause
from flexibo.systems.data.subsets import chosen, dataset

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SIDE = 32
N_VALUES = 3 * SIDE * SIDE
BATCHES = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch")
JPEG_FILE = "cifar10_jpeg.npz"
_LAYOUTS = (("cifar-10-batches-py", ""), ("cifar-10-batches-bin", ".bin"))


def missing(folder: Path) -> str:
    """What is missing to load the images from a folder, as a clause; empty if nothing is."""
    if _batches(folder) or (folder / JPEG_FILE).is_file():
        return ""
    for subfolder, ending in _LAYOUTS:
        if (folder / subfolder).is_dir():
            absent = [name + ending for name in BATCHES if not (folder / subfolder / (name + ending)).is_file()]
            return missing_clause(absent, f" in {subfolder}")
    return f"cifar-10-batches-py/, cifar-10-batches-bin/ and {JPEG_FILE} are missing (one of them is enough)"


def load(folder: Path, *, limit: int | None = None, seed: int = 0) -> Dataset[Images]:
    """The images of a folder: from the batches if there are any, otherwise decoded from JPEG."""
    check_present("cifar-10", folder, missing(folder))
    batches = _batches(folder)
    if not batches:
        return _load_jpeg(folder / JPEG_FILE, limit, seed)
    read = _read_binary if batches[0].suffix == ".bin" else _read_python
    parts = [read(path) for path in batches]
    pixels, labels = (np.concatenate(values) for values in zip(*parts[:-1], strict=True))
    test_pixels, test_labels = parts[-1]
    rows, test_rows = chosen(labels, test_labels, limit, seed)
    train = Images(pixels[rows], labels[rows], CLASSES)
    return dataset("cifar-10", train, Images(test_pixels[test_rows], test_labels[test_rows], CLASSES))


def _batches(folder: Path) -> list[Path]:
    for subfolder, ending in _LAYOUTS:
        for place in (folder / subfolder, folder):
            paths = [place / (name + ending) for name in BATCHES]
            if all(path.is_file() for path in paths):
                return paths
    return []


def _checked(path: Path, pixels: AnyArray, labels: IntArray) -> tuple[Pixels, IntArray]:
    if pixels.dtype != np.uint8 or pixels.shape != (len(labels), N_VALUES) or not len(labels):
        raise DamagedDataError(
            f"{path} has pixels of shape {pixels.shape} and {len(labels):,} labels; it must have {N_VALUES:,} bytes "
            "of pixels for each label."
        )
    _check_labels(path, labels)
    return pixels.reshape(-1, 3, SIDE, SIDE), labels


def _check_labels(path: Path, labels: IntArray) -> None:
    if labels.min() < 0 or labels.max() >= len(CLASSES):
        wrong = labels.min() if labels.min() < 0 else labels.max()
        raise DamagedDataError(f"{path} has the label {wrong}; labels are from 0 to {len(CLASSES) - 1}.")


def _read_binary(path: Path) -> tuple[Pixels, IntArray]:
    data = content(path)
    if not data or len(data) % (1 + N_VALUES):
        raise DamagedDataError(
            f"{path} has {len(data):,} bytes, which is not a whole number of images of {1 + N_VALUES:,} bytes each; "
            "it is cut short."
        )
    table = np.frombuffer(data, dtype=np.uint8).reshape(-1, 1 + N_VALUES)
    return _checked(path, table[:, 1:], table[:, 0].astype(np.int64))


def _read_python(path: Path) -> tuple[Pixels, IntArray]:
    data = content(path)
    try:
        batch = unpickled(data, encoding="bytes")  # text of Python 2 comes as bytes
    except Exception as error:  # an untrusted file can be wrong in any way
        raise DamagedDataError(f"{path} is no pickle of plain numbers and text, or cut short: {error}.") from error
    items = batch.items() if isinstance(batch, dict) else ()
    found = {key.decode("latin1") if isinstance(key, bytes) else key: value for key, value in items}
    if not {"data", "labels"} <= found.keys():
        raise DamagedDataError(f"{path} is a pickle, but no batch of CIFAR-10: it has no data and labels.")
    array, labels = found["data"], found["labels"]
    pixels = array.values if isinstance(array, PickledArray) else None
    if pixels is None or not isinstance(labels, list) or {type(one) for one in labels} != {int}:
        raise DamagedDataError(f"{path} must have an array of pixels and a list of whole numbers as labels.")
    if min(labels) < 0 or max(labels) >= len(CLASSES):
        raise DamagedDataError(
            f"{path} has labels from {min(labels)} to {max(labels)}; they are from 0 to {len(CLASSES) - 1}."
        )
    return _checked(path, pixels, np.array(labels, dtype=np.int64))


def _load_jpeg(path: Path, limit: int | None, seed: int) -> Dataset[Images]:
    jpeg, offset, labels, is_test = _jpeg_arrays(path)
    train, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
    rows, test_rows = chosen(labels[train], labels[test], limit, seed)
    train, test = train[rows], test[test_rows]
    part, held_out = (Images(_decoded(path, jpeg, offset, at), labels[at], CLASSES) for at in (train, test))
    return dataset("cifar-10", part, held_out, "The images are CIFAR-10's after lossy JPEG compression.")


def _jpeg_arrays(path: Path) -> tuple[Pixels, IntArray, IntArray, BoolArray]:
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(info.file_size for info in archive.infolist())
        if size > MOST_BYTES:
            raise DamagedDataError(f"{path} claims to unpack to {size:,} bytes; all of CIFAR-10 has fewer.")
        with np.load(path, allow_pickle=False) as arrays:
            jpeg, offset, label, is_test, classes = (
                arrays[key] for key in ("jpeg", "offset", "label", "is_test", "classes")
            )
    except KeyError as error:
        raise DamagedDataError(f"{path} lacks an array: {error.args[0]}.") from error
    except DamagedDataError:
        raise
    except (ValueError, OSError, EOFError, MemoryError, zlib.error, zipfile.BadZipFile, NotImplementedError) as error:
        raise DamagedDataError(
            f"{path} is no npz file of plain arrays, or it is cut short or damaged: {error}."
        ) from error
    m = len(np.atleast_1d(label))
    if (jpeg.dtype, is_test.dtype) != (np.uint8, np.bool_) or {offset.dtype.kind, label.dtype.kind} - {"i", "u"}:
        raise DamagedDataError(f"{path} must have jpeg as bytes, is_test as booleans, offset and label as integers.")
    if jpeg.ndim != 1 or offset.shape != (m + 1,) or label.shape != (m,) or is_test.shape != (m,):
        raise DamagedDataError(
            f"{path} has {m:,} labels, {is_test.size:,} marks and {offset.size:,} offsets; there must be as "
            "many marks as labels and one offset more."
        )
    places, labels = offset.astype(np.int64), label.astype(np.int64)
    if places[0] < 0 or places[-1] > len(jpeg) or np.any(np.diff(places) < 0):
        raise DamagedDataError(f"{path} has offsets that do not ascend from 0 to its {len(jpeg):,} bytes.")
    if tuple(map(str, np.atleast_1d(classes))) != CLASSES:
        raise DamagedDataError(f"{path} has other classes than CIFAR-10, which has {', '.join(CLASSES)}.")
    if not is_test.any() or is_test.all():
        raise DamagedDataError(f"{path} must have training and test images.")
    _check_labels(path, labels)
    return jpeg, places, labels, is_test


def _decoded(path: Path, jpeg: Pixels, offset: IntArray, rows: IntArray) -> Pixels:
    """The pixels (m, 3, 32, 32) of some of the JPEG images."""
    try:
        from PIL import Image
    except ImportError:
        raise missing_extra("Pillow", "dnn") from None
    pixels = np.empty((len(rows), SIDE, SIDE, 3), dtype=np.uint8)
    for place, row in enumerate(rows):
        data = jpeg[offset[row] : offset[row + 1]].tobytes()
        try:
            with Image.open(io.BytesIO(data), formats=("JPEG",)) as image:
                if image.size != (SIDE, SIDE):
                    raise DamagedDataError(
                        f"Image {row} in {path} is {image.size[0]} x {image.size[1]} pixels, not 32."
                    )
                pixels[place] = np.asarray(image if image.mode == "RGB" else image.convert("RGB"))
        except (OSError, SyntaxError, ValueError) as error:
            if isinstance(error, DamagedDataError):
                raise
            raise DamagedDataError(f"Image {row} in {path} cannot be decoded as JPEG; fetch the file again.") from error
    return np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))
