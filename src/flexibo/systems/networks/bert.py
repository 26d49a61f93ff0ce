"""BERT (Devlin et al. 2019): a transformer encoder with a head that classifies a text or finds an answer in it.

Word, position and segment embeddings are added and normalised. Each layer is self-attention followed by two dense
layers with GELU between them; both halves are normalised after their shortcut is added. The head "classify" has the
original's pooler, a dense layer with tanh on the first token; "answer" has two logits per token, for start and end.

Of a design, the network uses the dropout alone: after the embeddings, on the attention, after each half of a layer and
before the head. The sequence length is that of the input.

Differences: one dense layer computes queries, keys and values together, and the padding of an answer gets the smallest
logit, so that it is never chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

import torch
from torch import nn
from torch.nn import functional

from flexibo._internal.checks import whole_number
from flexibo.errors import InvalidValueError
from flexibo.systems.networks.layers import Design, dropout

N_SEGMENTS = 2
N_LOGITS = 2
EPSILON = 1e-12
DEVIATION = 0.02  # of initial weights

Head = Literal["classify", "answer"]


@dataclass(frozen=True, slots=True)
class EncoderSize:
    """The size of an encoder: layers, width of a token's vector, attention heads, inner width of a layer."""

    layers: int
    width: int
    heads: int
    feed_forward: int

    def __post_init__(self) -> None:
        for field in fields(self):
            whole_number(f"The encoder's {field.name}", getattr(self, field.name), least=1)
        if self.width % self.heads:
            raise InvalidValueError(
                f"The encoder's width is {self.width} and it has {self.heads} heads; the width must be a multiple."
            )


BASE = EncoderSize(12, 768, 12, 3072)
SMALL = EncoderSize(4, 512, 8, 2048)
TINY = EncoderSize(2, 64, 2, 128)


class EncoderLayer(nn.Module):  # type: ignore[misc]  # torch has no types here
    """One layer of the encoder: (b, L, width) to (b, L, width)."""

    def __init__(self, size: EncoderSize, dropout: float) -> None:
        super().__init__()
        self.heads = size.heads
        self.qkv = nn.Linear(size.width, 3 * size.width)
        self.attended = nn.Linear(size.width, size.width)
        self.attended_norm = nn.LayerNorm(size.width, eps=EPSILON)
        self.widen = nn.Linear(size.width, size.feed_forward)
        self.narrow = nn.Linear(size.feed_forward, size.width)
        self.norm = nn.LayerNorm(size.width, eps=EPSILON)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The layer's output; `mask` (b, 1, 1, L) is true where a token may be attended to."""
        batch, length, _ = x.shape
        queries, keys, values = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask, dropout_p=self.drop.p if self.training else 0.0
        )
        x = self.attended_norm(x + self.drop(self.attended(attended.transpose(1, 2).flatten(2))))
        return self.norm(x + self.drop(self.narrow(functional.gelu(self.widen(x)))))


class Bert(nn.Module):  # type: ignore[misc]  # torch has no types here
    """The encoder with its head."""

    def __init__(self, size: EncoderSize, head: Head, *, vocabulary: int, positions: int, dropout: float) -> None:
        super().__init__()
        self.size = size
        self.words = nn.Embedding(vocabulary, size.width)
        self.positions = nn.Embedding(positions, size.width)
        self.segments = nn.Embedding(N_SEGMENTS, size.width)
        self.norm = nn.LayerNorm(size.width, eps=EPSILON)
        self.drop = nn.Dropout(dropout)
        self.layers = nn.ModuleList(EncoderLayer(size, dropout) for _ in range(size.layers))
        self.pooler = nn.Linear(size.width, size.width) if head == "classify" else None
        self.head = nn.Linear(size.width, N_LOGITS)
        self.apply(_initialise)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor, segments: torch.Tensor | None = None) -> torch.Tensor:
        """The logits: (b, 2) of a text's classes, or (b, L, 2) of where an answer starts and ends.

        The mask (b, L) is false where a token is padding; segments are 0 (a question) or 1, by default all 0.
        """
        encoded = self._encode(tokens, mask, segments)
        if self.pooler is not None:
            return self.head(self.drop(self.pooler(encoded[:, 0]).tanh()))
        logits = self.head(self.drop(encoded))
        return logits.masked_fill(~mask.unsqueeze(-1), torch.finfo(logits.dtype).min)

    def _encode(self, tokens: torch.Tensor, mask: torch.Tensor, segments: torch.Tensor | None) -> torch.Tensor:
        length, positions = tokens.shape[1], self.positions.num_embeddings
        if length > positions:
            raise InvalidValueError(f"A text has {length} tokens; this encoder has positions for {positions}.")
        segments = torch.zeros_like(tokens) if segments is None else segments
        places = self.positions.weight[:length]
        x = self.drop(self.norm(self.words(tokens) + places + self.segments(segments)))
        for layer in self.layers:
            x = layer(x, mask[:, None, None, :])
        return x


def build(design: Design, *, vocabulary: int, head: Head, size: EncoderSize = BASE, positions: int = 512) -> Bert:
    """BERT for a design, of which only the option "dropout" matters; for texts of at most `positions` tokens."""
    return Bert(size, head, vocabulary=vocabulary, positions=positions, dropout=dropout(design))


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=DEVIATION)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
