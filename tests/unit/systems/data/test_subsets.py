"""A limit keeps labels in proportion, and a fingerprint changes with every example."""

from __future__ import annotations

import numpy as np

from flexibo.systems.data import subsets
from flexibo.systems.data.base import (
    Images,
    Question,
    Questions,
    Recordings,
    Reviews,
)


def test_a_limit_keeps_labels_in_proportion_and_a_test_part_of_200() -> None:
    labels, test_labels = np.repeat([0, 1, 2], [600, 300, 100]), np.repeat([0, 1], [400, 100])
    rows, test_rows = subsets.chosen(labels, test_labels, 100, 0)
    assert np.bincount(labels[rows]).tolist() == [60, 30, 10]
    assert np.bincount(test_labels[test_rows]).tolist() == [160, 40]
    assert len(subsets.chosen(labels, test_labels, 800, 0)[1]) == 400
    assert len(subsets.chosen(labels, test_labels[:150], 10, 0)[1]) == 150
    assert np.all(np.diff(rows) > 0)


def test_without_a_limit_or_with_one_that_is_not_reached_all_rows_are_used() -> None:
    for limit in (None, 3, 4):
        rows, test_rows = subsets.chosen(np.zeros(3), np.zeros(2), limit, 0)
        assert (rows.tolist(), test_rows.tolist()) == ([0, 1, 2], [0, 1])


def test_the_seed_chooses_the_rows_and_a_larger_limit_keeps_those_of_a_smaller_one() -> None:
    labels = np.arange(1000) % 10
    few, more, other = (subsets.chosen(labels, labels, limit, seed)[0] for limit, seed in ((50, 1), (100, 1), (50, 2)))
    assert set(few) < set(more)
    assert few.tolist() == subsets.chosen(labels, labels, 50, 1)[0].tolist()
    assert set(few) != set(other)


def test_rows_that_do_not_divide_evenly_are_as_many_as_asked() -> None:
    for n in range(1, 11):
        assert len(set(subsets.stratified(np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 3]), n, np.random.default_rng(0)))) == n


def images(change: int = 0, label: int = 1, classes: tuple[str, ...] = ("a", "b")) -> Images:
    return Images(np.array([change], dtype=np.uint8).reshape(1, 1, 1, 1), np.array([label]), classes)


def recordings(rate: int = 8, word: str = "one", sample: float = 0.5) -> Recordings:
    return Recordings((np.array([sample], dtype=np.float32),), rate, (word,))


def question(context: str = "c", asked: str = "q", answers: tuple[tuple[int, str], ...] = ()) -> Questions:
    return Questions((Question(context, asked, answers),))


def test_a_fingerprint_is_twelve_digits_that_change_with_every_part_of_the_examples() -> None:
    zero, one = np.array([0]), np.array([1])
    parts = [
        *(images(), images(change=1), images(label=0), images(classes=("a", "c"))),
        *(Reviews(("ab", "c"), np.array([0, 1])), Reviews(("a", "bc"), np.array([0, 1]))),
        *(Reviews(("a",), zero), Reviews(("a",), one)),
        *(question(), question("d"), question(asked="d"), question(answers=((0, "c"),)), question(answers=((1, "c"),))),
        *(recordings(), recordings(rate=9), recordings(word="two"), recordings(sample=0.25)),
    ]
    prints = [subsets.fingerprint(part) for part in parts]
    assert len(set(prints)) == len(parts)
    assert all(len(one) == 12 and int(one, 16) >= 0 for one in prints)
    assert subsets.fingerprint(images(), images(1)) != subsets.fingerprint(images(1), images())
    assert subsets.fingerprint(images()) == prints[0]
