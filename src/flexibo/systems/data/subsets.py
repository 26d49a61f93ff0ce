"""Which examples of a dataset are used, and a fingerprint of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from flexibo._internal.arrays import AnyArray, IntArray
from flexibo.errors import InvalidTypeError, InvalidValueError
from flexibo.systems.data.base import Dataset, Examples, Images, Questions, Recordings, Reviews

N_AT_ONCE = 512  # images that are decoded together for a fingerprint
N_TEST_AT_LEAST = 200  # when a limit shortens the training part: fewer examples say little about an error

AnyExamples: TypeAlias = Images | Reviews | Questions | Recordings


def chosen(labels: AnyArray, test_labels: AnyArray, limit: int | None, seed: int) -> tuple[IntArray, IntArray]:
    """The training rows and the test rows to use, ascending, with all labels in proportion.

    A limit shortens the test part in proportion, but not below `N_TEST_AT_LEAST` rows. A larger limit keeps the rows of
    a smaller one.
    """
    if limit is not None:
        if isinstance(limit, bool) or not isinstance(limit, int):
            raise InvalidTypeError(f"The limit is {limit!r}; it must be a whole number or None.")
        if limit < 1:
            raise InvalidValueError(f"The limit is {limit}; it must be at least 1.")
    m, m_test = len(labels), len(test_labels)
    if limit is None or limit >= m:
        return np.arange(m), np.arange(m_test)
    n_test = min(m_test, max(N_TEST_AT_LEAST, round(limit * m_test / m)))
    rng = np.random.default_rng(seed)
    train_rng, test_rng = rng.spawn(2)
    return stratified(labels, limit, train_rng), stratified(test_labels, n_test, test_rng)


def stratified(labels: AnyArray, n: int, rng: np.random.Generator) -> IntArray:
    """The indices of `n` rows, ascending, with each label in proportion (largest remainders)."""
    values, counts = np.unique(labels, return_counts=True)
    shares = n * counts / len(labels)
    wanted = np.floor(shares).astype(np.int64)
    wanted[np.argsort(wanted - shares, kind="stable")[: n - wanted.sum()]] += 1
    picked = [
        rng.permutation(np.flatnonzero(labels == value))[:many] for value, many in zip(values, wanted, strict=True)
    ]
    return np.sort(np.concatenate(picked)).astype(np.int64)


def split(labels: AnyArray, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """The training rows and the test rows of data that is published in one part, with each label in proportion."""
    test = stratified(labels, max(1, round(share * len(labels))), np.random.default_rng(seed))
    return np.delete(np.arange(len(labels)), test), test


def dataset(name: str, train: Examples, test: Examples, note: str = "") -> Dataset[Examples]:
    """A dataset with its fingerprint."""
    return Dataset(name, train, test, fingerprint(train, test), note)


def fingerprint(*parts: AnyExamples) -> str:
    """Twelve hexadecimal digits that change when any array or text of the examples does."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{type(part).__name__} {len(part)}\n".encode())
        if isinstance(part, Images) and not isinstance(part.pixels, np.ndarray):  # as below, in parts
            digest.update(f"array |u1 {part.pixels.shape}\n".encode())
            for pixels in part.pixels.parts(np.array_split(np.arange(len(part)), -(-len(part) // N_AT_ONCE))):
                digest.update(pixels.data)
        for piece in _pieces(part):
            if isinstance(piece, str):
                encoded = piece.encode("utf-8", "surrogatepass")
                digest.update(f"text {len(encoded)}\n".encode())
                digest.update(encoded)
            else:
                digest.update(f"array {piece.dtype.str} {piece.shape}\n".encode())
                digest.update(np.ascontiguousarray(piece).data)
    return digest.hexdigest()[:12]


def _pieces(part: AnyExamples) -> Iterator[AnyArray | str]:
    if isinstance(part, Images):
        if isinstance(part.pixels, np.ndarray):
            yield part.pixels
        yield part.labels
        yield from part.classes
    elif isinstance(part, Reviews):
        yield part.labels
        yield from part.texts
    elif isinstance(part, Questions):
        for question in part.questions:
            yield from (question.context, question.question, str(len(question.answers)))
            for begin, answer in question.answers:
                yield from (str(begin), answer)
    else:
        yield str(part.rate)
        yield from part.waves
        yield from part.transcripts
