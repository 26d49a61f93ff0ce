"""The cells of tables of designs: values, readings, feasibility, gains, prices and options as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flexibo._internal.html import html_line, html_table
from flexibo._internal.numbers import format_number, significant_digits
from flexibo._internal.text import printable_line
from flexibo.results.rows import DesignRow, Standing

MOST_HTML_ROWS = 50
BEST_LEGEND = "* best of its objective"
PREDICTED_LEGEND = "~ predicted, ± standard deviation"
REACHED_LEGEND = "@n: measured to step n so far"
READINGS_LEGEND = "(n) readings, ± their standard deviation; model: its estimate"
ONE_READING_LEGEND = "± of a single reading (1): its own standard deviation, reported with the value"
MODEL_LEGEND = (
    "± of the model is wider: another reading may differ by more than that ±, and with more readings it learns how much"
)
WIDER = 2.0  # the deviation of an estimate is explained if it is this many times that of the single reading,
VISIBLE = 0.005  # and this share of the value
STANDINGS_LEGEND: Mapping[Standing, str] = {
    "confident": "for all likely values",
    "probable": "by the best guess",
    "possible": "perhaps, not by the best guess",
    "ruled out": "for no likely values",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its heading, in parts that may go into lines of their own, and a cell for each design."""

    heading: Sequence[str]
    cells: Sequence[str]
    right: bool = True


def value_columns(
    rows: Sequence[DesignRow], name: str, heading: Sequence[str], *, best: Sequence[bool] = (), model: bool = False
) -> list[Column]:
    """The values of a quantity with enough digits to tell them apart; if `model`, its estimates beside noisy readings.

    Predicted values have a mark and their standard deviation, values of noisy quantities the spread and number of
    their readings; those that are the `best` have a mark too.
    """
    digits = significant_digits([(row.values[name], _blur(row, name)) for row in rows])
    noisy = is_noisy(rows, name)
    cells = [
        f"{'*' if n < len(best) and best[n] else ''}{value_cell(row, name, digits=digits, noisy=noisy)}"
        for n, row in enumerate(rows)
    ]
    columns = [Column(heading, cells)]
    if model and noisy:
        columns.append(Column((*heading[:1], "model"), [estimate_cell(row, name, digits=digits) for row in rows]))
    return columns


def is_noisy(rows: Sequence[DesignRow], name: str) -> bool:
    """Whether readings of a quantity differ: one that has an error bar or is not known exactly, or several of them."""
    return any(
        row.readings[name] > 1 or (row.readings[name] and (row.spreads[name] or row.deviations[name])) for row in rows
    )


def shared_notes(rows: Sequence[DesignRow]) -> list[str]:
    """What the error bar of a single reading and the column of standings mean, if the table has them."""
    notes = []
    if any(_has_own_bar(row, name) for row in rows for name in row.values):
        notes.append(f"{ONE_READING_LEGEND}{_of_repeats(rows)}")
    if has_standings(rows):
        shown = {row.standing for row in rows}
        meanings = [f"{one} ({meaning})" for one, meaning in STANDINGS_LEGEND.items() if one in shown]
        notes.append(f"standing: whether it is on the front: {', '.join(meanings)}")
    return notes


def is_model_wider(rows: Sequence[DesignRow]) -> bool:
    """Whether estimates are much less certain than single readings, because others might differ from these."""
    return any(
        _has_own_bar(row, name)
        and row.deviations[name] > max(WIDER * (row.spreads[name] or 0.0), VISIBLE * abs(row.values[name]))
        for row in rows
        for name in row.values
    )


def _has_own_bar(row: DesignRow, name: str) -> bool:
    """Whether a quantity has a single reading with an error bar."""
    return row.readings[name] == 1 and bool(row.spreads[name])


def _of_repeats(rows: Sequence[DesignRow]) -> str:
    """How many repeats single readings sum up, by quantity if there are several; empty if they are single ones."""
    found: dict[str, list[int]] = {}
    for row in rows:
        for name, count in row.repeats.items():
            found.setdefault(name, []).append(count)
    texts = {
        name: f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
        for name, counts in found.items()
        if max(counts) > 1
    }
    if not texts:
        return ""
    if len(set(texts.values())) == 1:
        return f", which sums up {next(iter(texts.values()))} repeats"
    return f", which sums up repeats: {', '.join(f'{printable_line(name)} {text}' for name, text in texts.items())}"


def has_standings(rows: Sequence[DesignRow]) -> bool:
    """Whether a table has a column of standings: one of them is not "probable"."""
    return any(row.standing != "probable" for row in rows)


def _blur(row: DesignRow, name: str) -> float:
    """Differences much smaller than this need no digits. Measured values have all: designs would look dominated."""
    return 0.0 if row.readings[name] else row.deviations[name]


def value_cell(row: DesignRow, name: str, *, digits: int, noisy: bool) -> str:
    """The value of a quantity: the mean of its readings with their spread and number, or marked as predicted."""
    shown = format_number(row.values[name], digits)
    if not row.readings[name]:
        reached = f" @{row.reached[name]}" if name in row.reached else ""
        return f"~{shown}{_deviation(row.deviations[name])}{reached}"
    return f"{shown}{_deviation(row.spreads[name])} ({row.readings[name]})" if noisy else shown


def estimate_cell(row: DesignRow, name: str, *, digits: int) -> str:
    """The model's estimate of a quantity with its standard deviation."""
    return f"{format_number(row.estimates[name], digits)}{_deviation(row.deviations[name])}"


def _deviation(deviation: float | None) -> str:
    return f" ±{format_number(deviation, 2)}" if deviation else ""


def feasibility_cell(row: DesignRow) -> str:
    """Whether the constraints are kept, or the probability that they are."""
    return {"feasible": "yes", "violating": "no"}.get(row.feasibility, f"maybe, {row.probability:.0%}")


def option_cells(row: DesignRow, names: Sequence[str]) -> list[str]:
    """The named options of a design, as in ``x=3``."""
    return [printable_line(f"{name}={option_text(row.design[name])}") for name in names]


def option_text(value: object) -> str:
    """The value of an option; "-" where it is not used."""
    return format_number(value, 3) if isinstance(value, float) else "-" if value is None else str(value)


def constant_options(rows: Sequence[DesignRow], names: Sequence[str]) -> list[str]:
    """The names of the options that have one value in all rows, if there are several rows."""
    return [name for name in names if len(rows) > 1 and len({row.design[name] for row in rows}) == 1]


def constants_line(rows: Sequence[DesignRow]) -> list[str]:
    """The options that have one value in all rows, as a line; nothing if there are none."""
    same = constant_options(rows, list(rows[0].design)) if rows else []
    return [f"All of them: {', '.join(option_cells(rows[0], same))}"] if same else []


def varying_options(rows: Sequence[DesignRow]) -> list[str]:
    """The names of the other options."""
    names = list(rows[0].design) if rows else []
    return [name for name in names if name not in constant_options(rows, names)]


def plain_table(rows: Sequence[DesignRow], columns: Sequence[Column], notes: Sequence[str]) -> str:
    """A table as text: one design per line with its varying options, and the notes below."""
    every = [Column([""], [str(row.number) for row in rows]), *columns]
    every += [
        Column([""], [option_cells(row, [name])[0] for row in rows], right=False) for name in varying_options(rows)
    ]
    lines = zip(*(_aligned(column) for column in every), strict=True)
    return "\n".join([*("  ".join(cells).rstrip() for cells in lines), *constants_line(rows), *notes])


def _aligned(column: Column) -> list[str]:
    cells = [" ".join(filter(None, column.heading)), *column.cells]
    width = max(map(len, cells))
    return [cell.rjust(width) if column.right else cell.ljust(width) for cell in cells]


def html_designs(rows: Sequence[DesignRow], columns: Sequence[Column], notes: Sequence[str]) -> str:
    """A table as HTML: one design per line with its varying options, and the notes below; long ones are cut."""
    names = varying_options(rows)
    every = [Column(["#"], [str(row.number) for row in rows]), *columns]
    every += [Column([name], [option_text(row.design[name]) for row in rows], right=False) for name in names]
    headings = [" ".join(filter(None, column.heading)) for column in every]
    lines = list(zip(*(column.cells for column in every), strict=True))
    more = [f"... and {len(rows) - MOST_HTML_ROWS} more; to_pandas() and to_csv() have all."] * (
        len(rows) > MOST_HTML_ROWS
    )
    below = "".join(html_line(note, small=True) for note in (*more, *constants_line(rows), *notes))
    return html_table(headings, lines[:MOST_HTML_ROWS], right=[column.right for column in every]) + below


def plain_headings(rows: Sequence[DesignRow]) -> Mapping[str, Sequence[str]]:
    """The names of the quantities as headings."""
    return {name: [printable_line(name)] for name in rows[0].values}
