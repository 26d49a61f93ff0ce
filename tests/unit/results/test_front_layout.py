"""The front in a terminal."""

from __future__ import annotations

import io

from rich.console import Console

from flexibo.results.front_layout import FrontLayout


def printed(layout: FrontLayout, width: int) -> list[str]:
    text = io.StringIO()
    Console(file=text, width=width, color_system=None).print(layout)
    return [line.rstrip() for line in text.getvalue().splitlines()]


def test_a_front_takes_the_form_that_fits() -> None:
    layout = FrontLayout(
        "Front", [[""], ["size", "[B]"], ["time", "[ms]"]], [["1", "70792", "~3 ±1"]], [["x=1", "mode=fast"]], ["Note"]
    )
    wide, stacked, block = (printed(layout, width) for width in (80, 22, 14))
    assert wide[-2:] == ["└───┴──────────┴───────────┴────────────────┘", "Note"]
    assert stacked == [
        "Front",
        "    size   time",
        "     [B]   [ms]",
        "1  70792  ~3 ±1",
        "   x=1, mode=fast",
        "Note",
    ]
    assert "1  size [B]" in block
    assert block[-3:] == ["   x=1,", "   mode=fast", "Note"]
