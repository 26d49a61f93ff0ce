"""Untrusted text, made safe for messages and terminals.

The names in a file, an archive or a study can hold anything: a line break could forge a line of a message, an escape
sequence could rewrite the screen, an unpaired surrogate (in a file name that is not text) could not be printed.
"""

from __future__ import annotations


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


def _visible(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()
