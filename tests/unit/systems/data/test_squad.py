"""SQuAD: two files, or one that is divided by article."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.systems.data.review_files import CONTEXT

from flexibo.systems.data import squad
from flexibo.systems.data.base import DamagedDataError, MissingDataError


def asked(question: str, *answers: str, context: str = CONTEXT, **fields: Any) -> dict[str, Any]:
    places = [{"text": text, "answer_start": context.index(text)} for text in answers]
    return {"question": question, "id": question, "answers": places, "is_impossible": not answers} | fields


def article(*qas: dict[str, Any], context: str = CONTEXT, title: str = "Normans") -> dict[str, Any]:
    return {"title": title, "paragraphs": [{"qas": list(qas), "context": context}]}


def document(*articles: Any) -> str:
    return json.dumps({"version": "v2.0", "data": list(articles)})


def write_squad(folder: Path, train: str | bytes, dev: str = document(article(asked("Who?", "Normans")))) -> Path:
    (folder / "train-v2.0.json").write_bytes(train.encode() if isinstance(train, str) else train)
    (folder / "dev-v2.0.json").write_text(dev)
    return folder


@pytest.mark.parametrize("gz", [False, True])
def test_the_two_files_of_squad_are_the_two_parts(tmp_path: Path, gz: bool) -> None:
    plausible = {"plausible_answers": [{"text": "France", "answer_start": 0}]}
    train = document(article(asked("Where?", "France", "a region in France", "France"), asked("Why?", **plausible)))
    write_squad(tmp_path, gzip.compress(train.encode()) if gz else train)
    data = squad.load(tmp_path)
    where, why = data.train.questions
    assert (where.question, where.context) == ("Where?", CONTEXT)
    assert where.answers == ((CONTEXT.index("France"), "France"), (CONTEXT.index("a region"), "a region in France"))
    assert why.answers == ()
    assert [one.question for one in data.test.questions] == ["Who?"]
    assert (data.name, data.note) == ("squad", "")


def many_articles() -> list[dict[str, Any]]:
    return [
        article(*(asked(f"{n}.{k}", f"text {n}", context=f"text {n}") for k in range(5)), context=f"text {n}")
        for n in range(10)
    ]


def test_a_single_file_is_divided_by_article_and_says_that_it_is_no_squad_score(tmp_path: Path) -> None:
    (tmp_path / "half.json").write_text(document(*many_articles()))
    (tmp_path / "other.json").write_text('{"data": 1}')
    data = squad.load(tmp_path, seed=1)
    train, test = ({one.context for one in part.questions} for part in (data.train, data.test))
    assert (len(data.train), len(data.test)) == (40, 10)
    assert not train & test
    assert "half.json" in data.note
    assert "SQuAD score" in data.note
    assert squad.load(tmp_path, seed=1).fingerprint == data.fingerprint
    assert squad.load(tmp_path, seed=2).fingerprint != data.fingerprint


def test_a_text_that_two_articles_have_is_in_one_part_only(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(document(*many_articles(), *many_articles()))
    for seed in range(5):
        data = squad.load(tmp_path, seed=seed)
        assert not {one.context for one in data.train.questions} & {one.context for one in data.test.questions}


def test_a_limit_keeps_questions_with_and_without_answer_in_proportion(tmp_path: Path) -> None:
    qas = [asked(f"yes {n}", "France") for n in range(30)] + [asked(f"no {n}") for n in range(10)]
    data = squad.load(write_squad(tmp_path, document(article(*qas))), limit=8)
    assert sorted(one.question[:2] for one in data.train.questions) == ["no"] * 2 + ["ye"] * 6


def test_questions_without_an_answer_can_be_left_out(tmp_path: Path) -> None:
    both = document(article(asked("Where?", "France"), asked("Why?")), article(asked("Who?", "Normans")))
    data = squad.load(write_squad(tmp_path, both), name="squad-answerable", answerable=True)
    assert [one.question for one in data.train.questions] == ["Where?", "Who?"]
    assert data.name == "squad-answerable"
    assert data.fingerprint != squad.load(tmp_path).fingerprint
    with pytest.raises(DamagedDataError, match="squad-answerable"):
        squad.load(write_squad(tmp_path, document(article(asked("Why?")))), name="squad-answerable", answerable=True)


def test_several_files_that_could_be_meant_are_named(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(document(*many_articles()))
    with pytest.raises(MissingDataError, match=r"\b2 \(a\.json, b\.json\)"):
        squad.load(tmp_path)


def test_missing_squad_files_are_named(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(MissingDataError, match=rf"{folder}: train-v2\.0\.json and dev-v2\.0\.json "):
            squad.load(folder)


@pytest.mark.parametrize(
    ("train", "facts"),
    [
        ("[1, 2]", "no list named data"),
        ('{"data": {}}', "no list named data"),
        ('{"data": []}', "has no questions"),
        ('{"data": [{"paragraphs": [{"context": "a"}]}]}', "none of SQuAD"),
        ('{"data": [1]}', "none of SQuAD"),
        (document(article(asked("Where?", "France") | {"question": 5})), "int in place"),
        (document(article(asked("Where?", "France")))[:-20], "no json file"),
        ("[" * 100_000, "nested|no json file"),
        (b'{"data": "\xff\xfe"}', "no json file"),
        (
            document(article(asked("Q", answers=[{"text": "Spain", "answer_start": 3}]))),
            "'Spain' at character 3 ",
        ),
        (document(article(asked("Q", answers=[{"text": "The", "answer_start": -60}]))), "not there"),
        (document(article(asked("Q", answers=[{"text": "", "answer_start": 1}]))), "not there"),
        (document(article(asked("Q", answers=[{"text": "The", "answer_start": "0"}]))), "answer_start is '0'"),
        (document(article(asked("Q", is_impossible=False))), "'Q' .*an answer .*none"),
        (document(article(asked("Q", "France", is_impossible=True))), "'Q' .*no answer .*one"),
    ],
)
def test_files_that_are_not_squad_are_refused(tmp_path: Path, train: str | bytes, facts: str) -> None:
    with pytest.raises(DamagedDataError, match=facts):
        squad.load(write_squad(tmp_path, train))


def test_a_file_with_one_article_cannot_be_divided(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(document(article(asked("Where?", "France"))))
    with pytest.raises(DamagedDataError, match="at least 2"):
        squad.load(tmp_path)
