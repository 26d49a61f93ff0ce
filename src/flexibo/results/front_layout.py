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
DESIGN_ROOM = 24  # the least width of the column of designs in a table, unless all designs are shorter
CONFIRM_LEGEND = "to confirm: the cost of measuring the rest"


class ShownDesign(Protocol):
    """A design in a table; see `flexibo.results.front.FrontRow`, whose values may here be unknown (None)."""

    @property
    def design(self) -> Mapping[str, object]: ...  # noqa: D102
    @property
    def values(self) -> Mapping[str, float | None]: ...  # noqa: D102
    @property
    def measured(self) -> Mapping[str, bool]: ...  # noqa: D102
    @property
    def deviations(self) -> Mapping[str, float]: ...  # noqa: D102
    @property
    def probability(self) -> float: ...  # noqa: D102
    @property
    def feasibility(self) -> str: ...  # noqa: D102
    @property
    def confirm_cost(self) -> float | None: ...  # noqa: D102


def value_cells(rows: Sequence[ShownDesign], name: str, *, deviation_digits: int = 2) -> list[tuple[str, str]]:
    """Values of an objective, with a mark if predicted and enough digits to distinguish them, and their deviations."""
    known = [(value, row.deviations[name]) for row in rows if (value := row.values[name]) is not None]
    digits = significant_digits(known)
    return [_value_cell(row, name, digits, deviation_digits) for row in rows]


def _value_cell(row: ShownDesign, name: str, digits: int, deviation_digits: int) -> tuple[str, str]:
    value, deviation = row.values[name], row.deviations[name]
    if value is None:
        return "-", ""
    shown = f"{'' if row.measured[name] else '~'}{format_number(value, digits)}"
    return shown, f" ±{format_number(deviation, deviation_digits)}" if deviation > 0 else ""


def feasibility_cell(row: ShownDesign) -> str:
    """Whether the constraints are kept, or the probability that they are."""
    return {"feasible": "yes", "violating": "no"}.get(row.feasibility, f"maybe, {row.probability:.0%}")


def confirm_cell(row: ShownDesign) -> str:
    """The cost of measuring the rest of a design; "-" if it is unknown, empty if nothing is left or it is free."""
    return "-" if row.confirm_cost is None else format_number(row.confirm_cost, 3) if row.confirm_cost else ""


def option_cells(row: ShownDesign, names: Sequence[str]) -> list[str]:
    """The named options of a design, as in ``x=3``."""
    return [printable_line(f"{name}={_option(row.design[name])}") for name in names]


def _option(value: object) -> str:
    return format_number(value, 3) if isinstance(value, float) else "-" if value is None else str(value)


def constant_options(rows: Sequence[ShownDesign], names: Sequence[str]) -> list[str]:
    """The names of the options that have one value in all rows, if there are several rows."""
    return [name for name in names if len(rows) > 1 and len({row.design[name] for row in rows}) == 1]


def aligned(cells: Sequence[str], *, right: bool = False) -> list[str]:
    """The cells of a column with spaces up to one width."""
    width = max(map(len, cells))
    return [cell.rjust(width) if right else cell.ljust(width) for cell in cells]


def legend(rows: Sequence[ShownDesign]) -> str:
    """What the marks in a table of these rows mean; empty if there are none."""
    marks = {
        "~ predicted, not measured": any(not all(row.measured.values()) for row in rows),
        "± standard deviation": any(deviation > 0 for row in rows for deviation in row.deviations.values()),
    }
    return "; ".join(mark for mark, is_used in marks.items() if is_used)


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


def front_layout(
    history: History,
    rows: Sequence[ShownDesign],
    *,
    numbers: Sequence[int] = (),
    more: Sequence[tuple[str, Sequence[str]]] = (),
    notes: Sequence[str] = (),
) -> FrontLayout:
    """The layout of a front: predicted values have a mark, inexact ones their standard deviation.

    Designs are numbered from 1 by default. `more` are further columns: a heading and the cells below it.
    """
    columns: list[tuple[Sequence[str], Sequence[str]]]
    columns = [(_heading(o), list(map("".join, value_cells(rows, o.name)))) for o in history.objectives]
    if any(objective.is_constraint for objective in history.objectives):
        columns.append((["feasible"], list(map(feasibility_cell, rows))))
    columns += [(heading.split(), cells) for heading, cells in more]
    names = history.space.names
    same = constant_options(rows, names)
    both = [f"All of them: {', '.join(option_cells(rows[0], same))}"] if same else []
    return FrontLayout(
        f"Pareto front: {'1 design' if len(rows) == 1 else f'{len(rows)} designs'}",
        [[""], *(heading for heading, _ in columns)],
        list(zip(map(str, numbers or range(1, len(rows) + 1)), *(cells for _, cells in columns), strict=True)),
        [option_cells(row, [name for name in names if name not in same]) for row in rows],
        [*both, *notes],
    )


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
