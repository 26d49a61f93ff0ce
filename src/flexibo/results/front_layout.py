"""A table of designs in a terminal: a table where it fits, else designs below their values, else a block per design."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flexibo._internal.text import printable_line
from flexibo.results.cells import Column, constants_line, option_cells, varying_options
from flexibo.results.front import FrontRow, front_columns, front_notes
from flexibo.results.promising import PromisingRow, promising_columns, promising_notes
from flexibo.results.rows import DesignRow

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

    from flexibo.history import History
    from flexibo.objectives import Objective

MOST_PROMISING = 20  # those that are worth most per cost; the others seldom differ visibly
GAP = "  "
DESIGN_ROOM = 24  # the least width of the column of designs in a table, unless all designs are shorter


@dataclass(frozen=True, slots=True)
class FrontLayout:
    """A front that a console prints in the form that fits its width; no number is cut and no option is broken."""

    title: str
    headings: Sequence[Sequence[str]]  # the first is empty; each in parts that may go into lines of their own
    cells: Sequence[Sequence[str]]  # the number and the values of each design
    designs: Sequence[Sequence[str]]  # the options of each design, as in ``x=3``
    notes: Sequence[str] = ()  # the lines below

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """The front as rich prints it."""
        from rich.text import Text

        room, high = options.max_width, max(map(len, self.headings))
        titles = [" ".join(parts) for parts in self.headings]
        broken = list(zip(*(("",) * (high - len(parts)) + tuple(parts) for parts in self.headings), strict=True))
        widths = self._widths(broken)
        for above in ([titles], broken):
            left = room - (sum(self._widths(above)) + 3 * len(titles) + 4)
            if left >= self._least_room():
                yield self._table(above, left)
                break
        else:
            fits = sum(widths) + len(GAP) * (len(widths) - 1) <= room
            lines = self._stacked(broken, widths, room) if fits else self._blocks(titles, room)
            yield Text("\n".join([self.title, *lines]))
        for note in self.notes:
            yield Text(note)

    def _least_room(self) -> int:
        """The least width of the column of designs."""
        longest = max((_width(option) + 1 for design in self.designs for option in design), default=0)
        whole = max((_width(", ".join(design)) for design in self.designs), default=0)
        return max(longest, min(whole, DESIGN_ROOM), len("design"))

    def _widths(self, above: Sequence[Sequence[str]]) -> list[int]:
        return [max(map(_width, column)) for column in zip(*above, *self.cells, strict=True)]

    def _table(self, above: Sequence[Sequence[str]], room: int) -> Table:
        from rich.table import Table
        from rich.text import Text

        table = Table(title=self.title)
        for parts in zip(*above, strict=True):
            table.add_column(Text("\n".join(parts)), justify="right", no_wrap=True)
        table.add_column("design", no_wrap=True)
        for cells, design in zip(self.cells, self.designs, strict=True):
            table.add_row(*map(Text, cells), Text("\n".join(_wrapped(design, room))))
        return table

    def _stacked(self, above: Sequence[Sequence[str]], widths: Sequence[int], room: int) -> Iterator[str]:
        """Values in columns, and each design below its own."""
        margin = " " * (widths[0] + len(GAP))
        yield from (_row(parts, widths) for parts in above)
        for cells, design in zip(self.cells, self.designs, strict=True):
            yield _row(cells, widths)
            yield from (margin + line for line in _wrapped(design, room - len(margin)))

    def _blocks(self, titles: Sequence[str], room: int) -> Iterator[str]:
        """A line per value, for each design."""
        width, margin = max(map(_width, titles)), max(len(number) for number, *_ in self.cells)
        for (number, *cells), design in zip(self.cells, self.designs, strict=True):
            pairs = [pair for pair in zip(titles[1:], cells, strict=True) if pair[1]]
            lines = [f"{title}{' ' * (width - _width(title))}{GAP}{cell}" for title, cell in pairs]
            lines += _wrapped(design, room - margin - len(GAP))
            yield from (f"{number * (n == 0):>{margin}}{GAP}{line}" for n, line in enumerate(lines))


def confirmed_layout(history: History, rows: Sequence[FrontRow], *, is_front: bool = True) -> FrontLayout:
    """Confirmed designs for a console, the front or others that may be on it, with what the marks mean below."""
    what = "Confirmed front" if is_front else "Possible, but dominated by readings"
    columns = front_columns(rows, _headings(history), constrained=_is_constrained(history))
    return _layout(f"{what}: {_designs(len(rows))}, every value measured", rows, columns, front_notes(rows))


def promising_layout(
    history: History, rows: Sequence[PromisingRow], *, unit: str, is_likely: bool = True
) -> FrontLayout:
    """Promising designs for a console, with what the marks mean below; `unit` is that of costs.

    Those that are not `is_likely` may be on the front, but are not by the best guess.
    """
    what = "Promising, not measured yet" if is_likely else "Possible, not measured yet"
    shown, more = rows[:MOST_PROMISING], len(rows) - MOST_PROMISING
    columns = promising_columns(shown, _headings(history), constrained=_is_constrained(history), unit=unit)
    rest = [f"{_designs(more)} more: study.hand_over() in Python, flexibo front --json"] if more > 0 else []
    return _layout(f"{what}: {_designs(len(rows))}", shown, columns, [*rest, *promising_notes(shown)])


def _layout(title: str, rows: Sequence[DesignRow], columns: Sequence[Column], notes: Sequence[str]) -> FrontLayout:
    names = varying_options(rows)
    return FrontLayout(
        title,
        [[""], *(column.heading for column in columns)],
        list(zip((str(row.number) for row in rows), *(column.cells for column in columns), strict=True)),
        [option_cells(row, names) for row in rows],
        [*constants_line(rows), *notes],
    )


def _designs(count: int) -> str:
    return "1 design" if count == 1 else f"{count} designs"


def _is_constrained(history: History) -> bool:
    return any(objective.is_constraint for objective in history.quantities)


def _headings(history: History) -> dict[str, list[str]]:
    return {objective.name: _heading(objective) for objective in history.quantities}


def _heading(objective: Objective) -> list[str]:
    """The name, its unit and its bound."""
    parts = [objective.name, f"[{objective.unit}]" if objective.unit else ""]
    if objective.at_most is not None:
        parts.append(f"<= {objective.at_most:.10g}")
    elif objective.at_least is not None:
        parts.append(f">= {objective.at_least:.10g}")
    return [printable_line(part) for part in parts if part]


def _wrapped(options: Sequence[str], room: int) -> list[str]:
    """The options in lines that are broken only between options."""
    lines = [""]
    for n, option in enumerate(options):
        text = option + "," * (n < len(options) - 1)
        if lines[-1] and _width(lines[-1]) + 1 + _width(text) > room:
            lines.append(text)
        else:
            lines[-1] = f"{lines[-1]} {text}".lstrip()
    return lines


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return GAP.join(" " * (width - _width(cell)) + cell for cell, width in zip(cells, widths, strict=True)).rstrip()


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)
