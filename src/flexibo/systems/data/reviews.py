"""Film reviews, good and bad: the folders of aclImdb, and the archive movie_reviews.zip."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from flexibo._internal.arrays import IntArray
from flexibo.systems.data.base import N_TO_RUN, DamagedDataError, Dataset, Reviews, Use
from flexibo.systems.data.files import (
    check_present,
    content,
    member_names,
    members,
    missing_clause,
    natural,
    text_of,
)
from flexibo.systems.data.subsets import chosen, dataset, split

SIDES = ("neg", "pos")
ARCHIVE = "movie_reviews.zip"
SHARE = 0.2


def missing_imdb(folder: Path) -> str:
    """What is missing to load aclImdb from a folder, as a clause; empty if nothing is."""
    places = [f"{part}/{side}" for part in ("train", "test") for side in SIDES]
    root = _imdb_root(folder)
    absent = [place for place in places if not (root / place).is_dir()]
    if len(absent) == len(places):
        return "the folder aclImdb with train/pos, train/neg, test/pos and test/neg is missing"
    return missing_clause(absent, f" in {root}")


def load_imdb(folder: Path, *, limit: int | None = None, seed: int = 0, use: Use = Use.TRAIN) -> Dataset[Reviews]:
    """The reviews in the folders of aclImdb, with ``<br />`` replaced by line breaks; only the chosen ones are read."""
    check_present("imdb", folder, missing_imdb(folder))
    root = _imdb_root(folder)
    (paths, labels), (test_paths, test_labels) = (_listed(root / part) for part in ("train", "test"))
    rows, test_rows = chosen(labels, test_labels, limit, seed)
    n_train, n_test = _n_texts(use)
    train = Reviews(_texts([paths[row] for row in rows[:n_train]]), labels[rows])
    test = Reviews(_texts([test_paths[row] for row in test_rows[:n_test]]), test_labels[test_rows])
    return dataset("imdb", train, test)


def _imdb_root(folder: Path) -> Path:
    return folder / "aclImdb" if (folder / "aclImdb").is_dir() else folder


def _listed(folder: Path) -> tuple[list[Path], IntArray]:
    paths: list[Path] = []
    labels: list[int] = []
    for label, side in enumerate(SIDES):
        found = sorted((folder / side).glob("*.txt"), key=lambda path: natural(path.name))
        if not found:
            raise DamagedDataError(f"The folder {folder / side} has no reviews (*.txt); unpack the archive again.")
        paths += found
        labels += [label] * len(found)
    return paths, np.array(labels, dtype=np.int64)


def _n_texts(use: Use) -> tuple[int | None, int | None]:
    """How many training and held-out texts are read; None: all."""
    return 0 if use is Use.RUN_ENCODER else None, None if use is Use.TRAIN else N_TO_RUN


def _texts(paths: Sequence[Path]) -> tuple[str, ...]:
    texts = (text_of(content(path), str(path)) for path in paths)
    return tuple(text.replace("<br />", "\n") for text in texts)


def missing_movie_reviews(folder: Path) -> str:
    """What is missing to load movie_reviews.zip from a folder, as a clause; empty if nothing is."""
    return "" if (folder / ARCHIVE).is_file() else f"{ARCHIVE} is missing"


def load_movie_reviews(
    folder: Path, *, limit: int | None = None, seed: int = 0, use: Use = Use.TRAIN
) -> Dataset[Reviews]:
    """The reviews in movie_reviews.zip, as pos/*.txt and neg/*.txt, split with good and bad in proportion."""
    check_present("movie-reviews", folder, missing_movie_reviews(folder))
    path = folder / ARCHIVE
    names = [name for name in member_names(path) if re.search(r"(^|/)(pos|neg)/[^/]+\.txt$", name)]
    labels = np.array([SIDES.index(PurePosixPath(name).parent.name) for name in names], dtype=np.int64)
    if set(labels.tolist()) != {0, 1}:
        raise DamagedDataError(f"{path} must have reviews as pos/*.txt and neg/*.txt; one kind or both are not there.")
    train, test = split(labels, SHARE, seed)
    rows, test_rows = chosen(labels[train], labels[test], limit, seed)
    parts = []
    for part, count in zip((train[rows], test[test_rows]), _n_texts(use), strict=True):
        wanted = [names[row] for row in part[:count]]
        texts = [text_of(data, f"{name} in {path}") for name, data in zip(wanted, members(path, wanted), strict=True)]
        parts.append(Reviews(tuple(texts), labels[part]))
    note = f"The reviews were divided here: {SHARE:.0%} are for testing."
    return dataset("movie-reviews", parts[0], parts[1], note)
