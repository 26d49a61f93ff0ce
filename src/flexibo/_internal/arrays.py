"""Array types for annotations, and the conversion of numpy scalars to Python's."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
KeyArray = npt.NDArray[np.uint64]
AnyArray = npt.NDArray[Any]


def plain(value: object) -> Any:
    """A numpy scalar as a Python scalar; anything else unchanged.

    >>> plain(np.int64(3))
    3
    """
    return value.item() if isinstance(value, np.generic) else value
