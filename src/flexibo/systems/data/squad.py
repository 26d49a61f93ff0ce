"""Questions about texts in the format of SQuAD 2.0: train-v2.0.json and dev-v2.0.json, or one file that is split."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flexibo._internal.arrays import IntArray
from flexibo._internal.text import printable_line
from flexibo.systems.data.base import DamagedDataError, Dataset, Question, Questions
from flexibo.systems.data.files import check_present, content
from flexibo.systems.data.subsets import chosen, dataset

FILES = ("train-v2.0.json", "dev-v2.0.json")
SHARE = 0.2
# The start of a file is enough to recognise this format.
_PEEK_BYTES = 2**16


def missing(folder: Path) -> str:
    """What is missing to load questions from a folder, as a clause; empty if nothing is."""
    if _both(folder):
        return ""
    single = _single(folder)
    if len(single) > 1:
        names = ", ".join(path.name for path in single)
        return f"{' and '.join(FILES)} are missing, and there is not one other such file but {len(single)} ({names})"
    return "" if single else f"{' and '.join(FILES)} are missing"


def load(
    folder: Path, *, limit: int | None = None, seed: int = 0, name: str = "squad", answerable: bool = False
) -> Dataset[Questions]:
    """The questions of a folder, with and without an answer in proportion; of one file, no text is in both parts.

    Args:
        folder: Where the files are.
        limit: The largest number of training questions.
        seed: The seed of what is chosen.
        name: The name of the dataset.
        answerable: Whether questions without an answer are left out.
    """
    check_present(name, folder, missing(folder))
    note = ""
    if both := _both(folder):
        train, test = ([one for article in read_articles(path) for one in article] for path in both)
    else:
        (path,) = _single(folder)
        train, test = _divided(path, read_articles(path), seed)
        file = printable_line(path.name)
        note = f"The questions of {file} were divided here, by article; a score on them is not a SQuAD score."
    if answerable:
        train, test = ([one for one in part if one.answers] for part in (train, test))
        if not train or not test:
            raise DamagedDataError(f"The questions in {folder} have no answers; {name} needs questions with answers.")
    rows, test_rows = chosen(_has_answer(train), _has_answer(test), limit, seed)
    part, held_out = Questions(tuple(train[row] for row in rows)), Questions(tuple(test[row] for row in test_rows))
    return dataset(name, part, held_out, note)


def _both(folder: Path) -> list[Path]:
    found = [next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None) for name in FILES]
    return [path for path in found if path is not None] if None not in found else []


def _single(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    files = sorted(path for path in folder.iterdir() if path.name.endswith((".json", ".json.gz")) and path.is_file())
    return [path for path in files if _looks_right(path)]


def _looks_right(path: Path) -> bool:
    if path.suffix == ".gz":
        begins = content(path)[:_PEEK_BYTES]
    else:
        with path.open("rb") as file:
            begins = file.read(_PEEK_BYTES)
    return b'"data"' in begins and b'"paragraphs"' in begins


def _has_answer(questions: Sequence[Question]) -> IntArray:
    return np.array([len(one.answers) > 0 for one in questions], dtype=np.int64)


def read_articles(path: Path) -> list[list[Question]]:
    """The questions of a file in the format of SQuAD, one list per article; the positions of answers are verified."""
    try:
        document = json.loads(content(path))
    except RecursionError:
        raise DamagedDataError(f"{path} is nested more deeply than any file of SQuAD.") from None
    except ValueError as error:
        raise DamagedDataError(f"{path} is no json file, or cut short: {error}.") from error
    articles = document.get("data") if isinstance(document, dict) else None
    if not isinstance(articles, list):
        raise DamagedDataError(f"{path} is a json file, but none of SQuAD: it has no list named data.")
    try:
        read = [list(_questions(path, article)) for article in articles]
    except (KeyError, TypeError) as error:
        raise DamagedDataError(
            f"{path} is a json file, but none of SQuAD: an article lacks paragraphs, context, qas, question, answers, "
            f"text or answer_start ({error})."
        ) from error
    if not any(read):
        raise DamagedDataError(f"{path} has no questions.")
    return read


def _questions(path: Path, article: Any) -> Iterator[Question]:
    for paragraph in article["paragraphs"]:
        context = _text(paragraph["context"])
        for one in paragraph["qas"]:
            question = _text(one["question"])
            answers = dict.fromkeys((answer["answer_start"], _text(answer["text"])) for answer in one["answers"])
            for begin, text in answers:
                _check_answer(path, context, question, begin, text)
            if one.get("is_impossible", not answers) is not (not answers):
                raise DamagedDataError(
                    f"{path} says that {question!r} has {'no' if answers else 'an'} answer and gives "
                    f"{'one' if answers else 'none'}."
                )
            yield Question(context, question, tuple(answers))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} in place of text")
    return value


def _check_answer(path: Path, context: str, question: str, begin: Any, text: str) -> None:
    if type(begin) is not int:
        raise TypeError(f"answer_start is {begin!r}")
    if begin < 0 or not text or context[begin : begin + len(text)] != text:
        raise DamagedDataError(
            f"{path} says that {question!r} is answered by {text!r} at character {begin} of its text, and it is not "
            "there."
        )


def _divided(path: Path, articles: list[list[Question]], seed: int) -> tuple[list[Question], list[Question]]:
    """Training and test questions: whole articles at random until the test part has its share."""
    if len(articles) < 2:
        raise DamagedDataError(f"{path} has {len(articles)} article; at least 2 are needed to divide it by article.")
    wanted = SHARE * sum(map(len, articles))
    in_test: set[int] = set()
    n_test = 0
    for place in np.random.default_rng(seed).permutation(len(articles))[:-1]:
        if n_test >= wanted:
            break
        in_test.add(int(place))
        n_test += len(articles[place])
    test = [one for place, article in enumerate(articles) if place in in_test for one in article]
    known = {one.context for one in test}  # an article may quote another
    train = [
        one
        for place, article in enumerate(articles)
        if place not in in_test
        for one in article
        if one.context not in known
    ]
    if not train or not test:
        raise DamagedDataError(f"{path} has too few questions to divide it by article.")
    return train, test
