"""Each task shows its data as it should, learns from it, and counts errors as a hand count does."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from flexibo.errors import InvalidValueError, UnknownNameError  # noqa: E402
from flexibo.systems.data.base import Dataset, Images, Question, Questions, Recordings, Reviews  # noqa: E402
from flexibo.systems.networks import bert, deepspeech  # noqa: E402
from flexibo.systems.options import NETWORKS  # noqa: E402
from flexibo.systems.tasks.answers import AnswerTask, f1_share, normal_answer  # noqa: E402
from flexibo.systems.tasks.base import (  # noqa: E402
    Task,
    TrainingFailedError,
    adam,
    cycled,
    evaluating,
    n_steps,
    one_cycle,
    shuffled,
)
from flexibo.systems.tasks.images import BUILDERS, ImageTask, ImageTraining  # noqa: E402
from flexibo.systems.tasks.reviews import ReviewTask, TextTraining  # noqa: E402
from flexibo.systems.tasks.speech import (  # noqa: E402
    MOST_FRAMES,
    SpeechTask,
    SpeechTraining,
    decoded,
    error_rate_percent,
    log_spectrogram,
    n_edits,
)
from flexibo.systems.training import train  # noqa: E402

RNG = np.random.default_rng
SMALLEST = bert.Size(1, 16, 2, 32)
BERT = {"dropout": 0.1, "batch_size": 4, "sequence_length": 16, "learning_rate": 5e-5, "weight_decay": 0.1}
SPEECH = {"epochs": 6, "dropout": 0.1, "batch_size": 4, "sequence_length": 64, "learning_rate": 5e-5}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
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


# What tasks share.


def test_an_epoch_has_each_number_once_in_parts_of_nearly_equal_size() -> None:
    parts = shuffled(17, 8, generator())
    assert [len(part) for part in parts] == [6, 6, 5]
    assert sorted(torch.cat(parts).tolist()) == list(range(17))
    assert torch.cat(parts).tolist() != list(range(17))
    assert n_steps(17, 8) == 3
    assert n_steps(16, 8) == 2


def test_the_learning_rate_rises_and_then_falls_towards_zero() -> None:
    model = torch.nn.Linear(1, 1)
    optimiser = one_cycle(adam(model, learning_rate=1.0, weight_decay=0.0), 10, warm_share=0.2)
    rates = []
    for _ in range(10):
        rates.append(optimiser.steps.param_groups[0]["lr"])
        optimiser.steps.step()
        optimiser.schedule.step()
    assert rates == pytest.approx([0.5, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125])


def test_only_matrices_are_drawn_to_zero() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.LayerNorm(3))
    decays = {
        id(weights): group["weight_decay"]
        for group in adam(model, learning_rate=0.1, weight_decay=0.3).param_groups
        for weights in group["params"]
    }
    assert decays == {id(weights): 0.3 if name == "0.weight" else 0.0 for name, weights in model.named_parameters()}


def test_evaluating_keeps_no_gradients_and_puts_the_mode_back() -> None:
    model = torch.nn.Linear(1, 1)
    for mode in (True, False):
        model.train(mode)
        with evaluating(model):
            assert not model.training
            assert not model(torch.ones(1, 1)).requires_grad
        assert model.training == mode


def test_rows_are_repeated_from_the_first_where_there_are_too_few() -> None:
    assert cycled(torch.tensor([5, 6, 7]), 5).tolist() == [5, 6, 7, 5, 6]
    assert cycled(torch.tensor([5, 6, 7]), 2).tolist() == [5, 6]


# Images.


def images(count: int, seed: int = 0, side: int = 8) -> Images:
    """Noise that is brighter at the top where the label is 1, at the bottom where it is 2."""
    labels = np.arange(count) % 3
    pixels = RNG(seed).integers(0, 80, (count, 2, side, side))
    pixels[labels == 1, :, : side // 2] += 150
    pixels[labels == 2, :, side // 2 :] += 150
    return Images(pixels.astype(np.uint8), labels, ("even", "top", "bottom"))


def image_task(network: str = "lenet", **settings: Any) -> ImageTask:
    settings = {"batch": 8, "epochs": 4, "learning_rate": 0.01} | settings
    return ImageTask(network, Dataset("noise", images(24), images(9, 1), "f"), ImageTraining(**settings))


def smallest(network: str) -> dict[str, Any]:
    return {name: 3 if name.startswith("filter_size") else values[0] for name, values in NETWORKS[network].items()}


@pytest.mark.parametrize(
    ("network", "filters", "epochs"),
    [("lenet", 32, 8), ("squeezenet", 64, 8), ("resnet", 16, 4), ("mobilenet", 64, 8), ("xception", 16, 4)],
)
def test_every_image_network_learns(network: str, filters: int, epochs: int) -> None:
    assert network in BUILDERS
    task: Task = image_task(network, learning_rate=0.003, epochs=epochs, batch=24)
    design = {name: filters if name.startswith("filters") else 3 for name in NETWORKS[network]}
    trained = train(task, design, seed=0)
    assert trained.losses[-1] < 0.9 * min(trained.losses[0], math.log(3))
    assert 0 <= trained.error_percent <= 100
    assert trained.model(*task.inputs(design, 2, "cpu")).shape == (2, 3)


def test_training_images_have_mean_zero_and_deviation_one_in_each_channel() -> None:
    batches = list(image_task().batches({}, generator(), "cpu"))
    assert [len(labels) for _, labels in batches] == [8, 8, 8]
    pixels = torch.cat([batch[0] for batch in batches])
    assert pixels.shape == (24, 2, 8, 8)
    assert pixels.mean(dim=(0, 2, 3)).tolist() == pytest.approx([0, 0], abs=1e-5)
    assert pixels.std(dim=(0, 2, 3), correction=0).tolist() == pytest.approx([1, 1], abs=1e-5)


def test_images_keep_their_labels_in_an_epoch_and_the_order_changes() -> None:
    task = image_task()
    first, second = (list(task.batches({}, generator(seed), "cpu")) for seed in (0, 1))
    for pixels, labels in first:
        top, bottom = pixels[:, :, :4].mean(dim=(1, 2, 3)), pixels[:, :, 4:].mean(dim=(1, 2, 3))
        assert torch.equal(labels == 1, top - bottom > 1)
        assert torch.equal(labels == 2, bottom - top > 1)
    assert not torch.equal(first[0][0], second[0][0])
    assert torch.equal(first[0][0], next(task.batches({}, generator(0), "cpu"))[0])


def test_a_channel_without_differences_is_not_divided_by_nothing() -> None:
    black = Images(np.zeros((3, 1, 4, 4), dtype=np.uint8), np.array([0, 1, 0]), ("a", "b"))
    task = ImageTask("lenet", Dataset("black", black, black, "f"))
    assert torch.equal(task.inputs({}, 3, "cpu")[0], torch.zeros(3, 1, 4, 4))


def test_held_out_images_are_normalised_by_the_training_images() -> None:
    train_part = Images(np.array([[[[0]]], [[[100]]]], dtype=np.uint8), np.array([0, 1]), ("a", "b"))
    test_part = Images(np.array([[[[200]]]], dtype=np.uint8), np.array([0]), ("a", "b"))
    task = ImageTask("lenet", Dataset("points", train_part, test_part, "f"))
    assert task.inputs({}, 3, "cpu")[0].flatten().tolist() == [3.0, 3.0, 3.0]


def test_moved_images_are_the_images_moved_by_at_most_so_many_pixels() -> None:
    # The order of an epoch is drawn before anything that changes its images.
    plain, moved = image_task(), image_task(shift=1)
    offsets = set()
    for (before, _), (after, _) in zip(
        plain.batches({}, generator(5), "cpu"), moved.batches({}, generator(5), "cpu"), strict=True
    ):
        for one, other in zip(before, after, strict=True):
            padded = torch.nn.functional.pad(one, (1, 1, 1, 1))
            matches = [
                (down, right)
                for down in range(3)
                for right in range(3)
                if torch.equal(padded[:, down : down + 8, right : right + 8], other)
            ]
            assert len(matches) == 1
            offsets.update(matches)
    assert {down for down, _ in offsets} == {right for _, right in offsets} == {0, 1, 2}


def test_about_half_of_the_images_are_mirrored() -> None:
    n_mirrored = 0
    for (before, _), (after, _) in zip(
        image_task().batches({}, generator(5), "cpu"),
        image_task(flip=True).batches({}, generator(5), "cpu"),
        strict=True,
    ):
        for one, other in zip(before, after, strict=True):
            is_mirrored = torch.equal(other, one.flip(2))
            assert is_mirrored or torch.equal(other, one)
            n_mirrored += is_mirrored
    assert 4 <= n_mirrored <= 20


def test_images_are_scaled_to_the_side_asked_for() -> None:
    grey = Images(np.full((2, 1, 6, 4), 77, dtype=np.uint8), np.array([0, 1]), ("a", "b"))
    task = ImageTask("lenet", Dataset("grey", grey, grey, "f"), ImageTraining(side=12))
    pixels, _ = task._kept("train", "cpu")
    assert pixels.shape == (2, 1, 12, 12)
    assert pixels.dtype == torch.uint8
    assert bool((pixels == 77).all())


def test_images_are_moved_to_a_device_once() -> None:
    task = image_task()
    list(task.batches({}, generator(), "cpu"))
    kept = task._kept("train", torch.device("cpu"))
    list(task.batches({}, generator(), "cpu"))
    assert task._kept("train", "cpu") is kept
    assert {place for _, place in task._memory} == {"cpu"}


def test_the_error_is_the_share_of_wrong_labels_in_evaluation_mode() -> None:
    task = image_task()  # held out: labels 0 1 2 0 1 2 0 1 2
    model = Constant(lambda pixels: torch.eye(3)[torch.full((len(pixels),), 1)])
    assert task.error_percent(model, {}, "cpu") == pytest.approx(100 * 6 / 9)
    assert model.modes == [False]
    assert model.training
    assert task.chance_percent == pytest.approx(100 * 6 / 9)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_outputs_that_are_not_finite_are_no_error_value(value: float) -> None:
    model = Constant(lambda pixels: torch.full((len(pixels), 3), value))
    with pytest.raises(TrainingFailedError, match="outputs on the held-out examples are not finite"):
        image_task().error_percent(model, {}, "cpu")


@pytest.mark.parametrize(
    "change",
    [
        {"epochs": 5},
        {"batch": 9},
        {"side": 16},
        {"learning_rate": 0.02},
        {"weight_decay": 0.1},
        {"shift": 1},
        {"flip": True},
    ],
)
def test_every_setting_changes_the_fingerprint(change: dict[str, Any]) -> None:
    assert image_task(**change).fingerprint != image_task().fingerprint == image_task().fingerprint


def test_the_data_changes_the_fingerprint() -> None:
    task = image_task()
    assert replace(task, data=replace(task.data, fingerprint="g")).fingerprint != task.fingerprint


@pytest.mark.parametrize(
    "settings", [{"epochs": 0}, {"batch": -1}, {"side": 0}, {"learning_rate": math.nan}, {"shift": -1}]
)
def test_settings_that_cannot_be_used_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueError, match=next(iter(settings))):
        ImageTraining(**settings)


def test_large_images_get_the_networks_for_large_images() -> None:
    small, large = image_task("resnet"), image_task("resnet", side=65)
    design = smallest("resnet")
    assert sum(w.numel() for w in small.build(design).parameters()) != sum(
        w.numel() for w in large.build(design).parameters()
    )


def test_unknown_networks_and_empty_data_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'lenet'"):
        image_task("lennet")
    for task in (ReviewTask, AnswerTask):
        with pytest.raises(UnknownNameError, match="Unknown text network 'lenet'"):
            task("lenet", REVIEWS)
    with pytest.raises(UnknownNameError, match="Unknown speech network"):
        SpeechTask("bert", speech_data())
    with pytest.raises(InvalidValueError, match="has 0 training and 9 held-out examples"):
        ImageTask("lenet", Dataset("none", images(0), images(9), "f"))


# Reviews.

REVIEWS = Dataset(
    "reviews",
    Reviews(tuple(f"{word} film number {i}" for i in range(8) for word in ("fine", "dull")), np.tile([1, 0], 8)),
    Reviews(("fine film", "dull film here and there and everywhere", "fine"), np.array([1, 0, 1])),
    "f",
)
TEXT = TextTraining(epochs=5, size=SMALLEST, vocabulary=100, positions=32, learning_rate_factor=400)


def review_task(**settings: Any) -> ReviewTask:
    return ReviewTask("bert", REVIEWS, replace(TEXT, **settings))


def test_bert_learns_reviews() -> None:
    task: Task = review_task(size=bert.Size(1, 64, 2, 128), learning_rate_factor=100, epochs=10)
    trained = train(task, BERT, seed=0)
    assert trained.losses[-1] < 0.7 * trained.losses[0]
    assert trained.error_percent == 0
    assert trained.epochs == 10
    assert trained.model(*task.inputs(BERT, 5, "cpu")).shape == (5, 2)


def pieces_of(task: Any, tokens: Any) -> list[str]:
    return [task.words.pieces[number] for number in tokens]


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
    assert task.chance_percent == pytest.approx(100 / 3)
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


def test_reviews_and_answers_have_different_fingerprints() -> None:
    assert review_task().fingerprint != answer_task().fingerprint


# Answers.

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


def test_bert_learns_answers() -> None:
    part = Questions(QUESTIONS * 4)
    task: Task = AnswerTask("bert", Dataset("questions", part, part, "f"), replace(TEXT, epochs=8))
    trained = train(task, BERT | {"sequence_length": 32}, seed=0)
    assert trained.losses[-1] < 0.8 * trained.losses[0]
    assert 0 <= trained.error_percent <= 100
    assert trained.model(*task.inputs(BERT, 5, "cpu")).shape == (5, 16, 2)


def test_a_window_of_a_short_text_is_what_the_vocabulary_makes_of_it() -> None:
    task = answer_task()
    expected = task.words.pairs(QUESTIONS[3].question, QUESTIONS[3].context, 16)
    tokens, mask, segments = (tensor[3] for tensor in task.inputs(BERT, 4, "cpu"))
    assert tokens.tolist() == expected.tokens.tolist()
    assert mask.tolist() == expected.mask.astype(bool).tolist()
    assert segments.tolist() == expected.segments.tolist()


@pytest.mark.parametrize("length", [5, 13, 16, 24, 32])
def test_training_windows_mark_the_answer_or_the_first_token(length: int) -> None:
    task = answer_task()
    marked: list[tuple[str, str]] = []
    for seed in range(30):
        for batch in task.batches(BERT | {"sequence_length": length}, generator(seed), "cpu"):
            for tokens, mask, segments, first, last in zip(*batch, strict=True):
                pieces = pieces_of(task, tokens)
                assert pieces[0] == "[CLS]"
                assert pieces.count("[SEP]") == 2
                assert [piece != "[PAD]" for piece in pieces] == mask.tolist()
                if int(first) == 0:
                    assert int(last) == 0
                    continue
                assert bool(segments[first : last + 1].all())
                question = " ".join(pieces[1 : pieces.index("[SEP]")])
                marked.append((question, " ".join(pieces[first : last + 1])))
    answers = {answer for _, answer in marked}
    if length == 32:
        assert answers == {"a red hat", "rome", "text"}
        assert {question for question, _ in marked} == {"what has ann ?", "where lives cem ?", "what is short ?"}
    else:
        assert answers <= {"a red hat", "rome", "text"}
        assert "rome" in answers
        assert "text" in answers


def test_half_of_the_windows_of_a_long_text_hold_the_answer_at_least() -> None:
    task = answer_task()
    long = replace(QUESTIONS[1], context=CONTEXT + " And so on." * 200)
    part = Questions((long,) * 50)
    task = replace(task, data=Dataset("long", part, part, "f"))
    firsts = torch.cat([batch[3] for batch in task.batches(BERT | {"batch_size": 50}, generator(), "cpu")])
    assert 15 <= int((firsts > 0).sum()) <= 35


class Oracle(torch.nn.Module):  # type: ignore[misc]
    """Finds a word wherever it stands, and says how sure it is; [CLS] has the logit that it is given."""

    def __init__(self, task: AnswerTask, words: dict[str, float], null: float) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.scores = {task.words.numbers[word]: score for word, score in words.items()}
        self.null = null

    def forward(self, tokens: Any, mask: Any, segments: Any) -> Any:
        logits = torch.full((*tokens.shape, 2), -5.0)
        for number, score in self.scores.items():
            logits[tokens == number] = score
        logits[:, 0] = self.null
        return logits


@pytest.mark.parametrize("length", [9, 13, 16, 32, 64])
def test_the_best_span_of_all_windows_is_the_answer(length: int) -> None:
    task = answer_task()
    model = Oracle(task, {"rome": 5.0, "hat": 3.0, "short": 2.0}, null=0.0)
    design = BERT | {"sequence_length": length}
    assert task.predictions(model, design, "cpu") == ["Rome", "Rome", "Rome", "Short"]


def test_there_is_no_answer_where_every_window_prefers_none() -> None:
    task = answer_task()
    model = Oracle(task, {"rome": 5.0}, null=5.0)
    assert task.predictions(model, BERT, "cpu") == ["", "", "", ""]
    assert task.error_percent(model, BERT, "cpu") == 75.0 == task.chance_percent
    assert task.error_percent(Oracle(task, {"rome": 5.0, "text": 4.0}, 0.0), BERT, "cpu") == 50.0


def test_one_window_that_doubts_there_is_no_answer_is_enough() -> None:
    task = answer_task()
    rome = task.words.numbers["rome"]

    def logits(tokens: Any, mask: Any, segments: Any) -> Any:
        out = torch.full((*tokens.shape, 2), -5.0)
        out[tokens == rome] = 1.0
        # Windows without Rome are sure that there is nothing in them; those with it are not.
        out[:, 0] = torch.where((tokens == rome).any(dim=1), 0.0, 9.0)[:, None]
        return out

    assert task.predictions(Constant(logits), BERT, "cpu") == ["Rome", "Rome", "Rome", ""]


@pytest.mark.parametrize("what", ["reviews", "answers", "speech"])
def test_texts_and_letters_that_are_not_finite_are_no_error_value(what: str) -> None:
    task, design, function = {
        "reviews": (review_task(), BERT, lambda t, m: torch.full((len(t), 2), math.nan)),
        "answers": (answer_task(), BERT, lambda t, m, s: torch.full((*t.shape, 2), math.nan)),
        "speech": (
            speech_task(),
            SPEECH,
            lambda s, n: (torch.full((len(s), 5, 4), math.nan), torch.full((len(s),), 5)),
        ),
    }[what]
    with pytest.raises(TrainingFailedError, match="are not finite"):
        task.error_percent(Constant(function), design, "cpu")  # type: ignore[attr-defined]


def test_the_question_itself_is_never_the_answer() -> None:
    task = answer_task()
    model = Oracle(task, {"what": 9.0, "where": 9.0, "?": 9.0, "rome": 1.0, "text": 1.0}, null=0.0)
    assert task.predictions(model, BERT | {"sequence_length": 64}, "cpu") == ["Rome", "Rome", "Rome", "text"]


def test_an_answer_ends_after_it_starts_and_is_not_too_long() -> None:
    context = "begin " + "and " * 40 + "stop begin now stop"
    part = Questions((Question(context, "when", ()),))
    task = AnswerTask("bert", Dataset("long", part, part, "f"), TEXT)

    def logits(tokens: Any, mask: Any, segments: Any) -> Any:
        out = torch.full((*tokens.shape, 2), -5.0)
        out[:, 0] = 0.0
        is_begin, is_stop = (tokens == task.words.numbers[word] for word in ("begin", "stop"))
        out[..., 0][is_begin] = torch.tensor([6.0, 4.0])  # the better begin is 41 words before any stop
        out[..., 1][is_stop] = torch.tensor([6.0, 4.0])  # the better stop is before the other begin
        return out

    model = Constant(logits)
    assert task.predictions(model, BERT | {"sequence_length": 64}, "cpu") == ["begin now stop"]


def test_a_sequence_without_room_for_a_text_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="Option 'sequence_length' is 4; a question and a text need at least 5"):
        answer_task().inputs(BERT | {"sequence_length": 4}, 1, "cpu")


@pytest.mark.parametrize(
    ("prediction", "answers", "share"),
    [
        ("red hat", ["red hat"], 1.0),
        ("The Red Hat!", ["a red hat"], 1.0),
        # Shared: red. Precision 1/3, recall 1/2: F1 = 2 * 1 / (3 + 2).
        ("big red coat", ["red hat"], 0.4),
        ("big red coat", ["red hat", "red coat"], 0.8),
        # A word counts as often as it occurs in both: shared "to" twice of 3 and 2.
        ("to to to", ["to to"], 0.8),
        ("blue", ["red hat"], 0.0),
        ("", [], 1.0),
        ("anything", [], 0.0),
        ("", ["red hat"], 0.0),
        ("the", [], 1.0),
        ("", ["the"], 1.0),
        ("hat", ["the", "hat"], 1.0),
    ],
)
def test_f1_agrees_with_the_hand_count(prediction: str, answers: list[str], share: float) -> None:
    assert f1_share(prediction, answers) == pytest.approx(share)


def test_answers_are_normalised_as_squad_does() -> None:
    assert normal_answer("  The U.S.  Army's an-theme, a Day ") == "us armys antheme day"


# Speech.

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
    settings = {"size": deepspeech.Size(2, 12, 1), "features": 8, "learning_rate_factor": 400.0} | settings
    return SpeechTask("deepspeech", speech_data(), SpeechTraining(**settings))


def test_deepspeech_learns() -> None:
    task: Task = speech_task()
    trained = train(task, SPEECH, seed=0)
    assert trained.losses[-1] < 0.7 * trained.losses[0]
    assert trained.epochs == len(trained.losses) == 6
    outputs, lengths = trained.model(*task.inputs(SPEECH, 5, "cpu"))
    assert outputs.shape[0] == len(lengths) == 5
    assert outputs.shape[2] == 4  # the blank, a, b, c


def test_a_tone_is_loudest_in_its_own_band() -> None:
    # 11 frequencies from 0 to 500 hertz at 1,000 samples a second; 300 hertz is the seventh.
    log = log_spectrogram(tone(300.0), RATE, 11)
    assert log.shape == (39, 11)  # 400 samples, 10 per frame, a window of 20
    assert set(log.argmax(dim=1).tolist()) == {6}


def test_bands_are_gathered_from_frequencies() -> None:
    fine, coarse = log_spectrogram(tone(300.0), RATE, 11), log_spectrogram(tone(300.0), RATE, 1)
    assert coarse.exp()[:, 0].tolist() == pytest.approx(fine.exp().mean(dim=1).tolist(), rel=1e-4)


@pytest.mark.parametrize(("samples", "frames"), [(0, 1), (5, 1), (20, 1), (29, 1), (30, 2), (20_000, MOST_FRAMES)])
def test_every_wave_has_a_frame_and_none_too_many(samples: int, frames: int) -> None:
    assert log_spectrogram(np.zeros(samples, dtype=np.float32), RATE, 4).shape == (frames, 4)


@pytest.mark.parametrize("features", [0, 12])
def test_more_bands_than_frequencies_are_refused(features: int) -> None:
    with pytest.raises(
        InvalidValueError, match=rf"{features} features was asked for; at 1000 samples per second there are 1"
    ):
        log_spectrogram(tone(100.0), RATE, features)


def test_training_spectrograms_are_normalised_over_their_frames() -> None:
    part = speech_task()._kept("train", "cpu")
    frames = torch.cat([one[:count] for one, count in zip(part.spectrograms, part.frames, strict=True)])
    assert frames.mean(dim=0).tolist() == pytest.approx([0] * 8, abs=1e-4)
    assert frames.std(dim=0, correction=0).tolist() == pytest.approx([1] * 8, abs=1e-3)


def test_an_example_keeps_at_most_the_designs_frames_and_its_whole_transcript() -> None:
    task = speech_task()
    assert task.alphabet == "abc"
    sizes = []
    for spectrograms, frames, letters, n_letters in task.batches(
        SPEECH | {"sequence_length": 16, "batch_size": 5}, generator(), "cpu"
    ):
        sizes.append(len(frames))
        assert spectrograms.shape == (len(frames), 16, 8)
        assert set(frames.tolist()) == {16}
        assert {tuple(line) for line in letters.tolist()} <= {(1, 1), (2, 3)}
        assert set(n_letters.tolist()) == {2}
    assert sizes == [4, 4, 4]
    _, frames = task.inputs(SPEECH | {"sequence_length": 1024}, 3, "cpu")
    assert frames.tolist() == [39, 40, 41]


@pytest.mark.parametrize("length", [16, 64, 1024])
def test_spectrograms_for_inference_are_as_long_as_the_sequence(length: int) -> None:
    spectrograms, frames = speech_task().inputs(SPEECH | {"sequence_length": length}, 7, "cpu")
    assert spectrograms.shape == (7, length, 8)
    assert int(frames.max()) == min(length, 41)


def test_a_transcript_without_room_teaches_nothing_and_breaks_nothing() -> None:
    task = speech_task()
    batch = (torch.zeros(1, 4, 8), torch.tensor([4]), torch.tensor([[1] * 9]), torch.tensor([9]))
    assert float(task.loss(task.build(SPEECH), batch).detach()) == 0


def writes(*lines: str) -> Constant:
    """A network that writes these texts, whatever it hears; "-" is a blank."""
    number = {"-": 0, "a": 1, "b": 2, "c": 3}
    best = torch.tensor([[number[letter] for letter in line] for line in lines])
    outputs = torch.nn.functional.one_hot(best, 4).float().log().clamp(min=-50)
    return Constant(lambda spectrograms, frames: (outputs, torch.full((len(lines),), best.shape[1])))


def test_the_error_counts_words_or_letters() -> None:
    words, letters = speech_task(), speech_task(unit="letters")
    # Held out: aa, bc, aa. Written: aa, bb, a.
    model = writes("a-a--", "b-b--", "aaa--")
    assert words.error_percent(model, SPEECH, "cpu") == pytest.approx(100 * 2 / 3)
    assert letters.error_percent(model, SPEECH, "cpu") == pytest.approx(100 * 2 / 6)
    assert model.modes == [False, False]
    assert words.chance_percent == 100.0
    assert words.error_percent(writes("-----", "-----", "-----"), SPEECH, "cpu") == 100.0


def test_who_writes_more_than_was_said_has_more_than_a_hundred_percent_errors() -> None:
    assert error_rate_percent(["a b c d"], ["a"], unit="words") == 300.0
    assert speech_task(unit="letters").error_percent(writes(*["bcbcbcbc"] * 3), SPEECH, "cpu") > 100


@pytest.mark.parametrize(
    ("first", "second", "edits"),
    [
        ("", "", 0),
        ("", "abc", 3),
        ("abc", "", 3),
        ("abc", "abc", 0),
        ("kitten", "sitting", 3),
        ("flaw", "lawn", 2),
        ("intention", "execution", 5),
        (["one", "two"], ["two"], 1),
        (["a"], ["a", "b", "b", "b"], 3),
    ],
)
def test_edits_agree_with_the_hand_count(first: Any, second: Any, edits: int) -> None:
    assert n_edits(first, second) == edits
    assert n_edits(second, first) == edits


def test_edits_agree_with_the_textbooks_recursion() -> None:
    def slow(first: str, second: str) -> int:
        if not first or not second:
            return len(first) + len(second)
        change = slow(first[1:], second[1:]) + (first[0] != second[0])
        return min(change, slow(first[1:], second) + 1, slow(first, second[1:]) + 1)

    rng = RNG(0)
    for _ in range(40):
        first, second = ("".join(rng.choice(list("ab"), rng.integers(0, 6))) for _ in range(2))
        assert n_edits(first, second) == slow(first, second)


def test_rates_are_over_all_texts_together() -> None:
    assert error_rate_percent(["one", "x y z"], ["one", "a b c"], unit="words") == 75.0
    assert error_rate_percent(["cat", ""], ["cut", "a"], unit="letters") == 50.0
    with pytest.raises(InvalidValueError, match="The held-out transcripts have no words"):
        error_rate_percent([""], [" "], unit="words")


def test_repetitions_are_one_letter_unless_a_blank_is_between_them() -> None:
    best = np.array([[1, 1, 0, 1, 2], [0, 0, 0, 0, 0], [3, 3, 3, 3, 1]])
    assert decoded(best, np.array([5, 5, 4]), "abc") == ["aab", "", "c"]


def test_learning_rate_and_epochs_of_speech_are_the_designs() -> None:
    task = SpeechTask("deepspeech", speech_data())
    assert task.epochs(SPEECH) == 6
    optimiser = task.optimiser(speech_task().build(SPEECH), SPEECH)
    assert optimiser.steps.param_groups[0]["initial_lr"] == pytest.approx(5e-4)


@pytest.mark.parametrize(
    "change", [{"features": 9}, {"unit": "letters"}, {"learning_rate_factor": 1.0}, {"size": deepspeech.TINY}]
)
def test_every_setting_of_speech_changes_the_fingerprint(change: dict[str, Any]) -> None:
    assert speech_task(**change).fingerprint != speech_task().fingerprint


def test_settings_of_speech_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="must be 'words' or 'letters'"):
        SpeechTraining(unit="syllables")  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match=r"SpeechTraining\.features is 0"):
        SpeechTraining(features=0)
