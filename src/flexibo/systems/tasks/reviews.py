"""Sentiment of film reviews: BERT with a classifier, which reads `sequence_length` tokens with [CLS] and [SEP]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from flexibo.systems.data.base import Dataset, Reviews
from flexibo.systems.data.tokens import PAD, SEPARATOR, START
from flexibo.systems.tasks import base
from flexibo.systems.tasks.base import Batch, Design, Device
from flexibo.systems.tasks.text import TextTask, padded

N_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class _Texts:
    """Encoded reviews: [CLS] and word pieces in rows (m, longest), their numbers (m,), and labels (m,)."""

    rows: Tensor
    counts: Tensor
    labels: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class ReviewTask(TextTask):
    """Whether a review is good."""

    kind = "reviews"
    head = "classify"

    data: Dataset[Reviews]

    def _texts(self) -> Iterable[str]:
        return self.data.train.texts

    @property
    def chance_percent(self) -> float:
        """The error of always giving the most frequent label."""
        return base.chance_percent(self.data.test.labels)

    def batches(self, design: Design, generator: torch.Generator, device: Device) -> Iterator[Batch]:
        """One epoch of tokens (b, L), masks (b, L) and labels (b,)."""
        texts = self._kept("train", device)
        for chosen in base.shuffled(len(texts.labels), int(design["batch_size"]), generator):
            chosen = chosen.to(texts.labels.device)
            yield (*self._cut(texts, chosen, int(design["sequence_length"])), texts.labels[chosen])

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """The cross entropy."""
        tokens, mask, labels = batch
        with base.autocast(tokens.device):
            logits = model(tokens, mask)
        return functional.cross_entropy(logits.float(), labels)

    def error_percent(self, model: nn.Module, design: Design, device: Device) -> float:
        """The percentage of held-out reviews that get a wrong label."""
        texts = self._kept("test", device)
        n_wrong = 0
        with base.evaluating(model):
            for chosen in torch.arange(len(texts.labels), device=texts.labels.device).split(N_AT_ONCE):
                logits = model(*self._cut(texts, chosen, int(design["sequence_length"])))
                base.check_finite(logits)
                n_wrong += int((logits.argmax(dim=1) != texts.labels[chosen]).sum())
        return 100 * n_wrong / len(texts.labels)

    def inputs(self, design: Design, count: int, device: Device) -> tuple[Tensor, ...]:
        """Held-out tokens (count, sequence_length) and masks."""
        few = self.data.test.first(count)
        texts = base.remembered(self._memory, f"first {count}", device, lambda: self._encoded(few, device))
        chosen = base.cycled(torch.arange(len(texts.labels), device=texts.labels.device), count)
        return self._cut(texts, chosen, int(design["sequence_length"]))

    def _cut(self, texts: _Texts, chosen: Tensor, length: int) -> tuple[Tensor, Tensor]:
        """Tokens and masks of some reviews, (b, length): [CLS], as many word pieces as fit, [SEP], padding."""
        numbers = self.words.numbers
        rows = texts.rows[chosen, :length].long()
        rows = functional.pad(rows, (0, length - rows.shape[1]), value=numbers[PAD])
        last = texts.counts[chosen].clamp(max=length - 1)[:, None]
        return rows.scatter(1, last, numbers[SEPARATOR]), torch.arange(length, device=rows.device) <= last

    def _kept(self, part: str, device: Device) -> _Texts:
        return base.remembered(self._memory, part, device, lambda: self._encoded(getattr(self.data, part), device))

    def _encoded(self, reviews: Reviews, device: Device) -> _Texts:
        numbers = self.words.numbers
        most = self.settings.positions - 2
        lines = [[numbers[START], *self.words.encode(text)[:most]] for text in reviews.texts]
        return _Texts(
            torch.tensor(padded(lines, numbers[PAD]), dtype=torch.int32, device=device),
            torch.tensor([len(line) for line in lines], device=device),
            torch.tensor(reviews.labels, dtype=torch.int64, device=device),
        )
