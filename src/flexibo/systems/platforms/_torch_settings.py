"""Settings of torch that hold for the whole process: set for a while, then put back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

BATCHES = (1, 4, 16, 64, 256)
LAYOUTS = ("contiguous", "channels_last")


def dtype_of(precision: str) -> Any:
    """The type that a network's numbers have.

    >>> str(dtype_of("tf32")), str(dtype_of("bf16"))
    ('torch.float32', 'torch.bfloat16')
    """
    import torch

    return {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision, torch.float32)


def adapted(inputs: tuple[Any, ...], precision: str, layout: str) -> tuple[Any, ...]:
    """Inputs in the precision and the memory layout of a deployment; whole numbers stay as they are."""
    import torch

    changed = []
    for tensor in inputs:
        if tensor.is_floating_point():
            tensor = tensor.to(dtype_of(precision))
        if layout == "channels_last" and tensor.dim() == 4:
            tensor = tensor.contiguous(memory_format=torch.channels_last)
        changed.append(tensor)
    return tuple(changed)


def placed(model: Any, device: str, precision: str, layout: str) -> Any:
    """A model on a device in the precision and the memory layout of a deployment, ready to run."""
    import torch

    model = model.to(device=device, dtype=dtype_of(precision)).eval()
    return model.to(memory_format=torch.channels_last) if layout == "channels_last" else model


@contextmanager
def threads(count: int) -> Iterator[None]:
    """So many threads inside an operation."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def tensor_float_32(allowed: bool) -> Iterator[None]:
    """Whether products of 32-bit numbers on a GPU may round their factors to 19 bits (TF32)."""
    import torch

    matmul, convolution = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, convolution.allow_tf32
    matmul.allow_tf32 = convolution.allow_tf32 = allowed
    try:
        yield
    finally:
        matmul.allow_tf32, convolution.allow_tf32 = before
