"""The loaders on the real files under training/ in the folder that FLEXIBO_DATA names."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from flexibo.systems.data.base import AnyDataset, MissingDataError
from flexibo.systems.data.catalogue import find_dataset, load_dataset
from flexibo.systems.data.tokens import WordPieces, tokens_of

pytestmark = [pytest.mark.data, pytest.mark.slow]


def real(name: str, folder: Path, **choices: int) -> AnyDataset:
    try:
        find_dataset([name], folder)
    except MissingDataError as error:
        pytest.skip(str(error))
    return load_dataset(name, folder, **choices)


def test_cifar_10_has_as_many_images_of_each_class_as_asked(data_folder: Path) -> None:
    pytest.importorskip("PIL")
    data = real("cifar-10", data_folder, limit=1_000)
    assert np.bincount(data.train.labels).tolist() == [100] * 10
    assert np.bincount(data.test.labels).tolist() == [20] * 10
    assert data.train.pixels.shape == (1_000, 3, 32, 32)
    means = data.train.pixels.mean(axis=(0, 2, 3)) / 255
    assert np.allclose(means, [0.491, 0.482, 0.447], atol=0.03)  # as published of the whole dataset


def test_film_reviews_are_whole_and_divided_without_overlap(data_folder: Path) -> None:
    data = real("movie-reviews", data_folder)
    assert (np.bincount(data.train.labels).tolist(), np.bincount(data.test.labels).tolist()) == ([800] * 2, [200] * 2)
    assert len({*data.train.texts, *data.test.texts}) == 2_000
    words = WordPieces.learned(data.train.texts, 8_000)
    assert words.encode("a great movie .") == [words.numbers[word] for word in ("a", "great", "movie", ".")]
    lengths = [len(words.encode(text)) for text in data.test.texts]
    assert 600 < np.mean(lengths) < 1_500


def test_answers_can_be_found_among_the_tokens_of_their_texts(data_folder: Path) -> None:
    data = real("squad", data_folder)
    assert len(data.train) + len(data.test) == 6_078
    assert not {one.context for one in data.train.questions} & {one.context for one in data.test.questions}
    words = WordPieces.learned({one.context for one in data.train.questions}, 8_000)
    right = total = 0
    for one in data.train.questions[:300]:
        offsets = np.array([place for _, *place in words.located(one.context)])
        for begin, answer in one.answers:
            found = tokens_of(offsets, begin, answer)
            total += 1
            right += found is not None and one.context[offsets[found[0], 0] : offsets[found[1], 1]] == answer
    assert right > 0.97 * total > 100


def test_spoken_digits_are_there_in_equal_numbers(data_folder: Path) -> None:
    data = real("spoken-digits", data_folder)
    assert (set(Counter(data.train.transcripts).values()), set(Counter(data.test.transcripts).values())) == (
        {270},
        {30},
    )
    seconds = [len(samples) / data.train.rate for samples in data.train.waves]
    assert 0.3 < np.mean(seconds) < 0.6
    assert max(np.abs(samples).max() for samples in data.train.waves) <= 1
    assert min(np.abs(samples).max() for samples in data.train.waves) > 0.001
