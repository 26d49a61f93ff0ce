"""What is known of one design: its readings, and what the models say about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

from flexibo.belief.reported import CONFIDENCE
from flexibo.space import Design

Feasibility: TypeAlias = Literal["feasible", "violating", "unsure"]
FEASIBILITIES: tuple[Feasibility, ...] = ("feasible", "unsure", "violating")
Standing: TypeAlias = Literal["confident", "probable", "possible", "ruled out"]
STANDINGS: tuple[Standing, ...] = ("confident", "probable", "possible", "ruled out")
"""Whether a design is on the front of the candidates; `flexibo.results.confidence` defines the words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignRow:
    """One design, with every quantity by name.

    Attributes:
        number: Its number in the tables of this state of the study; 0 if it is in none.
        design: Its option values.
        values: The mean of the readings of each quantity, or the prediction where there is none.
        readings: The number of readings of each quantity.
        spreads: The standard deviation of these readings; of a single one its own, if it was told, else None.
        estimates: The model's estimate of each quantity; an exact one that was measured is its reading.
        deviations: The standard deviation of each estimate; 0 where the quantity is known exactly.
        probability: The probability that it keeps every constraint; 1 where there is none.
        standing: "confident" if it is on the front for all values within the boxes, "probable" if it is by the best
            estimate, "possible" if it may be, "ruled out" if a candidate dominates it for all values within the boxes.
        reached: The step that was reached of each quantity with steps that is not measured to its last one.
        repeats: How many repeats, as windows of a meter, a single reading sums up that was told with an error bar.
    """

    number: int = 0
    design: Design
    values: Mapping[str, float]
    readings: Mapping[str, int]
    spreads: Mapping[str, float | None]
    estimates: Mapping[str, float]
    deviations: Mapping[str, float]
    probability: float = 1.0
    standing: Standing = "probable"
    reached: Mapping[str, int] = field(default_factory=dict)
    repeats: Mapping[str, int] = field(default_factory=dict)

    @property
    def measured(self) -> dict[str, bool]:
        """Whether each quantity was measured."""
        return {name: count > 0 for name, count in self.readings.items()}

    @property
    def missing(self) -> tuple[str, ...]:
        """The quantities that were not measured."""
        return tuple(name for name, count in self.readings.items() if not count)

    @property
    def feasibility(self) -> Feasibility:
        """Whether it keeps every constraint: "feasible", "violating", or "unsure" within `CONFIDENCE` of either."""
        if self.probability >= CONFIDENCE:
            return "feasible"
        return "violating" if self.probability <= 1.0 - CONFIDENCE else "unsure"


def json_row(row: DesignRow) -> dict[str, Any]:
    """A row ready for JSON, every attribute under its name."""
    found = {own.name: getattr(row, own.name) for own in fields(row)}
    plain = {name: dict(value) if isinstance(value, Mapping) else value for name, value in found.items()}
    for name in ("reached", "repeats"):
        if not plain[name]:
            del plain[name]
    return {**plain, "measured": row.measured, "missing": row.missing, "feasibility": row.feasibility}


def quantity_columns(row: DesignRow) -> dict[str, Any]:
    """The quantities of a design as flat columns, as in ``value:energy``."""
    columns = {
        "value": row.values,
        "measured": row.measured,
        "readings": row.readings,
        "spread": row.spreads,
        "estimate": row.estimates,
        "deviation": row.deviations,
    }
    return {f"{kind}:{name}": cell for kind, cells in columns.items() for name, cell in cells.items()}


def option_columns(row: DesignRow) -> dict[str, Any]:
    """The options of a design as flat columns, as in ``option:cores``."""
    return {f"option:{name}": value for name, value in row.design.items()}
