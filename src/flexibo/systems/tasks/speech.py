"""Speech recognition: the task of Deep Speech.

Spectrograms have a frame every 10 ms, computed over 20 ms. Frequencies are grouped into bands of equal width, the
logarithm is taken, and each band is normalised over the training frames. The network is trained with CTC, and its most
likely letters are decoded frame by frame.

The option `sequence_length` is the largest number of frames of an example. Speech beyond it is cut while the transcript
stays, so that short sequences cost errors. If too few frames are left for a transcript, CTC has no path and the example
contributes nothing.

The table's learning rates (1e-5 to 5e-5) are those of fine-tuning. These networks start from scratch, so a
`learning_rate_factor` multiplies every design's rate, by default by 10.

The error is the number of words to insert, delete or replace, per hundred of the transcript. It can exceed
100, because a network can write more than was said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from flexibo.errors import InvalidValueError
from flexibo.systems.data.base import Dataset, Recordings
from flexibo.systems.networks import deepspeech
from flexibo.systems.tasks import base
from flexibo.systems.tasks.base import Batch, Design, Device, Optimiser

FRAMES_PER_SECOND = 100
WINDOW_FRAMES = 2
MOST_FRAMES = 1024
SILENCE = 1e-6
BLANK = 0
N_AT_ONCE = 256
WARM_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class SpeechTraining:
    """How a network is trained on speech; epochs, batch size and learning rate are options of the design."""

    size: deepspeech.DeepSpeechSize = deepspeech.SMALL  # the size of the network
    features: int = 40  # the number of bands of a spectrogram
    learning_rate_factor: float = 10.0  # multiplies the design's learning rate
    weight_decay: float = 0.01  # the weight decay of AdamW

    def __post_init__(self) -> None:
        base.check_positive(self, "features", "learning_rate_factor")


@dataclass(frozen=True, slots=True)
class _Part:
    """Recordings on a device: spectrograms (m, time, features), frames (m,), letters (m, most), their number (m,)."""

    spectrograms: Tensor
    frames: Tensor
    letters: Tensor
    n_letters: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class SpeechTask:
    """What is said in a recording; keeps the spectrograms on each device they were requested for."""

    network: str
    data: Dataset[Recordings]
    settings: SpeechTraining = field(default_factory=SpeechTraining)
    _memory: dict[tuple[str, str], Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        base.check_task("speech", self.network, ["deepspeech"], self.data)

    @property
    def fingerprint(self) -> str:
        """Changes with the data and the settings."""
        return base.fingerprint_of("speech", self.data.fingerprint, asdict(self.settings) | {"unit": "words"})

    @property
    def alphabet(self) -> str:
        """The letters of the training transcripts; the first is the network's output 1, after the blank."""
        return "".join(sorted(set("".join(self.data.train.transcripts))))

    @property
    def chance_percent(self) -> float:
        """The error of writing nothing, or always the most frequent transcript of the training, if that is less."""
        said = self.data.test.transcripts
        usual = Counter(self.data.train.transcripts).most_common(1)[0][0]
        return min(error_rate_percent([text] * len(said), said) for text in ("", usual))

    def load(self, device: Device) -> None:
        """Move all spectrograms to the device."""
        for part in base.PARTS:
            self._kept(part, device)

    def epochs(self, design: Design) -> int:
        """An option of the design."""
        return int(design["epochs"])

    def build(self, design: Design) -> nn.Module:
        """The design's network with fresh weights."""
        settings = self.settings
        return deepspeech.build(design, features=settings.features, letters=len(self.alphabet), size=settings.size)

    def batches(self, design: Design, generator: torch.Generator, device: Device) -> Iterator[Batch]:
        """One epoch of spectrograms (b, time, features), frames (b,), letters (b, most) and their number (b,)."""
        part = self._kept("train", device)
        length = int(design["sequence_length"])
        for chosen in base.shuffled(len(part.frames), int(design["batch_size"]), generator):
            chosen = chosen.to(part.frames.device)
            yield (
                part.spectrograms[chosen, :length],
                part.frames[chosen].clamp(max=length),
                part.letters[chosen],
                part.n_letters[chosen],
            )

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """The CTC loss per letter."""
        spectrograms, frames, letters, n_letters = batch
        with base.autocast(spectrograms.device):
            logs, lengths = model(spectrograms, frames)
        return functional.ctc_loss(
            logs.float().transpose(0, 1), letters, lengths, n_letters, blank=BLANK, zero_infinity=True
        )

    def optimiser(self, model: nn.Module, design: Design) -> Optimiser:
        """AdamW with linear warm-up."""
        rate = float(design["learning_rate"]) * self.settings.learning_rate_factor
        steps = self.epochs(design) * base.n_steps(len(self.data.train), int(design["batch_size"]))
        return base.one_cycle(
            base.adam(model, learning_rate=rate, weight_decay=self.settings.weight_decay), steps, warm_share=WARM_SHARE
        )

    def error_percent(self, model: nn.Module, design: Design, device: Device) -> float:
        """Wrong words per hundred of the held-out transcripts."""
        part = self._kept("test", device)
        length = int(design["sequence_length"])
        written: list[str] = []
        with base.evaluating(model):
            for some, frames in zip(
                part.spectrograms[:, :length].split(N_AT_ONCE), part.frames.split(N_AT_ONCE), strict=True
            ):
                logs, lengths = model(some, frames.clamp(max=length))
                base.check_finite(logs)
                written += decoded(logs.argmax(dim=2).cpu().numpy(), lengths.cpu().numpy(), self.alphabet)
        return error_rate_percent(written, self.data.test.transcripts)

    def inputs(self, design: Design, count: int, device: Device) -> tuple[Tensor, ...]:
        """Held-out spectrograms (count, sequence_length, features), shorter ones padded, and frames (count,).

        They are normalised by themselves: the levels of the training frames would need all of them.
        """
        few = self.data.test.first(count)
        part = base.remembered(
            self._memory, f"first {count}", device, lambda: self._encoded(few, self._levels(few), device)
        )
        length = int(design["sequence_length"])
        spectrograms = part.spectrograms[:, :length]
        spectrograms = functional.pad(spectrograms, (0, 0, 0, length - spectrograms.shape[1]))
        return base.cycled(spectrograms, count), base.cycled(part.frames.clamp(max=length), count)

    def _kept(self, part: str, device: Device) -> _Part:
        def encoded() -> _Part:
            levels = base.remembered(self._memory, "levels", "cpu", lambda: self._levels(self.data.train))
            return self._encoded(getattr(self.data, part), levels, device)

        return base.remembered(self._memory, part, device, encoded)

    def _encoded(self, recordings: Recordings, levels: tuple[Tensor, Tensor], device: Device) -> _Part:
        mean, deviation = levels
        logs = [(one - mean) / deviation for one in self._logs(recordings)]
        place = {letter: number for number, letter in enumerate(self.alphabet, 1)}
        # A held-out letter that is not in the alphabet counts as an error whatever the network writes.
        letters = [[place.get(letter, BLANK) for letter in text] for text in recordings.transcripts]
        return _Part(
            nn.utils.rnn.pad_sequence(logs, batch_first=True).to(device),
            torch.tensor([len(one) for one in logs], device=device),
            nn.utils.rnn.pad_sequence([torch.tensor(line, dtype=torch.int64) for line in letters], True).to(device),
            torch.tensor([len(line) for line in letters], device=device),
        )

    def _levels(self, recordings: Recordings) -> tuple[Tensor, Tensor]:
        """The mean and the standard deviation of each band over all frames."""
        frames = torch.cat(self._logs(recordings))
        deviation = frames.std(dim=0, correction=0)
        return frames.mean(dim=0), torch.where(deviation > 0, deviation, 1.0)

    def _logs(self, recordings: Recordings) -> list[Tensor]:
        return [log_spectrogram(wave, recordings.rate, self.settings.features) for wave in recordings.waves]


def log_spectrogram(wave: Any, rate: int, features: int) -> Tensor:
    """The logarithm of the power in each band, shape (frames, features), at most `MOST_FRAMES` frames."""
    hop = rate // FRAMES_PER_SECOND
    window = WINDOW_FRAMES * hop
    samples = torch.tensor(np.asarray(wave[: (MOST_FRAMES + WINDOW_FRAMES - 1) * hop], dtype=np.float32))
    samples = functional.pad(samples, (0, max(window - len(samples), 0)))
    transform = torch.stft(samples, window, hop, window=torch.hann_window(window), center=False, return_complex=True)
    power = functional.adaptive_avg_pool1d(transform.abs().square().T[None], features)[0]
    return torch.log(power + SILENCE)


def decoded(best: Any, lengths: Any, alphabet: str) -> list[str]:
    """The texts of the most likely outputs (b, time): repetitions are merged and blanks removed.

    >>> decoded(np.array([[1, 1, 0, 1, 2, 2]]), np.array([5]), "ab")
    ['aab']
    """
    texts = []
    for line, length in zip(best, lengths, strict=True):
        kept = line[:length]
        starts = np.ones(len(kept), dtype=bool)
        starts[1:] = kept[1:] != kept[:-1]
        texts.append("".join(alphabet[number - 1] for number in kept[starts] if number != BLANK))
    return texts


def error_rate_percent(written: Sequence[str], said: Sequence[str]) -> float:
    """Edits per hundred words of the transcripts, over all texts together; can exceed 100.

    >>> error_rate_percent(["one two"], ["one three four"])
    66.66666666666667
    """
    pairs = [(text.split(), right.split()) for text, right in zip(written, said, strict=True)]
    total = sum(len(right) for _, right in pairs)
    if not total:
        raise InvalidValueError("The held-out transcripts have no words; there is nothing to count errors in.")
    return 100 * sum(n_edits(text, right) for text, right in pairs) / total


def n_edits(first: Sequence[str], second: Sequence[str]) -> int:
    """The smallest number of insertions, deletions and replacements between two sequences (Levenshtein).

    >>> n_edits("kitten", "sitting")
    3
    """
    places = np.arange(len(second) + 1)
    others = np.array(list(second), dtype=object)
    row = places.copy()
    for n_done, unit in enumerate(first, 1):
        following = row + 1
        following[0] = n_done
        following[1:] = np.minimum(following[1:], row[:-1] + (others != unit))
        # Insertions in a row: the minimum over all earlier places, without a loop.
        row = np.minimum.accumulate(following - places) + places
    return int(row[-1])
