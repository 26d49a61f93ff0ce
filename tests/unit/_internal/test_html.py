"""Pieces of HTML for notebooks."""

from __future__ import annotations

from html.parser import HTMLParser

from flexibo._internal.html import MOST_CHARACTERS, escaped, html_block, html_heading, html_line, html_table

HOSTILE = "<script>alert('1')</script>\"><img src=x onerror=alert(2)>\n\x1b[2J $x$ &amp;"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Tags:
    found = Tags()
    found.feed(html)
    return found


def test_hostile_text_stays_text() -> None:
    html = html_block(html_heading(HOSTILE), html_line(HOSTILE), html_table([HOSTILE], [[HOSTILE]], right=[True]))
    found = read(html)
    assert set(found.tags) == {"div", "table", "thead", "tbody", "tr", "th", "td"}
    assert found.text.count("<script>alert('1')</script>") == 4
    assert "\x1b" not in html


def test_long_texts_are_shortened() -> None:
    assert len(escaped("a" * 10_000)) <= MOST_CHARACTERS


def test_a_block_is_no_mathematics() -> None:
    assert "mathjax_ignore" in html_block("a")


def test_a_table_may_have_no_headings() -> None:
    found = read(html_table([], [["a", "b"]]))
    assert found.tags.count("td") == 2
    assert "th" not in found.tags
