"""A tiny BERT encoder, and weights for it as published checkpoints name them."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from flexibo.systems.networks.bert import EncoderSize  # noqa: E402

MINI = EncoderSize(2, 12, 3, 20)
WORDS, POSITIONS = 17, 9
Tensors = dict[str, Any]


def encoder_tensors() -> Tensors:
    """Weights with the names of the published checkpoints."""
    w, f = MINI.width, MINI.feed_forward
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (WORDS, w),
        "embeddings.position_embeddings.weight": (POSITIONS, w),
        "embeddings.token_type_embeddings.weight": (2, w),
    }
    dense = {"pooler.dense": (w, w)}
    norms = ["embeddings.LayerNorm"]
    for i in range(MINI.layers):
        layer = f"encoder.layer.{i}"
        dense |= {f"{layer}.attention.self.{name}": (w, w) for name in ("query", "key", "value")}
        dense |= {f"{layer}.attention.output.dense": (w, w)}
        dense |= {f"{layer}.intermediate.dense": (f, w), f"{layer}.output.dense": (w, f)}
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    for name, (rows, columns) in dense.items():
        shapes |= {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}
    for name in norms:
        shapes |= {f"{name}.weight": (w,), f"{name}.bias": (w,)}
    return {name: torch.randn(shape) for name, shape in shapes.items()}
