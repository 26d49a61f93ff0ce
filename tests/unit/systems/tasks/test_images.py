"""Telling images apart: images are shown as they should be, learnt from, and errors counted as by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from tests.unit.systems.tasks.small_tasks import REVIEWS, RNG, Constant, generator, on_one_thread, speech_data  # noqa: E402

from flexibo.errors import InvalidValueError, UnknownNameError  # noqa: E402
from flexibo.systems.data import image_folder  # noqa: E402
from flexibo.systems.data.base import Dataset, Images  # noqa: E402
from flexibo.systems.options import NETWORKS  # noqa: E402
from flexibo.systems.tasks.answers import AnswerTask  # noqa: E402
from flexibo.systems.tasks.base import LearningTask, TrainingFailedError  # noqa: E402
from flexibo.systems.tasks.images import BUILDERS, ImageTask, ImageTraining  # noqa: E402
from flexibo.systems.tasks.reviews import ReviewTask  # noqa: E402
from flexibo.systems.tasks.speech import SpeechTask  # noqa: E402
from flexibo.systems.training import train  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with on_one_thread():
        yield


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
    task: LearningTask = image_task(network, learning_rate=0.003, epochs=epochs, batch=24)
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


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_outputs_that_are_not_finite_are_no_error_value(value: float) -> None:
    model = Constant(lambda pixels: torch.full((len(pixels), 3), value))
    with pytest.raises(TrainingFailedError, match=r"held-out examples .*not finite"):
        image_task().error_percent(model, {}, "cpu")


@pytest.mark.parametrize(
    "change",
    [
        {"epochs": 5},
        {"batch": 9},
        {"learning_rate": 0.02},
        {"weight_decay": 0.1},
    ],
)
def test_every_setting_changes_the_fingerprint(change: dict[str, Any]) -> None:
    assert image_task(**change).fingerprint != image_task().fingerprint == image_task().fingerprint


def test_the_data_changes_the_fingerprint() -> None:
    task = image_task()
    assert replace(task, data=replace(task.data, fingerprint="g")).fingerprint != task.fingerprint


@pytest.mark.parametrize("settings", [{"epochs": 0}, {"batch": -1}, {"learning_rate": math.nan}])
def test_settings_that_cannot_be_used_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueError, match=next(iter(settings))):
        ImageTraining(**settings)


def test_large_images_get_the_networks_for_large_images() -> None:
    small = image_task("resnet")
    large = replace(small, data=replace(small.data, train=images(3, side=65)))
    design = smallest("resnet")
    assert sum(w.numel() for w in small.build(design).parameters()) != sum(
        w.numel() for w in large.build(design).parameters()
    )


def test_unknown_networks_and_empty_data_are_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"image network 'lennet'.*'lenet'"):
        image_task("lennet")
    for task in (ReviewTask, AnswerTask):
        with pytest.raises(UnknownNameError, match="text network 'lenet'"):
            task("lenet", REVIEWS)
    with pytest.raises(UnknownNameError, match="speech network 'bert'"):
        SpeechTask("bert", speech_data())
    with pytest.raises(InvalidValueError, match=r"'none' .*\b0 training .*\b9 held-out"):
        ImageTask("lenet", Dataset("none", images(0), images(9), "f"))


def test_what_is_only_run_moves_its_batch_to_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    task, moved, make = image_task(), [], torch.tensor

    def tensor(values: Any, **how: Any) -> Any:
        moved.append(np.size(values))
        return make(values, **how)

    monkeypatch.setattr(torch, "tensor", tensor)
    assert task.inputs({}, 4, "cpu")[0].shape == (4, 2, 8, 8)
    assert sum(moved) == 4 * 2 * 8 * 8 + 2 * 2  # four images, the mean and the deviation of two channels
    moved.clear()
    task.load("cpu")
    assert sum(moved) == (24 + 9) * (2 * 8 * 8 + 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "filters", "epochs"),
    [
        ("lenet", 32, 10),
        ("squeezenet", 64, 10),
        pytest.param("resnet", 16, 10, marks=pytest.mark.long),
        pytest.param("xception", 16, 10, marks=pytest.mark.long),
    ],
)
def test_an_image_network_beats_chance(network: str, filters: int, epochs: int) -> None:
    task = image_task(network, learning_rate=0.003, epochs=epochs, batch=6)
    design = {name: filters if name.startswith("filters") else 3 for name in NETWORKS[network]}
    assert train(task, design, seed=0).error_percent < task.chance_percent / 2


def test_lenet_beats_chance_on_photographed_digits() -> None:
    from flexibo.systems._digits_network import load_images

    parts = [
        Images(one.pixels.astype(np.uint8).reshape(-1, 1, 8, 8), one.labels.astype(np.int64), tuple("0123456789"))
        for one in load_images()
    ]
    how = ImageTraining(epochs=3, batch=16, learning_rate=0.003)
    task = ImageTask("lenet", Dataset("digits", parts[0].first(600), parts[1].first(300), "f"), how)
    assert 85 < task.chance_percent < 90
    assert train(task, {name: 32 if "filters" in name else 3 for name in NETWORKS["lenet"]}, seed=0).error_percent < 50


def test_the_chance_level_is_that_of_the_most_frequent_label() -> None:
    assert image_task().chance_percent == pytest.approx(200 / 3)


def test_images_that_are_too_many_for_the_device_are_sent_batch_by_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    resident = image_task()
    expected = [batch[0].clone() for batch in resident.batches({}, generator(), "cpu")]
    monkeypatch.setattr("flexibo.systems.tasks.images.MOST_RESIDENT_BYTES", 100)
    task = image_task()
    for batch, same in zip(task.batches({}, generator(), "cpu"), expected, strict=True):
        assert torch.equal(batch[0], same)
    batches = list(task.batches({}, generator(), "meta"))
    assert {tensor.device.type for batch in batches for tensor in batch} == {"meta"}
    pixels, labels = task._kept("train", "meta")
    assert (pixels.device.type, labels.device.type) == ("cpu", "meta")
    assert pixels.data_ptr() == task.data.train.pixels.ctypes.data  # no second copy in memory


@pytest.mark.parametrize("changes", [{}, {"shift": 2, "flip": True}])
def test_images_that_are_decoded_when_they_are_used_train_the_same_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    image = pytest.importorskip("PIL.Image")
    for part, count in (("train", 20), ("val", 6)):
        for label, name in enumerate("ab"):
            (tmp_path / part / name).mkdir(parents=True)
            for number in range(count // 2):
                pixels = RNG(number).integers(0, 80, (12, 12, 3)) + 150 * label
                image.fromarray(pixels.astype(np.uint8)).save(tmp_path / part / name / f"{number}.png")
    found = []
    for memory in (2**30, 1):
        monkeypatch.setattr(image_folder, "memory_bytes", lambda memory=memory: memory)
        task = ImageTask("lenet", image_folder.load(tmp_path, side=8), ImageTraining(epochs=2, batch=8, **changes))
        trained = train(task, smallest("lenet"), seed=3)
        found.append((task.fingerprint, trained.losses, trained.error_percent, trained.model.state_dict()))
    assert isinstance(task.data.train.pixels, image_folder.FolderPixels)
    (*figures, weights), (*others, streamed) = found
    assert figures == others
    assert all(torch.equal(weights[name], streamed[name]) for name in weights)
