"""Small pieces of HTML for notebooks: escaped text and tables that are readable in light and dark themes.

Colours are those of the surrounding text, or in the middle between light and dark. There are no scripts, no style
sheets and no names of elements, so that nothing here can affect the rest of a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from flexibo._internal.text import printable_line, shortened

MOST_CHARACTERS = 200  # of a cell
LINE = "rgba(128,128,128,0.5)"  # of rules and axes
ACCENT = "#2b8cc4"  # readable on white and on black


def escaped(text: object, most: int = MOST_CHARACTERS) -> str:
    """A text as HTML that shows just this text, on one line; a very long one is shortened.

    >>> escaped("<script>alert('$x$')</script>")
    '&lt;script&gt;alert(&#x27;$x$&#x27;)&lt;/script&gt;'
    """
    return escape(shortened(printable_line(text), most))


def html_block(*parts: str) -> str:
    """Parts of HTML as one block, in which dollars are no mathematics."""
    return f'<div class="tex2jax_ignore mathjax_ignore">{"".join(filter(None, parts))}</div>'


def html_line(text: object, *, small: bool = False) -> str:
    """A line of text."""
    style = "font-size:85%;opacity:0.75" if small else "margin:2px 0"
    return f'<div style="{style}">{escaped(text, 1_000)}</div>'


def html_heading(text: object) -> str:
    """A line of text that names what follows."""
    return f'<div style="font-weight:bold;margin:6px 0 2px">{escaped(text)}</div>'


def html_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[bool] = ()) -> str:
    """A table of texts; columns that are not `right` are aligned to the left."""
    sides = ["right" if n < len(right) and right[n] else "left" for n in range(len(headings) or max(map(len, rows)))]
    head = "".join(_cell("th", text, side) for text, side in zip(headings, sides, strict=False))
    body = "".join(
        f"<tr>{''.join(_cell('td', text, side) for text, side in zip(row, sides, strict=True))}</tr>" for row in rows
    )
    head = f'<thead style="border-bottom:1px solid {LINE}"><tr>{head}</tr></thead>' if headings else ""
    style = "color:inherit;border-collapse:collapse;font-variant-numeric:tabular-nums;margin:2px 0"
    return f'<table style="{style}">{head}<tbody>{body}</tbody></table>'


def _cell(tag: str, text: str, side: str) -> str:
    style = f"text-align:{side};padding:2px 8px;vertical-align:top;overflow-wrap:anywhere"
    return f'<{tag} style="{style}">{escaped(text)}</{tag}>'
