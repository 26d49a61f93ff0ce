"""Small tasks of every kind, and a network that says what a test wants."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from flexibo.systems.data.base import Dataset, Question, Questions, Recordings, Reviews  # noqa: E402
from flexibo.systems.networks import bert, deepspeech  # noqa: E402
from flexibo.systems.tasks.answers import AnswerTask  # noqa: E402
from flexibo.systems.tasks.reviews import ReviewTask  # noqa: E402
from flexibo.systems.tasks.speech import SpeechTask, SpeechTraining  # noqa: E402
from flexibo.systems.tasks.text import TextTraining  # noqa: E402

RNG = np.random.default_rng
SMALLEST = bert.EncoderSize(1, 16, 2, 32)
BERT = {"dropout": 0.1, "batch_size": 4, "sequence_length": 16, "learning_rate": 5e-5, "weight_decay": 0.1}
SPEECH = {"epochs": 6, "dropout": 0.1, "batch_size": 4, "sequence_length": 64, "learning_rate": 5e-5}


@contextmanager
def on_one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def generator(seed: int = 0) -> Any:
    return torch.Generator().manual_seed(seed)


class Constant(torch.nn.Module):  # type: ignore[misc]
    """A network that gives what a function of its inputs gives."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.modes: list[bool] = []

    def forward(self, *inputs: Any) -> Any:
        self.modes.append(self.training)
        return self.function(*inputs)


REVIEWS = Dataset(
    "reviews",
    Reviews(tuple(f"{word} film number {i}" for i in range(8) for word in ("fine", "dull")), np.tile([1, 0], 8)),
    Reviews(("fine film", "dull film here and there and everywhere", "fine"), np.array([1, 0, 1])),
    "f",
)
TEXT = TextTraining(epochs=5, size=SMALLEST, vocabulary=100, positions=32, learning_rate_factor=400)


def review_task(**settings: Any) -> ReviewTask:
    return ReviewTask("bert", REVIEWS, replace(TEXT, **settings))


def pieces_of(task: Any, tokens: Any) -> list[str]:
    return [task.words.pieces[number] for number in tokens]


CONTEXT = "Ann has a red hat. Bob has a blue coat, and the coat is old. Cem lives in Rome near a river with many boats."
QUESTIONS = (
    Question(CONTEXT, "What has Ann?", ((8, "a red hat"), (10, "red hat"))),
    Question(CONTEXT, "Where lives Cem?", ((CONTEXT.index("Rome"), "Rome"),)),
    Question(CONTEXT, "What has Dan?", ()),
    Question("Short text.", "What is short?", ((6, "text"),)),
)


def answer_task() -> AnswerTask:
    part = Questions(QUESTIONS)
    return AnswerTask("bert", Dataset("questions", part, part, "f"), TEXT)


RATE = 1000


def tone(hertz: float, seconds: float = 0.4, rate: int = RATE) -> Any:
    return (0.5 * np.sin(2 * np.pi * hertz * np.arange(int(seconds * rate)) / rate)).astype(np.float32)


def speech_data(n_train: int = 12) -> Dataset[Recordings]:
    words = ("aa", "bc")
    tones = [tone(100 if i % 2 == 0 else 350, 0.4 + 0.01 * i) for i in range(n_train)]
    waves = tuple(wave + RNG(i).normal(0, 0.01, len(wave)).astype(np.float32) for i, wave in enumerate(tones))
    part = Recordings(waves, RATE, tuple(words[i % 2] for i in range(n_train)))
    test = Recordings(waves[:3], RATE, ("aa", "bc", "aa"))
    return Dataset("tones", part, test, "f")


def speech_task(**settings: Any) -> SpeechTask:
    settings = {"size": deepspeech.DeepSpeechSize(2, 12, 1), "features": 8, "learning_rate_factor": 400.0} | settings
    return SpeechTask("deepspeech", speech_data(), SpeechTraining(**settings))
