"""Libraries that draw from global generators, with a seed of their own and without a trace for others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


class GlobalRandomness:
    """The state of NumPy's and PyTorch's global generators as one library sees them; PyTorch's only if it is used."""

    def __init__(self, seed: int) -> None:
        self._seed = seed % 2**32
        self._numpy: Any = np.random.RandomState(self._seed).get_state()
        self._torch: Any = None

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """A context in which the library draws; the generators are then as they were before it."""
        torch: Any = sys.modules.get("torch")
        before = np.random.get_state(), None if torch is None else torch.get_rng_state()  # noqa: NPY002
        np.random.set_state(self._numpy)  # noqa: NPY002
        if torch is not None:
            if self._torch is None:
                torch.manual_seed(self._seed)
            else:
                torch.set_rng_state(self._torch)
        try:
            yield
        finally:
            self._numpy = np.random.get_state()  # noqa: NPY002
            np.random.set_state(before[0])  # noqa: NPY002
            if torch is not None:
                self._torch = torch.get_rng_state()
                torch.set_rng_state(before[1])
