"""One BLAS thread while the optimiser thinks.

Its matrices are small: more threads gain little on an idle machine, cost a lot on a busy one (they wait for each other
in loops), and change the rounding, so that the same history could lead to another question elsewhere.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import scipy.linalg  # noqa: F401  # loads the libraries that the controller has to find
from threadpoolctl import ThreadpoolController


@cache
def _controller() -> Any:
    return ThreadpoolController()


def single_thread() -> AbstractContextManager[Any]:
    """A context in which BLAS uses one thread; the former number is restored after it."""
    context: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return context
