"""Errors of work that needs more memory than a device has, or that makes a GPU fail.

After running out of memory, the process can continue. After a failure of the GPU (an illegal address, a kernel that
never ends) the process cannot use it any more: the evaluation fails, the next one stops the study, and the same command
resumes it in a new process.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TypeVar

import torch

from flexibo.errors import DesignError, FlexiBOError, MachineError

Result = TypeVar("Result")


class OutOfMemoryError(DesignError, MemoryError):
    """A design needs more memory than the device has; the memory is free again."""


class BrokenGpuError(FlexiBOError):
    """A GPU failed during an evaluation; this process cannot use it any more."""


_failures: list[str] = []  # why the GPU of this process has failed; empty while it works


def within_memory(work: Callable[[], Result], what: str) -> Result:
    """The result of `work`, or one of the errors above; `what` describes it, as in "to train lenet on cuda:0"."""
    if _failures:
        raise MachineError(
            f"The GPU has failed in this process ({_failures[0]}), which cannot use it any more; "
            "run the same command again to resume the study."
        )
    try:
        return work()
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, FlexiBOError):
            raise
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else "no reason given"
        if _is_broken_gpu(error):
            _failures.append(reason)
            raise BrokenGpuError(f"The GPU failed when it was {what} ({reason}).") from None
        if not _is_out_of_memory(error):
            raise
    # Only after the handler are the error and the frames that hold the tensors gone.
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    raise OutOfMemoryError(f"There is not enough memory {what} ({reason}); choose a smaller design or a smaller batch.")


def _is_broken_gpu(error: BaseException) -> bool:
    kind = getattr(torch, "AcceleratorError", None)  # torch 2.8 and later; before, a plain RuntimeError
    named = kind is not None and isinstance(error, kind)
    return not _is_out_of_memory(error) and (named or str(error).startswith("CUDA error"))


def _is_out_of_memory(error: BaseException) -> bool:
    # A CPU allocator that fails raises a plain RuntimeError.
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(error)
