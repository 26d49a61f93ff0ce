"""Models, inputs and settings of torch in the precision and the layout of a deployment."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from flexibo.systems.platforms._torch_settings import (  # noqa: E402
    adapted,
    deployed,
    dtype_of,
    placed,
    tensor_float_32,
    threads,
)


def allowed_now() -> tuple[bool, bool]:
    return torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32


@pytest.mark.parametrize(
    ("precision", "dtype"),
    [("fp32", torch.float32), ("tf32", torch.float32), ("bf16", torch.bfloat16), ("fp16", torch.float16)],
)
def test_a_precision_is_a_type_of_torch(precision: str, dtype: Any) -> None:
    assert dtype_of(precision) is dtype


def test_words_are_left_as_they_are() -> None:
    tokens, weights = adapted((torch.zeros(2, 3, dtype=torch.int64), torch.zeros(2, 3)), "bf16", "channels_last")
    assert (tokens.dtype, weights.dtype) == (torch.int64, torch.bfloat16)


def test_only_images_have_a_layout() -> None:
    images, rows = adapted((torch.zeros(2, 3, 4, 5), torch.zeros(2, 3)), "fp32", "channels_last")
    assert images.is_contiguous(memory_format=torch.channels_last)
    assert rows.is_contiguous()
    (plain,) = adapted((torch.zeros(2, 3, 4, 5),), "fp32", "contiguous")
    assert plain.is_contiguous()


@pytest.mark.parametrize("layout", ["contiguous", "channels_last"])
def test_a_model_is_placed_for_evaluation_in_its_precision_and_layout(layout: str) -> None:
    model = placed(torch.nn.Conv2d(3, 2, 3).train(), "cpu", "bf16", layout)
    assert not model.training
    assert model.weight.dtype is torch.bfloat16
    is_last = model.weight.is_contiguous(memory_format=torch.channels_last)
    assert is_last == (layout == "channels_last")


def test_the_number_of_threads_is_put_back_after_an_error() -> None:
    before, seen = torch.get_num_threads(), list[int]()
    with pytest.raises(ZeroDivisionError), threads(before + 1):
        _ = seen.append(torch.get_num_threads()), 1 / 0
    assert seen == [before + 1]
    assert torch.get_num_threads() == before


def test_rounding_of_factors_is_put_back() -> None:
    before = allowed_now()
    for allowed in (True, False):
        with tensor_float_32(allowed):
            assert allowed_now() == (allowed, allowed)
        assert allowed_now() == before


@pytest.mark.parametrize(("precision", "kind"), [("bf16", "bfloat16"), ("fp16", "float16"), ("fp32", "float32")])
def test_a_deployed_network_computes_in_its_precision_from_and_to_32_bits(precision: str, kind: str) -> None:
    seen = []

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.full((), 1 / 3))

        def forward(self, images: torch.Tensor, count: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            seen.append((str(images.dtype), torch.is_autocast_enabled("cpu")))
            return images * self.weight, count

    model = deployed(Layer(), "cpu", precision)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        images, count = model(torch.ones(2), torch.tensor([5]))
    assert seen == [(f"torch.{kind}", False)]
    assert (images.dtype, count.dtype) == (torch.float32, torch.int64)
    assert images.tolist() == [float(torch.tensor(1 / 3, dtype=getattr(torch, kind)))] * 2
    assert not model.training
