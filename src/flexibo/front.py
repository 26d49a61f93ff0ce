"""The front of a study: its designs, what is measured and predicted of them, and whether they are feasible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from flexibo.arrays import BoolArray, FloatArray
from flexibo.belief import Predictions
from flexibo.export import data_frame, write_csv
from flexibo.figures import digits_of, figure
from flexibo.history import History
from flexibo.pareto import non_dominated
from flexibo.pareto.dominance import strictly_dominated
from flexibo.space import Design
from flexibo.words import one_line

Feasibility: TypeAlias = Literal["feasible", "violating", "unsure"]
FEASIBILITIES: tuple[Feasibility, ...] = ("feasible", "unsure", "violating")
SURE = 0.975
"""A design is called feasible from this probability on, and violating up to its complement."""


@dataclass(frozen=True, slots=True)
class FrontRow:
    """One design of the front.

    Attributes:
        design: Its option values.
        values: Its objectives, measured or predicted, by name.
        measured: Whether each value was measured.
        deviations: The standard deviation of each value; 0 where it is known exactly.
        probability: The probability that it keeps every constraint; 1 where there is none.
    """

    design: Design
    values: Mapping[str, float]
    measured: Mapping[str, bool]
    deviations: Mapping[str, float]
    probability: float = 1.0

    @property
    def feasibility(self) -> Feasibility:
        """Whether it keeps every constraint: "feasible", "violating", or "unsure" within `SURE` of either."""
        if self.probability >= SURE:
            return "feasible"
        return "violating" if self.probability <= 1.0 - SURE else "unsure"


class Front(tuple[FrontRow, ...]):
    """The designs that no other dominates, ordered by the first objective."""

    __slots__ = ()

    def __str__(self) -> str:
        """A table: a design per line, and below it the options that never vary."""
        if not self:
            return "No design yet: not every objective has been measured."
        names = list(self[0].design)
        same = [name for name in names if len(self) > 1 and len({row.design[name] for row in self}) == 1]
        columns = [_value_column(self, name) for name in self[0].values]
        if any(row.probability < 1.0 for row in self):
            columns.append(_aligned(["feasible", *(_shown_feasibility(row) for row in self)]))
        columns += [_aligned(["", *(_shown_option(row, name) for row in self)]) for name in names if name not in same]
        lines = ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
        lines += [legend] if (legend := self.legend) else []
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

        ``probability`` and ``feasibility`` say whether the design keeps every constraint.
        """
        return [
            {f"value:{name}": value for name, value in row.values.items()}
            | {f"measured:{name}": known for name, known in row.measured.items()}
            | {f"deviation:{name}": deviation for name, deviation in row.deviations.items()}
            | {"probability": row.probability, "feasibility": row.feasibility}
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
    digits = digits_of((row.values[name], row.deviations[name]) for row in rows)
    values = [f"{'' if row.measured[name] else '~'}{figure(row.values[name], digits)}" for row in rows]
    deviations = [f" ±{figure(row.deviations[name], 3)}" if row.deviations[name] > 0 else "" for row in rows]
    width = max(map(len, values))
    cells = [value.rjust(width) + deviation for value, deviation in zip(values, _aligned(deviations), strict=True)]
    heading = one_line(name)
    width = max(len(heading), len(cells[0]))
    return [cell.rjust(width) for cell in (heading, *cells)]


def _aligned(cells: Sequence[str]) -> list[str]:
    width = max(map(len, cells))
    return [cell.ljust(width) for cell in cells]


def _shown_feasibility(row: FrontRow) -> str:
    return {"feasible": "yes", "violating": "no"}.get(row.feasibility, f"maybe {row.probability:.0%}")


def _shown_option(row: FrontRow, name: str) -> str:
    value = row.design[name]
    text = figure(value, 3) if isinstance(value, float) else "-" if value is None else str(value)
    return f"{one_line(name)}={one_line(text)}"


def front_rows(history: History, estimates: Predictions, *, complete: bool) -> Front:
    """The non-dominated designs among those with at least one measurement, ordered by the first objective.

    Under constraints, designs that are more likely feasible than not are compared with each other; one that is unsure
    is shown too if none of these dominates it. Designs that violate a constraint are shown only if there are no others.

    Args:
        history: Its designs (m) are meant.
        estimates: What is thought of them.
        complete: Whether to look only at designs that were measured in every objective.
    """
    mu, sigma, measured = estimates.mu, estimates.sigma, estimates.known
    touched = np.flatnonzero(measured.all(axis=1) if complete else measured.any(axis=1))
    probability = estimates.legal.prod(axis=1)
    losses = mu[:, list(history.optimised)]
    on_front = touched[_feasible_front(losses[touched], probability[touched])]
    designs = history.designs
    rows = []
    for i in on_front[np.argsort(losses[on_front, 0], kind="stable")]:
        values = {o.name: o.value(float(mu[i, j])) for j, o in enumerate(history.objectives)}
        was_measured = dict(zip(history.names, measured[i].tolist(), strict=True))
        deviations = dict(zip(history.names, sigma[i].tolist(), strict=True))
        rows.append(FrontRow(designs[int(i)], values, was_measured, deviations, float(probability[i])))
    return Front(rows)


def _feasible_front(losses: FloatArray, probability: FloatArray) -> BoolArray:
    """Which of the designs (m,) are shown, given their losses (m, k) and probabilities of feasibility (m,)."""
    for enough in (0.5, 1.0 - SURE, -1.0):
        likely = probability > enough
        if not likely.any():
            continue
        best = np.flatnonzero(likely)[non_dominated(losses[likely])]
        shown = np.zeros(len(losses), dtype=bool)
        shown[best] = True
        unsure = np.flatnonzero(~likely & (probability > 1.0 - SURE))
        shown[unsure] = ~strictly_dominated(losses[unsure], losses[best])
        return shown
    return np.zeros(len(losses), dtype=bool)
