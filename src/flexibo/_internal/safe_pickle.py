"""Reads untrusted pickles: plain containers, numbers, text and arrays; everything else is refused.

A pickle is a program. Python's own unpickler, the one written in Python, runs here with a short table of names, and
with our functions in place of numpy's: numpy trusts what a pickle says about memory, so no array is created before its
kind, shape and number of bytes have been checked.
"""

from __future__ import annotations

import bz2
import io
import math
import pickle
import re
import reprlib
import sys
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexibo.errors import InvalidValueError

SIZES = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "S": range(1, 10_000), "U": range(1, 10_000)}
"""The legal kinds of numbers and text in arrays, by numpy's letters, and their sizes."""

LARGEST_TUPLE = 10_000
"""The maximal number of parts of a tuple and its nested tuples: hashing deep ones exhausts Python's stack."""

MOST_DIMENSIONS = 32


def _refused(reason: str) -> pickle.UnpicklingError:
    return pickle.UnpicklingError(reason)


def _text(value: object) -> object:
    """Text of Python 2, which may come as bytes, as text."""
    return value.decode("latin1") if isinstance(value, bytes) else value


class _Kind:
    """A dtype of numpy in a pickle: a letter, a size, and the byte order, which comes later."""

    __slots__ = ("letter", "order", "size")

    def __init__(self, name: object, align: object = False, copy: object = True) -> None:
        name = _text(name)
        found = re.fullmatch(r"([biufSU])([1-9][0-9]{0,4})", name) if isinstance(name, str) else None
        if found is None or int(found[2]) not in SIZES[found[1]]:
            raise _refused(f"it has an array of kind {reprlib.repr(name)}")
        self.letter, self.size, self.order = found[1], int(found[2]), "="

    @property
    def n_bytes(self) -> int:
        """The bytes of one number or text."""
        return self.size * (4 if self.letter == "U" else 1)

    def build(self, state: object) -> None:
        """Set the byte order; everything else must be as for plain numbers and text."""
        if not isinstance(state, tuple) or len(state) != 8 or state[0] != 3:
            raise _refused("it has an array of an unknown kind")
        order = _text(state[1])
        if not isinstance(order, str) or order not in ("<", ">", "|", "="):
            raise _refused("it has an array of an unknown kind")
        if state[2:5] != (None, None, None) or state[5] not in (-1, self.n_bytes):
            raise _refused("it has an array of records")
        self.order = order


class PickledArray:
    """An array in a pickle; it can be indexed and converted to an array of numpy.

    Attributes:
        values: The array.
    """

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: NDArray[Any] = np.empty(0)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: Any) -> Any:
        return self.values[place]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype)

    def __float__(self) -> float:
        return float(self.values)

    def build(self, state: object) -> None:
        """Set the values from version, shape, kind, whether columns come first, and content."""
        if not isinstance(state, tuple) or len(state) != 5:
            raise _refused("it has an array of an unknown kind")
        _, shape, kind, columns_first, content = state
        self.values = _checked(kind, shape, "F" if columns_first else "C", content)


def _checked(kind: object, shape: object, order: object, content: object) -> NDArray[Any]:
    """The array of these bytes, if they fit the kind and the shape."""
    if not isinstance(kind, _Kind) or not isinstance(content, bytes | bytearray) or order not in ("C", "F"):
        raise _refused("it has an array that is not plain numbers or text")
    if not isinstance(shape, tuple) or len(shape) > MOST_DIMENSIONS:
        raise _refused("it has an array without a shape")
    if not all(type(size) is int and 0 <= size < 2**48 for size in shape):
        raise _refused(f"it has an array of shape {reprlib.repr(shape)}")
    if math.prod(shape) * kind.n_bytes != len(content):
        raise _refused(f"it has an array of shape {reprlib.repr(shape)} with {len(content):,} bytes")
    if kind.letter == "U" and np.frombuffer(bytes(content), dtype=f"{kind.order}u4").max(initial=0) > sys.maxunicode:
        raise _refused("it has text with letters that do not exist")
    if kind.letter == "b" and content.strip(b"\x00\x01"):
        raise _refused("it has an array of truths that are neither 0 nor 1")
    flat = np.frombuffer(bytes(content), dtype=f"{kind.order}{kind.letter}{kind.size}")
    return flat.reshape(shape, order="F" if order == "F" else "C")


_NDARRAY = object()
"""Represents numpy's class in a pickle."""


def _reconstruct(wanted: object, shape: object, letter: object) -> PickledArray:
    """An array whose content comes later."""
    if wanted is not _NDARRAY:
        raise _refused("it has an array of an unknown class")
    return PickledArray()


def _frombuffer(content: object, kind: object, shape: object, order: object, axes: object = None) -> PickledArray:
    """An array with its content, as in newer pickles."""
    if axes is not None:
        raise _refused("it has an array in an unknown order")
    made = PickledArray()
    made.values = _checked(kind, shape, order, content)
    return made


def _scalar(kind: object, content: object = None) -> Any:
    """A single number or text, as Python's own."""
    return _checked(kind, (), "C", content).item()


def _latin1(text: object, encoding: object = "latin1") -> bytes:
    """Bytes that old pickles write as text."""
    if not isinstance(text, str) or encoding != "latin1":
        raise _refused(f"it has text in {reprlib.repr(encoding)}")
    return text.encode("latin1")


def _no_bytes() -> bytes:
    """Empty bytes, as in old pickles."""
    return b""


_MAKERS = {
    "multiarray.scalar": _scalar,
    "multiarray._reconstruct": _reconstruct,
    "numeric._frombuffer": _frombuffer,
}
HARMLESS: dict[str, object] = {
    "collections.OrderedDict": OrderedDict,
    "builtins.set": set,
    "__builtin__.set": set,
    "numpy.dtype": _Kind,
    "numpy.ndarray": _NDARRAY,
    "_codecs.encode": _latin1,
    "__builtin__.bytes": _no_bytes,
} | {f"numpy.{core}.{name}": maker for core in ("core", "_core") for name, maker in _MAKERS.items()}
"""All names that a pickle may use; numpy's private module has another name in each major version."""


class _HarmlessUnpickler(pickle._Unpickler):
    """Python's unpickler in Python: its steps can be replaced, and it allocates no memory for missing content."""

    def __init__(self, data: bytes, encoding: str) -> None:
        super().__init__(io.BytesIO(data), encoding=encoding)
        self.sizes: dict[int, int] = {}
        self.stack: list[Any]

    def find_class(self, module: str, name: str) -> Any:
        wanted = f"{module}.{name}"
        if wanted not in HARMLESS:
            raise _refused(f"it wants {wanted if len(wanted) < 80 and wanted.isprintable() else reprlib.repr(wanted)}")
        return HARMLESS[wanted]

    def build(self) -> None:
        """Set the state of the last object, if it is one of ours; other objects have none."""
        state = self.stack.pop()
        target = self.stack[-1]
        if type(target) in (_Kind, PickledArray):
            target.build(state)
        elif type(target) is not OrderedDict:
            raise _refused(f"it gives a state to a {type(target).__name__}")

    def byte_array(self) -> None:
        """Read a bytearray, without allocating more than there is."""
        n_bytes = int.from_bytes(self.read(8), "little")  # type: ignore[attr-defined]  # set by load()
        self.stack.append(bytearray(self.read(n_bytes)))  # type: ignore[attr-defined]  # likewise

    def limit_size(self) -> None:
        """Refuse a tuple with too many parts."""
        made = self.stack[-1]
        size = 1 + sum(self.sizes.get(id(part), 1) if type(part) is tuple else 1 for part in made)
        if size > LARGEST_TUPLE:
            raise _refused("it has tuples in tuples without end")
        self.sizes[id(made)] = size


def _then_size_limited(step: Callable[[Any], None]) -> Callable[[Any], None]:
    def both(unpickler: _HarmlessUnpickler) -> None:
        step(unpickler)
        unpickler.limit_size()

    return both


_STEPS: dict[int, Any] = {
    pickle.BUILD[0]: _HarmlessUnpickler.build,
    pickle.BYTEARRAY8[0]: _HarmlessUnpickler.byte_array,
} | {
    code[0]: _then_size_limited(pickle._Unpickler.dispatch[code[0]])
    for code in (pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3)
}
_HarmlessUnpickler.dispatch = pickle._Unpickler.dispatch | _STEPS


def unpickled(data: bytes, *, encoding: str = "ASCII") -> Any:
    """The content of a pickle of containers, numbers, text and arrays; a hostile one can raise any exception.

    Arrays are returned as `PickledArray`, numpy's scalars as Python's numbers.
    """
    return _HarmlessUnpickler(data, encoding).load()


def read_pickle(path: Path) -> Any:
    """The content of a pickle in a file, compressed (``.pbz2``) or not, as from `unpickled`."""
    try:
        data = path.read_bytes()
        return unpickled(bz2.decompress(data) if path.suffix == ".pbz2" else data)
    # A hostile file can make any step fail in any way.
    except Exception as e:
        raise InvalidValueError(f"{path} cannot be read as a pickle of plain numbers: {_reason(e)}.") from None


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, EOFError):
        return "it ends too early"
    if isinstance(error, MemoryError):
        return "it does not fit into memory"
    if isinstance(error, pickle.UnpicklingError):
        return str(error)
    return f"it is broken ({type(error).__name__})"
