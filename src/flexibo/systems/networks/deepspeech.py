"""Deep Speech 2 (Amodei et al. 2016): convolutions over a spectrogram, recurrent layers, letters for CTC.

Two convolutions over time and frequency (11 x 41 and 11 x 21 filters, strides 2 x 2 and 1 x 2), then bidirectional GRU
layers whose two directions are added, then a dense layer to the letters and CTC's blank, which is 0. `FULL` is the 9
layers (7 of them recurrent) and 68 million parameters of the FlexiBO paper's table, for 161 frequencies and 28 letters.

Of a design, the network uses the dropout alone: after the convolutions and after each recurrent layer. The sequence
length is that of the input.

Differences: normalisation is over each frame (layer normalisation), not over the batch, which would mix the padding of
short examples into all others. The backward direction reads each example reversed within its own length, so that
padding comes last in both directions. Packed sequences would need the lengths on the CPU, for which the GPU must wait.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from flexibo.systems.networks.layers import Design, dropout

TIME_FILTER = 11
FREQUENCY_FILTERS = (41, 21)
TIME_STRIDES = (2, 1)
FREQUENCY_STRIDE = 2
CLIP = 20.0


@dataclass(frozen=True, slots=True)
class DeepSpeechSize:
    """Filters of each convolution, cells of a recurrent layer in each direction, and the number of recurrent layers."""

    channels: int
    width: int
    layers: int


FULL = DeepSpeechSize(32, 880, 7)
SMALL = DeepSpeechSize(16, 256, 3)
TINY = DeepSpeechSize(4, 32, 1)


def _is_frame(lengths: torch.Tensor, time: int) -> torch.Tensor:
    """Booleans (b, time), false where an example is over."""
    return torch.arange(time, device=lengths.device) < lengths[:, None]


class Spectral(nn.Module):  # type: ignore[misc]  # torch has no types here
    """A convolution over time and frequency, normalised per frame, with a clipped rectifier."""

    def __init__(self, inputs: int, outputs: int, bands: int, *, frequency_filter: int, time_stride: int) -> None:
        super().__init__()
        self.bands = -(-bands // FREQUENCY_STRIDE)  # the number of output frequencies
        self.time_stride = time_stride
        self.filter = nn.Conv2d(
            inputs,
            outputs,
            (TIME_FILTER, frequency_filter),
            stride=(time_stride, FREQUENCY_STRIDE),
            padding=(TIME_FILTER // 2, frequency_filter // 2),
        )
        self.norm = nn.LayerNorm((outputs, self.bands))

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The output for (b, inputs, time, bands) and the new length of each example; padding is zero."""
        lengths = (lengths + self.time_stride - 1) // self.time_stride
        x = self.norm(self.filter(x).transpose(1, 2)).clamp(0, CLIP)
        return (x * _is_frame(lengths, x.shape[1])[:, :, None, None]).transpose(1, 2), lengths


class Recurrent(nn.Module):  # type: ignore[misc]  # torch has no types here
    """A GRU in each direction, added: (b, time, inputs) to (b, time, width)."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(inputs)
        self.ahead = nn.GRU(inputs, width, batch_first=True)
        self.back = nn.GRU(inputs, width, batch_first=True)

    def forward(self, x: torch.Tensor, reversal: torch.Tensor) -> torch.Tensor:
        """The sum of both directions; `reversal` (b, time, 1) has the place of each frame in its reversed example."""
        x = self.norm(x)
        ahead, _ = self.ahead(x)
        back, _ = self.back(x.gather(1, reversal.expand_as(x)))
        return ahead + back.gather(1, reversal.expand_as(back))


class DeepSpeech(nn.Module):  # type: ignore[misc]  # torch has no types here
    """The whole network."""

    def __init__(self, size: DeepSpeechSize, *, features: int, letters: int, dropout: float) -> None:
        super().__init__()
        channels, bands = 1, features
        self.spectral = nn.ModuleList()
        for frequency_filter, time_stride in zip(FREQUENCY_FILTERS, TIME_STRIDES, strict=True):
            layer = Spectral(channels, size.channels, bands, frequency_filter=frequency_filter, time_stride=time_stride)
            channels, bands = size.channels, layer.bands
            self.spectral.append(layer)
        self.recurrent = nn.ModuleList(
            Recurrent(channels * bands if layer == 0 else size.width, size.width) for layer in range(size.layers)
        )
        self.drop = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(size.width)
        self.head = nn.Linear(size.width, letters + 1)

    def forward(self, spectrogram: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The logarithms of probabilities (b, time', letters + 1), blank first, and the lengths (b,) in their frames.

        Args:
            spectrogram: Shape (b, time, features); values beyond the length of an example are ignored.
            lengths: Whole numbers (b,): frames of each example.
        """
        time = spectrogram.shape[1]
        lengths = lengths.clamp(max=time)
        x = spectrogram.masked_fill(~_is_frame(lengths, time)[:, :, None], 0.0).unsqueeze(1)
        for layer in self.spectral:
            x, lengths = layer(x, lengths)
        x = self.drop(x.transpose(1, 2).flatten(2))
        reversal = _reversal(lengths, x.shape[1])
        for layer in self.recurrent:
            x = self.drop(layer(x, reversal))
        # In single precision, whatever the layers compute in: CTC adds up many small probabilities.
        return self.head(self.norm(x)).float().log_softmax(-1), lengths


def build(design: Design, *, features: int, letters: int, size: DeepSpeechSize = FULL) -> DeepSpeech:
    """Deep Speech 2 for a design, of which only the option "dropout" matters; `letters` does not count the blank."""
    return DeepSpeech(size, features=features, letters=letters, dropout=dropout(design))


def _reversal(lengths: torch.Tensor, time: int) -> torch.Tensor:
    """Where each frame stands when its example is reversed and its padding is left in place: (b, time, 1)."""
    frames = torch.arange(time, device=lengths.device).expand(len(lengths), time)
    return torch.where(_is_frame(lengths, time), lengths[:, None] - 1 - frames, frames).unsqueeze(-1)
