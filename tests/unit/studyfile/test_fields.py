"""The keys of a mapping read with their types: right ones, missing ones and wrong ones with their places."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from flexibo.errors import InvalidValueError
from flexibo.studyfile._fields import Fields, cause
from flexibo.studyfile._yaml_nodes import YamlMapping, nodes_of
from flexibo.studyfile.mistakes import Mistakes


def fields(text: str, of: str = "") -> Fields:
    mistakes = Mistakes("f.yaml")
    node = nodes_of(text, mistakes)
    assert isinstance(node, YamlMapping)
    return Fields(node, mistakes, of)


def noted(found: Fields) -> list[tuple[int, int, str]]:
    return [(one.place.line, one.place.column, one.sentence) for one in found.mistakes.found]


READERS: dict[str, Any] = {
    "text": lambda found: found.text("k"),
    "one_of": lambda found: found.one_of("k", ["inline", "dask"]),
    "number": lambda found: found.number("k"),
    "bound": lambda found: found.bound("k"),
    "whole": lambda found: found.whole("k", 1, 9),
    "flag": lambda found: found.flag("k"),
    "duration": lambda found: found.duration("k"),
    "share": lambda found: found.share("k"),
    "names": lambda found: found.names("k", ["x", "y"], "option"),
    "amounts": lambda found: found.amounts("k", ["x", "y"], "option"),
}


@pytest.mark.parametrize(
    ("reader", "text", "value"),
    [
        ("text", "a b", "a b"),
        ("text", '"3"', "3"),
        ("one_of", "dask", "dask"),
        ("number", "3", 3),
        ("number", "-1e-3", -0.001),
        ("bound", "0", 0),
        ("bound", "-inf", -math.inf),
        ("bound", "-.inf", -math.inf),
        ("bound", ".inf", math.inf),
        ("whole", "1", 1),
        ("whole", "9", 9),
        ("flag", "false", False),
        ("duration", "90", 90.0),
        ("duration", "1.5h", 5400.0),
        ("share", "5%", 0.05),
        ("share", "0", 0.0),
        ("names", "[y, x]", ("y", "x")),
        ("names", "[]", ()),
        ("amounts", "{y: 2, x: 0.5}", {"y": 2.0, "x": 0.5}),
    ],
)
def test_a_value_of_the_right_type_is_read(reader: str, text: str, value: object) -> None:
    found = fields(f"k: {text}")
    assert READERS[reader](found) == value
    assert noted(found) == []


@pytest.mark.parametrize("reader", READERS)
def test_a_key_that_is_missing_is_no_mistake(reader: str) -> None:
    found = fields("other: 1")
    assert READERS[reader](found) is None
    assert noted(found) == []


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", ["", "~", "null"])
def test_a_key_without_a_value_is_a_mistake_at_the_key(reader: str, text: str) -> None:
    found = fields(f"k: {text}")
    assert READERS[reader](found) is None
    ((line, column, sentence),) = noted(found)
    assert (line, column) == (1, 1)
    assert re.search("^k .*no value", sentence)


@pytest.mark.parametrize("reader", READERS)
def test_a_word_that_was_noted_as_ambiguous_is_not_noted_again(reader: str) -> None:
    found = fields("k: no")
    assert READERS[reader](found) is None
    assert len(noted(found)) == 1


@pytest.mark.parametrize(
    ("reader", "text", "facts"),
    [
        ("text", "3", r"3;.*text.*quotes"),
        ("text", '"  "', r"'  ';"),
        ("text", "[a]", r"list;"),
        ("number", "true", r"true;.*number"),
        ("number", ".nan", r"\.nan;.*number"),
        ("number", "a", r"'a';.*number"),
        ("bound", ".nan", r"\.nan;.*number"),
        ("bound", "none", r"'none';.*number.*-inf"),
        ("bound", "true", r"true;.*number"),
        ("whole", "0", r"0;.*whole.*\b1 or \w+\.$"),
        ("whole", "10", r"10;.*whole.*\b1 or.*\b9\.$"),
        ("whole", "2.0", r"2\.0;.*whole"),
        ("whole", "true", r"true;.*whole"),
        ("flag", "1", r"1;.*true.*false"),
        ("duration", "0", r"0;.*\b30m\b"),
        ("duration", "true", r"true;.*\b30m\b"),
        ("duration", "30 minutes", r"'30 minutes';.*\b30m\b"),
        ("share", "100%", r"'100%';.*\b5%"),
        ("share", "-0.1", r"-0\.1;.*\b5%"),
        ("names", "x", r"'x';.*options.*\[x, y\]"),
        ("names", "{x: 1}", r"mapping;.*options"),
        ("amounts", "[x]", r"list;.*mapping.*options"),
    ],
)
def test_a_value_of_another_type_is_a_mistake_at_the_value(reader: str, text: str, facts: str) -> None:
    found = fields(f"first: 1\nk: {text}", " of objective 'm'")
    assert READERS[reader](found) is None
    ((line, column, sentence),) = noted(found)
    assert (line, column) == (2, 4)
    assert re.search(rf"^k .*'m'.* {facts}", sentence)


def test_a_long_value_is_cut_in_the_message() -> None:
    found = fields(f"k: {'a' * 10_000}")
    assert found.number("k") is None
    assert len(noted(found)[0][2]) < 150


def test_an_unknown_name_is_a_mistake_with_the_nearest_one() -> None:
    found = fields("k: dsk", " of executor")
    assert found.one_of("k", ["inline", "dask"]) is None
    ((_, _, sentence),) = noted(found)
    assert re.search("k 'dsk'.*executor.*'dask'", sentence)


def test_each_wrong_name_of_a_list_has_its_place_and_the_others_are_kept() -> None:
    found = fields("k: [x, z1, x, 3, y, [y]]", " of objective 'm'")
    assert found.names("k", ["x", "y"], "option") == ("x", "y")
    places, sentences = [at[:2] for at in noted(found)], [at[2] for at in noted(found)]
    assert places == [(1, 8), (1, 12), (1, 15), (1, 21)]
    for sentence, facts in zip(sentences, ["option 'z1'", "'x'.*twice", "^3 .*name", "^a list .*name"], strict=True):
        assert re.search(facts, sentence)
        assert re.search("k.*'m'", sentence)


def test_each_wrong_amount_has_its_place() -> None:
    found = fields("k:\n  z: 1\n  x: many\n  y: 2")
    assert found.amounts("k", ["x", "y"], "option") == {"z": 1.0, "y": 2.0}
    assert [at[:2] for at in noted(found)] == [(2, 3), (3, 6)]
    assert re.search("option 'z' in k", noted(found)[0][2])
    assert re.search("^x .*k.*'many'", noted(found)[1][2])


@pytest.mark.parametrize(
    ("text", "of", "facts"),
    [
        ("metod: 1", "", r"'metod'.*'method'"),
        ("algorithm: 1", "", r"'algorithm'.*'method'"),
        ("min: 1", " of option 'x'", r"'min'.*option 'x'.*'from'"),
    ],
)
def test_an_unknown_key_is_answered_with_the_one_that_is_meant(text: str, of: str, facts: str) -> None:
    found = fields(text, of)
    found.check_keys(["method", "from", "to"])
    ((line, column, sentence),) = noted(found)
    assert (line, column) == (1, 1)
    assert re.search(facts, sentence)


def test_the_name_of_a_key_in_other_tools_is_not_suggested_where_the_key_is_unknown() -> None:
    found = fields("algorithm: 1")
    found.check_keys(["from", "to"])
    assert "'method'" not in noted(found)[0][2]


class TestCause:
    """Which of several settings an error comes from."""

    @staticmethod
    def make(given: dict[str, int]) -> None:
        if given.get("a", 0) + given.get("b", 0) > 3 or "never" in given:
            raise InvalidValueError("It is too large.")

    def test_it_is_the_first_setting_without_which_there_is_no_error(self) -> None:
        assert cause(self.make, {"c": 9, "a": 1, "b": 3}) == "a"
        assert cause(self.make, {"a": 1, "b": 1, "never": 1}) == "never"

    def test_there_is_none_where_two_settings_are_each_too_much(self) -> None:
        assert cause(self.make, {"a": 4, "never": 1}) == ""
