"""Work that may need more memory than a device has: a sentence instead of a traceback, and the memory free again."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TypeVar

import torch

from flexibo.errors import DesignError, FlexiBOError

Result = TypeVar("Result")


class OutOfMemoryError(DesignError, MemoryError):
    """A design needs more memory than the device has; the memory is free again."""


def within_memory(work: Callable[[], Result], what: str) -> Result:
    """What `work` returns.

    Args:
        work: What needs memory.
        what: Its name in the error, as in "to train lenet on cuda:0".

    Raises:
        OutOfMemoryError: The memory does not suffice.
    """
    try:
        return work()
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, FlexiBOError) or not _is_out_of_memory(error):
            raise
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else "no more is said"
    # Only here, behind the handler, are the error and the frames gone that hold the tensors.
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    raise OutOfMemoryError(
        f"The memory does not suffice {what} ({reason}); choose a smaller design or a smaller batch."
    )


def _is_out_of_memory(error: BaseException) -> bool:
    # A CPU allocator that fails raises a plain RuntimeError.
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(error)
