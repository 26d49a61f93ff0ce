"""What the tasks of BERT share: how it is trained, and texts as rows of numbers.

Dropout, batch size, learning rate and weight decay are options of the design. AdamW has a linear warm-up over the first
tenth of the steps. The table's learning rates (1e-5 to 5e-5) are those of fine-tuning. A network that starts from
scratch, as here, learns little with them, so a `learning_rate_factor` multiplies every design's rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np
from torch import nn

from flexibo._internal.arrays import IntArray
from flexibo.systems.data.base import AnyDataset
from flexibo.systems.data.tokens import WordPieces
from flexibo.systems.networks import bert
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
    learning_rate_factor: float | None = None  # multiplies the design's learning rate; None is 10

    def __post_init__(self) -> None:
        given = () if self.learning_rate_factor is None else ("learning_rate_factor",)
        check_positive(self, "epochs", "vocabulary", "positions", *given)

    @property
    def fingerprint(self) -> str:
        """Changes with every setting."""
        return fingerprint_of(asdict(self) | {"encoder": None})  # as in stored studies: no pretrained encoder

    def rate(self, design: Design) -> float:
        """The highest learning rate of a training."""
        return float(design["learning_rate"]) * (self.learning_rate_factor or FACTOR_FROM_SCRATCH)


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
        """The vocabulary of the training texts."""
        return remembered(
            self._memory, "words", "cpu", lambda: WordPieces.learned(self._texts(), self.settings.vocabulary)
        )

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
        """The design's network with fresh weights."""
        size, positions = self.settings.size, self.settings.positions
        return bert.build(design, vocabulary=len(self.words), head=self.head, size=size, positions=positions)

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
