"""The front of a study: its designs, what is measured and predicted of them, and how surely they belong to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from flexibo._internal.arrays import BoolArray, IntArray
from flexibo._internal.numbers import format_number, significant_digits
from flexibo._internal.records import data_frame, write_csv
from flexibo._internal.text import printable_line
from flexibo.belief.belief import Predictions
from flexibo.belief.costs import Costs, mean_costs
from flexibo.belief.reported import CONFIDENCE
from flexibo.history import History
from flexibo.space import Design, Designs

Feasibility: TypeAlias = Literal["feasible", "violating", "unsure"]
FEASIBILITIES: tuple[Feasibility, ...] = ("feasible", "unsure", "violating")
Standing: TypeAlias = Literal["certain", "probable", "possible", "ruled out"]
STANDINGS: tuple[Standing, ...] = ("certain", "probable", "possible", "ruled out")
"""How surely a design is on the front of the candidates; `flexibo.results.confidence` defines the words."""


@dataclass(frozen=True, slots=True)
class FrontRow:
    """One design of the front.

    Attributes:
        design: Its option values.
        values: Its objectives, measured or predicted, by name.
        measured: Whether each value was measured.
        deviations: The standard deviation of each value; 0 where it is known exactly.
        probability: The probability that it keeps every constraint; 1 where there is none.
        standing: "certain" if it is on the front whatever the values within the boxes, "probable" if it is by the best
            guess, "possible" if it may be, "ruled out" if a candidate is surely better.
        confirm_cost: What it is expected to cost to measure what is missing; None where that cannot be measured, or
            nothing is known of costs.
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
        if self.probability >= CONFIDENCE:
            return "feasible"
        return "violating" if self.probability <= 1.0 - CONFIDENCE else "unsure"


class Front(tuple[FrontRow, ...]):
    """The designs that no other dominates, ordered by the first objective."""

    __slots__ = ()

    def __str__(self) -> str:
        """A table: a design per line, and below it the options that never vary."""
        if not self:
            return "No design yet: not every objective has been measured, or no design can be measured in all of them."
        names = list(self[0].design)
        same = [name for name in names if len(self) > 1 and len({row.design[name] for row in self}) == 1]
        columns = [_value_column(self, name) for name in self[0].values]
        if any(row.probability < 1.0 for row in self):
            columns.append(_aligned(["feasible", *(_shown_feasibility(row) for row in self)]))
        if any(row.confirm_cost for row in self):
            columns.append(_aligned(["to confirm", *map(shown_price, self)], right=True))
        if any(row.standing != "probable" for row in self):
            columns.append(_aligned(["standing", *(row.standing for row in self)]))
        columns += [_aligned(["", *(_shown_option(row, name) for row in self)]) for name in names if name not in same]
        lines = ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
        priced = ["to confirm: the cost of measuring the rest"] if any(row.confirm_cost for row in self) else []
        if marks := [*filter(None, [self.legend]), *priced]:
            lines.append("; ".join(marks))
        if same:
            lines.append("All of them: " + ", ".join(_shown_option(self[0], name) for name in same))
        return "\n".join(lines)

    @property
    def legend(self) -> str:
        """What the marks in a table of it mean; empty if there are none."""
        marks = {
            "~ predicted, not measured": any(not all(row.measured.values()) for row in self),
            "± standard deviation": any(deviation > 0 for row in self for deviation in row.deviations.values()),
        }
        return "; ".join(mark for mark, is_used in marks.items() if is_used)

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary per design: ``value:``, ``measured:``, ``deviation:`` and ``option:`` columns, and more.

        ``probability`` and ``feasibility`` say whether the design keeps every constraint, ``standing`` how surely it is
        on the front, ``confirm_cost`` what it is expected to cost to measure the rest.
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


def _value_column(rows: Sequence[FrontRow], name: str) -> list[str]:
    """Heading and values of an objective: predicted ones are marked, inexact ones carry their deviation."""
    digits = significant_digits((row.values[name], row.deviations[name]) for row in rows)
    values = [f"{'' if row.measured[name] else '~'}{format_number(row.values[name], digits)}" for row in rows]
    deviations = [f" ±{format_number(row.deviations[name], 3)}" if row.deviations[name] > 0 else "" for row in rows]
    width = max(map(len, values))
    cells = [value.rjust(width) + deviation for value, deviation in zip(values, _aligned(deviations), strict=True)]
    heading = printable_line(name)
    width = max(len(heading), len(cells[0]))
    return [cell.rjust(width) for cell in (heading, *cells)]


def _aligned(cells: Sequence[str], *, right: bool = False) -> list[str]:
    width = max(map(len, cells))
    return [cell.rjust(width) if right else cell.ljust(width) for cell in cells]


class Priced(Protocol):
    """A design that can be confirmed at a price."""

    @property
    def confirm_cost(self) -> float | None:
        """What it is expected to cost to measure what is missing; None where that is not known."""
        ...


def shown_price(row: Priced) -> str:
    """What it costs to confirm a design; nothing where everything is measured, or the rest comes for free."""
    return "-" if row.confirm_cost is None else format_number(row.confirm_cost, 3) if row.confirm_cost else ""


def _shown_feasibility(row: FrontRow) -> str:
    return {"feasible": "yes", "violating": "no"}.get(row.feasibility, f"maybe {row.probability:.0%}")


def _shown_option(row: FrontRow, name: str) -> str:
    value = row.design[name]
    text = format_number(value, 3) if isinstance(value, float) else "-" if value is None else str(value)
    return f"{printable_line(name)}={printable_line(text)}"


def front_rows(
    history: History, estimates: Predictions, places: IntArray, standings: Sequence[Standing], costs: Costs
) -> Front:
    """What is known of some designs of a history.

    Args:
        history: Its designs (m) are meant.
        estimates: What is thought of them.
        places: Which of them are wanted (f,), in this order.
        standings: How surely each of all designs (m) is on the front.
        costs: What measurements are expected to cost.
    """
    signs = np.array([objective.value(1.0) for objective in history.objectives])
    values, deviations = (estimates.mu[places] * signs).tolist(), estimates.sigma[places].tolist()
    known, probability = estimates.known[places], estimates.legal[places].prod(axis=1).tolist()
    confirm, names = _confirm_costs(history, history.designs[places], known, costs), history.names
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


def _confirm_costs(history: History, designs: Designs, known: BoolArray, costs: Costs) -> list[float | None]:
    """What it is expected to cost to measure what each design (f) lacks, given what is known (f, n)."""
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
