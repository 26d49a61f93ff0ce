"""What the tasks of BERT share: how it is trained, and texts as rows of numbers.

Dropout, batch size, learning rate and weight decay are options of the design. AdamW has a linear warm-up over the first
tenth of the steps.

The table's learning rates (1e-5 to 5e-5) are those of fine-tuning. A network that starts from scratch learns little
with them, so a `learning_rate_factor` multiplies every design's rate: by default 1 with a pretrained encoder, 10
without.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from torch import nn

from flexibo._internal.arrays import IntArray
from flexibo.systems.data.tokens import WordPieces
from flexibo.systems.networks import bert
from flexibo.systems.networks.pretrained import load_encoder, size_of
from flexibo.systems.tasks.base import Design, Optimiser, adam, check_positive, fingerprint_of, n_steps, one_cycle

FACTOR_FROM_SCRATCH = 10.0
WARM_SHARE = 0.1
VOCABULARY_FILE = "vocab.txt"


@dataclass(frozen=True, slots=True)
class TextTraining:
    """How BERT is trained; dropout, batch size, learning rate and weight decay are options of the design.

    Attributes:
        epochs: The number of passes over the training examples.
        size: The size of the encoder; a pretrained encoder has its own.
        vocabulary: The largest number of word pieces; a pretrained encoder has its own vocabulary.
        positions: The largest number of tokens in a text; must agree with a pretrained encoder.
        learning_rate_factor: Multiplies the design's learning rate; None is 1 with a pretrained encoder, 10 without.
        encoder: The folder of a pretrained encoder in Hugging Face's layout, with its vocab.txt; None: from scratch.
    """

    epochs: int = 3
    size: bert.EncoderSize = bert.SMALL
    vocabulary: int = 8000
    positions: int = 512
    learning_rate_factor: float | None = None
    encoder: Path | None = None

    def __post_init__(self) -> None:
        given = () if self.learning_rate_factor is None else ("learning_rate_factor",)
        check_positive(self, "epochs", "vocabulary", "positions", *given)

    @property
    def fingerprint(self) -> str:
        """Changes with every setting, and with the files of a pretrained encoder but not with their folder."""
        return fingerprint_of(asdict(self) | {"encoder": None if self.encoder is None else _hash(self.encoder)})

    def rate(self, design: Design) -> float:
        """The highest learning rate of a training."""
        factor = self.learning_rate_factor
        if factor is None:
            factor = FACTOR_FROM_SCRATCH if self.encoder is None else 1.0
        return float(design["learning_rate"]) * factor

    def words(self, texts: Iterable[str]) -> WordPieces:
        """The pretrained encoder's vocabulary, or one made from training texts."""
        if self.encoder is not None:
            return WordPieces.read(Path(self.encoder) / VOCABULARY_FILE)
        return WordPieces.learned(texts, self.vocabulary)

    def build(self, design: Design, head: bert.Head, words: WordPieces) -> nn.Module:
        """The design's network with fresh weights, or with those of the pretrained encoder."""
        size = self.size if self.encoder is None else size_of(self.encoder)
        model = bert.build(design, vocabulary=len(words), head=head, size=size, positions=self.positions)
        if self.encoder is not None:
            load_encoder(model, self.encoder)
        return model

    def optimiser(self, model: nn.Module, design: Design, count: int) -> Optimiser:
        """AdamW with linear warm-up, for `count` training examples."""
        steps = self.epochs * n_steps(count, int(design["batch_size"]))
        weight_decay = float(design["weight_decay"])
        return one_cycle(
            adam(model, learning_rate=self.rate(design), weight_decay=weight_decay), steps, warm_share=WARM_SHARE
        )


def padded(lines: Sequence[Sequence[int]], value: int) -> IntArray:
    """Lines of numbers as the rows of an array, the shorter ones filled up with a value."""
    rows = np.full((len(lines), max(1, *map(len, lines))), value, dtype=np.int64)
    for row, line in zip(rows, lines, strict=True):
        row[: len(line)] = line
    return rows


def _hash(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(folder).iterdir()):
        if path.suffix in (".json", ".txt", ".safetensors", ".bin"):
            digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
