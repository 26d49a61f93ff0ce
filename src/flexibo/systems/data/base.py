"""Data in memory: training and held-out examples as numpy arrays and text, and what can be wrong with its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from flexibo._internal.arrays import IntArray
from flexibo._internal.text import printable_line
from flexibo.errors import FlexiBOError

Pixels: TypeAlias = npt.NDArray[np.uint8]
Wave: TypeAlias = npt.NDArray[np.float32]

N_TO_RUN = 256  # held-out inputs of a network that is only run: the largest batch of any network or platform


class Use(Enum):
    """What examples are loaded for."""

    TRAIN = "train"  # all of them
    RUN = "run"  # what decides the size of the network, and `N_TO_RUN` held-out inputs
    RUN_ENCODER = "run an encoder"  # the same, if the words of the training texts do not decide the size


class MissingDataError(FlexiBOError, FileNotFoundError):
    """A file is missing; the lines of the message name it, its place and where to get it."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(map(printable_line, lines)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(str(self).split("\n"))


class DamagedDataError(FlexiBOError, ValueError):
    """A file is cut short or does not follow its format; the message names the file and the fault."""

    def __init__(self, message: str) -> None:
        super().__init__(printable_line(message))


class StreamedPixels(Protocol):
    """Images that are too many for the memory, decoded whenever they are needed."""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The number of images, channels, height and width."""

    def __len__(self) -> int:
        """The number of images."""

    def __getitem__(self, rows: slice | IntArray, /) -> Pixels:
        """These images, decoded."""

    def parts(self, rows: Iterable[IntArray]) -> Iterator[Pixels]:
        """The images of each part of the rows; the next part is decoded while the caller uses one."""


@dataclass(frozen=True, slots=True)
class Images:
    """Images (m, channels, height, width) with one label each (m,), counted from 0, and the names of the classes."""

    pixels: Pixels | StreamedPixels
    labels: IntArray
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def first(self, count: int) -> Images:
        """The first examples, all of them if there are fewer."""
        return Images(self.pixels[:count], self.labels[:count], self.classes)


@dataclass(frozen=True, slots=True)
class Reviews:
    """Texts with one label each (m,): 0 negative, 1 positive; for a network that is only run, the first texts alone."""

    texts: tuple[str, ...]
    labels: IntArray

    def __len__(self) -> int:
        return len(self.labels)

    def first(self, count: int) -> Reviews:
        """The first examples, all that have a text if there are fewer."""
        texts = self.texts[:count]
        return Reviews(texts, self.labels[: len(texts)])


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a text, and its answers with their positions in characters; none if there is no answer."""

    context: str
    question: str
    answers: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions about texts."""

    questions: tuple[Question, ...]

    def __len__(self) -> int:
        return len(self.questions)

    def first(self, count: int) -> Questions:
        """The first examples, all of them if there are fewer."""
        return Questions(self.questions[:count])


@dataclass(frozen=True, slots=True)
class Recordings:
    """Recorded speech: samples in [-1, 1], samples per second, and the spoken words in lower case.

    For a network that is only run, there are all transcripts, whose letters are its outputs, and the first waves alone.
    """

    waves: tuple[Wave, ...]
    rate: int
    transcripts: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.transcripts)

    def first(self, count: int) -> Recordings:
        """The first examples, all that have a wave if there are fewer."""
        waves = self.waves[:count]
        return Recordings(waves, self.rate, self.transcripts[: len(waves)])


Examples = TypeVar("Examples", Images, Reviews, Questions, Recordings)


@dataclass(frozen=True, slots=True)
class Dataset(Generic[Examples]):
    """Training examples and held-out examples."""

    name: str  # the name on the command line, such as "fashion-mnist"
    train: Examples
    test: Examples  # the examples that the error is measured on; none of them is in `train`
    fingerprint: str  # changes when the examples do
    note: str = ""  # A note for reports, such as that it is a stand-in


AnyDataset: TypeAlias = Dataset[Any]
