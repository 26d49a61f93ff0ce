"""The designs that are worth confirming: measured in some quantity, promising by their predictions, not complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flexibo._internal.html import html_block, html_line
from flexibo._internal.numbers import format_number
from flexibo._internal.records import Tabular
from flexibo.results.cells import (
    PREDICTED_LEGEND,
    REACHED_LEGEND,
    Column,
    feasibility_cell,
    has_standings,
    html_designs,
    plain_headings,
    plain_table,
    shared_notes,
    value_columns,
)
from flexibo.results.rows import DesignRow, option_columns, quantity_columns

NOTHING_PROMISING = "no design that is measured in part is expected to improve the confirmed front"
GAIN_LEGEND = "gain: expected growth of the hypervolume"
PRICE_LEGEND = "to confirm: cost of measuring the rest"
CHANCE_LEGEND = "chance: that the rest can be measured"
LEAST_SHOWN = 1e-4  # smaller shares are shown as less than this


@dataclass(frozen=True, slots=True, kw_only=True)
class PromisingRow(DesignRow):
    """One design that is promising and not completely measured.

    Attributes:
        gain: The hypervolume that it is expected to add to the confirmed front once it is complete.
        relative_gain: The same as a share of the confirmed front's hypervolume; None while that is 0.
        confirm_cost: The expected cost of measuring what is missing; None if no cost is known.
        chance: The probability that what is missing can be measured, learned from failures.
    """

    gain: float
    relative_gain: float | None
    confirm_cost: float | None
    chance: float


class Promising(Tabular, tuple[PromisingRow, ...]):
    """The designs that are promising and not completely measured, the most expected gain per cost first."""

    __slots__ = ()

    def __str__(self) -> str:
        """A table with one design per line, followed by the options that do not vary."""
        return plain_table(self, self._columns(), promising_notes(self)) if self else _nothing()

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        if not self:
            return html_block(html_line(_nothing()))
        return html_block(html_designs(self, self._columns(), promising_notes(self)))

    def _columns(self) -> list[Column]:
        constrained = any(row.probability < 1.0 for row in self)
        return promising_columns(self, plain_headings(self), constrained=constrained)

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary per design.

        Columns: ``value:``, ``measured:``, ``readings:``, ``spread:``, ``estimate:`` and ``deviation:`` of each
        quantity, ``option:`` of each option, and the attributes of `PromisingRow` that belong to the whole design.
        """
        return [
            {"number": row.number}
            | quantity_columns(row)
            | {"probability": row.probability, "feasibility": row.feasibility, "standing": row.standing}
            | {"gain": row.gain, "relative_gain": row.relative_gain}
            | {"confirm_cost": row.confirm_cost, "chance": row.chance}
            | option_columns(row)
            for row in self
        ]


def promising_columns(
    rows: Sequence[PromisingRow], headings: Mapping[str, Sequence[str]], *, constrained: bool, unit: str = ""
) -> list[Column]:
    """The columns of a table of promising designs, without their numbers and options."""
    columns = [column for name, heading in headings.items() for column in value_columns(rows, name, heading)]
    if constrained:
        columns.append(Column(["feasible"], list(map(feasibility_cell, rows)), right=False))
    columns.append(Column(["gain"], list(map(gain_cell, rows))))
    columns.append(Column(["to confirm", *([f"[{unit}]"] if unit else [])], list(map(price_cell, rows))))
    columns.append(Column(["chance"], list(map(chance_cell, rows))))
    if has_standings(rows):
        columns.append(Column(["standing"], [row.standing for row in rows], right=False))
    return columns


def promising_notes(rows: Sequence[PromisingRow]) -> list[str]:
    """What the marks and columns of a table of promising designs mean."""
    steps = [REACHED_LEGEND] if any(row.reached for row in rows) else []
    return [f"{PREDICTED_LEGEND}; {GAIN_LEGEND}", f"{PRICE_LEGEND}; {CHANCE_LEGEND}", *steps, *shared_notes(rows)]


def _nothing() -> str:
    return f"{NOTHING_PROMISING[0].upper()}{NOTHING_PROMISING[1:]}."


def gain_cell(row: PromisingRow) -> str:
    """The expected gain as a share of the confirmed front's hypervolume; in its units while that is 0."""
    return format_number(row.gain, 3) if row.relative_gain is None else gain_text(row.relative_gain)


def gain_text(share: float) -> str:
    """An expected gain as a share of the confirmed front's hypervolume.

    >>> gain_text(0.21), gain_text(0.0213), gain_text(0.00001)
    ('+21 %', '+2.1 %', '<0.01 %')
    """
    if share >= 0.0995:
        return f"+{100.0 * share:.0f} %"
    if share < LEAST_SHOWN:
        return f"<{100.0 * LEAST_SHOWN:g} %"
    return f"+{100.0 * share:.2g} %"


def price_cell(row: PromisingRow) -> str:
    """The expected cost of measuring what is missing; "-" if none is known."""
    return "-" if row.confirm_cost is None else format_number(row.confirm_cost, 3)


def chance_cell(row: PromisingRow) -> str:
    """The chance that what is missing can be measured, in whole per cent; 100 % only if nothing similar failed."""
    return f"{100.0 * row.chance:.0f} %" if row.chance == 1.0 else f"{min(99.0, 100.0 * row.chance):.0f} %"
