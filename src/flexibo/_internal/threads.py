"""One BLAS thread while the optimizer computes.

Its matrices are small: more threads gain little on an idle machine and cost a lot on a busy one, where they spin while
they wait for each other. They also change the rounding, so the same history could lead to another question.
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
    """A context in which BLAS uses one thread; its end restores the previous number."""
    context: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return context
