"""Random damages to a file, as broken disks, memory and programs cause them."""

from __future__ import annotations

import random
from collections.abc import Callable

PAGE = 4096


def flipped(data: bytearray, chance: random.Random) -> None:
    """One bit is another."""
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def overwritten(data: bytearray, chance: random.Random) -> None:
    """Some bytes are others."""
    length = chance.choice([1, 2, 8, 64, 512])
    at = chance.randrange(len(data) - length)
    data[at : at + length] = chance.randbytes(length)


def digit_changed(data: bytearray, chance: random.Random) -> None:
    """A digit is another: the file is perfect but for a number."""
    digits = [i for i in range(PAGE, len(data)) if 0x30 <= data[i] <= 0x39]
    at = chance.choice(digits)
    data[at] = chance.choice([byte for byte in range(0x30, 0x3A) if byte != data[at]])


def zeroed(data: bytearray, chance: random.Random) -> None:
    """A page was never written."""
    at = PAGE * chance.randrange(len(data) // PAGE)
    data[at : at + PAGE] = bytes(PAGE)


def swapped(data: bytearray, chance: random.Random) -> None:
    """A page was written to the place of another."""
    first, second = (PAGE * chance.randrange(len(data) // PAGE) for _ in range(2))
    data[first : first + PAGE] = data[second : second + PAGE]


def cut(data: bytearray, chance: random.Random) -> None:
    """The end is missing."""
    del data[chance.randrange(1, len(data)) :]


DAMAGES: tuple[Callable[[bytearray, random.Random], None], ...] = (
    flipped,
    overwritten,
    digit_changed,
    zeroed,
    swapped,
    cut,
)


def damaged(data: bytes, seed: int) -> tuple[str, bytes]:
    """A damaged copy of the bytes of a file, and what was done to it."""
    chance = random.Random(seed)
    damage, copy = DAMAGES[seed % len(DAMAGES)], bytearray(data)
    damage(copy, chance)
    return damage.__name__, bytes(copy)
