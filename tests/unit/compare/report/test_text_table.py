"""How tables look in a terminal: widths, broken names, merged cells."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from flexibo.compare.report.text_table import MethodsByProblem, TextTable

RATIOS = TextTable(
    "ratios",
    ("group", "problem", "ratio"),
    (
        ("recorded", "dtlz2:objectives=3:ratio=100", "0.50 (0.40-0.60)"),
        ("recorded", "zdt1", "0.70 (0.60-0.80)"),
        ("stack", "zdt1", "1.20 (1.10-1.30)"),
    ),
    ("a note",),
    {},
    (0, 1),
    merged=1,
)


def shown(table: RenderableType, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(table)
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("width", [200, 60, 50])
def test_a_table_keeps_to_the_terminal_and_breaks_no_word(width: int) -> None:
    lines = shown(RATIOS, width)
    assert max(map(cell_len, lines)) <= width
    words = {word for line in lines for word in line.split()}
    assert {word for row in RATIOS.rows for cell in row for word in cell.split()} <= words


def test_a_text_of_the_first_columns_is_shown_once() -> None:
    assert [RATIOS.is_repeated(i, 0) for i in range(3)] == [False, True, False]
    assert not RATIOS.is_repeated(2, 1)  # equal to the one above, and not merged
    assert sum("recorded" in line for line in shown(RATIOS, 200)) == 1


def test_title_and_notes_surround_the_rows() -> None:
    lines = shown(RATIOS, 200)
    assert (lines[0], lines[-1]) == ("ratios", "a note")


def test_columns_of_problems_go_on_in_a_block_below() -> None:
    problems = tuple((f"p{i}", (Text("10"), Text("9.5*"))) for i in range(8))
    table = MethodsByProblem("errors", ("ours", "other"), problems, (), 1)
    wide, narrow = shown(table, 200), shown(table, 30)
    assert sum(line.lstrip().startswith("ours") for line in wide) == 1
    assert sum(line.lstrip().startswith("ours") for line in narrow) > 1
    assert {f"p{i}" for i in range(8)} <= {word for line in narrow for word in line.split()}
