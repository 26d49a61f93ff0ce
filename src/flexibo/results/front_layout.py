"""The front in a terminal: a table where it fits, else designs below their values, else a block per design."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from flexibo._internal.numbers import format_number, significant_digits
from flexibo._internal.text import printable_line

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

    from flexibo.history import History
    from flexibo.objectives import Objective

GAP = "  "
DESIGN_ROOM = 24
"""A table leaves at least so much room to designs, unless they are shorter."""


class Shown(Protocol):
    """A design of a front, and what is known of it."""

    @property
    def design(self) -> Mapping[str, object]:
        """Its option values."""
        ...

    @property
    def values(self) -> Mapping[str, float | None]:
        """Its objectives, measured or predicted."""
        ...

    @property
    def measured(self) -> Mapping[str, bool]:
        """Whether each value was measured."""
        ...

    @property
    def deviations(self) -> Mapping[str, float]:
        """The standard deviation of each value."""
        ...

    @property
    def probability(self) -> float:
        """The probability that it keeps every constraint."""
        ...

    @property
    def feasibility(self) -> str:
        """The same in a word."""
        ...


@dataclass(frozen=True, slots=True)
class FrontLayout:
    """A front that a console prints in the form that its width allows; no number is cut and no option broken.

    Attributes:
        title: What it is.
        headings: What stands above the numbers of the designs (nothing) and above their values, each in parts that
            may stand in lines of their own.
        cells: The number and the values of each design (m, as many as headings).
        designs: Its options, as in ``x=3`` (m, any number).
        notes: What stands below.
    """

    title: str
    headings: Sequence[Sequence[str]]
    cells: Sequence[Sequence[str]]
    designs: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """The front as it is printed."""
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
        """How wide a table's column of designs must be."""
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


def front_layout(
    history: History,
    rows: Sequence[Shown],
    *,
    numbers: Sequence[int] = (),
    more: Sequence[tuple[str, Sequence[str]]] = (),
    notes: Sequence[str] = (),
) -> FrontLayout:
    """The layout of a front: predicted values carry a mark, inexact ones their deviation.

    Args:
        history: Its objectives and options are meant.
        rows: The designs, at least one.
        numbers: Their numbers; by default from 1.
        more: More columns: a heading and the cells below it.
        notes: What stands below, after the options that never vary.
    """
    columns: list[tuple[Sequence[str], Sequence[str]]]
    columns = [(_heading(objective), values_column(rows, objective.name)) for objective in history.objectives]
    if any(objective.is_constraint for objective in history.objectives):
        columns.append((["feasible"], [feasibility(row) for row in rows]))
    columns += [(heading.split(), cells) for heading, cells in more]
    names = history.space.names
    same = [name for name in names if len(rows) > 1 and len({row.design[name] for row in rows}) == 1]
    both = [f"All of them: {', '.join(_options(rows[0], same))}"] if same else []
    return FrontLayout(
        f"Pareto front: {'1 design' if len(rows) == 1 else f'{len(rows)} designs'}",
        [[""], *(heading for heading, _ in columns)],
        list(zip(map(str, numbers or range(1, len(rows) + 1)), *(cells for _, cells in columns), strict=True)),
        [_options(row, [name for name in names if name not in same]) for row in rows],
        [*both, *notes],
    )


def values_column(rows: Sequence[Shown], name: str) -> list[str]:
    """The values of an objective, with as many digits as tell them apart."""
    known = [(value, row.deviations[name]) for row in rows if (value := row.values[name]) is not None]
    digits = significant_digits(known)
    return [shown_value(row, name, digits) for row in rows]


def shown_value(row: Shown, name: str, digits: int) -> str:
    """A value, marked if it is predicted, with its deviation if it is not exact."""
    value = row.values[name]
    if value is None:
        return "-"
    deviation = f" ±{format_number(row.deviations[name], 2)}" if row.deviations[name] > 0 else ""
    return f"{'' if row.measured[name] else '~'}{format_number(value, digits)}{deviation}"


def feasibility(row: Shown) -> str:
    """Whether the constraints are kept; the probability where that is not sure."""
    return {"feasible": "yes", "violating": "no"}.get(row.feasibility, f"maybe, {row.probability:.0%}")


def _heading(objective: Objective) -> list[str]:
    """The name, its unit and its bound."""
    parts = [objective.name, f"[{objective.unit}]" if objective.unit else ""]
    if objective.at_most is not None:
        parts.append(f"<= {objective.at_most:.10g}")
    elif objective.at_least is not None:
        parts.append(f">= {objective.at_least:.10g}")
    return [printable_line(part) for part in parts if part]


def _options(row: Shown, names: Sequence[str]) -> list[str]:
    return [printable_line(f"{name}={_option(row.design[name])}") for name in names]


def _option(value: object) -> str:
    return format_number(value, 3) if isinstance(value, float) else "-" if value is None else str(value)


def _wrapped(options: Sequence[str], room: int) -> list[str]:
    """The options in lines that are broken between them alone."""
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
