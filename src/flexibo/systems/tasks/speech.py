"""Writing down what is said: the task of Deep Speech.

Spectrograms have a frame every 10 ms, taken over 20 ms; their frequencies are gathered into bands of equal width, then
the logarithm is taken and each band normalised over the training frames. The network learns with CTC, and its most
likely letters are read off frame by frame.

Of a design, `sequence_length` is the most frames that an example keeps: speech beyond it is lost while its transcript
stays, so that short sequences cost errors. Where too few frames are left for a transcript, CTC has no path and the
example teaches nothing.

The table's learning rates (1e-5 to 5e-5) are those of fine-tuning. These networks learn from scratch, and a
`learning_rate_factor` of 10 multiplies every design's rate by default.

The error is the number of words (or letters) to put in, leave out or change, per hundred that were said. It can exceed
100, since a network can write more than was said, and is reported as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from flexibo.errors import InvalidValueError, unknown_name
from flexibo.systems.data.base import Dataset, Recordings
from flexibo.systems.networks import deepspeech
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

FRAMES_PER_SECOND = 100
WINDOW_FRAMES = 2
MOST_FRAMES = 1024
SILENCE = 1e-6
BLANK = 0
N_AT_ONCE = 256
WARM_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class SpeechTraining:
    """How a network learns to write down speech; epochs, batch size and learning rate are the design's.

    Attributes:
        size: How large the network is.
        features: Bands of a spectrogram.
        learning_rate_factor: What a design's learning rate is multiplied by.
        weight_decay: How strongly weights are drawn to zero.
        unit: What the error counts.
    """

    size: deepspeech.DeepSpeechSize = deepspeech.SMALL
    features: int = 40
    learning_rate_factor: float = 10.0
    weight_decay: float = 0.01
    unit: Literal["words", "letters"] = "words"

    def __post_init__(self) -> None:
        check_positive(self, "features", "learning_rate_factor")
        if self.unit not in ("words", "letters"):
            raise InvalidValueError(f"SpeechTraining.unit is {self.unit!r}; it must be 'words' or 'letters'.")


@dataclass(frozen=True, slots=True)
class _Part:
    """Recordings on a device: spectrograms (m, time, features), frames (m,), letters (m, most), their number (m,)."""

    spectrograms: Tensor
    frames: Tensor
    letters: Tensor
    n_letters: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class SpeechTask:
    """What is said in a recording.

    It keeps the spectrograms on each device that it was asked for, as long as it lives.

    Args:
        network: "deepspeech".
        data: Recordings to learn from and held-out recordings.
        settings: How it is learned.
    """

    network: str
    data: Dataset[Recordings]
    settings: SpeechTraining = field(default_factory=SpeechTraining)
    _memory: dict[tuple[str, str], Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.network != "deepspeech":
            raise unknown_name("speech network", self.network, ["deepspeech"])
        check_examples(f"Data {self.data.name!r}", len(self.data.train), len(self.data.test))

    @property
    def fingerprint(self) -> str:
        """Changes with the data and the settings."""
        return fingerprint_of("speech", self.data.fingerprint, asdict(self.settings))

    @property
    def chance_percent(self) -> float:
        """The error of writing nothing, which leaves out everything that was said."""
        return 100.0

    @property
    def alphabet(self) -> str:
        """The letters of the training transcripts; the first is the network's output 1, after the blank."""
        return "".join(sorted(set("".join(self.data.train.transcripts))))

    def epochs(self, design: Design) -> int:
        """The design's."""
        return int(design["epochs"])

    def build(self, design: Design) -> nn.Module:
        """The design's network with fresh weights."""
        settings = self.settings
        return deepspeech.build(design, features=settings.features, letters=len(self.alphabet), size=settings.size)

    def batches(self, design: Design, generator: torch.Generator, device: Device) -> Iterator[Batch]:
        """One epoch of spectrograms (b, time, features), frames (b,), letters (b, most) and their number (b,)."""
        part = self._kept("train", device)
        length = int(design["sequence_length"])
        for chosen in shuffled(len(part.frames), int(design["batch_size"]), generator):
            chosen = chosen.to(part.frames.device)
            yield (
                part.spectrograms[chosen, :length],
                part.frames[chosen].clamp(max=length),
                part.letters[chosen],
                part.n_letters[chosen],
            )

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """CTC's: how unlikely the transcripts are, per letter."""
        spectrograms, frames, letters, n_letters = batch
        with autocast(spectrograms.device):
            logs, lengths = model(spectrograms, frames)
        return functional.ctc_loss(
            logs.float().transpose(0, 1), letters, lengths, n_letters, blank=BLANK, zero_infinity=True
        )

    def optimiser(self, model: nn.Module, design: Design) -> Optimiser:
        """AdamW with linear warm-up."""
        rate = float(design["learning_rate"]) * self.settings.learning_rate_factor
        steps = self.epochs(design) * n_steps(len(self.data.train), int(design["batch_size"]))
        return one_cycle(
            adam(model, learning_rate=rate, weight_decay=self.settings.weight_decay), steps, warm_share=WARM_SHARE
        )

    def error_percent(self, model: nn.Module, design: Design, device: Device) -> float:
        """The share of words, or letters, that are wrong in the held-out recordings."""
        part = self._kept("test", device)
        length = int(design["sequence_length"])
        written: list[str] = []
        with evaluating(model), autocast(device_of(model)):
            for some, frames in zip(
                part.spectrograms[:, :length].split(N_AT_ONCE), part.frames.split(N_AT_ONCE), strict=True
            ):
                logs, lengths = model(some, frames.clamp(max=length))
                check_finite(logs)
                written += decoded(logs.argmax(dim=2).cpu().numpy(), lengths.cpu().numpy(), self.alphabet)
        return error_rate_percent(written, self.data.test.transcripts, unit=self.settings.unit)

    def inputs(self, design: Design, count: int, device: Device) -> tuple[Tensor, ...]:
        """Held-out spectrograms (count, sequence_length, features) and frames (count,).

        Speech shorter than the sequence length is filled up with padding, as in a batch with one long recording.
        """
        part = self._kept("test", device)
        length = int(design["sequence_length"])
        spectrograms = part.spectrograms[:, :length]
        spectrograms = functional.pad(spectrograms, (0, 0, 0, length - spectrograms.shape[1]))
        return cycled(spectrograms, count), cycled(part.frames.clamp(max=length), count)

    def _kept(self, part: str, device: Device) -> _Part:
        key = (part, place_of(device))
        if key not in self._memory:
            mean, deviation = self._levels()
            recordings = self.data.train if part == "train" else self.data.test
            logs = [(one - mean) / deviation for one in self._logs(recordings)]
            place = {letter: number for number, letter in enumerate(self.alphabet, 1)}
            # A held-out letter that no network can write is an error however it is written.
            letters = [[place.get(letter, BLANK) for letter in text] for text in recordings.transcripts]
            self._memory[key] = _Part(
                nn.utils.rnn.pad_sequence(logs, batch_first=True).to(device),
                torch.tensor([len(one) for one in logs], device=device),
                nn.utils.rnn.pad_sequence([torch.tensor(line, dtype=torch.int64) for line in letters], True).to(device),
                torch.tensor([len(line) for line in letters], device=device),
            )
        kept: _Part = self._memory[key]
        return kept

    def _levels(self) -> tuple[Tensor, Tensor]:
        """The mean and deviation of each band over the training frames."""
        key = ("levels", "")
        if key not in self._memory:
            frames = torch.cat(self._logs(self.data.train))
            deviation = frames.std(dim=0, correction=0)
            self._memory[key] = (frames.mean(dim=0), torch.where(deviation > 0, deviation, 1.0))
        kept: tuple[Tensor, Tensor] = self._memory[key]
        return kept

    def _logs(self, recordings: Recordings) -> list[Tensor]:
        return [log_spectrogram(wave, recordings.rate, self.settings.features) for wave in recordings.waves]


def log_spectrogram(wave: Any, rate: int, features: int) -> Tensor:
    """The logarithm of the power in each band, shape (frames, features), at most `MOST_FRAMES` frames.

    Args:
        wave: Samples, shape (samples,).
        rate: Samples per second.
        features: How many bands of equal width there are.
    """
    hop = rate // FRAMES_PER_SECOND
    window = WINDOW_FRAMES * hop
    if not 1 <= features <= window // 2 + 1:
        raise InvalidValueError(
            f"A spectrogram of {features} features was asked for; at {rate} samples per second there are "
            f"1 to {window // 2 + 1}."
        )
    samples = torch.tensor(np.asarray(wave[: (MOST_FRAMES + WINDOW_FRAMES - 1) * hop], dtype=np.float32))
    samples = functional.pad(samples, (0, max(window - len(samples), 0)))
    transform = torch.stft(samples, window, hop, window=torch.hann_window(window), center=False, return_complex=True)
    power = functional.adaptive_avg_pool1d(transform.abs().square().T[None], features)[0]
    return torch.log(power + SILENCE)


def decoded(best: Any, lengths: Any, alphabet: str) -> list[str]:
    """The texts of the most likely outputs: repetitions are one letter, blanks are none.

    Args:
        best: The most likely output in each frame, shape (b, time).
        lengths: How many frames count, shape (b,).
        alphabet: The letters of the outputs from 1.

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


def error_rate_percent(written: Sequence[str], said: Sequence[str], *, unit: Literal["words", "letters"]) -> float:
    """Edits per hundred units that were said, over all texts together; more than 100 if too much was written.

    >>> error_rate_percent(["one two"], ["one three four"], unit="words")
    66.66666666666667
    """
    pairs = [
        (text.split(), right.split()) if unit == "words" else (list(text), list(right))
        for text, right in zip(written, said, strict=True)
    ]
    total = sum(len(right) for _, right in pairs)
    if not total:
        raise InvalidValueError(f"The held-out transcripts have no {unit}; there is nothing to count errors in.")
    return 100 * sum(n_edits(text, right) for text, right in pairs) / total


def n_edits(first: Sequence[str], second: Sequence[str]) -> int:
    """The least number of units to put in, leave out or change to make one sequence the other (Levenshtein).

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
        # Units put in one after the other: the least over all places before, without a loop.
        row = np.minimum.accumulate(following - places) + places
    return int(row[-1])
