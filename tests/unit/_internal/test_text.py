"""Untrusted text is made printable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flexibo._internal.text import json_text, printable, printable_line, shortened_words

EVIL = "a\nflexibo: all is well\x1b[2J\u202e"
ESCAPED = r"a\nflexibo: all is well\x1b[2J\u202e"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("n01440764/tench 1.JPEG", "n01440764/tench 1.JPEG"),
        ("Müller_é_猫.txt", "Müller_é_猫.txt"),
        (EVIL, ESCAPED),
        ("\r\t\x00\x7f\x9b\u2028\udc80", r"\r\t\x00\x7f\x9b\u2028\udc80"),
        (Path("a\nb"), r"a\nb"),
        (ESCAPED, ESCAPED),
    ],
)
def test_what_is_not_printable_is_escaped_and_the_rest_is_left(name: object, expected: str) -> None:
    assert printable_line(name) == expected
    assert expected.isprintable()


def test_line_breaks_may_stay() -> None:
    assert printable("a\x1b[2J\nb") == "a\\x1b[2J\nb"


def test_long_words_keep_their_beginning_and_their_end_and_say_how_long_they_were() -> None:
    text = shortened_words("give " + "a" * 5000 + "z" * 5000 + " or\n  nothing", 100)
    begin, _, *rest = text.split(" ")
    assert (begin, " ".join(rest)) == ("give", "characters)...zzzzzzzzzzzzzzzzzz or\n  nothing")
    assert len(text) < 130
    assert "10,000" in text
    assert shortened_words("short words stay", 5) == "short words stay"


def test_json_is_strict() -> None:
    found = json_text({"cost": float("nan"), "many": [float("-inf"), 1.5], "path": Path("a\nb"), 3: "é"})
    assert json.loads(found, parse_constant=pytest.fail) == {
        "cost": None,
        "many": [None, 1.5],
        "path": "a\nb",
        "3": "é",
    }
    assert found.isascii()
