"""The table of datasets: what it says, where it looks, and what it says when nothing is there."""

from __future__ import annotations

import re
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from flexibo.errors import UnknownNameError
from flexibo.systems.data.base import DamagedDataError, MissingDataError
from flexibo.systems.data.catalogue import DATASETS, find_dataset, load_dataset, places

IMAGES, TEXTS = ["mnist", "fashion-mnist", "cifar-10", "imagenet"], ["imdb", "movie-reviews"]
NAMES = [*IMAGES, "squad", "squad-answerable", *TEXTS, "common-voice"]


def write_idx(folder: Path, n: int = 500) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "t10k"):
        pixels = np.arange(n * 4, dtype=np.uint32).astype(np.uint8)
        images = struct.pack(">4I", 0x803, n, 2, 2) + pixels.tobytes()
        labels = struct.pack(">2I", 0x801, n) + bytes(row % 5 for row in range(n))
        (folder / f"{part}-images-idx3-ubyte").write_bytes(images)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(labels)


def write_reviews(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / "movie_reviews.zip", "w") as archive:
        for number in range(10):
            archive.writestr(f"pos/{number}.txt", f"good {number}")
            archive.writestr(f"neg/{number}.txt", f"bad {number}")


def test_the_table_has_the_papers_data_and_its_stand_ins() -> None:
    assert list(DATASETS) == [*NAMES, "digit-strings", "spoken-digits"]
    stand_ins = {name: entry.stands_in_for for name, entry in DATASETS.items() if entry.stands_in_for}
    speech = dict.fromkeys(("digit-strings", "spoken-digits"), "common-voice")
    texts = {"squad-answerable": "squad", "movie-reviews": "imdb"}
    assert stand_ins == {"fashion-mnist": "mnist", **texts, **speech}
    for name, other in stand_ins.items():
        assert DATASETS[name].kind == DATASETS[other].kind
    assert {entry.kind for entry in DATASETS.values()} == {"images", "reviews", "questions", "recordings"}


@pytest.mark.parametrize("place", ["", "mnist", "training", "training/mnist"])
def test_a_dataset_is_found_in_each_of_its_places(tmp_path: Path, place: str) -> None:
    write_idx(tmp_path / place)
    assert find_dataset(["mnist"], tmp_path) == "mnist"
    assert len(load_dataset("mnist", tmp_path).train) == 500


def test_the_folder_itself_comes_first(tmp_path: Path) -> None:
    assert places("squad", tmp_path) == (
        *(tmp_path, tmp_path / "squad"),
        *(tmp_path / "training", tmp_path / "training" / "squad"),
    )
    write_idx(tmp_path, 10)
    write_idx(tmp_path / "mnist", 20)
    assert len(load_dataset("mnist", tmp_path).train) == 10


def test_the_first_dataset_that_is_present_is_found(tmp_path: Path) -> None:
    write_reviews(tmp_path / "training")
    assert find_dataset(["imdb", "movie-reviews"], tmp_path) == "movie-reviews"
    data = load_dataset("movie-reviews", tmp_path, limit=4, seed=3)
    assert (data.name, np.bincount(data.train.labels).tolist()) == ("movie-reviews", [2, 2])


def test_a_limit_and_a_seed_reach_the_loader(tmp_path: Path) -> None:
    write_idx(tmp_path)
    data = load_dataset("mnist", tmp_path, limit=50)
    assert np.bincount(data.train.labels).tolist() == [10] * 5
    assert np.bincount(data.test.labels).tolist() == [40] * 5
    assert load_dataset("mnist", tmp_path, limit=50, seed=0).fingerprint == data.fingerprint
    assert load_dataset("mnist", tmp_path, limit=50, seed=1).fingerprint != data.fingerprint


@pytest.mark.parametrize("name", [*NAMES, "spoken-digits"])
def test_what_is_missing_where_it_belongs_and_where_it_can_be_had_is_said(tmp_path: Path, name: str) -> None:
    with pytest.raises(MissingDataError) as caught:
        load_dataset(name, tmp_path)
    message, entry = str(caught.value), DATASETS[name]
    for part in (f"{name} is not in {tmp_path}", "missing", entry.files, f"or {tmp_path / name};", entry.address):
        assert part in message
    assert "https://" in entry.address


def test_each_of_several_absent_datasets_is_explained(tmp_path: Path) -> None:
    write_idx(tmp_path / "mnist")
    (tmp_path / "mnist" / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(MissingDataError) as caught:
        find_dataset(["mnist", "fashion-mnist"], tmp_path)
    first, mnist, fashion = str(caught.value).splitlines()
    assert re.search(f"None .*mnist, fashion-mnist .*{tmp_path}", first)
    assert mnist.startswith("- mnist: t10k-labels-idx1-ubyte is missing")
    assert fashion.startswith("- fashion-mnist: train-images-idx3-ubyte, train-labels")
    assert "dataset-fashion-mnist" in fashion
    assert "/usr/share/datasets/fashion-mnist" in fashion
    with pytest.raises(MissingDataError, match=rf"^imdb .*{tmp_path}: .*aclImdb"):
        find_dataset(["imdb"], tmp_path)


def test_a_folder_that_does_not_exist_is_said_to_be_missing(tmp_path: Path) -> None:
    for name in DATASETS:
        with pytest.raises(MissingDataError, match=rf"{tmp_path}/nowhere: .*no such folder"):
            load_dataset(name, tmp_path / "nowhere")


def test_damaged_data_is_not_passed_over(tmp_path: Path) -> None:
    write_reviews(tmp_path)
    (tmp_path / "movie_reviews.zip").write_bytes(b"PK")
    assert find_dataset(["movie-reviews"], tmp_path) == "movie-reviews"
    with pytest.raises(DamagedDataError, match=r"movie_reviews\.zip .*zip archive"):
        load_dataset("movie-reviews", tmp_path)


def test_names_that_are_not_in_the_table_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"'minst'.*'mnist'"):
        load_dataset("minst", tmp_path)
    with pytest.raises(UnknownNameError, match="Unknown dataset"):
        find_dataset(["cifar"], tmp_path)
