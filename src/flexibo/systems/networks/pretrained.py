"""Pretrained encoders: loads the weights of a BERT from a folder in Hugging Face's layout.

    config.json                              the size of the encoder
    vocab.txt or tokenizer.json              its vocabulary
    model.safetensors or pytorch_model.bin   its weights

Safetensors is read here, so that only torch and numpy are needed: eight bytes with the length of a header, the header
(JSON: the type, shape and position of each tensor), then the numbers, all little-endian. The claims of a file are
checked against its length before anything is allocated.
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

from flexibo.errors import InvalidValueError
from flexibo.systems.data.base import DamagedDataError, MissingDataError
from flexibo.systems.networks.bert import Bert, EncoderSize

CONFIG = "config.json"
SAFETENSORS = "model.safetensors"
PICKLE = "pytorch_model.bin"
VOCABULARIES = ("vocab.txt", "tokenizer.json")
MOST_HEADER_BYTES = 100_000_000  # the limit of the format's own library
MOST_CONFIG_BYTES = 1_000_000

# The tensors of a file for each of our weights; "qkv" is one matrix here and three in the file.
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
# Names in checkpoints from before 2019.
_OLD_ENDINGS = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
# The numpy type of each type of safetensors; bfloat16 is read as integers.
_TYPES = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A tensor of a file, whose numbers are read later."""

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
    """The size of the encoder in a folder, from its config.json."""
    file = Path(folder) / CONFIG
    if not file.is_file():
        raise MissingDataError(f"There is no {file}; give the folder of a BERT encoder in Hugging Face's layout.")
    if file.stat().st_size > MOST_CONFIG_BYTES:
        raise DamagedDataError(f"{file} has {file.stat().st_size} bytes; a config.json has a few hundred.")
    settings = _parsed(file, file.read_bytes())
    for name, expected in (("model_type", "bert"), ("hidden_act", "gelu"), ("position_embedding_type", "absolute")):
        if settings.get(name, expected) != expected:
            raise DamagedDataError(f"{file} has {name} {settings[name]!r}; only {expected!r} can be loaded.")
    names = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size")
    missing = [name for name in names if name not in settings]
    if missing:
        raise DamagedDataError(f"{file} has no {missing[0]}; it must have {', '.join(names)}.")
    try:
        return EncoderSize(*(settings[name] for name in names))
    except InvalidValueError as error:
        raise DamagedDataError(f"{file} describes no encoder: {error}") from error


def vocabulary_file(folder: Path) -> Path:
    """The file with the vocabulary of the encoder in a folder."""
    for name in VOCABULARIES:
        if (folder / name).is_file():
            return folder / name
    raise MissingDataError(f"There is neither {' nor '.join(VOCABULARIES)} in {folder}; an encoder needs one.")


def load_encoder(model: Bert, folder: str | Path) -> None:
    """Load the weights in a folder into a BERT; its head, and its pooler if the folder has none, stay unchanged.

    Nothing is changed unless everything fits.

    Args:
        model: The model; it must have the size of the encoder (`size_of`), its vocabulary and its positions.
        folder: Has config.json and model.safetensors or pytorch_model.bin.

    Raises:
        MissingDataError: A file is missing.
        DamagedDataError: A file is damaged or lacks a tensor.
        InvalidValueError: The encoder and the model differ in size.
    """
    size = size_of(folder)
    if size != model.size:
        raise InvalidValueError(f"The encoder in {folder} is {size} and the model is {model.size}; they must agree.")
    file, tensors = _open(Path(folder))
    parts = _parts(model, tensors)
    weights = dict(model.named_parameters())
    values = {ours: _joined(file, ours, theirs, tensors, weights[ours]) for ours, theirs in parts.items()}
    with torch.no_grad():
        for name, value in values.items():
            weights[name].copy_(value)


def _parts(model: Bert, tensors: Tensors) -> dict[str, tuple[str, ...]]:
    """The names of the tensors in the file for each of our weights."""
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
    """The value of one of our weights: the tensors of the file, concatenated."""
    rows, *columns = weight.shape
    expected = (rows // len(theirs), *columns)
    values = []
    for name in theirs:
        if name not in tensors:
            raise DamagedDataError(f"{file} has no tensor {name!r}, which {ours!r} needs.")
        if tensors[name].shape != expected:
            raise DamagedDataError(
                f"Tensor {name!r} of {file} has the shape {tensors[name].shape}; the model needs {expected}."
            )
        values.append(tensors[name].read())
    return torch.cat(values)


def _open(folder: Path) -> tuple[Path, Tensors]:
    """The file of the weights and its tensors, by their present names."""
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
    except Exception as error:  # a damaged pickle can fail in any way
        reason = (str(error).splitlines() or [""])[0].rstrip(".")
        raise DamagedDataError(f"{file} cannot be read as weights: {type(error).__name__}: {reason}.") from error
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise DamagedDataError(f"{file} contains {type(content).__name__}; it must contain tensors by name.")
    return {
        name: _Tensor(tuple(value.shape), partial(torch.Tensor.detach, value))
        for name, value in content.items()
        if isinstance(value, torch.Tensor)
    }


def _safetensors(file: Path) -> Tensors:
    entries = _entries(file)
    return {name: _Tensor(entry.shape, partial(_read, file, name, entry)) for name, entry in entries.items()}


def _entries(file: Path) -> dict[str, _Entry]:
    """The tensors of a safetensors file, each checked to lie within the file and not to overlap others."""
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
    """One tensor of a header; `data` is the position of the numbers in the file and `n_bytes` its length."""
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
    if entry.dtype not in _TYPES:
        raise DamagedDataError(f"Tensor {name!r} of {file} is {entry.dtype}; it must be {', '.join(_TYPES)}.")
    kind = np.dtype(_TYPES[entry.dtype])
    n_bytes, n_expected = entry.end - entry.begin, kind.itemsize * math.prod(entry.shape)
    if n_bytes != n_expected:
        raise DamagedDataError(f"Tensor {name!r} of {file} has {n_bytes} bytes; its shape needs {n_expected}.")
    with file.open("rb") as stream:
        stream.seek(entry.begin)
        numbers = np.frombuffer(stream.read(n_bytes), kind)
    if entry.dtype == "BF16":
        # bfloat16 is the upper half of a single-precision number.
        numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
    return torch.from_numpy(numbers.astype(np.float32).reshape(entry.shape))


def _parsed(file: Path, text: bytes) -> dict[str, Any]:
    try:
        # RecursionError: a few kilobytes of brackets are enough for it.
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedDataError(f"{file} has JSON that cannot be read: {type(error).__name__}.") from error
    if not isinstance(content, dict):
        raise DamagedDataError(f"{file} has a JSON {type(content).__name__}; it must be an object.")
    return content
