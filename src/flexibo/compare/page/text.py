"""Text that may stand in HTML and SVG: cleaned, escaped, shortened; numbers as people read them."""

from __future__ import annotations

import html
import math
import unicodedata
from collections.abc import Sequence

NARROW = "\N{NARROW NO-BREAK SPACE}"


def clean(text: str) -> str:
    r"""The text in one line, with a mark in place of every character that cannot be seen.

    >>> clean("two\nlines\x00")
    'two lines�'
    """
    return "".join(_seen(character) for character in text)


def _seen(character: str) -> str:
    if character in "\n\r\t":
        return " "
    if character.isprintable() or unicodedata.category(character) == "Zs":
        return character
    return "\N{REPLACEMENT CHARACTER}"


def escaped(text: str) -> str:
    """The text, cleaned, for a place between tags or within a quoted attribute.

    >>> escaped("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    return html.escape(clean(text))


def shortened(text: str, longest: int) -> str:
    """The text, cleaned; the middle left out where it is too long.

    >>> shortened("a-very-long-name", 9)
    'a-ve…name'
    """
    text = clean(text)
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 2
    return f"{text[: longest - 1 - tail]}…{text[-tail:]}"


def shown(value: float, digits: int = 3) -> str:
    """A number with so many digits that matter, grouped by thousands, without an exponent where that is short.

    >>> shown(0.01234), shown(2_345_678.0), shown(2e9), shown(15.0)
    ('0.0123', '2\u202f350\u202f000', '2e9', '15')
    """
    if not math.isfinite(value):
        return "∞" if value == math.inf else str(value)
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    rounded = round(value, digits - 1 - size)
    if -5 < size < 7:
        text = f"{rounded:,.{max(digits - 1 - size, 0)}f}".replace(",", NARROW)
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, exponent = f"{rounded:.{digits - 1}e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def shown_error(value: float, digits: int = 3) -> str:
    """A hypervolume error; one that is next to nothing without the digits that nobody needs.

    >>> shown_error(0.0345), shown_error(3e-7), shown_error(0.0)
    ('0.0345', '<0.0001', '0')
    """
    return "<0.0001" if 0 < value < 1e-4 else shown(value, digits)


def listed(items: Sequence[str]) -> str:
    """The items as in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))
