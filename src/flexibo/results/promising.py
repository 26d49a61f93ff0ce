"""The designs that are worth confirming: measured in some quantity, promising by their predictions, not complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexibo._internal.numbers import format_number
from flexibo._internal.records import data_frame, write_csv
from flexibo.results.front import Feasibility, Standing, feasibility_of, value_column
from flexibo.results.front_layout import (
    CONFIRM_LEGEND,
    aligned,
    confirm_cell,
    constant_options,
    feasibility_cell,
    legend,
    option_cells,
)
from flexibo.space import Design


@dataclass(frozen=True, slots=True)
class PromisingRow:
    """One design that is promising and not completely measured.

    Attributes:
        number: Its number in the tables of this state of the study, which counts on from the confirmed designs.
        design: Its option values.
        values: Its quantities by name: the mean of the readings where there are any, else the prediction.
        measured: Whether each quantity was measured.
        readings: The number of readings of each quantity.
        deviations: The standard deviation of each prediction; 0 where a quantity was measured.
        probability: The probability that it keeps every constraint; 1 where there is none.
        standing: Whether it is on the front of the candidates; see `flexibo.results.confidence`.
        gain: The hypervolume that it is expected to add to the confirmed front once it is complete.
        relative_gain: The same as a share of the confirmed front's hypervolume; None while that is 0.
        confirm_cost: The expected cost of measuring what is missing; None if no cost is known.
        chance: The probability that what is missing can be measured, learned from failures.
    """

    number: int
    design: Design
    values: Mapping[str, float]
    measured: Mapping[str, bool]
    readings: Mapping[str, int]
    deviations: Mapping[str, float]
    probability: float
    standing: Standing
    gain: float
    relative_gain: float | None
    confirm_cost: float | None
    chance: float

    @property
    def missing(self) -> tuple[str, ...]:
        """The quantities that were not measured."""
        return tuple(name for name, known in self.measured.items() if not known)

    @property
    def feasibility(self) -> Feasibility:
        """Whether it keeps every constraint: "feasible", "violating", or "unsure" within `CONFIDENCE` of either."""
        return feasibility_of(self.probability)


class Promising(tuple[PromisingRow, ...]):
    """The designs that are promising and not completely measured, the most expected gain per cost first."""

    __slots__ = ()

    def __str__(self) -> str:
        """A table with one design per line, followed by the options that do not vary."""
        if not self:
            return "Nothing promising is left to confirm."
        names = list(self[0].design)
        same = constant_options(self, names)
        columns = [aligned(["", *(str(row.number) for row in self)], right=True)]
        columns += [value_column(self, name) for name in self[0].values]
        if any(row.probability < 1.0 for row in self):
            columns.append(aligned(["feasible", *map(feasibility_cell, self)]))
        columns.append(aligned(["gain", *map(gain_cell, self)], right=True))
        columns.append(aligned(["to confirm", *map(confirm_cell, self)], right=True))
        columns.append(aligned(["chance", *map(chance_cell, self)], right=True))
        columns += [
            aligned(["", *(option_cells(row, [name])[0] for row in self)]) for name in names if name not in same
        ]
        lines = ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
        lines.append("; ".join([legend(self), *PROMISING_LEGENDS]))
        if same:
            lines.append("All of them: " + ", ".join(option_cells(self[0], same)))
        return "\n".join(lines)

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary per design.

        Columns: ``value:``, ``measured:``, ``readings:`` and ``deviation:`` of each quantity, ``option:`` of each
        option, and the attributes of `PromisingRow` that belong to the whole design.
        """
        return [
            {"number": row.number}
            | {f"value:{name}": value for name, value in row.values.items()}
            | {f"measured:{name}": known for name, known in row.measured.items()}
            | {f"readings:{name}": number for name, number in row.readings.items()}
            | {f"deviation:{name}": deviation for name, deviation in row.deviations.items()}
            | {"probability": row.probability, "feasibility": row.feasibility, "standing": row.standing}
            | {"gain": row.gain, "relative_gain": row.relative_gain}
            | {"confirm_cost": row.confirm_cost, "chance": row.chance}
            | {f"option:{name}": value for name, value in row.design.items()}
            for row in self
        ]

    def to_csv(self, path: str | Path) -> None:
        """Write the designs as CSV."""
        write_csv(path, self.records(), [])

    def to_pandas(self) -> Any:
        """The designs as a pandas DataFrame (extra ``pandas``)."""
        return data_frame(self.records())


PROMISING_LEGENDS: Sequence[str] = (
    "gain: expected to be added to the hypervolume of the confirmed front",
    CONFIRM_LEGEND,
    "chance: that the rest can be measured",
)


def gain_cell(row: PromisingRow) -> str:
    """The expected gain as a share of the confirmed front's hypervolume; in its units while that is 0."""
    if row.relative_gain is None:
        return format_number(row.gain, 3)
    if row.relative_gain >= 0.0995:
        return f"+{100.0 * row.relative_gain:.0f} %"
    return f"+{100.0 * row.relative_gain:.2g} %" if row.relative_gain >= 1e-4 else "<0.01 %"


def chance_cell(row: PromisingRow) -> str:
    """The chance that the rest can be measured, in whole per cent."""
    return f"{row.chance:.0%}".replace("%", " %")
