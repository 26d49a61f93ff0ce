"""Models, inputs and process-wide settings of torch in the precision and layout of a deployment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

BATCHES = (1, 4, 16, 64, 256)
LAYOUTS = ("contiguous", "channels_last")


def dtype_of(precision: str) -> Any:
    """The torch type of a precision.

    >>> str(dtype_of("tf32")), str(dtype_of("bf16"))
    ('torch.float32', 'torch.bfloat16')
    """
    import torch

    return {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision, torch.float32)


def adapted(inputs: tuple[Any, ...], precision: str, layout: str) -> tuple[Any, ...]:
    """Inputs in the precision and the memory layout of a deployment; integers stay as they are."""
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
    """A model on a device, in evaluation mode, in the precision and the memory layout of a deployment."""
    import torch

    model = model.to(device=device, dtype=dtype_of(precision)).eval()
    return model.to(memory_format=torch.channels_last) if layout == "channels_last" else model


def deployed(model: Any, device: str, precision: str) -> Any:
    """A trained model that computes in the precision of a deployment, from inputs and to outputs of 32 bits.

    A processor has no tf32: it computes in fp32 there.
    """
    import torch

    class Deployed(torch.nn.Module):  # type: ignore[misc]  # torch may be missing
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, *inputs: Any) -> Any:
            kind = torch.device(device).type
            with torch.autocast(kind, enabled=False), tensor_float_32(precision == "tf32"):
                found = self.inner(*adapted(inputs, precision, "contiguous"))
            return tuple(map(_full, found)) if isinstance(found, tuple) else _full(found)

    return Deployed(placed(model, device, precision, "contiguous")).eval()


def _full(output: Any) -> Any:
    return output.float() if output.is_floating_point() else output


@contextmanager
def threads(count: int) -> Iterator[None]:
    """A context with this number of threads per operation."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def tensor_float_32(allowed: bool) -> Iterator[None]:
    """A context in which products of 32-bit numbers on a GPU may, or may not, round their factors to TF32."""
    import torch

    matmul, convolution = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, convolution.allow_tf32
    matmul.allow_tf32 = convolution.allow_tf32 = allowed
    try:
        yield
    finally:
        matmul.allow_tf32, convolution.allow_tf32 = before
