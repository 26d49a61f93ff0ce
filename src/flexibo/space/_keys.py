"""Keys: one 64-bit number per design, equal when designs agree in the chosen options.

Each column of codes is salted by the name of its option and mixed with the finaliser of splitmix64 (Steele, Lea and
Flood 2014, "Fast splittable pseudorandom number generators"), and the mixed columns are added. Keys therefore do not
depend on the order in which the options are named, nor on the process or machine that computes them. Designs that
differ share a key with a probability of 2**-64.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache

import numpy as np

from flexibo._internal.arrays import FloatArray, KeyArray

# Keys are made a block at a time, so that those of many designs need little memory.
BLOCK = 4096


def keys_of(names: Sequence[str], codes: FloatArray) -> KeyArray:
    """The keys (m,) of m designs, given their codes (m, k), one column for each named option.

    >>> first, second = keys_of(["cores"], np.array([[1.0], [2.0]]))
    >>> bool(first == second)
    False
    """
    salts = np.array([_salt(name) for name in names], dtype=np.uint64)
    blocks = [_sums(codes[start : start + BLOCK], salts) for start in range(0, len(codes), BLOCK)]
    return np.concatenate(blocks) if blocks else np.zeros(0, dtype=np.uint64)


def _sums(codes: FloatArray, salts: KeyArray) -> KeyArray:
    numbers = codes + 0.0  # makes -0.0 and 0.0 one number
    numbers[np.isnan(numbers)] = np.nan  # and every NaN one pattern of bits
    return np.asarray(_mixed(numbers.view(np.uint64) ^ salts).sum(axis=1, dtype=np.uint64))


@cache
def _salt(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def _mixed(bits: KeyArray) -> KeyArray:
    bits ^= bits >> np.uint64(30)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return bits
