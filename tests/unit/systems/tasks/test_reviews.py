"""Telling good reviews from bad ones: texts are cut as they should be, learnt from, and errors counted as by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tests.unit.systems.tasks.small_tasks import (  # noqa: E402
    BERT,
    SMALLEST,
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
from flexibo.systems.tasks.text import TextTraining  # noqa: E402
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


@pytest.mark.parametrize(
    ("given", "encoder", "factor"), [(None, None, 10), (None, "e", 1), (3.0, "e", 3), (3.0, None, 3)]
)
def test_the_learning_rate_is_multiplied_where_nothing_is_pretrained(
    given: float | None, encoder: str | None, factor: float
) -> None:
    settings = TextTraining(learning_rate_factor=given, encoder=None if encoder is None else Path(encoder))
    assert settings.rate(BERT) == pytest.approx(5e-5 * factor)


def test_learning_rate_and_weight_decay_are_the_designs() -> None:
    task = review_task()
    optimiser = task.optimiser(task.build(BERT), BERT).steps
    assert [group["weight_decay"] for group in optimiser.param_groups] == [0.1, 0.0]
    assert optimiser.param_groups[0]["initial_lr"] == pytest.approx(5e-5 * 400)


def pretrained(folder: Path, words: tuple[str, ...]) -> Any:
    """A folder with an encoder as Hugging Face lays it out, and the network whose weights are in it."""
    folder.mkdir()
    model = bert.build(BERT, vocabulary=len(words), head="classify", size=SMALLEST, positions=32)
    sizes = {"num_hidden_layers": 1, "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32}
    (folder / "config.json").write_text(json.dumps(sizes))
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    names = {
        "words": "embeddings.word_embeddings", "positions": "embeddings.position_embeddings",
        "segments": "embeddings.token_type_embeddings", "norm": "embeddings.LayerNorm",
        "layers.0.attended": "encoder.layer.0.attention.output.dense",
        "layers.0.attended_norm": "encoder.layer.0.attention.output.LayerNorm",
        "layers.0.widen": "encoder.layer.0.intermediate.dense", "layers.0.narrow": "encoder.layer.0.output.dense",
        "layers.0.norm": "encoder.layer.0.output.LayerNorm", "pooler": "pooler.dense",
    }  # fmt: skip
    state = {}
    for name, value in model.state_dict().items():
        module, kind = name.rsplit(".", 1)
        if module == "layers.0.qkv":
            for part, rows in zip(("query", "key", "value"), value.chunk(3), strict=True):
                state[f"encoder.layer.0.attention.self.{part}.{kind}"] = rows.clone()
        elif module in names:
            state[f"{names[module]}.{kind}"] = value
    torch.save(state, folder / "pytorch_model.bin")
    return model


def test_a_pretrained_encoder_gives_its_weights_and_its_words(tmp_path: Path) -> None:
    words = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "fine", "dull", "film")
    original = pretrained(tmp_path / "encoder", words)
    task = review_task(encoder=tmp_path / "encoder", size=bert.TINY)
    assert task.words.pieces == words
    model = task.build(BERT)
    assert torch.equal(model.words.weight, original.words.weight)
    assert torch.equal(model.layers[0].qkv.weight, original.layers[0].qkv.weight)


def test_the_fingerprint_names_the_encoders_files_and_not_where_they_lie(tmp_path: Path) -> None:
    words = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "fine")
    pretrained(tmp_path / "one", words)
    (tmp_path / "one").rename(tmp_path / "two")
    first = review_task(encoder=tmp_path / "two").fingerprint
    (tmp_path / "two").rename(tmp_path / "three")
    assert review_task(encoder=tmp_path / "three").fingerprint == first != review_task().fingerprint
    with open(tmp_path / "three" / "vocab.txt", "a") as file:
        file.write("more\n")
    assert review_task(encoder=tmp_path / "three").fingerprint != first


@pytest.mark.parametrize(
    "change", [{"epochs": 9}, {"size": bert.TINY}, {"vocabulary": 99}, {"learning_rate_factor": 2.0}]
)
def test_every_setting_of_texts_changes_the_fingerprint(change: dict[str, Any]) -> None:
    assert review_task(**change).fingerprint != review_task().fingerprint
