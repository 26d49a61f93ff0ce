"""Word pieces by the rules of BERT, each with its position in the text."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from tests.unit.systems.data.review_files import CONTEXT

from flexibo.errors import InvalidValueError
from flexibo.systems.data.base import DamagedDataError
from flexibo.systems.data.tokens import SPECIAL, WordPieces, tokens_of

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


@pytest.mark.parametrize(
    ("pieces", "facts"), [(("[PAD]", "[CLS]", "a"), r"lacks \[UNK\], \[SEP\]"), ((*VOCABULARY, "un"), "'un' twice")]
)
def test_pieces_that_are_no_vocabulary_are_refused(pieces: tuple[str, ...], facts: str) -> None:
    with pytest.raises(InvalidValueError, match=facts):
        WordPieces(pieces)


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
    with pytest.raises(InvalidValueError, match=r"vocabulary .*\b9;.*\b3 characters .*\b10\b"):
        WordPieces.learned(["abc"], 9)
    assert len(WordPieces.learned(["abc"], 10)) == 10


def offsets_of(text: str) -> np.ndarray:
    return np.array([place for _, *place in WordPieces.learned([text], 60).located(text)])


def test_answers_are_found_among_the_tokens() -> None:
    offsets = offsets_of(CONTEXT)
    for answer in ("The", "a region in France", "France", "Normandy,"):
        found = tokens_of(offsets, CONTEXT.index(answer), answer)
        assert found is not None
        assert CONTEXT[offsets[found[0], 0] : offsets[found[1], 1]] == answer
    assert tokens_of(offsets, 0, "The ") == tokens_of(offsets, 0, "The")


def test_an_answer_that_was_cut_off_has_no_tokens() -> None:
    offsets = offsets_of(CONTEXT)[:5]
    last = offsets[:, 1].max()
    assert tokens_of(offsets, CONTEXT.index("France"), "France") is None
    assert tokens_of(offsets, 0, CONTEXT[: last + 5]) is None
    assert tokens_of(offsets, 0, CONTEXT[:last]) is not None


def test_a_vocabulary_survives_a_trip_to_another_process() -> None:
    words = WordPieces(VOCABULARY)
    words.encode("unaffable")
    assert pickle.loads(pickle.dumps(words)).encode("unaffable want") == words.encode("unaffable want")


def test_words_are_remembered_only_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.systems.data.tokens.MOST_REMEMBERED", 2)
    words = WordPieces(VOCABULARY)
    assert words.encode("un in a want un") == [4, 11, 14, 7, 4]
    assert set(words._known) == {"un", "in"}


def test_a_vocabulary_is_read_from_a_tokenizer_too(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps({"model": {"vocab": {piece: number for number, piece in enumerate([*SPECIAL, "a"])}}}))
    assert WordPieces.read(file).encode("a") == [4]
    for text in (
        "{",
        "[]",
        "{}",
        json.dumps({"model": {"vocab": {"a": 1}}}),
        json.dumps({"model": {"vocab": {"a": 0}}}),
    ):
        file.write_text(text)
        with pytest.raises(DamagedDataError, match="vocabulary of BERT: "):
            WordPieces.read(file)
