"""The front of a study: its confirmed designs with their readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexibo._internal.html import html_block, html_line
from flexibo._internal.records import Tabular
from flexibo.results.cells import (
    BEST_LEGEND,
    MODEL_LEGEND,
    READINGS_LEGEND,
    Column,
    feasibility_cell,
    has_standings,
    html_designs,
    is_model_wider,
    is_noisy,
    plain_headings,
    plain_table,
    shared_notes,
    value_columns,
)
from flexibo.results.picture import picture
from flexibo.results.rows import DesignRow, option_columns, quantity_columns

NOTHING_CONFIRMED = "No confirmed design yet: none was measured in every quantity."


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontRow(DesignRow):
    """One confirmed design: every quantity was measured, and no other confirmed design dominates it.

    Its values are the readings: the mean of them where a quantity is noisy.

    Attributes:
        best: The objectives in which no other design of the front is better.
        knee: Whether it is the knee of the front, the best compromise; see `flexibo.pareto.knee`.
    """

    best: tuple[str, ...] = ()
    knee: bool = False


class Front(Tabular, tuple[FrontRow, ...]):
    """The confirmed designs that no other confirmed design dominates, ordered by the first objective."""

    __slots__ = ()

    def __str__(self) -> str:
        """A table with one design per line, followed by the options that do not vary."""
        return plain_table(self, self._columns(), front_notes(self)) if self else NOTHING_CONFIRMED

    def _repr_html_(self) -> str:
        """A small picture and a table, for notebooks."""
        if not self:
            return html_block(html_line(NOTHING_CONFIRMED))
        return html_block(front_picture(self), html_designs(self, self._columns(), front_notes(self)))

    def _columns(self) -> list[Column]:
        constrained = any(row.probability < 1.0 for row in self)
        return front_columns(self, plain_headings(self), constrained=constrained)

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary per design.

        Columns: ``value:``, ``measured:``, ``readings:``, ``spread:``, ``estimate:`` and ``deviation:`` of each
        quantity, ``option:`` of each option, and the attributes of `FrontRow` that belong to the whole design.
        """
        return [
            {"number": row.number}
            | quantity_columns(row)
            | {"probability": row.probability, "feasibility": row.feasibility, "standing": row.standing}
            | {"best": " ".join(row.best), "knee": row.knee}
            | option_columns(row)
            for row in self
        ]


def front_columns(
    rows: Sequence[FrontRow], headings: Mapping[str, Sequence[str]], *, constrained: bool
) -> list[Column]:
    """The columns of a table of confirmed designs, without their numbers and options."""
    columns: list[Column] = []
    for name, heading in headings.items():
        best = [name in row.best for row in rows] if len(rows) > 1 else []
        columns += value_columns(rows, name, heading, best=best, model=True)
    if constrained:
        columns.append(Column(["feasible"], list(map(feasibility_cell, rows)), right=False))
    if has_standings(rows):
        columns.append(Column(["standing"], [row.standing for row in rows], right=False))
    if any(row.knee for row in rows):
        columns.append(Column([""], ["knee" if row.knee else "" for row in rows], right=False))
    return columns


def front_picture(rows: Sequence[FrontRow], *, colour: str = "currentColor") -> str:
    """A small picture of confirmed designs as SVG; an empty text if there are none."""
    names = [name for name in (rows[0].values if rows else ()) if any(name in row.best for row in rows)]
    values = np.array([[row.values[name] for name in names] for row in rows])
    knee = next((n for n, row in enumerate(rows) if row.knee), None)
    return picture(names, values, [row.number for row in rows], knee=knee, colour=colour)


def front_notes(rows: Sequence[FrontRow]) -> list[str]:
    """What the marks of a table of confirmed designs mean."""
    marks = {BEST_LEGEND: len(rows) > 1, "knee: the best compromise": any(row.knee for row in rows)}
    used = ["; ".join(mark for mark, is_used in marks.items() if is_used)]
    noisy = any(is_noisy(rows, name) for row in rows[:1] for name in row.values)
    wider = MODEL_LEGEND if noisy and is_model_wider(rows) else ""
    return [note for note in (*used, READINGS_LEGEND if noisy else "", *shared_notes(rows), wider) if note]
