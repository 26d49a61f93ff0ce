"""The summary of a study in a few numbers, and its Pareto region in the users' values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo._internal.html import html_block, html_table
from flexibo._internal.text import printable_line
from flexibo.errors import InvalidValueError
from flexibo.history import History
from flexibo.history.events import Told
from flexibo.optimizer.predictor import Predictor
from flexibo.optimizer.stop import Stop, StopKind
from flexibo.results.front import FrontRow
from flexibo.results.handover import HandOver
from flexibo.results.rows import FEASIBILITIES, STANDINGS, Feasibility, Standing
from flexibo.results.trace import known_volume


@dataclass(frozen=True, slots=True)
class ParetoRegion:
    """The corners of the optimistic (k, n) and the pessimistic front (l, n), and the reference point (n,).

    They are in the users' values, in the order of the objectives.
    """

    optimistic: FloatArray
    pessimistic: FloatArray
    reference: FloatArray


def known_reference(predictor: Predictor, history: History) -> FloatArray | None:
    """The reference point (k,) that volumes are measured against, in losses; None while an objective has no value."""
    if not all(map(history.count, range(len(history.quantities)))):
        return None
    return predictor.reference(history)


def region(predictor: Predictor, history: History) -> ParetoRegion:
    """The region between the optimistic and the pessimistic front, as the next question would see it."""
    reference = known_reference(predictor, history)
    if reference is None:
        raise InvalidValueError("There is no Pareto region yet; every objective needs at least one measurement.")
    signs = np.array([history.objectives[j].value(1.0) for j in history.optimised])
    optimistic, pessimistic = predictor.corners(history)
    return ParetoRegion(optimistic * signs, pessimistic * signs, reference * signs)


@dataclass(frozen=True, slots=True)
class Summary:
    """A study in a few numbers.

    Attributes:
        method: The method's name.
        evaluations: Measurements by objective, known results not counted.
        costs: Their costs by objective; 0 for one that is measured with another.
        failures: Failed attempts by objective.
        spent: The total cost, failures included.
        budget: The budget; None means no limit.
        front: The number of confirmed designs of the front.
        promising: The number of designs that are promising and not completely measured.
        feasible: The numbers of confirmed designs that are "feasible", "unsure" and "violating"; None without any
            constraint.
        hypervolume: Of the feasible designs that were measured in every objective.
        region_volume: Of the Pareto region at the last question, 0 if the study stopped because no region is left;
            None if it is unknown.
        reference: The reference point by objective, or None before it is fixed.
        stopped: Why the study stopped, or an empty string.
        stop_kind: The same for programs; None if it has not stopped.
        standings: The numbers of confirmed designs that are "confident", "probable", "possible" and "ruled out".
    """

    method: str
    evaluations: Mapping[str, int]
    costs: Mapping[str, float]
    failures: Mapping[str, int]
    spent: float
    budget: float | None
    front: int
    promising: int
    feasible: Mapping[Feasibility, int] | None
    hypervolume: float
    region_volume: float | None
    reference: Mapping[str, float] | None
    stopped: str
    stop_kind: StopKind | None = None
    standings: Mapping[Standing, int] = field(default_factory=dict)

    def __str__(self) -> str:
        facts = [f"{name:<13}{fact}" for name, fact in self._facts()]
        return "\n".join([*facts, *(f"{name}: {fact}" for name, fact in self._objectives()), *self._stop()])

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        rows = [*self._facts(), *self._objectives(), *(("stopped", self.stopped),) * bool(self.stopped)]
        return html_block(html_table([], rows))

    def _facts(self) -> list[tuple[str, str]]:
        """The numbers of the whole study."""
        budget = "" if self.budget is None else f" of {self.budget:.4g}"
        lines = [
            ("method", self.method),
            ("spent", f"{self.spent:.4g}{budget}"),
            ("front", self._front()),
            ("hypervolume", f"{self.hypervolume:.6g}"),
        ]
        if any(count for standing, count in self.standings.items() if standing != "probable"):
            counts = (f"{count} {standing}" for standing, count in self.standings.items() if count)
            lines.append(("standing", ", ".join(counts)))
        if self.feasible is not None:
            kept, unsure, violated = (self.feasible[mark] for mark in FEASIBILITIES)
            lines.append(("constraints", f"kept by {kept} of these, unsure for {unsure}, violated by {violated}"))
        if self.region_volume is not None:
            lines.append(("region", f"{self.region_volume:.6g}"))
        return lines

    def _objectives(self) -> list[tuple[str, str]]:
        """What was measured of each objective."""
        failed = {name: f", {count} failed" if count else "" for name, count in self.failures.items()}
        return [
            (printable_line(name), f"{number} measured for {self.costs[name]:.4g}{failed[name]}")
            for name, number in self.evaluations.items()
        ]

    def _stop(self) -> list[str]:
        return [f"stopped      {printable_line(self.stopped)}"] if self.stopped else []

    def _front(self) -> str:
        """The number of confirmed designs, and of promising ones, in words."""
        confirmed = "1 confirmed design" if self.front == 1 else f"{self.front or 'no'} confirmed designs"
        return f"{confirmed}, {self.promising} more promising" if self.promising else confirmed


def summarise(
    history: History,
    found: HandOver,
    reference: FloatArray | None,
    *,
    method: str,
    stop: Stop | None,
) -> Summary:
    """A history and what it hands over in a few numbers."""
    kind = None if stop is None else stop.kind
    counts, costs = dict.fromkeys(history.names, 0), dict.fromkeys(history.names, 0.0)
    for event in history.events:
        if isinstance(event, Told):
            asked = history.asked[event.number]
            costs[asked.objective] += event.cost
            for name in () if history.is_partial(asked) else event.values:
                counts[name] += 1
    volumes = [evaluation.volume for evaluation in history.asked if evaluation.volume is not None]
    return Summary(
        method=method,
        evaluations=counts,
        costs=costs,
        failures={name: history.failed_attempts[name] for name in history.names},
        spent=history.spent,
        budget=history.budget,
        front=len(found.front),
        promising=len(found.promising),
        feasible=_feasible(found.front) if np.isfinite(history.limits).any() else None,
        hypervolume=known_volume(history, reference),
        region_volume=0.0 if kind is StopKind.NO_REGION else volumes[-1] if volumes else None,
        reference=None if history.reference is None or reference is None else history.values_of(reference),
        stopped="" if stop is None else stop.reason,
        stop_kind=kind,
        standings={standing: sum(row.standing == standing for row in found.front) for standing in STANDINGS},
    )


def _feasible(front: Sequence[FrontRow]) -> dict[Feasibility, int]:
    marks = [row.feasibility for row in front]
    return {mark: marks.count(mark) for mark in FEASIBILITIES}
