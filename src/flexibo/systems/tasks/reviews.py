"""Telling a good review from a bad one: the task of BERT with a head that classifies, and what all texts share.

A text is cut after `sequence_length` tokens, [CLS] and [SEP] among them. Dropout, batch size, learning rate and weight
decay are the design's; AdamW, with linear warm-up over the first tenth of the steps.

The table's learning rates (1e-5 to 5e-5) are those of fine-tuning. From scratch they teach little, and a
`learning_rate_factor` multiplies every design's rate: 1 with a pretrained encoder, 10 without, unless it is given.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from flexibo.errors import unknown_name
from flexibo.systems.data.base import Dataset, Reviews
from flexibo.systems.data.tokens import PAD, SEPARATOR, START, WordPieces
from flexibo.systems.networks import bert
from flexibo.systems.networks.pretrained import load_encoder, size_of
from flexibo.systems.tasks.base import (
    Batch,
    Design,
    Device,
    Optimiser,
    adam,
    autocast,
    check_examples,
    check_finite,
    check_positive,
    cycled,
    device_of,
    evaluating,
    fingerprint_of,
    n_steps,
    one_cycle,
    place_of,
    shuffled,
)

FACTOR_FROM_SCRATCH = 10.0
N_AT_ONCE = 256
WARM_SHARE = 0.1
VOCABULARY_FILE = "vocab.txt"


@dataclass(frozen=True, slots=True)
class TextTraining:
    """How BERT learns; dropout, batch size, learning rate and weight decay are the design's.

    Attributes:
        epochs: How often each example is seen.
        size: How large the encoder is; with a pretrained encoder, its own size is taken.
        vocabulary: The most pieces of words; with a pretrained encoder, its own vocabulary is taken.
        positions: The most tokens of a text; those of the pretrained encoder.
        learning_rate_factor: What a design's learning rate is multiplied by; None is 1 with a pretrained encoder and 10
            without.
        encoder: The folder of a pretrained encoder in Hugging Face's layout, with its vocab.txt; None starts afresh.
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
        """Changes with every setting; of a pretrained encoder the files count, not where they lie."""
        return fingerprint_of(asdict(self) | {"encoder": None if self.encoder is None else _hash(self.encoder)})

    def rate(self, design: Design) -> float:
        """The highest learning rate of a design's training."""
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


@dataclass(frozen=True, slots=True)
class _Texts:
    """Encoded reviews: [CLS] and pieces in a row each (m, most), how many those are (m,), and labels (m,)."""

    rows: Tensor
    counts: Tensor
    labels: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class ReviewTask:
    """Whether a review is good.

    It keeps the encoded texts on each device that it was asked for, as long as it lives.

    Args:
        network: "bert".
        data: Reviews to learn from and held-out reviews.
        settings: How it is learned.
    """

    network: str
    data: Dataset[Reviews]
    settings: TextTraining = field(default_factory=TextTraining)
    _memory: dict[tuple[str, str], Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.network != "bert":
            raise unknown_name("text network", self.network, ["bert"])
        check_examples(f"Data {self.data.name!r}", len(self.data.train), len(self.data.test))

    @property
    def fingerprint(self) -> str:
        """Changes with the data and the settings."""
        return fingerprint_of("reviews", self.data.fingerprint, self.settings.fingerprint)

    @property
    def chance_percent(self) -> float:
        """The error of always giving the more frequent held-out label."""
        labels = self.data.test.labels
        return 100 * (1 - float(np.bincount(labels).max()) / len(labels))

    @property
    def words(self) -> WordPieces:
        """The vocabulary."""
        key = ("words", "")
        if key not in self._memory:
            self._memory[key] = self.settings.words(self.data.train.texts)
        words: WordPieces = self._memory[key]
        return words

    def epochs(self, design: Design) -> int:
        """The same for every design."""
        return self.settings.epochs

    def build(self, design: Design) -> nn.Module:
        """The design's network."""
        return self.settings.build(design, "classify", self.words)

    def batches(self, design: Design, generator: torch.Generator, device: Device) -> Iterator[Batch]:
        """One epoch of tokens (b, L), masks (b, L) and labels (b,)."""
        texts = self._kept("train", device)
        for chosen in shuffled(len(texts.labels), int(design["batch_size"]), generator):
            chosen = chosen.to(texts.labels.device)
            yield (*self._cut(texts, chosen, int(design["sequence_length"])), texts.labels[chosen])

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """The cross entropy."""
        tokens, mask, labels = batch
        with autocast(tokens.device):
            logits = model(tokens, mask)
        return functional.cross_entropy(logits.float(), labels)

    def optimiser(self, model: nn.Module, design: Design) -> Optimiser:
        """AdamW with linear warm-up."""
        return self.settings.optimiser(model, design, len(self.data.train))

    def error_percent(self, model: nn.Module, design: Design, device: Device) -> float:
        """The share of held-out reviews that get a wrong label."""
        texts = self._kept("test", device)
        n_wrong = 0
        with evaluating(model), autocast(device_of(model)):
            for chosen in torch.arange(len(texts.labels), device=texts.labels.device).split(N_AT_ONCE):
                logits = model(*self._cut(texts, chosen, int(design["sequence_length"])))
                check_finite(logits)
                n_wrong += int((logits.argmax(dim=1) != texts.labels[chosen]).sum())
        return 100 * n_wrong / len(texts.labels)

    def inputs(self, design: Design, count: int, device: Device) -> tuple[Tensor, ...]:
        """Held-out tokens (count, sequence_length) and masks."""
        texts = self._kept("test", device)
        chosen = cycled(torch.arange(len(texts.labels), device=texts.labels.device), count)
        return self._cut(texts, chosen, int(design["sequence_length"]))

    def _cut(self, texts: _Texts, chosen: Tensor, length: int) -> tuple[Tensor, Tensor]:
        """Tokens and masks of some reviews, (b, length): [CLS], as much as there is room for, [SEP], padding."""
        numbers = self.words.numbers
        rows = texts.rows[chosen, :length].long()
        rows = functional.pad(rows, (0, length - rows.shape[1]), value=numbers[PAD])
        last = texts.counts[chosen].clamp(max=length - 1)[:, None]
        return rows.scatter(1, last, numbers[SEPARATOR]), torch.arange(length, device=rows.device) <= last

    def _kept(self, part: str, device: Device) -> _Texts:
        key = (part, place_of(device))
        if key not in self._memory:
            reviews = self.data.train if part == "train" else self.data.test
            numbers = self.words.numbers
            room = self.settings.positions - 1
            lines = [[numbers[START], *self.words.encode(text)[: room - 1]] for text in reviews.texts]
            rows = np.full((len(lines), max(map(len, lines))), numbers[PAD], dtype=np.int32)
            for row, line in zip(rows, lines, strict=True):
                row[: len(line)] = line
            self._memory[key] = _Texts(
                torch.tensor(rows, device=device),
                torch.tensor([len(line) for line in lines], device=device),
                torch.tensor(reviews.labels, dtype=torch.int64, device=device),
            )
        kept: _Texts = self._memory[key]
        return kept


def _hash(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(folder).iterdir()):
        if path.suffix in (".json", ".txt", ".safetensors", ".bin"):
            digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
