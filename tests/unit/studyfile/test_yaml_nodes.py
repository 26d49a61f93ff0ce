"""YAML read so that nothing is guessed: traps, bombs and places."""

from __future__ import annotations

import re

import pytest

from flexibo.studyfile._yaml_nodes import YamlList, YamlMapping, YamlScalar, nodes_of
from flexibo.studyfile.mistakes import Mistakes


def read(text: str) -> tuple[object, list[tuple[int, int, str]]]:
    mistakes = Mistakes("f.yaml")
    node = nodes_of(text, mistakes)
    return node, [(m.place.line, m.place.column, m.sentence) for m in mistakes.found]


def value(text: str) -> object:
    node, mistakes = read(f"key: {text}")
    assert not mistakes, mistakes
    assert isinstance(node, YamlMapping)
    found = node.get("key")
    assert isinstance(found, YamlScalar)
    return found.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("16", 16),
        ("-3", -3),
        ("+7", 7),
        ("0", 0),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1E-5", 1e-5),
        ("1.5e3", 1500.0),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("3x3", "3x3"),
        ("2026-11-15", "2026-11-15"),
        ('"no"', "no"),
        ("'012'", "012"),
        ('"16"', "16"),
        ("nobody", "nobody"),
        ("y", "y"),
    ],
)
def test_plain_words_mean_what_new_yaml_says(text: str, expected: object) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("text", ["no", "No", "YES", "on", "off", "012", "-07", "0x1F", "0o17", "1_000", "1:30"])
def test_words_that_two_yaml_readers_read_differently_need_quotes(text: str) -> None:
    _, mistakes = read(f"first: 1\nkey: {text}")
    ((line, column, sentence),) = mistakes
    assert (line, column) == (2, 6)
    assert text in sentence
    assert f'"{text}"' in sentence


def test_an_ambiguous_key_is_a_mistake_too() -> None:
    _, mistakes = read("on: 1")
    assert [m[:2] for m in mistakes] == [(1, 1)]
    assert re.search(r'^on .*"on".*true', mistakes[0][2])


def test_a_key_that_is_no_text_is_named_with_its_place() -> None:
    _, mistakes = read("a: 1\n7: 2\n[x]: 3")
    assert [m[:2] for m in mistakes] == [(2, 1), (3, 1)]
    assert re.search(r'key 7 .*"7"', mistakes[0][2])


def test_a_key_that_comes_twice_says_where_it_was_first() -> None:
    node, mistakes = read("a: 1\nb: 2\na: 3")
    ((line, column, sentence),) = mistakes
    assert (line, column) == (3, 1)
    assert re.search(r"key 'a'.*line 1\b", sentence)
    assert isinstance(node, YamlMapping)
    assert [entry.key for entry in node.entries] == ["a", "b"]


def test_all_ambiguous_words_are_listed_and_not_only_the_first() -> None:
    assert len(read("a: [no, 012]\nb: on")[1]) == 3


@pytest.mark.parametrize(
    ("text", "place", "facts"),
    [
        ("a: 1\n\tb: 2\n", (2, 1), "tab.*spaces"),
        ("unit: %\n", (1, 7), "begin with %.*quotes"),
        ("a: 1\n---\nb: 2\n", (2, 1), "second document.*---"),
        ("a: b: c\n", (1, 5), "YAML: mapping values"),
        ("a: [1\nb: 2", (2, 2), "not YAML: "),
        ('a: "\x07"', (1, 5), r"'\\x07'"),
        ("a: !!python/object/apply:os.system [id]", (1, 4), r"^!!python/object/apply:os\.system .*tag"),
        ("a: !thing 5", (1, 4), "^!thing .*tag"),
        ('a: !!int "5"', (1, 4), "^!!int .*tag"),
        ("a: &x [1]\nb: *x", (1, 4), "^&x .*anchor"),
    ],
)
def test_what_is_no_plain_yaml_is_said_with_its_place(text: str, place: tuple[int, int], facts: str) -> None:
    _, mistakes = read(text)
    assert mistakes[0][:2] == place
    assert re.search(facts, mistakes[0][2])


def test_a_bomb_of_aliases_is_refused_before_it_goes_off() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 60)]
    node, mistakes = read("\n".join(lines))
    assert node is None
    assert len(mistakes) == 1


@pytest.mark.parametrize("text", ["[" * 5000, "{a: " * 5000, "\n".join(f"{' ' * n}a:" for n in range(500))])
def test_deep_nesting_is_refused_rather_than_followed(text: str) -> None:
    node, mistakes = read(text)
    assert node is None
    assert re.search(r"\b12 deep|not YAML", mistakes[0][2])


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"k{n}: 1\n" for n in range(60_000)),
        "options:\n" + "".join(f"  o{n}: [1, 2]\n" for n in range(20_000)),
        "options:\n  x: [" + ",".join(map(str, range(11_000))) + "]\n",
    ],
    ids=["keys", "options", "values"],
)
def test_a_list_or_a_mapping_that_is_too_long_is_one_mistake(text: str) -> None:
    node, mistakes = read(text)
    assert node is None
    ((_, _, sentence),) = mistakes
    assert re.search(r"\b10000 values.*\b500 keys.*\{from: 1, to: 9\}.*designs", sentence)


def test_a_file_of_many_lists_is_too_long_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.studyfile._yaml_nodes.MOST_NODES", 500)
    lines = "".join(f"  o{n}: [{', '.join(map(str, range(100)))}]\n" for n in range(6))
    node, mistakes = read(f"options:\n{lines}")
    assert node is None
    ((line, _, sentence),) = mistakes
    assert line == 6
    assert re.search(r"\b500 keys.*designs", sentence)


@pytest.mark.parametrize(
    "text", ["1" + "_" * 40_000 + "x", "1" + ":1" * 30_000 + "x", "9" * 90_000, "{" * 3 + "a" * 90_000]
)
def test_a_word_of_any_length_is_read_in_one_go(text: str) -> None:
    read(f"key: {text}")


def test_lists_and_tables_know_their_places() -> None:
    node, mistakes = read("options:\n  a: [1, 2]\n  b: {from: 1}")
    assert not mistakes
    assert isinstance(node, YamlMapping)
    options = node.get("options")
    assert isinstance(options, YamlMapping)
    assert (options.place_of("b").line, options.place_of("b").column) == (3, 3)
    listing = options.get("a")
    assert isinstance(listing, YamlList)
    assert [item.place.column for item in listing.items] == [7, 10]


def test_a_text_without_anything_in_it_has_no_nodes() -> None:
    assert read("# only a remark\n") == (None, [])
