"""Texts: SQuAD's json, film reviews in folders and archives, and tokens."""

from __future__ import annotations

import gzip
import json
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexibo.errors import InvalidValueError
from flexibo.systems.data import files, reviews, squad
from flexibo.systems.data.base import DamagedDataError, MissingDataError
from flexibo.systems.data.tokens import SPECIAL, WordPieces, text_of_tokens, tokens_of

CONTEXT = "The Normans gave their name to Normandy, a region in France."


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
    data = squad.load(tmp_path, share=0.3, seed=1)
    train, test = ({one.context for one in part.questions} for part in (data.train, data.test))
    assert (len(data.train), len(data.test)) == (35, 15)
    assert not train & test
    assert "half.json" in data.note
    assert "not a SQuAD score" in data.note
    assert squad.load(tmp_path, share=0.3, seed=1).fingerprint == data.fingerprint
    assert squad.load(tmp_path, share=0.3, seed=2).fingerprint != data.fingerprint


def test_a_text_that_two_articles_have_is_in_one_part_only(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(document(*many_articles(), *many_articles()))
    for seed in range(5):
        data = squad.load(tmp_path, seed=seed)
        assert not {one.context for one in data.train.questions} & {one.context for one in data.test.questions}


def test_a_limit_keeps_questions_with_and_without_answer_in_proportion(tmp_path: Path) -> None:
    qas = [asked(f"yes {n}", "France") for n in range(30)] + [asked(f"no {n}") for n in range(10)]
    data = squad.load(write_squad(tmp_path, document(article(*qas))), limit=8)
    assert sorted(one.question[:2] for one in data.train.questions) == ["no"] * 2 + ["ye"] * 6


def test_several_files_that_could_be_meant_are_named(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(document(*many_articles()))
    with pytest.raises(MissingDataError, match=r"not one other such file but 2 \(a.json, b.json\)"):
        squad.load(tmp_path)


def test_missing_squad_files_are_named(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(MissingDataError, match=r"train-v2\.0\.json and dev-v2\.0\.json are missing"):
            squad.load(folder)


@pytest.mark.parametrize(
    ("train", "sentence"),
    [
        ("[1, 2]", "it has no list named data"),
        ('{"data": {}}', "it has no list named data"),
        ('{"data": []}', "has no questions"),
        ('{"data": [{"paragraphs": [{"context": "a"}]}]}', "none of SQuAD"),
        ('{"data": [1]}', "none of SQuAD"),
        (document(article(asked("Where?", "France") | {"question": 5})), "int in place of text"),
        (document(article(asked("Where?", "France")))[:-20], "no json file, or cut short"),
        ("[" * 100_000, "nested more deeply|cut short"),
        (b'{"data": "\xff\xfe"}', "no json file"),
        (
            document(article(asked("Q", answers=[{"text": "Spain", "answer_start": 3}]))),
            "'Spain' at character 3 .* not",
        ),
        (document(article(asked("Q", answers=[{"text": "The", "answer_start": -60}]))), "not there"),
        (document(article(asked("Q", answers=[{"text": "", "answer_start": 1}]))), "not there"),
        (document(article(asked("Q", answers=[{"text": "The", "answer_start": "0"}]))), "answer_start is '0'"),
        (document(article(asked("Q", is_impossible=False))), "'Q' has an answer and gives none"),
        (document(article(asked("Q", "France", is_impossible=True))), "'Q' has no answer and gives one"),
    ],
)
def test_files_that_are_not_squad_are_refused(tmp_path: Path, train: str | bytes, sentence: str) -> None:
    with pytest.raises(DamagedDataError, match=sentence):
        squad.load(write_squad(tmp_path, train))


def test_a_file_with_one_article_cannot_be_divided(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(document(article(asked("Where?", "France"))))
    with pytest.raises(DamagedDataError, match="at least 2"):
        squad.load(tmp_path)


def write_imdb(root: Path, *, n: int = 4, **replaced: bytes) -> Path:
    for part in ("train", "test"):
        for side in ("pos", "neg"):
            (root / part / side).mkdir(parents=True)
            for number in range(n):
                text = replaced.get(f"{part}_{side}_{number}", f"{part} {side} {number}<br />Très bon.".encode())
                (root / part / side / f"{number}_7.txt").write_bytes(text)
    return root


@pytest.mark.parametrize("name", ["aclImdb", ""])
def test_imdb_folders_are_read_with_their_labels(tmp_path: Path, name: str) -> None:
    write_imdb(tmp_path / name, n=11)
    data = reviews.load_imdb(tmp_path)
    assert data.train.labels.tolist() == [0] * 11 + [1] * 11
    assert data.train.texts[10:12] == ("train neg 10\nTrès bon.", "train pos 0\nTrès bon.")
    assert data.test.texts[0] == "test neg 0\nTrès bon."
    assert data.name == "imdb"


def test_only_the_reviews_that_a_limit_chooses_are_read(tmp_path: Path) -> None:
    write_imdb(tmp_path, n=20)
    data = reviews.load_imdb(tmp_path, limit=10)
    assert np.bincount(data.train.labels).tolist() == [5, 5]
    for part in ("neg", "pos"):
        for path in (tmp_path / "train" / part).iterdir():
            if not any(text.startswith(f"train {part} {path.stem.split('_')[0]}\n") for text in data.train.texts):
                path.write_bytes(b"\xff")
    assert reviews.load_imdb(tmp_path, limit=10).fingerprint == data.fingerprint


@pytest.mark.parametrize(
    ("text", "sentence"),
    [(b"caf\xe9 bar", r"train.pos.2_7\.txt is not UTF-8 text: byte 3 is 0xe9"), (b" \n", "has no text")],
)
def test_reviews_that_are_no_text_are_refused(tmp_path: Path, text: bytes, sentence: str) -> None:
    with pytest.raises(DamagedDataError, match=sentence):
        reviews.load_imdb(write_imdb(tmp_path, train_pos_2=text))


def test_missing_and_empty_imdb_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="the folder aclImdb with"):
        reviews.load_imdb(tmp_path)
    write_imdb(tmp_path / "aclImdb", n=1)
    (tmp_path / "aclImdb/test/pos/0_7.txt").unlink()
    with pytest.raises(DamagedDataError, match=r"test.pos has no reviews"):
        reviews.load_imdb(tmp_path)
    (tmp_path / "aclImdb/test/pos").rmdir()
    with pytest.raises(MissingDataError, match="test/pos is missing in"):
        reviews.load_imdb(tmp_path)


def write_archive(folder: Path, extra: dict[str, bytes] | None = None, *, n: int = 10) -> Path:
    files = {f"movie_reviews/{side}/cv{k:03}.txt": f"{side} {k}".encode() for side in ("neg", "pos") for k in range(n)}
    with zipfile.ZipFile(folder / reviews.ARCHIVE, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (files | {"movie_reviews/README": b"read me"} | (extra or {})).items():
            archive.writestr(name, data)
    return folder


def test_the_archive_is_divided_with_both_labels_in_proportion(tmp_path: Path) -> None:
    data = reviews.load_movie_reviews(write_archive(tmp_path), share=0.2, seed=5)
    assert np.bincount(data.train.labels).tolist() == [8, 8]
    assert np.bincount(data.test.labels).tolist() == [2, 2]
    assert len({*data.train.texts, *data.test.texts}) == 20
    for part in (data.train, data.test):
        assert [text[:3] for text in part.texts] == [reviews.SIDES[label] for label in part.labels]
    assert "20%" in data.note
    assert reviews.load_movie_reviews(tmp_path, share=0.2, seed=5).fingerprint == data.fingerprint
    assert reviews.load_movie_reviews(tmp_path, share=0.2, seed=6).fingerprint != data.fingerprint


def test_a_limit_on_the_archive_keeps_the_test_part_apart(tmp_path: Path) -> None:
    data = reviews.load_movie_reviews(write_archive(tmp_path), limit=4)
    assert np.bincount(data.train.labels).tolist() == [2, 2]
    assert set(data.test.texts) == set(reviews.load_movie_reviews(tmp_path).test.texts)


def test_files_that_macos_adds_are_passed_over(tmp_path: Path) -> None:
    plain = reviews.load_movie_reviews(write_archive(tmp_path)).fingerprint
    write_archive(tmp_path, {"__MACOSX/movie_reviews/pos/._cv000.txt": b"\x00\xff"})
    assert reviews.load_movie_reviews(tmp_path).fingerprint == plain


@pytest.mark.parametrize("name", ["../pos/x.txt", "/etc/pos/x.txt", "C:/pos/x.txt", "a/../../pos/x.txt", "pos\\x.txt"])
def test_archives_with_names_that_point_out_of_them_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DamagedDataError, match="points out of the archive"):
        reviews.load_movie_reviews(write_archive(tmp_path, {name: b"x"}))


def test_archives_of_absurd_sizes_are_refused_before_they_are_unpacked(tmp_path: Path) -> None:
    path = write_archive(tmp_path) / reviews.ARCHIVE
    whole = path.read_bytes()
    at = whole.index(b"PK\x01\x02") + 24
    for size, sentence in ((2**27, "has 134,217,728 bytes; at most"), (2**31, "bytes in all; at most")):
        path.write_bytes(whole[:at] + struct.pack("<I", size) + whole[at + 4 :])
        with pytest.raises(DamagedDataError, match=sentence):
            reviews.load_movie_reviews(tmp_path)


def test_archives_with_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_archive(tmp_path)
    monkeypatch.setattr(files, "MOST_MEMBERS", 20)
    with pytest.raises(DamagedDataError, match=r"holds 21 files .* at most 20 files"):
        reviews.load_movie_reviews(tmp_path)


def test_an_archive_with_two_files_of_one_name_is_refused(tmp_path: Path) -> None:
    path = write_archive(tmp_path) / reviews.ARCHIVE
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("movie_reviews/pos/cv000.txt", "again")
    with pytest.raises(DamagedDataError, match=r"two files of one name: movie_reviews/pos/cv000\.txt"):
        reviews.load_movie_reviews(tmp_path)


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"movie_reviews\.zip is missing"):
        reviews.load_movie_reviews(tmp_path)
    path = write_archive(tmp_path) / reviews.ARCHIVE
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    with pytest.raises(DamagedDataError, match="no whole zip archive"):
        reviews.load_movie_reviews(tmp_path)
    at = whole.index(b"PK\x01\x02") + 16  # the checksum of the first file
    path.write_bytes(whole[:at] + b"\x00\x00\x00\x00" + whole[at + 4 :])
    with pytest.raises(DamagedDataError, match=r"cv000\.txt in .* is damaged"):
        reviews.load_movie_reviews(tmp_path)
    path.write_bytes(whole[: at - 8] + b"\x01" + whole[at - 7 :])  # says that the first file is encrypted
    with pytest.raises(DamagedDataError, match=r"cv000\.txt in .* (cannot be read|is damaged)"):
        reviews.load_movie_reviews(tmp_path)


def test_an_archive_needs_both_kinds_of_reviews_as_utf_8(tmp_path: Path) -> None:
    with pytest.raises(DamagedDataError, match="one kind or both are not there"):
        reviews.load_movie_reviews(write_archive(tmp_path, {"pos/a.txt": b"a"}, n=0))
    with pytest.raises(DamagedDataError, match=r"pos/latin\.txt in .* is not UTF-8"):
        reviews.load_movie_reviews(write_archive(tmp_path, {"pos/latin.txt": b"\xe9t\xe9"}))


@pytest.mark.parametrize("share", [0, 1, -1])
def test_a_share_must_leave_something_on_both_sides(tmp_path: Path, share: float) -> None:
    for load in (squad.load, reviews.load_movie_reviews):
        with pytest.raises(InvalidValueError, match="share"):
            load(tmp_path, share=share)


VOCABULARY = (
    *SPECIAL,
    "un",
    "##aff",
    "##able",
    "want",
    "##ed",
    "cafe",
    "!",
    "in",
    "2",
    "中",
    "a",
    "##\u03c2",
    "\u03c3",
)


def pieces(text: str) -> list[str]:
    words = WordPieces(VOCABULARY)
    return [words.pieces[number] for number in words.encode(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("unaffable", ["un", "##aff", "##able"]),
        ("UNwanted!!", ["[UNK]", "!", "!"]),
        (" want \t wanted\n", ["want", "want", "##ed"]),
        ("Café CAFE\u0301", ["cafe", "cafe"]),
        ("a中a", ["a", "中", "a"]),
        ("in\u200b\x00\ufffd2", ["[UNK]"]),
        ("in\u00a02", ["in", "2"]),
        ("ca\x0bfe", ["cafe"]),
        ("ΣΣ", ["\u03c3", "##\u03c2"]),
        ("x" * 201 + " a", ["[UNK]", "a"]),
        ("a¿a", ["a", "[UNK]", "a"]),
        ("", []),
    ],
)
def test_text_is_cut_by_the_rules_of_bert(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


def test_a_word_longer_than_any_is_unknown_even_if_it_could_be_cut() -> None:
    words = WordPieces((*SPECIAL, "a", "##a"))
    assert words.encode("a" * 200) == [4] + [5] * 199
    assert words.encode("a" * 201) == [1]


def test_pieces_know_where_they_stand_in_the_text_as_it_was_written() -> None:
    text = "  Wantéd,\u200b unAFFable İn CAFE\u0301! in"
    words = WordPieces((*VOCABULARY, "wanted", ","))
    found = [(words.pieces[number], text[begin:end]) for number, begin, end in words.located(text)]
    assert found == [
        *(("wanted", "Wantéd"), (",", ",")),
        *(("un", "un"), ("##aff", "AFF"), ("##able", "able")),
        *(("in", "İn"), ("cafe", "CAFE"), ("!", "!"), ("in", "in")),
    ]
    assert words.encode(text) == [number for number, _, _ in words.located(text)]


def test_a_vocabulary_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    for text in ("\n".join(VOCABULARY), "\r\n".join(VOCABULARY) + "\r\n"):
        path.write_bytes(text.encode())
        assert WordPieces.read(path) == WordPieces(VOCABULARY)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"[PAD]\n[CLS]\na", r"lacks \[UNK\], \[SEP\]"),
        ("\n".join((*VOCABULARY, "un")).encode(), "'un' twice"),
        (b"\xff", "UTF-8"),
    ],
)
def test_files_that_are_no_vocabulary_are_refused(tmp_path: Path, data: bytes, sentence: str) -> None:
    (tmp_path / "vocab.txt").write_bytes(data)
    with pytest.raises(DamagedDataError, match=sentence):
        WordPieces.read(tmp_path / "vocab.txt")
    with pytest.raises(MissingDataError):
        WordPieces.read(tmp_path / "nothing.txt")


def test_a_learned_vocabulary_has_characters_and_the_most_frequent_words() -> None:
    texts = ["The cat sat. The dog sat.", "the bird, sat"]
    characters = sorted(set("thecatsat.dogbird,"))
    n = len(SPECIAL) + 2 * len(characters) + 4
    words = WordPieces.learned(texts, n)
    inside = [f"##{char}" for char in characters]
    assert words.pieces == (*SPECIAL, *characters, *inside, "sat", "the", "bird", "cat")
    assert [words.pieces[number] for number in words.encode("The CATS")] == ["the", "cat", "##s"]
    assert words == WordPieces.learned(iter(texts), n)


def test_a_word_counts_as_often_as_it_occurs_however_it_is_written() -> None:
    words = WordPieces.learned(["dog dog dog cat. Cat,"], len(SPECIAL) + 2 * len("dogcat.,") + 1)
    assert words.pieces[-1] == "dog"


def test_nothing_in_the_texts_that_a_vocabulary_was_learned_from_is_unknown() -> None:
    texts = ["Ünïcode — “quotes” 中文", "ﬁ ½ ß İ x" * 3]
    words = WordPieces.learned(texts, 100)
    assert all(1 not in words.encode(text) for text in texts)
    assert len(words) < 100


def test_a_vocabulary_too_small_for_its_characters_is_refused() -> None:
    with pytest.raises(InvalidValueError, match=r"size of the vocabulary is 9; the 3 characters .* at least 10"):
        WordPieces.learned(["abc"], 9)
    assert len(WordPieces.learned(["abc"], 10)) == 10


def test_a_question_and_its_text_are_laid_out_for_a_network() -> None:
    words = WordPieces(VOCABULARY)
    pair = words.pairs("want!", "in unaffable", 12)
    line = ["[CLS]", "want", "!", "[SEP]", "in", "un", "##aff", "##able", "[SEP]", "[PAD]", "[PAD]", "[PAD]"]
    assert [words.pieces[number] for number in pair.tokens] == line
    assert pair.mask.tolist() == [1] * 9 + [0] * 3
    assert pair.segments.tolist() == [0] * 4 + [1] * 5 + [0] * 3
    assert pair.offsets.tolist() == [[-1, -1]] * 4 + [[0, 2], [3, 5], [5, 8], [8, 12]] + [[-1, -1]] * 4
    assert {part.dtype for part in pair} == {np.dtype(np.int64)}


def test_what_is_too_long_is_cut_and_a_question_leaves_half_to_the_text() -> None:
    words = WordPieces(VOCABULARY)
    pair = words.pairs("want " * 20, "in " * 20, 13)
    assert [words.pieces[number] for number in pair.tokens[1:6]] == ["want"] * 5
    assert [words.pieces[number] for number in pair.tokens[7:12]] == ["in"] * 5
    assert words.pieces[pair.tokens[12]] == "[SEP]"
    short = words.pairs("want " * 20, "in", 13)
    assert (short.tokens == words.numbers["want"]).sum() == 9
    assert (words.pairs("want", "in " * 20, 13).tokens == words.numbers["in"]).sum() == 9
    assert words.pairs("want", "", 13).mask.sum() == 4
    with pytest.raises(InvalidValueError, match="at least 5"):
        words.pairs("want", "in", 4)


def test_answers_are_found_among_the_tokens_and_back() -> None:
    words = WordPieces.learned([CONTEXT], 60)
    pair = words.pairs("where?", CONTEXT, 40)
    for answer in ("The", "a region in France", "France", "Normandy,"):
        found = tokens_of(pair.offsets, CONTEXT.index(answer), answer)
        assert found is not None
        assert text_of_tokens(CONTEXT, pair.offsets, *found) == answer
    assert tokens_of(pair.offsets, 0, "The ") == tokens_of(pair.offsets, 0, "The")


def test_an_answer_that_was_cut_off_has_no_tokens() -> None:
    words = WordPieces.learned([CONTEXT], 60)
    pair = words.pairs("where?", CONTEXT, 13)
    last = pair.offsets[:, 1].max()
    assert tokens_of(pair.offsets, CONTEXT.index("France"), "France") is None
    assert tokens_of(pair.offsets, 0, CONTEXT[: last + 5]) is None
    assert tokens_of(pair.offsets, 0, CONTEXT[:last]) is not None


def test_tokens_that_are_no_part_of_the_text_say_nothing() -> None:
    words = WordPieces(VOCABULARY)
    pair = words.pairs("want", "in 2", 8)
    assert text_of_tokens("in 2", pair.offsets, 3, 4) == "in 2"
    for first, last in ((0, 3), (4, 3), (3, 5), (3, 7)):
        assert text_of_tokens("in 2", pair.offsets, first, last) == ""


def test_a_vocabulary_survives_a_trip_to_another_process() -> None:
    words = WordPieces(VOCABULARY)
    words.encode("unaffable")
    assert pickle.loads(pickle.dumps(words)).encode("unaffable want") == words.encode("unaffable want")


def test_words_are_remembered_only_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.systems.data.tokens.MOST_REMEMBERED", 2)
    words = WordPieces(VOCABULARY)
    assert words.encode("un in a want un") == [4, 11, 14, 7, 4]
    assert set(words._known) == {"un", "in"}
