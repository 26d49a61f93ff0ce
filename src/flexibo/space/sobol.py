"""Scrambled Sobol sequences without `scipy.stats`, which takes most of a second to import.

Sobol: On the distribution of points in a cube and the approximate evaluation of integrals. USSR Computational
Mathematics and Mathematical Physics 7, 1967. Direction numbers: Joe and Kuo, Constructing Sobol sequences with better
two-dimensional projections. SIAM Journal on Scientific Computing 30, 2008. Recurrence, and order of Gray codes: Bratley
and Fox, Algorithm 659. ACM Transactions on Mathematical Software 14, 1988. Linear matrix scramble and digital shift:
Matousek, On the L2-discrepancy for anchored boxes. Journal of Complexity 14, 1998.

The elements equal those of `scipy.stats.qmc.Sobol`, bit for bit. The direction numbers are read from scipy's file of
them; where scipy has no such file, scipy makes the sequence.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt

from flexibo._internal.arrays import FloatArray

BITS = 30  # of a coordinate
NUMBERS = "stats/_sobol_direction_numbers.npz"  # in the folder of scipy
POWERS = np.uint32(1) << np.arange(BITS, dtype=np.uint32)

Integers = npt.NDArray[np.uint32]


def sobol(d: int, block: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """The elements in [0, 1)^d of a scrambled sequence until its end, in blocks (block, d); `block` is a power of two.

    >>> next(sobol(2, 4, np.random.default_rng(0))).round(2).tolist()
    [[0.41, 0.96], [0.72, 0.11], [0.9, 0.53], [0.22, 0.41]]
    """
    directions = _directions(d)
    return _blocks_of_scipy(d, block, rng) if directions is None else _blocks(directions, block, rng.spawn(1)[0])


def _blocks(directions: Integers, block: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """The sequence of direction numbers (d, BITS), scrambled."""
    d = len(directions)
    shift = rng.integers(2, size=(d, BITS), dtype=np.uint32) @ POWERS
    matrices = np.tril(rng.integers(2, size=(d, BITS, BITS), dtype=np.uint32), -1) + np.eye(BITS, dtype=np.uint32)
    bits = directions[:, :, None] // POWERS[::-1] % 2  # the highest first, as in the rows of a matrix
    scrambled = (bits @ matrices.transpose(0, 2, 1) % 2) @ POWERS[::-1]
    for start in range(0, 1 << BITS, block):
        numbers = np.arange(start, start + block, dtype=np.uint32)
        in_gray_code = (numbers ^ numbers >> np.uint32(1))[:, None] & POWERS > 0
        chosen = np.where(in_gray_code[:, None], scrambled, np.uint32(0))
        yield (np.bitwise_xor.reduce(chosen, axis=2) ^ shift) / (1 << BITS)


def _blocks_of_scipy(d: int, block: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """The same sequence, as scipy makes it."""
    from scipy.stats.qmc import Sobol

    engine = Sobol(d, bits=BITS, scramble=True, seed=rng)
    for _ in range(0, 1 << BITS, block):
        yield engine.random(block)


@cache
def _directions(d: int) -> Integers | None:
    """The direction numbers (d, BITS) of d dimensions; None if scipy has no file with as many."""
    spec = find_spec("scipy")
    path = Path(spec.origin or "").parent / NUMBERS if spec else Path()
    if not path.is_file():
        return None
    with np.load(path) as file:
        polynomials, initial = file["poly"][:d].tolist(), file["vinit"][:d].tolist()
    if len(polynomials) < d:
        return None
    rows = [[1] * BITS]
    for polynomial, row in zip(polynomials[1:], initial[1:], strict=True):
        degree = polynomial.bit_length() - 1
        numbers = row[:degree]
        for position in range(degree, BITS):
            number = numbers[position - degree]
            for back in range(1, degree + 1):
                if polynomial >> (degree - back) & 1:
                    number ^= numbers[position - back] << back
            numbers.append(number)
        rows.append(numbers)
    directions: Integers = np.array(rows, dtype=np.uint32) * POWERS[::-1]
    return directions
