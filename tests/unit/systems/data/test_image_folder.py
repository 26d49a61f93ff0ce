"""Images in folders: classes in natural order, squares cut from the middle, only the chosen ones read."""

from __future__ import annotations

import builtins
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.systems.data.image_files import GREEN, RED, jpeg_bytes, npz

from flexibo.errors import MissingExtraError
from flexibo.systems.data import cifar, image_folder
from flexibo.systems.data.base import (
    DamagedDataError,
    MissingDataError,
)


def without(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refusing(name: str, *rest: Any, **named: Any) -> Any:
        if name.split(".")[0] == package:
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", refusing)


def test_without_pillow_the_extra_to_install_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npz(tmp_path, [jpeg_bytes(RED), jpeg_bytes(GREEN)])
    tree(tmp_path, {"train/a": 1, "train/b": 1, "val/a": 1, "val/b": 1})
    without("PIL", monkeypatch)
    for load in (cifar.load, image_folder.load):
        with pytest.raises(MissingExtraError, match=r"Pillow.*flexibo\[dnn\]"):
            load(tmp_path)


def tree(root: Path, counts: dict[str, int]) -> Path:
    for place, many in counts.items():
        (root / place).mkdir(parents=True, exist_ok=True)
        for number in range(many):
            shade = sum(map(ord, place)) % 200
            (root / place / f"image_{number}.JPEG").write_bytes(jpeg_bytes((shade, 20 * number, 0), (48, 32)))
    return root


def test_classes_are_in_natural_order_and_both_parts_are_read(tmp_path: Path) -> None:
    tree(tmp_path, {"train/n10": 1, "train/n9": 2, "val/n10": 1, "val/n9": 1, "train/.hidden": 1})
    data = image_folder.load(tmp_path, side=8)
    assert data.train.classes == ("n9", "n10")
    assert data.train.labels.tolist() == [0, 0, 1]
    assert data.test.labels.tolist() == [0, 1]
    assert data.train.pixels.shape == (3, 3, 8, 8)
    assert (data.name, data.note) == ("imagenet", "")


def test_the_middle_square_is_kept_and_brought_to_the_side(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.zeros((60, 100, 3), dtype=np.uint8)
    pixels[:, :20], pixels[:, 20:80, 1], pixels[:, 80:] = (255, 0, 0), 255, (0, 0, 255)
    for shape, path in ((pixels, tmp_path / "wide.png"), (pixels.transpose(1, 0, 2), tmp_path / "high.PNG")):
        image.fromarray(np.ascontiguousarray(shape)).save(path)
        cut = image_folder.read_image(path, 20)
        assert cut.shape == (20, 20, 3)
        assert np.all(cut[1:-1, 1:-1] == (0, 255, 0))
        assert np.all(cut[..., 1] > 200)  # the outermost pixels blend with their neighbours beyond the cut


def test_grey_images_get_three_channels(tmp_path: Path) -> None:
    (tmp_path / "grey.jpg").write_bytes(jpeg_bytes((90, 90, 90), (40, 40), mode="L"))
    assert np.all(np.abs(image_folder.read_image(tmp_path / "grey.jpg", 8).astype(int) - 90) < 3)


def test_one_tree_is_divided_in_proportion_and_says_so(tmp_path: Path) -> None:
    tree(tmp_path, {"cats": 10, "dogs": 5})
    data = image_folder.load(tmp_path, side=4, seed=3)
    assert np.bincount(data.train.labels).tolist() == [8, 4]
    assert np.bincount(data.test.labels).tolist() == [2, 1]
    assert "20% of each class" in data.note
    together = np.concatenate([data.train.pixels, data.test.pixels]).reshape(15, -1)
    assert len(np.unique(together, axis=0)) == 15
    assert image_folder.load(tmp_path, side=4, seed=4).fingerprint != data.fingerprint


def test_images_beyond_the_limit_are_not_read(tmp_path: Path) -> None:
    tree(tmp_path, {"train/a": 3, "train/b": 3, "val/a": 2, "val/b": 2})
    (tmp_path / "train/b/image_2.JPEG").write_bytes(b"none")
    assert image_folder.load(tmp_path, side=4, limit=1).train.labels.tolist() == [0]
    with pytest.raises(DamagedDataError, match=rf"{tmp_path}/train/b/image_2\.JPEG .*decoded"):
        image_folder.load(tmp_path, side=4)


def test_an_image_that_claims_to_be_enormous_is_refused(tmp_path: Path) -> None:
    data = bytearray(jpeg_bytes(RED))
    at = data.index(b"\xff\xc0") + 5
    data[at : at + 4] = struct.pack(">HH", 12_000, 12_000)
    (tmp_path / "large.jpg").write_bytes(data)
    with pytest.raises(DamagedDataError, match=r"large\.jpg .*larger than"):
        image_folder.read_image(tmp_path / "large.jpg", 8)


@pytest.mark.parametrize(
    ("counts", "error", "facts"),
    [
        ({"train/a": 1, "train/b": 0, "val/a": 1, "val/b": 1}, DamagedDataError, "train/b .*no image"),
        ({"train/a": 1, "train/b": 1, "val/a": 1}, DamagedDataError, "train and val .* classes: b"),
        ({"train/a": 1}, MissingDataError, "folder val is missing"),
        ({"train/a": 1, "val": 2}, MissingDataError, "val has no folder"),
        ({"a": 1, "b": 0}, MissingDataError, "train/CLASS"),
        ({}, MissingDataError, "train/CLASS"),
    ],
)
def test_folders_that_are_not_as_they_should_be_are_refused(
    tmp_path: Path, counts: dict[str, int], error: type, facts: str
) -> None:
    with pytest.raises(error, match=facts):
        image_folder.load(tree(tmp_path, counts), side=4)


def test_images_that_need_too_much_memory_are_decoded_when_they_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(tmp_path, {"train/a": 4, "train/b": 5, "val/a": 2, "val/b": 2})
    whole = image_folder.load(tmp_path, side=8)
    monkeypatch.setattr(image_folder, "memory_bytes", lambda: 4 * 13 * 3 * 8 * 8 - 1)
    monkeypatch.setattr("flexibo.systems.data.subsets.N_AT_ONCE", 2)
    streamed = image_folder.load(tmp_path, side=8)
    assert isinstance(whole.train.pixels, np.ndarray)
    assert isinstance(streamed.train.pixels, image_folder.FolderPixels)
    assert streamed.fingerprint == whole.fingerprint
    assert streamed.train.pixels.shape == whole.train.pixels.shape
    rows = [np.array([3, 0]), np.array([8]), np.array([], dtype=np.int64), np.array([0])]
    for some, pixels in zip(rows, streamed.train.pixels.parts(rows), strict=True):
        assert np.array_equal(pixels, whole.train.pixels[some])
    assert np.array_equal(streamed.test.first(3).pixels, whole.test.pixels[:3])
    monkeypatch.setattr(image_folder, "memory_bytes", lambda: 4 * 13 * 3 * 8 * 8)
    assert isinstance(image_folder.load(tmp_path, side=8).train.pixels, np.ndarray)


def test_the_next_part_is_decoded_while_one_is_used_and_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    monkeypatch.setattr(
        image_folder, "read_image", lambda path, side: read.append(path) or np.zeros((4, 4, 3), np.uint8)
    )
    paths = [Path(str(number)) for number in range(6)]
    parts = image_folder.FolderPixels(paths, 4).parts(np.arange(6).reshape(3, 2))
    next(parts)
    parts.close()  # type: ignore[attr-defined]  # as when a training is stopped; waits for what is being decoded
    assert set(paths[:2]) <= set(read) <= set(paths[:4])


def test_a_damaged_image_is_found_before_a_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, {"train/a": 1, "train/b": 1, "val/a": 1, "val/b": 1})
    (tmp_path / "val/b/image_0.JPEG").write_bytes(b"none")
    monkeypatch.setattr(image_folder, "memory_bytes", lambda: 1)
    with pytest.raises(DamagedDataError, match=r"val/b/image_0\.JPEG"):
        image_folder.load(tmp_path, side=4)
