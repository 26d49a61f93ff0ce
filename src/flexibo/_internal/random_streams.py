"""The random streams of a study: one seed, and a number for each purpose, so that draws do not disturb each other.

The numbers decide which designs a seed stands for. They never change.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """What random numbers are drawn for."""

    INITIAL_DESIGNS = 0
    SURROGATES = 1
    QUESTIONS = 2
    EVOLUTION = 3
    SOBOL = 4
    FIXED_CANDIDATES = 5
    REPLACEMENTS = 6
    COSTS = 7


def entropy(seed: int, stream: Stream, *more: int) -> tuple[int, ...]:
    """The entropy of a stream of this seed; further numbers, such as the index of a question, tell draws apart."""
    return (seed, int(stream), *more)


def generator(seed: int, stream: Stream, *more: int) -> np.random.Generator:
    """The generator of a stream of this seed."""
    return np.random.default_rng(entropy(seed, stream, *more))
