"""A scrambled Sobol sequence: designs that fill the space evenly, whatever was measured.

Sobol: On the distribution of points in a cube and the approximate evaluation of integrals. USSR Computational
Mathematics and Mathematical Physics 7, 1967. How the sequence is made is in `flexibo.space.sobol`, how its elements
become designs in `flexibo.space.filling`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from flexibo._internal.random_streams import Stream, generator
from flexibo.history import History
from flexibo.methods.base import Constraints, ProposingMethod
from flexibo.methods.legal_designs import askable
from flexibo.space import Design, Space
from flexibo.space.filling import filling


class SobolSequence:
    """The Sobol sequence as a proposal; one object serves any number of studies."""

    finished = "Every design of the space has been measured or is being measured."

    def __init__(self) -> None:
        self._sequences: WeakKeyDictionary[History, _Sequence] = WeakKeyDictionary()

    def __call__(self, history: History, initial: Sequence[Design], seed: int) -> Iterator[Design]:
        """The designs of the sequence of this seed that are left to measure; the initial designs do not matter."""
        sequence = self._sequences.get(history)
        if sequence is None or sequence.seed != seed:
            sequence = _Sequence(history.space, seed)
        start = 0
        while True:
            designs = sequence.designs[start:]
            yield from designs[askable(history, designs)]
            start += len(designs)
            # Kept only when complete: an interrupt may leave half a block behind.
            self._sequences.pop(history, None)
            more = sequence.extend()
            self._sequences[history] = sequence
            if not more:
                return


class _Sequence:
    """The designs of one space and seed, made block by block."""

    def __init__(self, space: Space, seed: int) -> None:
        self.seed = seed
        self.designs = space.from_codes(np.empty((0, len(space.names))))
        rng = generator(seed, Stream.SOBOL)
        self._rest = filling(space, rng)

    def extend(self) -> bool:
        """Add a block; False if there is none."""
        block = next(self._rest, None)
        if block is None:
            return False
        self.designs += block
        return True


SOBOL = ProposingMethod(
    name="sobol",
    summary="A quasi-random sequence that fills the space evenly: a second baseline.",
    paper="Sobol 1967",
    proposal=SobolSequence,
    constraints=Constraints.IGNORED,
)
