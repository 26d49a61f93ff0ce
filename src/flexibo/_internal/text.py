"""Untrusted text, made safe for messages and terminals.

The names in a file, an archive or a study can hold anything: a line break could forge a line of a message, an escape
sequence could rewrite the screen, an unpaired surrogate (in a file name that is not text) could not be printed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from json import dumps
from math import isfinite

MOST_CHARACTERS = 400  # of a value or a path in a message


def printable_line(text: object) -> str:
    r"""The text on one line, with control characters and line breaks escaped.

    >>> printable_line("cat.png"), printable_line("a.txt\nflexibo: all is well\x1b[2J")
    ('cat.png', 'a.txt\\nflexibo: all is well\\x1b[2J')
    """
    return "".join(map(_visible, str(text)))


def printable(text: str) -> str:
    r"""The text with control characters escaped; its line breaks stay.

    >>> printable("a\x1b[2J\nb")
    'a\\x1b[2J\nb'
    """
    return "".join(c if c == "\n" else _visible(c) for c in text)


def json_text(value: object, indent: int | None = None) -> str:
    """A value as strict JSON in ASCII: numbers that are not finite are null, and what JSON lacks is its text.

    >>> json_text({"cost": float("nan"), "values": (1, float("inf"))})
    '{"cost": null, "values": [1, null]}'
    """
    return dumps(_strict(value), indent=indent, allow_nan=False, default=str)


def _strict(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def shortened(text: str, most: int = MOST_CHARACTERS) -> str:
    """The text, or its beginning and its end if it is longer than `most` characters.

    >>> shortened("short"), shortened("a" * 50 + "z" * 50, 30)
    ('short', 'aaaaaa...(100 characters)...zz')
    """
    if len(text) <= most:
        return text
    gap = f"...({len(text):,} characters)..."
    kept = max(most - len(gap), 2)
    begin = max(kept - kept // 4, 1)
    return f"{text[:begin]}{gap}{text[len(text) - (kept - begin) :]}"


def shortened_words(text: str, most: int = MOST_CHARACTERS) -> str:
    """The text with its long words shortened, such as a value or a path that goes on for pages; its spaces stay."""
    return re.sub(rf"\S{{{most + 1},}}", lambda word: shortened(word[0], most), text)


def _visible(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()
