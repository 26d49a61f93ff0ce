"""What data is: examples to learn from and examples to be judged by, in memory, as numpy arrays and text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from flexibo._internal.arrays import IntArray
from flexibo._internal.text import printable_line
from flexibo.errors import FlexiBOError

Pixels: TypeAlias = npt.NDArray[np.uint8]
Wave: TypeAlias = npt.NDArray[np.float32]


class MissingDataError(FlexiBOError, FileNotFoundError):
    """Data is not where it should be; the message says which file, where it belongs and where it can be had.

    Args:
        lines: The message, line by line; names of a stranger's files may be in it and forge no other line.
    """

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(map(printable_line, lines)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(str(self).split("\n"))


class DamagedDataError(FlexiBOError, ValueError):
    """Data is cut short or is not what its format says; the message names the file and what is wrong.

    Args:
        message: One line; names of a stranger's files and what these hold may be in it.
    """

    def __init__(self, message: str) -> None:
        super().__init__(printable_line(message))


@dataclass(frozen=True, slots=True)
class Images:
    """Images with one label each.

    Attributes:
        pixels: Shape (m, channels, height, width).
        labels: Shape (m,), from 0.
        classes: What the labels mean.
    """

    pixels: Pixels
    labels: IntArray
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True)
class Reviews:
    """Texts with one label each.

    Attributes:
        texts: The texts.
        labels: Shape (m,): 0 negative, 1 positive.
    """

    texts: tuple[str, ...]
    labels: IntArray

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a text.

    Attributes:
        context: The text.
        question: The question.
        answers: Right answers, each with where it begins in the text (in characters); none if the text has no answer.
    """

    context: str
    question: str
    answers: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions about texts."""

    questions: tuple[Question, ...]

    def __len__(self) -> int:
        return len(self.questions)


@dataclass(frozen=True, slots=True)
class Recordings:
    """Recorded speech.

    Attributes:
        waves: One array of samples in [-1, 1] each.
        rate: Samples per second, the same for all.
        transcripts: What is said, in lower case.
    """

    waves: tuple[Wave, ...]
    rate: int
    transcripts: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.waves)


Examples = TypeVar("Examples", Images, Reviews, Questions, Recordings)


@dataclass(frozen=True, slots=True)
class Dataset(Generic[Examples]):
    """Examples to learn from and held-out examples.

    Attributes:
        name: As a user names it, such as "fashion-mnist".
        train: What a network learns from.
        test: What its error is measured on; nothing of it is in `train`.
        fingerprint: Changes when the examples do.
        note: What a report must say about it, such as that it is a stand-in.
    """

    name: str
    train: Examples
    test: Examples
    fingerprint: str
    note: str = ""


AnyDataset: TypeAlias = Dataset[Any]
