"""What the tasks of BERT share: how it is trained, and texts as rows of numbers.

Dropout, batch size, learning rate and weight decay are options of the design. AdamW has a linear warm-up over the first
tenth of the steps. The table's learning rates (1e-5 to 5e-5) are those of fine-tuning a large pretrained encoder. A
network that starts from scratch learns little with them, so a `learning_rate_factor` multiplies every design's rate: by
default 1 with a pretrained encoder, 10 without.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from torch import nn

from flexibo._internal.arrays import IntArray
from flexibo.systems.data.base import AnyDataset
from flexibo.systems.data.tokens import WordPieces
from flexibo.systems.networks import bert
from flexibo.systems.networks.pretrained import load_encoder, size_of, vocabulary_file
from flexibo.systems.tasks.base import (
    PARTS,
    Design,
    Device,
    Optimiser,
    adam,
    check_positive,
    check_task,
    fingerprint_of,
    n_steps,
    one_cycle,
    remembered,
)

FACTOR_FROM_SCRATCH = 10.0
WARM_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class TextTraining:
    """How BERT is trained."""

    epochs: int = 3  # the number of passes over the training examples
    size: bert.EncoderSize = bert.SMALL  # the size of the encoder
    vocabulary: int = 8000  # the largest number of word pieces
    positions: int = 512  # the largest number of tokens in a text
    learning_rate_factor: float | None = None  # multiplies the design's; None: 1 with a pretrained encoder, 10 without
    encoder: Path | None = None  # the folder of a pretrained encoder, which has its own size and vocabulary

    def __post_init__(self) -> None:
        given = () if self.learning_rate_factor is None else ("learning_rate_factor",)
        check_positive(self, "epochs", "vocabulary", "positions", *given)

    @property
    def fingerprint(self) -> str:
        """Changes with every setting, and with the files of a pretrained encoder but not with their folder."""
        return fingerprint_of(asdict(self) | {"encoder": None if self.encoder is None else _hash(self.encoder)})

    def rate(self, design: Design) -> float:
        """The highest learning rate of a training."""
        usual = FACTOR_FROM_SCRATCH if self.encoder is None else 1.0
        return float(design["learning_rate"]) * (self.learning_rate_factor or usual)


@dataclass(frozen=True, slots=True, eq=False)
class TextTask:
    """What both tasks of BERT share; keeps the encoded texts on each device they were requested for."""

    kind: ClassVar[str]
    head: ClassVar[bert.Head]

    network: str
    data: AnyDataset
    settings: TextTraining = field(default_factory=TextTraining)
    _memory: dict[tuple[str, str], Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        check_task("text", self.network, ["bert"], self.data)

    @property
    def fingerprint(self) -> str:
        """Changes with the data and the settings."""
        return fingerprint_of(self.kind, self.data.fingerprint, self.settings.fingerprint)

    @property
    def words(self) -> WordPieces:
        """The vocabulary of the pretrained encoder, or one made from the training texts."""

        def made() -> WordPieces:
            if self.settings.encoder is not None:
                return WordPieces.read(vocabulary_file(self.settings.encoder))
            return WordPieces.learned(self._texts(), self.settings.vocabulary)

        return remembered(self._memory, "words", "cpu", made)

    def _texts(self) -> Iterable[str]:
        raise NotImplementedError

    def _kept(self, part: str, device: Device) -> Any:
        raise NotImplementedError

    def load(self, device: Device) -> None:
        """Move all encoded texts to the device."""
        for part in PARTS:
            self._kept(part, device)

    def epochs(self, design: Design) -> int:
        """The same for every design."""
        return self.settings.epochs

    def build(self, design: Design) -> nn.Module:
        """The design's network with fresh weights, or with those of the pretrained encoder and a fresh head."""
        encoder, positions = self.settings.encoder, self.settings.positions
        size = self.settings.size if encoder is None else size_of(encoder)
        model = bert.build(design, vocabulary=len(self.words), head=self.head, size=size, positions=positions)
        if encoder is not None and next(model.parameters()).device.type != "meta":
            load_encoder(model, encoder)
        return model

    def optimiser(self, model: nn.Module, design: Design) -> Optimiser:
        """AdamW with linear warm-up."""
        steps = self.settings.epochs * n_steps(len(self.data.train), int(design["batch_size"]))
        rate, weight_decay = self.settings.rate(design), float(design["weight_decay"])
        return one_cycle(adam(model, learning_rate=rate, weight_decay=weight_decay), steps, warm_share=WARM_SHARE)


def padded(lines: Sequence[Sequence[int]], value: int) -> IntArray:
    """Lines of numbers as the rows of an array, the shorter ones filled up with a value."""
    rows = np.full((len(lines), max(1, *map(len, lines))), value, dtype=np.int64)
    for row, line in zip(rows, lines, strict=True):
        row[: len(line)] = line
    return rows


def _hash(folder: Path) -> str:
    """A hash of the files of an encoder: its size, its vocabulary and its weights."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.suffix in (".json", ".txt", ".safetensors", ".bin")):
        digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
