"""Texts that come from outside, as they may stand in a message or on a terminal.

Whoever made a file, an archive or a study chose the names in it: a line break could forge a line of a message, an
escape sequence rewrite the screen, an unpaired surrogate (a file name that is no text) break the printing.
"""

from __future__ import annotations


def one_line(text: object) -> str:
    r"""A text on one line and without what would command a terminal.

    >>> one_line("cat.png"), one_line("a.txt\nflexibo: all is well\x1b[2J")
    ('cat.png', 'a.txt\\nflexibo: all is well\\x1b[2J')
    """
    return "".join(map(_visible, str(text)))


def harmless(text: str) -> str:
    r"""A text without what would command a terminal; its line breaks stay.

    >>> harmless("a\x1b[2J\nb")
    'a\\x1b[2J\nb'
    """
    return "".join(c if c == "\n" else _visible(c) for c in text)


def _visible(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()
