"""Keys: one 64-bit number per design, equal when designs agree in the chosen options.

Each column of codes is salted by the name of its option and mixed with the finaliser of splitmix64 (Steele, Lea and
Flood 2014, "Fast splittable pseudorandom number generators"), and the mixed columns are added. Keys therefore do not
depend on the order in which the options are named, nor on the process or machine that computes them. Designs that
differ share a key with a probability of 2**-64.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from flexibo.arrays import FloatArray, KeyArray


def keys_of(names: Sequence[str], columns: Sequence[FloatArray], m: int) -> KeyArray:
    """The keys (m,) of m designs, given a column of codes (m,) for each named option.

    >>> first, second = keys_of(["cores"], [np.array([1.0, 2.0])], 2)
    >>> bool(first == second)
    False
    """
    keys = np.zeros(m, dtype=np.uint64)
    for name, column in zip(names, columns, strict=True):
        codes = column + 0.0  # makes -0.0 and 0.0 one number
        codes[np.isnan(codes)] = np.nan  # and every NaN one pattern of bits
        keys += _mixed(codes.view(np.uint64) ^ _salt(name))
    return keys


def _salt(name: str) -> KeyArray:
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return np.array(int.from_bytes(digest, "little"), dtype=np.uint64)


def _mixed(bits: KeyArray) -> KeyArray:
    bits ^= bits >> np.uint64(30)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return bits
