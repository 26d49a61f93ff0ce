"""The front in a terminal."""

from __future__ import annotations

import io

from rich.console import Console

from flexibo import Design, Space
from flexibo.history import History
from flexibo.objectives import Objective
from flexibo.results.front_layout import MOST_PROMISING, FrontLayout, promising_layout
from flexibo.results.promising import PromisingRow


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


def test_of_many_promising_designs_those_that_are_worth_most_are_printed() -> None:
    history = History(Space({"x": (0.0, 1.0)}), [Objective("a"), Objective("joules")])
    known = {"a": 1.5, "joules": 20.0}
    rows = [
        PromisingRow(
            number=n,
            design=Design({"x": n / 50}),
            values=known,
            readings={"a": 1, "joules": 0},
            spreads={"a": None, "joules": None},
            estimates=known,
            deviations={"a": 0.0, "joules": 0.25},
            probability=1.0,
            standing="probable",
            gain=0.7,
            relative_gain=0.1,
            confirm_cost=12.0,
            chance=1.0,
        )
        for n in range(MOST_PROMISING + 5)
    ]
    layout = promising_layout(history, rows, unit="s")
    assert "25 designs" in layout.title
    assert len(layout.cells) == MOST_PROMISING
    assert any("5 designs more" in note for note in layout.notes)
    assert not any("more" in note for note in promising_layout(history, rows[:3], unit="s").notes)
