"""Tables of text: `TextTable` for terminals and pages, `MethodsByProblem` for a terminal of any width."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.table import Table
from rich.text import Text

from flexibo._internal.text import printable_line

WIDEST = 20
"""Wider headings are broken; names of methods may be twice as wide."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of plain texts.

    Attributes:
        title: One line.
        headings: One for each column.
        rows: The cells.
        notes: Lines below the table.
        styles: The styles of some cells in a terminal, by row and column.
        words: The columns that hold words, not numbers.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    styles: Mapping[tuple[int, int], str]
    words: tuple[int, ...] = (0,)

    def rich_table(self) -> Table:
        """The table for a terminal."""
        table = Table(
            title=Text(self.title),
            title_justify="left",
            caption=Text("\n".join(self.notes)),
            caption_justify="left",
            box=box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            padding=(0, 1, 0, 0),
        )
        names = max((_width(_broken(row[0], WIDEST)) for row in self.rows), default=0)
        for j, heading in enumerate(self.headings):
            side: JustifyMethod = "left" if j in self.words else "right"
            parts = [part for row in self.rows for part in row[j].split()] if j not in self.words else []
            narrowest = max(map(cell_len, parts), default=1)  # a number is never broken; what follows it may be
            whole = j == 0 and names <= 2 * WIDEST
            table.add_column(Text(heading), justify=side, overflow="fold", no_wrap=whole, min_width=narrowest)
        for i, row in enumerate(self.rows):
            cells = [_broken(row[0], WIDEST), *row[1:]]
            table.add_row(*(Text(cell, style=self.styles.get((i, j), "")) for j, cell in enumerate(cells)))
        return table


@dataclass(frozen=True, slots=True)
class MethodsByProblem:
    """A table with a method per row and a problem per column, split into blocks that fit the width of the terminal.

    Attributes:
        title: One line.
        methods: The rows, as shown.
        problems: The columns: heading and a cell per method.
        notes: Lines below the last block.
        n_ours: How many of the first rows are ours.
    """

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
                table.add_column(Text(heading), justify="right", width=width, overflow="fold")
            for i, method in enumerate(self.methods):
                cells = [column[i] for _, column in self.problems[start : start + size]]
                style = "bold" if i < self.n_ours else ""
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
