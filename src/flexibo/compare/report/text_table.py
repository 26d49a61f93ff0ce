"""How the tables of a comparison look: plain texts with styles, as wide as the terminal; pages show the same texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.table import Table
from rich.text import Text

from flexibo._internal.text import printable_line

WIDEST = 20
"""Wider headings are broken; names of methods may be twice as wide."""
BEST = "bold green"
WORSE = "red"
STRONG = "bold"


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of plain texts.

    Attributes:
        styles: The styles of some cells in a terminal.
        words: The columns that do not hold numbers.
        merged: In the first columns, this many, a text that is that of the row above is not repeated.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    styles: Mapping[tuple[int, int], str]
    words: tuple[int, ...] = (0,)
    merged: int = 0

    def is_repeated(self, i: int, j: int) -> bool:
        """Whether a cell belongs to the one above."""
        return j < self.merged and i > 0 and self.rows[i][: j + 1] == self.rows[i - 1][: j + 1]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table with its columns narrowed to the terminal."""
        cells = [
            ["" if self.is_repeated(i, j) else _broken(cell, WIDEST) if j == 0 else cell for j, cell in enumerate(row)]
            for i, row in enumerate(self.rows)
        ]
        columns = [[heading, *(row[j] for row in cells)] for j, heading in enumerate(self.headings)]
        widths, gap = _widths(columns, options.max_width)
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, gap - 1, 0, 0))
        for j, (heading, width) in enumerate(zip(self.headings, widths, strict=True)):
            side: JustifyMethod = "left" if j in self.words else "right"
            table.add_column(Text(heading), justify=side, overflow="fold", width=width)
        for i, row in enumerate(cells):
            table.add_row(*(Text(cell, style=self.styles.get((i, j), "")) for j, cell in enumerate(row)))
        yield Text(self.title, style="italic")
        yield table
        if self.notes:
            yield Text("\n".join(self.notes), style="italic")


def _widths(columns: Sequence[Sequence[str]], room: int) -> tuple[list[int], int]:
    """The widths of columns of texts, and the gap between them, so that they fit into the room if words allow it.

    The widest column that can be narrowed without breaking a word is narrowed first.

    >>> _widths([["method", "a"], ["ratio", "0.50 (0.40-0.60)"]], 80)
    ([6, 16], 2)
    >>> _widths([["method", "a"], ["ratio", "0.50 (0.40-0.60)"]], 20)
    ([6, 12], 2)
    """
    widths = [max(map(_width, column)) for column in columns]
    least = [max((cell_len(word) for text in column for word in text.split()), default=0) for column in columns]
    gap = 2 if sum(least) + 2 * (len(columns) - 1) <= room else 1
    while sum(widths) + gap * (len(columns) - 1) > room:
        width, j = max(((width, j) for j, width in enumerate(widths) if width > least[j]), default=(0, -1))
        if j < 0:
            break
        widths[j] = width - 1
    return widths, gap


@dataclass(frozen=True, slots=True)
class MethodsByProblem:
    """A method per row, ours first, and a problem (heading, cells) per column, in blocks as wide as the terminal."""

    title: str
    methods: tuple[str, ...]
    problems: tuple[tuple[str, tuple[Text, ...]], ...]
    notes: tuple[str, ...]
    n_ours: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The blocks, one below the other, all columns of one width."""
        numbers = max((cell.cell_len for _, column in self.problems for cell in column), default=0)
        parts = (_width(printable_line(problem).replace(":", ":\n")) for problem, _ in self.problems)
        width = max(numbers, min(WIDEST, max(parts, default=0)))
        headings = [_broken(printable_line(problem), width) for problem, _ in self.problems]
        name = min(2 * WIDEST, max(map(_width, ("method", *self.methods))))
        room = max(1, (options.max_width - name - 2) // (width + 2))
        n_blocks = max(1, -(-len(self.problems) // room))
        size = max(1, -(-len(self.problems) // n_blocks))
        yield Text(self.title, style="italic")
        for start in range(0, len(self.problems), size):
            table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
            table.add_column("method", width=name, overflow="fold")
            for heading in headings[start : start + size]:
                table.add_column(Text(heading, justify="right"), width=width, overflow="fold")
            for i, method in enumerate(self.methods):
                # Justified to the right, a cell would lose the blank in place of a star, and the numbers their columns.
                cells = [
                    Text(" " * (width - column[i].cell_len)).append_text(column[i])
                    for _, column in self.problems[start : start + size]
                ]
                style = STRONG if i < self.n_ours else ""
                table.add_row(Text(method, style=style), *cells, end_section=i == self.n_ours - 1)
            yield table
        if self.notes:
            yield Text("\n".join(self.notes), style="italic")


def _broken(text: str, width: int) -> str:
    r"""The text, broken after colons into lines of at most this width, where that suffices.

    >>> _broken("dtlz2:objectives=3:ratio=100", 20)
    'dtlz2:objectives=3:\nratio=100'
    """
    lines = [""]
    for part in re.findall("[^:]*:|[^:]+", text):
        if lines[-1] and cell_len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _width(text: str) -> int:
    return max(map(cell_len, text.split("\n")))
