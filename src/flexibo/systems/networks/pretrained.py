"""Pretrained encoders: fills a BERT from a folder as Hugging Face lays it out.

    config.json                              how large the encoder is
    model.safetensors or pytorch_model.bin   its weights

Safetensors is read here, so that nothing but torch and numpy is needed: eight bytes with the length of a header, the
header (JSON: for each tensor its type, shape and place), then the numbers, all little-endian. What a file claims is
checked against how long it is before anything is allocated.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch

from flexibo._internal.arrays import AnyArray
from flexibo.errors import InvalidValueError
from flexibo.systems.data.base import DamagedDataError, MissingDataError
from flexibo.systems.networks.bert import Bert, EncoderSize

CONFIG = "config.json"
SAFETENSORS = "model.safetensors"
PICKLE = "pytorch_model.bin"
MOST_HEADER_BYTES = 100_000_000  # the limit of the format's own library
MOST_CONFIG_BYTES = 1_000_000

# What each of our weights is made of; "qkv" is one matrix here and three there.
_EMBEDDINGS: dict[str, tuple[str, ...]] = {
    "words": ("embeddings.word_embeddings",),
    "positions": ("embeddings.position_embeddings",),
    "segments": ("embeddings.token_type_embeddings",),
    "norm": ("embeddings.LayerNorm",),
}
_LAYER: dict[str, tuple[str, ...]] = {
    "qkv": ("attention.self.query", "attention.self.key", "attention.self.value"),
    "attended": ("attention.output.dense",),
    "attended_norm": ("attention.output.LayerNorm",),
    "widen": ("intermediate.dense",),
    "narrow": ("output.dense",),
    "norm": ("output.LayerNorm",),
}
_POOLER: dict[str, tuple[str, ...]] = {"pooler": ("pooler.dense",)}
# Checkpoints from before 2019 have these names.
_OLD_ENDINGS = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}


@dataclass(frozen=True, slots=True)
class Encoder:
    """What was loaded.

    Attributes:
        file: Where the weights came from.
        loaded: Our weights that were filled.
        fresh: Our weights that the file does not have and that stay as they were: the head, perhaps the pooler.
        ignored: The file's tensors that were not needed.
    """

    file: Path
    loaded: tuple[str, ...]
    fresh: tuple[str, ...]
    ignored: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A tensor of a file, whose shape is known before its numbers are read."""

    shape: tuple[int, ...]
    read: Callable[[], torch.Tensor]


Tensors: TypeAlias = Mapping[str, _Tensor]


@dataclass(frozen=True, slots=True)
class _Entry:
    """One tensor of a safetensors file: its type, its shape and the bytes of the file that hold it."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def size_of(folder: str | Path) -> EncoderSize:
    """How large the encoder in a folder is, from its config.json."""
    file = Path(folder) / CONFIG
    if not file.is_file():
        raise MissingDataError(f"There is no {file}; give the folder of a BERT encoder in Hugging Face's layout.")
    if file.stat().st_size > MOST_CONFIG_BYTES:
        raise DamagedDataError(f"{file} has {file.stat().st_size} bytes; a config.json has a few hundred.")
    settings = _parsed(file, file.read_bytes())
    for name, expected in (("model_type", "bert"), ("hidden_act", "gelu"), ("position_embedding_type", "absolute")):
        if settings.get(name, expected) != expected:
            raise DamagedDataError(f"{file} says {name} {settings[name]!r}; only {expected!r} can be loaded.")
    names = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size")
    missing = [name for name in names if name not in settings]
    if missing:
        raise DamagedDataError(f"{file} has no {missing[0]}; it must have {', '.join(names)}.")
    try:
        return EncoderSize(*(settings[name] for name in names))
    except InvalidValueError as error:
        raise DamagedDataError(f"{file} describes no encoder: {error}") from error


def load_encoder(model: Bert, folder: str | Path) -> Encoder:
    """Fills a BERT with the weights in a folder; its head, and a pooler that is not there, stay as they are.

    Nothing is changed unless everything fits.

    Args:
        model: What is filled; it must be as large as the folder's encoder (`size_of`), have its vocabulary and its
            positions.
        folder: Holds config.json and model.safetensors or pytorch_model.bin.

    Raises:
        MissingDataError: A file is not there.
        DamagedDataError: A file is damaged or lacks a tensor.
        InvalidValueError: The encoder is of another size than the model.
    """
    size = size_of(folder)
    if size != model.size:
        raise InvalidValueError(f"The encoder in {folder} is {size} and the model is {model.size}; build it as large.")
    file, tensors = _open(Path(folder))
    parts = _parts(model, tensors)
    weights = dict(model.named_parameters())
    values = {ours: _joined(file, ours, theirs, tensors, weights[ours]) for ours, theirs in parts.items()}
    with torch.no_grad():
        for name, value in values.items():
            weights[name].copy_(value)
    used = {theirs for names in parts.values() for theirs in names}
    return Encoder(
        file,
        loaded=tuple(values),
        fresh=tuple(name for name in weights if name not in values),
        ignored=tuple(sorted(set(tensors) - used)),
    )


def _parts(model: Bert, tensors: Tensors) -> dict[str, tuple[str, ...]]:
    """The names of the file's tensors that each of our weights is made of."""
    modules = dict(_EMBEDDINGS)
    for layer in range(model.size.layers):
        for ours, theirs in _LAYER.items():
            modules[f"layers.{layer}.{ours}"] = tuple(f"encoder.layer.{layer}.{name}" for name in theirs)
    if model.pooler is not None and "pooler.dense.weight" in tensors:
        modules |= _POOLER
    weights = [name for name, _ in model.named_parameters()]
    return {
        f"{ours}.{kind}": tuple(f"{name}.{kind}" for name in theirs)
        for ours, theirs in modules.items()
        for kind in ("weight", "bias")
        if f"{ours}.{kind}" in weights
    }


def _joined(file: Path, ours: str, theirs: tuple[str, ...], tensors: Tensors, weight: torch.Tensor) -> torch.Tensor:
    """The value of one of our weights: the file's tensors below each other."""
    rows, *columns = weight.shape
    expected = (rows // len(theirs), *columns)
    values = []
    for name in theirs:
        if name not in tensors:
            raise DamagedDataError(f"{file} has no tensor {name!r}, which {ours!r} is filled from.")
        if tensors[name].shape != expected:
            raise DamagedDataError(
                f"Tensor {name!r} of {file} has the shape {tensors[name].shape}; the model needs {expected}."
            )
        values.append(tensors[name].read())
    return torch.cat(values)


def _open(folder: Path) -> tuple[Path, Tensors]:
    """The file with weights and its tensors by their usual names, each read when it is called for."""
    readers: dict[str, Callable[[Path], Tensors]] = {SAFETENSORS: _safetensors, PICKLE: _pickled}
    for name, read in readers.items():
        file = folder / name
        if file.is_file():
            return file, {_usual_name(given): tensor for given, tensor in read(file).items()}
    raise MissingDataError(
        f"There is neither {SAFETENSORS} nor {PICKLE} in {folder}; an encoder's weights belong there."
    )


def _usual_name(name: str) -> str:
    name = name.removeprefix("bert.")
    for old, new in _OLD_ENDINGS.items():
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name


def _pickled(file: Path) -> Tensors:
    try:
        content = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged pickle fails in whatever way its bytes happen to lead to
        reason = (str(error).splitlines() or [""])[0].rstrip(".")
        raise DamagedDataError(f"{file} cannot be read as weights: {type(error).__name__}: {reason}.") from error
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise DamagedDataError(f"{file} holds {type(content).__name__}; it must hold tensors by name.")
    return {
        name: _Tensor(tuple(value.shape), partial(_identity, value))
        for name, value in content.items()
        if isinstance(value, torch.Tensor)
    }


def _identity(value: torch.Tensor) -> torch.Tensor:
    return value


def _safetensors(file: Path) -> Tensors:
    entries = _entries(file)
    return {name: _Tensor(entry.shape, partial(_read, file, name, entry)) for name, entry in entries.items()}


def _entries(file: Path) -> dict[str, _Entry]:
    """The tensors of a safetensors file, each checked to lie within it and beside the others."""
    n_bytes = file.stat().st_size
    with file.open("rb") as stream:
        start = stream.read(8)
        n_header = int.from_bytes(start, "little")
        if len(start) < 8 or n_header > min(n_bytes - 8, MOST_HEADER_BYTES):
            raise DamagedDataError(
                f"{file} has {n_bytes} bytes and claims a header of {n_header}; it is cut short or no safetensors file."
            )
        header = _parsed(file, stream.read(n_header))
    header.pop("__metadata__", None)
    entries = {name: _entry(file, name, given, 8 + n_header, n_bytes) for name, given in header.items()}
    ordered = sorted(entries.items(), key=lambda item: (item[1].begin, item[1].end))
    for (name, entry), (other, following) in pairwise(ordered):
        if following.begin < entry.end:
            raise DamagedDataError(f"Tensors {name!r} and {other!r} of {file} overlap; the file is damaged.")
    return entries


def _entry(file: Path, name: str, given: object, data: int, n_bytes: int) -> _Entry:
    """One tensor of a header; `data` is where the numbers begin in the file and `n_bytes` where it ends."""
    fields: dict[str, Any] = given if isinstance(given, dict) else {}
    dtype: Any = fields.get("dtype")
    shape, offsets = _counts(fields.get("shape")), _counts(fields.get("data_offsets"))
    if not isinstance(dtype, str) or shape is None or offsets is None or len(offsets) != 2:
        raise DamagedDataError(f"Tensor {name!r} of {file} has no proper dtype, shape and data_offsets.")
    begin, end = data + offsets[0], data + offsets[1]
    if not begin <= end <= n_bytes:
        raise DamagedDataError(
            f"Tensor {name!r} of {file} lies at bytes {begin} to {end} of {n_bytes}; it is cut short."
        )
    return _Entry(dtype, shape, begin, end)


def _counts(values: object) -> tuple[int, ...] | None:
    if isinstance(values, list) and all(type(value) is int and value >= 0 for value in values):
        return tuple(values)
    return None


def _read(file: Path, name: str, entry: _Entry) -> torch.Tensor:
    """The numbers of one tensor, in single precision."""
    if entry.dtype not in _DECODERS:
        raise DamagedDataError(f"Tensor {name!r} of {file} is {entry.dtype}; it must be {', '.join(_DECODERS)}.")
    n_each, decoded = _DECODERS[entry.dtype]
    n_bytes, n_expected = entry.end - entry.begin, n_each * math.prod(entry.shape)
    if n_bytes != n_expected:
        raise DamagedDataError(f"Tensor {name!r} of {file} has {n_bytes} bytes; its shape needs {n_expected}.")
    with file.open("rb") as stream:
        stream.seek(entry.begin)
        data = stream.read(n_bytes)
    return torch.from_numpy(decoded(data).reshape(entry.shape))


def _single(data: bytes) -> AnyArray:
    return np.frombuffer(data, "<f4").astype(np.float32)


def _half(data: bytes) -> AnyArray:
    return np.frombuffer(data, "<f2").astype(np.float32)


def _brain(data: bytes) -> AnyArray:
    # bfloat16 is the upper half of a single-precision number.
    return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)


_DECODERS: dict[str, tuple[int, Callable[[bytes], AnyArray]]] = {
    "F32": (4, _single),
    "F16": (2, _half),
    "BF16": (2, _brain),
}


def _parsed(file: Path, text: bytes) -> dict[str, Any]:
    try:
        # RecursionError: a few kilobytes of brackets are enough for it.
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedDataError(f"{file} holds JSON that cannot be read: {type(error).__name__}.") from error
    if not isinstance(content, dict):
        raise DamagedDataError(f"{file} holds a JSON {type(content).__name__}; it must be an object.")
    return content
