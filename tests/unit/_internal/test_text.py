"""Untrusted text is made printable."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexibo._internal.text import printable, printable_line

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
