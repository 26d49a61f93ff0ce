"""What a search leaves behind: `cv_results_` in the manner of scikit-learn, and the front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray, IntArray
from flexibo.history import History
from flexibo.integrations.scikit_learn._folds import TIMES
from flexibo.integrations.scikit_learn._parameters import Parameters
from flexibo.integrations.scikit_learn._quantities import Quantities
from flexibo.integrations.scikit_learn._race import FoldTable
from flexibo.pareto.knee import knee
from flexibo.results.cells import BEST_LEGEND, Column, plain_headings, plain_table, value_columns
from flexibo.results.front import Front, FrontRow
from flexibo.space import Design


def cv_results(
    table: FoldTable,
    history: History,
    parameters: Parameters,
    quantities: Quantities,
    front: IntArray,
    times: Mapping[tuple[Design, int], Sequence[float]],
) -> dict[str, Any]:
    """One row per design, in the order in which they were begun; masked where nothing was measured."""
    n_folds = table.losses.shape[1]
    known = np.array(
        [[times.get((design, fold), (np.nan, np.nan)) for fold in range(n_folds)] for design in table.designs]
    )
    results: dict[str, Any] = {}
    for t, name in enumerate(TIMES):
        results |= _moments(name, known.reshape(-1, n_folds, len(TIMES))[:, :, t])
    params = [parameters.of(design) for design in table.designs]
    for name in parameters.space.names:
        results[f"param_{name}"] = _column([one.get(name) for one in params], [name not in one for one in params])
    results["params"] = params
    for j, objective in enumerate(history.objectives):
        values = table.losses[:, :, j] * (1.0 if objective.direction == "min" else -1.0)
        name = f"test_{objective.name}" if objective.name in quantities.scorers else objective.name
        if objective.noisy:
            results |= {f"split{k}_{name}": np.ma.masked_invalid(values[:, k]) for k in range(n_folds)}
        results |= _moments(name, values)
        results[f"rank_{name}"] = _ranks(table.means[:, j], table.complete)
    results["n_folds"] = table.counts.copy()
    results["on_front"] = np.isin(np.arange(len(params)), front)
    return results


class FoldFront(Front):
    """The settings that were measured in all folds and that no other such setting dominates."""

    __slots__ = ()

    def __str__(self) -> str:
        """A table with one setting per line: means over the folds with their standard deviations."""
        if not self:
            return "No setting was measured in all folds yet."
        columns = []
        for name, heading in plain_headings(self).items():
            best = [name in row.best for row in self] if len(self) > 1 else []
            columns += value_columns(self, name, heading, best=best)
        marks = [BEST_LEGEND] * (len(self) > 1)
        if any(row.knee for row in self):
            columns.append(Column([""], ["knee" if row.knee else "" for row in self], right=False))
            marks.append("knee: the best compromise")
        if any(count > 1 for count in self[0].readings.values()):
            marks.append("± standard deviation over (n) folds")
        return plain_table(self, columns, ["; ".join(marks)] if marks else [])


def front_of(table: FoldTable, history: History, quantities: Quantities, places: IntArray) -> FoldFront:
    """The rows of the front: means of all folds, with their standard deviations."""
    losses = table.means[places]
    scaled = [
        np.log10(losses[:, j]) if history.names[j] in quantities.logarithmic else losses[:, j] for j in table.optimised
    ]
    bulge = knee(np.stack(scaled, axis=1))
    best = losses == losses.min(axis=0, initial=np.inf)
    return FoldFront(
        _front_row(table, history, i, number, best=best[number - 1], is_knee=bulge == number - 1)
        for number, i in enumerate(places.tolist(), 1)
    )


def _front_row(table: FoldTable, history: History, i: int, number: int, *, best: FloatArray, is_knee: bool) -> FrontRow:
    n_folds, names, objectives = table.losses.shape[1], history.names, history.objectives
    values = {o.name: o.value(float(loss)) for o, loss in zip(objectives, table.means[i], strict=True)}
    spread = table.losses[i].std(axis=0, ddof=1) if n_folds > 1 else np.full(len(names), np.nan)
    noisy = {o.name: o.noisy for o in objectives}
    spreads = {n: float(s) if noisy[n] and n_folds > 1 else None for n, s in zip(names, spread, strict=True)}
    return FrontRow(
        number=number,
        design=table.designs[i],
        values=values,
        readings={name: n_folds if noisy[name] else 1 for name in names},
        spreads=spreads,
        estimates=values,
        deviations={name: 0.0 if s is None else s / n_folds**0.5 for name, s in spreads.items()},
        best=tuple(names[j] for j in history.optimised if best[j]),
        knee=is_knee,
    )


def _moments(name: str, values: FloatArray) -> dict[str, Any]:
    """The mean and the standard deviation (m,) over the folds (m, folds) that were measured."""
    masked = np.ma.masked_invalid(values)
    return {f"mean_{name}": np.ma.asarray(masked.mean(axis=1)), f"std_{name}": np.ma.asarray(masked.std(axis=1))}


def _ranks(losses: FloatArray, complete: Any) -> Any:
    """The ranks (m,) of designs with all folds, 1 for the least loss; masked where folds are missing."""
    own = losses[complete]
    ranks = np.ma.MaskedArray(np.zeros(len(losses), dtype=np.int32), mask=True)
    ranks[complete] = 1 + np.array([(own < loss).sum() for loss in own], dtype=np.int32)
    return ranks


def _column(values: Sequence[Any], mask: Sequence[bool]) -> Any:
    """One parameter of all designs, as scikit-learn has it: numbers and booleans as such, anything else as objects."""
    kinds = {type(value) for value, is_absent in zip(values, mask, strict=True) if not is_absent}
    plain = kinds in ({bool}, {int}, {float}, {int, float})
    column = np.ma.MaskedArray(np.empty(len(values), dtype=np.result_type(*kinds) if plain else object), mask=True)
    for i, (value, is_absent) in enumerate(zip(values, mask, strict=True)):
        if not is_absent:
            column[i] = value
    return column
