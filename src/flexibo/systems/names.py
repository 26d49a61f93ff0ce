"""Names that come from outside, as they may stand in a sentence."""

from __future__ import annotations


def shown(name: object) -> str:
    r"""A name, or a text with names in it, on one line and without what would command a terminal.

    Whoever made an archive chose the names in it: a line break could forge a line of a message, an escape sequence
    rewrite the screen, an unpaired surrogate (a file name that is no text) break the printing.

    >>> shown("cat.png"), shown("a.txt\nflexibo: all is well\x1b[2J")
    ('cat.png', 'a.txt\\nflexibo: all is well\\x1b[2J')
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(name))
