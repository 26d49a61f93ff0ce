"""What fits of large data found, kept from one process to the next.

A search for hyperparameters takes seconds, and a process that asks one question would repeat that of the process before
it. So results are remembered by a digest of all that they depend on: what is recalled is what would be computed again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from flexibo._internal.arrays import FloatArray

MOST_FITS = 200  # the most results that are kept, the latest ones
MOST_BYTES = 4_000_000  # of what was stored; more is not read
MOST_NUMBERS = 10_000  # of one result
LEAST_ROWS = 50  # smaller fits take little time
WORTH_STORING = 300  # a fit to this many rows is stored, and the smaller ones with it


class FitMemory:
    """Results by the digest of what they depend on."""

    def __init__(self) -> None:
        self.changed = False
        self._found: dict[str, list[float]] = {}
        self._load: Callable[[], bytes | None] | None = None

    def begin_with(self, load: Callable[[], bytes | None]) -> None:
        """Recall what `load` returns, which `packed` wrote; it is called when it is first needed."""
        self._load = load

    def recalled(
        self, key: str, compute: Callable[[], FloatArray], is_usable: Callable[[FloatArray], bool], *, rows: int
    ) -> FloatArray:
        """What was found before, if it is usable, or what `compute` returns."""
        if self._load is not None:
            load, self._load = self._load, None
            self._found |= _unpacked(load())
        if key in self._found:
            known = np.array(self._found.pop(key))
            if is_usable(known):
                self._found[key] = known.tolist()  # now the latest one
                return known
        result = compute()
        self._found[key] = result.tolist()
        while len(self._found) > MOST_FITS:
            del self._found[next(iter(self._found))]
        self.changed = self.changed or rows >= WORTH_STORING
        return result

    def packed(self) -> bytes:
        """All results, as JSON."""
        return json.dumps(self._found, allow_nan=False).encode()


def recalled(
    parts: tuple[object, ...], compute: Callable[[], FloatArray], *, rows: int, is_usable: Callable[[FloatArray], bool]
) -> FloatArray:
    """What was found before for the same parts, in a fit to this many rows, or what `compute` returns."""
    memory = _memory.get()
    if memory is None or rows < LEAST_ROWS:
        return compute()
    return memory.recalled(_digest(parts), compute, is_usable, rows=rows)


@contextmanager
def remembering(memory: FitMemory | None) -> Iterator[None]:
    """Fits use this memory."""
    token = _memory.set(memory)
    try:
        yield
    finally:
        _memory.reset(token)


def _digest(parts: tuple[object, ...]) -> str:
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        content = part.tobytes() if isinstance(part, np.ndarray) else b""
        head = f"{part.shape} {part.dtype}" if isinstance(part, np.ndarray) else repr(part)
        found.update(f"{len(head)} {head} {len(content)} ".encode() + content)
    return found.hexdigest()


def _unpacked(content: bytes | None) -> dict[str, list[float]]:
    """The results that `packed` wrote; those that are not finite numbers are left out."""
    if content is None or len(content) > MOST_BYTES:
        return {}
    try:
        stored = json.loads(content)
        return {str(key): numbers for key, numbers in stored.items() if _are_numbers(numbers)}
    except (ValueError, AttributeError, RecursionError):
        return {}


def _are_numbers(numbers: object) -> bool:
    if not isinstance(numbers, list) or len(numbers) > MOST_NUMBERS:
        return False
    return all(isinstance(n, int | float) and abs(n) < 1e300 for n in numbers)


_memory: ContextVar[FitMemory | None] = ContextVar("fit_memory", default=None)
