"""Telling good reviews from bad ones: texts are cut as they should be, learnt from, and errors counted as by hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tests.unit.systems.tasks.small_tasks import (  # noqa: E402
    BERT,
    TEXT,
    Constant,
    answer_task,
    generator,
    on_one_thread,
    pieces_of,
    review_task,
)

from flexibo.systems.data.base import Dataset, Reviews  # noqa: E402
from flexibo.systems.networks import bert  # noqa: E402
from flexibo.systems.tasks.base import LearningTask  # noqa: E402
from flexibo.systems.tasks.reviews import ReviewTask  # noqa: E402
from flexibo.systems.training import train  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with on_one_thread():
        yield


def test_bert_learns_reviews() -> None:
    task: LearningTask = review_task(size=bert.EncoderSize(1, 64, 2, 128), learning_rate_factor=100, epochs=10)
    trained = train(task, BERT, seed=0)
    assert trained.losses[-1] < 0.7 * trained.losses[0]
    assert trained.error_percent == 0
    assert trained.epochs == 10
    assert trained.model(*task.inputs(BERT, 5, "cpu")).shape == (5, 2)


def test_a_review_is_cut_and_ends_with_a_separator() -> None:
    task = review_task()
    tokens, mask = task.inputs(BERT | {"sequence_length": 5}, 3, "cpu")
    assert pieces_of(task, tokens[0]) == ["[CLS]", "fine", "film", "[SEP]", "[PAD]"]
    assert pieces_of(task, tokens[1])[:3] == ["[CLS]", "dull", "film"]
    assert pieces_of(task, tokens[1])[4] == "[SEP]"
    assert mask.tolist() == [[True] * 4 + [False], [True] * 5, [True] * 3 + [False] * 2]


@pytest.mark.parametrize("length", [3, 13, 32])
def test_inputs_are_as_long_as_the_sequence(length: int) -> None:
    for task in (review_task(), answer_task()):
        design = BERT | {"sequence_length": max(length, 5)}
        for tensor in task.inputs(design, 7, "cpu"):
            assert tensor.shape == (7, max(length, 5))


def test_a_review_as_long_as_there_are_positions_still_fits() -> None:
    long = Reviews(("fine " * 100, "dull"), np.array([1, 0]))
    task = ReviewTask("bert", Dataset("long", long, long, "f"), TEXT)
    tokens, mask = task.inputs(BERT | {"sequence_length": 32}, 1, "cpu")
    assert pieces_of(task, tokens[0]) == ["[CLS]", *["fine"] * 30, "[SEP]"]
    assert bool(mask.all())


def test_the_batches_of_reviews_are_as_large_as_the_design_says_and_keep_their_labels() -> None:
    task = review_task()
    batches = list(task.batches(BERT | {"batch_size": 6}, generator(), "cpu"))
    assert [len(labels) for _, _, labels in batches] == [6, 5, 5]
    for tokens, _, labels in batches:
        assert [pieces_of(task, line)[1] == "fine" for line in tokens] == labels.bool().tolist()


def test_the_error_of_reviews_is_the_share_of_wrong_labels() -> None:
    task = review_task()
    always_good = Constant(lambda tokens, mask: torch.tensor([[0.0, 1.0]]).expand(len(tokens), 2))
    assert task.error_percent(always_good, BERT, "cpu") == pytest.approx(100 / 3)
    assert always_good.modes == [False]


def test_what_is_only_run_encodes_its_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    task, encoded = review_task(), []
    known = task.words
    encode = type(known).encode
    monkeypatch.setattr(type(known), "encode", lambda self, text: encoded.append(text) or encode(self, text))
    for _ in range(2):
        task.inputs(BERT, 2, "cpu")
    assert encoded == list(task.data.test.texts[:2])


def test_the_chance_level_is_that_of_the_best_constant_answer() -> None:
    assert review_task().chance_percent == pytest.approx(100 / 3)
