"""CIFAR-10: the published python and binary batches, and the same images as JPEG bytes in one npz file.

The python batches are pickles, which are programs. Here none is run: its steps are listed, and those that these files
consist of (dictionaries, lists, numbers, text and one array of bytes) are carried out; any other step is refused.
"""

from __future__ import annotations

import io
import math
import pickletools
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flexibo._internal.arrays import AnyArray, BoolArray, IntArray
from flexibo.errors import missing_extra
from flexibo.systems.data.base import DamagedDataError, Dataset, Images, MissingDataError, Pixels
from flexibo.systems.data.files import MOST_BYTES, content
from flexibo.systems.data.subsets import chosen, fingerprint

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SIDE = 32
N_VALUES = 3 * SIDE * SIDE
BATCHES = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch")
JPEG_FILE = "cifar10_jpeg.npz"
_LAYOUTS = (("cifar-10-batches-py", ""), ("cifar-10-batches-bin", ".bin"))


def missing(folder: Path) -> str:
    """What is missing in a folder to load the images from there, as a clause; empty if nothing is."""
    if _batches(folder) or (folder / JPEG_FILE).is_file():
        return ""
    for subfolder, ending in _LAYOUTS:
        if (folder / subfolder).is_dir():
            absent = [name + ending for name in BATCHES if not (folder / subfolder / (name + ending)).is_file()]
            return f"{', '.join(absent)} {'is' if len(absent) == 1 else 'are'} missing in {subfolder}"
    return f"cifar-10-batches-py/, cifar-10-batches-bin/ and {JPEG_FILE} are missing (one of them is enough)"


def load(folder: Path, *, limit: int | None = None, seed: int = 0) -> Dataset[Images]:
    """The images of a folder: from the batches where there are some, else decoded from JPEG.

    Args:
        folder: Where the batches, their folder, or the npz file is.
        limit: At most so many training images, with all classes in proportion.
        seed: Chooses them.
    """
    if lack := missing(folder):
        raise MissingDataError(f"cifar-10 cannot be loaded from {folder}: {lack}.")
    batches = _batches(folder)
    if not batches:
        return _load_jpeg(folder / JPEG_FILE, limit, seed)
    read = _read_binary if batches[0].suffix == ".bin" else _read_python
    parts = [read(path) for path in batches]
    pixels, labels = np.concatenate([part[0] for part in parts[:-1]]), np.concatenate([part[1] for part in parts[:-1]])
    test_pixels, test_labels = parts[-1]
    rows, test_rows = chosen(labels, test_labels, limit, seed)
    return _dataset(pixels[rows], labels[rows], test_pixels[test_rows], test_labels[test_rows], "")


def _dataset(
    pixels: Pixels, labels: IntArray, test_pixels: Pixels, test_labels: IntArray, note: str
) -> Dataset[Images]:
    train, test = Images(pixels, labels, CLASSES), Images(test_pixels, test_labels, CLASSES)
    return Dataset("cifar-10", train, test, fingerprint(train, test), note)


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
    batch = read_plain_pickle(path)
    if not isinstance(batch, dict) or not {b"data", b"labels"} <= batch.keys():
        raise DamagedDataError(f"{path} is a pickle, but no batch of CIFAR-10: it has no data and labels.")
    pixels, labels = batch[b"data"], batch[b"labels"]
    if not isinstance(pixels, np.ndarray) or not isinstance(labels, list) or {type(one) for one in labels} != {int}:
        raise DamagedDataError(f"{path} must have an array of pixels and a list of whole numbers as labels.")
    if min(labels) < 0 or max(labels) >= len(CLASSES):
        raise DamagedDataError(
            f"{path} has labels from {min(labels)} to {max(labels)}; they are from 0 to {len(CLASSES) - 1}."
        )
    return _checked(path, pixels, np.array(labels, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class _Name:
    """A function or class that a pickle names; nothing is looked up."""

    name: str


@dataclass(slots=True)
class _Made:
    """What a pickle made by calling a named function; an array or its kind is complete when its state is known."""

    maker: str
    arguments: tuple[Any, ...]


_MARK = object()
_ARRAYS = ("numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct")
_KIND = "numpy dtype"


def read_plain_pickle(path: Path) -> Any:
    """What a pickle of protocol 3 or lower holds, if that is containers, numbers, text and arrays of bytes only.

    Text of Python 2 comes as bytes.
    """
    data = content(path)
    stack: list[Any] = []
    memo: dict[Any, Any] = {}
    try:
        for step, argument, _ in pickletools.genops(io.BytesIO(data)):
            if step.name in _PUSHED:
                stack.append(_PUSHED[step.name](argument))
            elif step.name in _STEPS:
                _STEPS[step.name](stack)
            elif step.name in ("BINPUT", "LONG_BINPUT"):
                memo[argument] = stack[-1]
            elif step.name in ("BINGET", "LONG_BINGET"):
                stack.append(memo[argument])
            elif step.name == "STOP":
                return stack.pop()
            elif step.name != "PROTO":
                raise ValueError(f"it has the step {step.name}")
        raise ValueError("it has no end")
    # A stranger's file can be wrong in any way, and each of them means the same.
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise DamagedDataError(f"{path} is no pickle of plain numbers and text, or cut short: {error}.") from error


def _since_mark(stack: list[Any]) -> list[Any]:
    at = next((place for place in range(len(stack) - 1, -1, -1) if stack[place] is _MARK), None)
    if at is None:
        raise ValueError("it has an end without a beginning")
    items = stack[at + 1 :]
    del stack[at:]
    return items


def _tuple_of(n: int) -> Callable[[list[Any]], None]:
    def step(stack: list[Any]) -> None:
        stack[-n:] = [tuple(stack[-n:])]

    return step


def _marked_tuple(stack: list[Any]) -> None:
    stack.append(tuple(_since_mark(stack)))


def _append(stack: list[Any]) -> None:
    item = stack.pop()
    _plain(stack[-1], list).append(item)


def _appends(stack: list[Any]) -> None:
    items = _since_mark(stack)
    _plain(stack[-1], list).extend(items)


def _set_item(stack: list[Any]) -> None:
    stack[-2:] = [_MARK, *stack[-2:]]
    _set_items(stack)


def _set_items(stack: list[Any]) -> None:
    items = _since_mark(stack)
    for key, value in zip(items[::2], items[1::2], strict=True):
        _plain(stack[-1], dict)[key.encode() if isinstance(key, str) else _plain(key, bytes)] = value


def _plain(item: Any, kind: type) -> Any:
    if type(item) is not kind:
        raise ValueError(f"it has a {type(item).__name__} where a {kind.__name__} belongs")
    return item


def _reduce(stack: list[Any]) -> None:
    arguments = _plain(stack.pop(), tuple)
    maker = _plain(stack.pop(), _Name).name
    if maker not in (*_ARRAYS, _KIND):
        raise ValueError(f"it calls {maker}")
    stack.append(_Made(maker, arguments))


def _build(stack: list[Any]) -> None:
    state = _plain(stack.pop(), tuple)
    made = _plain(stack.pop(), _Made)
    if made.maker == _KIND:
        if not isinstance(made.arguments[0], bytes | str) or made.arguments[0] not in (b"u1", "u1"):
            raise ValueError("it has an array that is not of bytes")
        stack.append(made)
        return
    _, shape, kind, columns_first, values = state
    if not isinstance(kind, _Made) or kind.maker != _KIND or columns_first or not isinstance(values, bytes):
        raise ValueError("it has an array that is not plain bytes, row by row")
    if any(type(size) is not int or size < 0 for size in shape) or math.prod(shape) != len(values):
        raise ValueError(f"it has an array whose {len(values):,} bytes do not fit its shape")
    stack.append(np.frombuffer(values, dtype=np.uint8).reshape(shape))


def _latin1(text: str) -> bytes:
    return text.encode("latin1")


def _itself(value: Any) -> Any:
    return value


_PUSHED: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("BININT", "BININT1", "BININT2", "INT", "BINUNICODE", "BINBYTES", "SHORT_BINBYTES"), _itself),
    **dict.fromkeys(("BINSTRING", "SHORT_BINSTRING"), _latin1),
    "GLOBAL": _Name,
    "MARK": lambda _: _MARK,
    "NONE": lambda _: None,
    "NEWFALSE": lambda _: False,
    "NEWTRUE": lambda _: True,
    "EMPTY_DICT": lambda _: {},
    "EMPTY_LIST": lambda _: [],
    "EMPTY_TUPLE": lambda _: (),
}
_STEPS: dict[str, Callable[[list[Any]], None]] = {
    "TUPLE": _marked_tuple,
    "TUPLE1": _tuple_of(1),
    "TUPLE2": _tuple_of(2),
    "TUPLE3": _tuple_of(3),
    "APPEND": _append,
    "APPENDS": _appends,
    "SETITEM": _set_item,
    "SETITEMS": _set_items,
    "REDUCE": _reduce,
    "BUILD": _build,
}


def _load_jpeg(path: Path, limit: int | None, seed: int) -> Dataset[Images]:
    jpeg, offset, labels, is_test = _jpeg_arrays(path)
    train, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
    rows, test_rows = chosen(labels[train], labels[test], limit, seed)
    train, test = train[rows], test[test_rows]
    pixels, test_pixels = (_decoded(path, jpeg, offset, part) for part in (train, test))
    note = "The images are CIFAR-10's after lossy JPEG compression."
    return _dataset(pixels, labels[train], test_pixels, labels[test], note)


def _jpeg_arrays(path: Path) -> tuple[Pixels, IntArray, IntArray, BoolArray]:
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(info.file_size for info in archive.infolist())
        if size > MOST_BYTES:
            raise DamagedDataError(f"{path} says that it unpacks to {size:,} bytes; the whole of CIFAR-10 has fewer.")
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
        raise DamagedDataError(f"{path} must have jpeg as bytes, is_test as truths, offset and label as whole numbers.")
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
