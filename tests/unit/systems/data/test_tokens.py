"""Word pieces by the rules of BERT, each with its position in the text."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.systems.data.review_files import CONTEXT

from flexibo.errors import InvalidValueError
from flexibo.systems.data.base import DamagedDataError
from flexibo.systems.data.tokens import _COMMON, SPECIAL, WordPieces, WordRules, tokens_of

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


@pytest.fixture(params=["tokenizers", "flexibo"], autouse=True)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which code cuts the texts: the package where it is installed, and ours."""
    if request.param == "flexibo":
        monkeypatch.setitem(sys.modules, "tokenizers", None)
    else:
        pytest.importorskip("tokenizers")
    return str(request.param)


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
        ("ς", ["[UNK]"]),
        ("Σ", ["\u03c3"]),
        ("a\ue000", ["a"]),
        ("x" * 101 + " a", ["[UNK]", "a"]),
        ("a¿a", ["a", "[UNK]", "a"]),
        ("", []),
    ],
)
def test_text_is_cut_by_the_rules_of_bert(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


def test_a_word_longer_than_any_is_unknown_even_if_it_could_be_cut() -> None:
    words = WordPieces((*SPECIAL, "a", "##a"))
    assert words.encode("a" * 100) == [4] + [5] * 99
    assert words.encode("a" * 101) == [1]
    assert WordPieces(words.pieces, WordRules(longest_word=101)).encode("a" * 101) == [4] + [5] * 100


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


def test_words_are_remembered_only_up_to_a_number(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if library != "flexibo":
        pytest.skip("the package remembers words by itself")
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


def write_folder(folder: Path, *pieces: str, **files: Any) -> Path:
    (folder / "vocab.txt").write_text("\n".join((*SPECIAL, *pieces)))
    for name, settings in files.items():
        (folder / f"{name}.json").write_text(settings if isinstance(settings, str) else json.dumps(settings))
    return folder / "vocab.txt"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, ["caf", "caf"]),
        ({"tokenizer_config": {"do_lower_case": False}}, ["Caf", "caf\u00e9"]),
        ({"tokenizer_config": {"do_lower_case": False, "strip_accents": True}}, ["Caf", "caf"]),
        ({"tokenizer": {"normalizer": {"type": "BertNormalizer", "lowercase": False}}}, ["Caf", "caf\u00e9"]),
        ({"tokenizer": {"normalizer": {"lowercase": False}}, "tokenizer_config": {"do_lower_case": True}}, ["caf"] * 2),
        ({"tokenizer": {"normalizer": None, "model": {"max_input_chars_per_word": 3}}}, ["caf", "[UNK]"]),
        ({"tokenizer_config": {"strip_accents": False}}, ["caf", "caf\u00e9"]),
    ],
)
def test_a_vocabulary_has_the_rules_of_its_folder(tmp_path: Path, files: dict[str, Any], expected: list[str]) -> None:
    words = WordPieces.read(write_folder(tmp_path, "Caf", "caf", "caf\u00e9", "##e", "##\u00e9", **files))
    found = [words.pieces[number] for number in words.encode("Caf caf\u00e9")]
    assert found[:2] == expected


@pytest.mark.parametrize(
    ("files", "facts"),
    [
        ({"tokenizer": {"normalizer": {"type": "NFKC"}}}, "rules of its own .*NFKC"),
        ({"tokenizer": {"model": {"type": "BPE"}}}, "rules of its own .*BPE"),
        ({"tokenizer": {"model": {"continuing_subword_prefix": "@"}}}, "rules of its own .*@"),
        ({"tokenizer": {"normalizer": {"clean_text": False}}}, "rules of its own .*clean_text"),
        ({"tokenizer_config": {"do_lower_case": "no"}}, "lower case 'no'"),
        ({"tokenizer": {"model": {"max_input_chars_per_word": 0}}}, r"\b0 characters of a word"),
        ({"tokenizer": "[]"}, "tokenizer.json beside it"),
        ({"tokenizer_config": "{"}, "tokenizer_config.json beside it"),
    ],
)
def test_a_vocabulary_with_other_rules_is_refused(tmp_path: Path, files: dict[str, Any], facts: str) -> None:
    with pytest.raises(DamagedDataError, match=f"vocabulary of BERT: .*{facts}"):
        WordPieces.read(write_folder(tmp_path, **files))


@pytest.mark.parametrize(
    "rules", [WordRules(), WordRules(False, False), WordRules(True, False), WordRules(False, True, 7)]
)
def test_pieces_do_not_depend_on_what_is_installed(rules: WordRules, monkeypatch: pytest.MonkeyPatch) -> None:
    characters = [
        chr(code) for code in range(1, 0xFF80) if not 0xD800 <= code < 0xE000 and _COMMON.fullmatch(chr(code))
    ]
    letters = [char for char in characters if ord(char) < 0x530]
    vocabulary = (*SPECIAL, *letters, *(f"##{char}" for char in letters))
    theirs = WordPieces(vocabulary, rules)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    ours = WordPieces(vocabulary, rules)
    order = np.random.default_rng(0).permutation(len(characters))
    texts = [CONTEXT, *("".join(characters[at] for at in order[begin::999]) for begin in range(999))]
    texts += [f"x{char}Y {char}" for char in letters]
    for text in texts:
        assert theirs.located(text) == ours.located(text)
        assert theirs.encode(text) == [number for number, _, _ in ours.located(text)]
