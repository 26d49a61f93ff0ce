"""The front of a study: its designs, their measured and predicted values, and their standing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from flexibo._internal.arrays import BoolArray, IntArray
from flexibo._internal.records import data_frame, write_csv
from flexibo._internal.text import printable_line
from flexibo.belief.belief import Predictions
from flexibo.belief.costs import Costs, mean_costs
from flexibo.belief.reported import CONFIDENCE
from flexibo.history import History
from flexibo.results.front_layout import (
    CONFIRM_LEGEND,
    ShownDesign,
    aligned,
    confirm_cell,
    constant_options,
    feasibility_cell,
    legend,
    option_cells,
    value_cells,
)
from flexibo.space import Design, Designs

Feasibility: TypeAlias = Literal["feasible", "violating", "unsure"]
FEASIBILITIES: tuple[Feasibility, ...] = ("feasible", "unsure", "violating")
Standing: TypeAlias = Literal["confident", "probable", "possible", "ruled out"]
STANDINGS: tuple[Standing, ...] = ("confident", "probable", "possible", "ruled out")
"""Whether a design is on the front of the candidates; `flexibo.results.confidence` defines the words."""


@dataclass(frozen=True, slots=True)
class FrontRow:
    """One design of the front.

    Attributes:
        design: Its option values.
        values: Its objectives, measured or predicted, by name.
        measured: Whether each value was measured.
        deviations: The standard deviation of each value; 0 where it is known exactly.
        probability: The probability that it keeps every constraint; 1 where there is none.
        standing: "confident" if it is on the front for all values within the boxes, "probable" if it is by the best
            estimate, "possible" if it may be, "ruled out" if a candidate dominates it for all values within the boxes.
        confirm_cost: The expected cost of measuring what is missing; None if that cannot be measured, or no cost is
            known.
    """

    design: Design
    values: Mapping[str, float]
    measured: Mapping[str, bool]
    deviations: Mapping[str, float]
    probability: float = 1.0
    standing: Standing = "probable"
    confirm_cost: float | None = None

    @property
    def feasibility(self) -> Feasibility:
        """Whether it keeps every constraint: "feasible", "violating", or "unsure" within `CONFIDENCE` of either."""
        return feasibility_of(self.probability)


def feasibility_of(probability: float) -> Feasibility:
    """Whether every constraint is kept, given the probability that it is."""
    if probability >= CONFIDENCE:
        return "feasible"
    return "violating" if probability <= 1.0 - CONFIDENCE else "unsure"


class Front(tuple[FrontRow, ...]):
    """The designs that no other dominates, ordered by the first objective."""

    __slots__ = ()

    def __str__(self) -> str:
        """A table with one design per line, followed by the options that do not vary."""
        if not self:
            return "No design yet: not every objective has been measured, or no design can be measured in all of them."
        names = list(self[0].design)
        same = constant_options(self, names)
        columns = [value_column(self, name) for name in self[0].values]
        if any(row.probability < 1.0 for row in self):
            columns.append(aligned(["feasible", *map(feasibility_cell, self)]))
        notes = [self.legend] if self.legend else []
        if any(row.confirm_cost for row in self):
            columns.append(aligned(["to confirm", *map(confirm_cell, self)], right=True))
            notes.append(CONFIRM_LEGEND)
        if any(row.standing != "probable" for row in self):
            columns.append(aligned(["standing", *(row.standing for row in self)]))
        columns += [
            aligned(["", *(option_cells(row, [name])[0] for row in self)]) for name in names if name not in same
        ]
        lines = ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
        if notes:
            lines.append("; ".join(notes))
        if same:
            lines.append("All of them: " + ", ".join(option_cells(self[0], same)))
        return "\n".join(lines)

    @property
    def legend(self) -> str:
        """What the marks in a table of it mean; empty if there are none."""
        return legend(self)

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary per design.

        Columns: ``value:``, ``measured:`` and ``deviation:`` of each objective, ``option:`` of each option, and the
        attributes of `FrontRow` that belong to the whole design.
        """
        return [
            {f"value:{name}": value for name, value in row.values.items()}
            | {f"measured:{name}": known for name, known in row.measured.items()}
            | {f"deviation:{name}": deviation for name, deviation in row.deviations.items()}
            | {"probability": row.probability, "feasibility": row.feasibility}
            | {"standing": row.standing, "confirm_cost": row.confirm_cost}
            | {f"option:{name}": value for name, value in row.design.items()}
            for row in self
        ]

    def to_csv(self, path: str | Path) -> None:
        """Write the designs as CSV."""
        write_csv(path, self.records(), [])

    def to_pandas(self) -> Any:
        """The designs as a pandas DataFrame (extra ``pandas``)."""
        return data_frame(self.records())


def value_column(rows: Sequence[ShownDesign], name: str) -> list[str]:
    """Heading and values of an objective, aligned."""
    values, deviations = zip(*value_cells(rows, name, deviation_digits=3), strict=True)
    cells = map("".join, zip(aligned(values, right=True), aligned(deviations), strict=True))
    return aligned([printable_line(name), *cells], right=True)


def front_rows(
    history: History, estimates: Predictions, places: IntArray, standings: Sequence[Standing], costs: Costs
) -> Front:
    """The designs of a history at these places (f,) as rows of a front; `standings` has one for each design."""
    signs = np.array([objective.value(1.0) for objective in history.objectives])
    values, deviations = (estimates.mu[places] * signs).tolist(), estimates.sigma[places].tolist()
    known, probability = estimates.known[places], estimates.legal[places].prod(axis=1).tolist()
    confirm, names = confirm_costs(history, history.designs[places], known, costs), history.names
    return Front(
        FrontRow(
            history.designs[int(i)],
            dict(zip(names, values[row], strict=True)),
            dict(zip(names, known[row].tolist(), strict=True)),
            dict(zip(names, deviations[row], strict=True)),
            probability[row],
            standings[int(i)],
            confirm[row],
        )
        for row, i in enumerate(places)
    )


def confirm_costs(history: History, designs: Designs, known: BoolArray, costs: Costs) -> list[float | None]:
    """The expected cost of measuring what each of f designs lacks, given what is known (f, n)."""
    found: list[float | None] = [0.0] * len(designs)
    lacking = np.flatnonzero(~known.all(axis=1))
    if not len(lacking):
        return found
    prices = costs.prices(history, designs[lacking])
    unpriced = np.isnan(mean_costs(history)) & isinstance(costs.cost, str)
    for i, price in zip(lacking.tolist(), prices.tolist(), strict=True):
        missing = [p for p, purchase in enumerate(history.purchases) if not known[i, list(purchase.members)].all()]
        impossible = any(unpriced[p] or history.is_hopeless(p, designs[i]) for p in missing)
        found[i] = None if impossible else sum(price[p] for p in missing)
    return found
