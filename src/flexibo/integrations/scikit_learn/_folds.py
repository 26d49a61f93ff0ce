"""Measures one fold of one design, here or in worker processes, and knows which fold of a design is next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import joblib  # type: ignore[import-untyped]  # it has no annotations
import numpy as np

# Not `cross_validate`: it does not give the weights of fits to scorers, as GridSearchCV does with these parts.
from sklearn.metrics._scorer import _MultimetricScorer
from sklearn.model_selection._validation import _fit_and_score
from sklearn.utils.metaestimators import _safe_split

from flexibo.errors import MachineError
from flexibo.executors import Executor, Measure, Outcome
from flexibo.executors.measure import failure
from flexibo.history import History
from flexibo.history.events import Evaluation
from flexibo.integrations.scikit_learn._parameters import Parameters
from flexibo.integrations.scikit_learn._quantities import Quantities, Quantity
from flexibo.objectives import Objective
from flexibo.space import Design

Fold: TypeAlias = tuple[Any, Any]  # the places of its training and of its test rows
TIMES = ("fit_time", "score_time")
"""What a fold yields beside its scores and quantities; it is not stored with the study."""
OWN = "own:"  # distinguishes their names from those of objectives


@dataclass(frozen=True, slots=True)
class Data:
    """What estimators are fitted on."""

    X: Any
    y: Any
    folds: Sequence[Fold]
    fit_params: Mapping[str, Any]
    score_params: Mapping[str, Any]

    def get(self) -> Data:
        """Itself."""
        return self

    def stored(self, folder: str) -> StoredData:
        """The data in a file, which worker processes map into their memory instead of having a copy each."""
        path = Path(folder) / "data.joblib"
        joblib.dump((self.X, self.y, list(self.folds), dict(self.fit_params), dict(self.score_params)), path)
        return StoredData(str(path))


@dataclass(frozen=True, slots=True)
class StoredData:
    """Data in a file."""

    path: str

    def get(self) -> Data:
        """The data."""
        return _loaded(self.path)


@lru_cache(maxsize=2)
def _loaded(path: str) -> Data:
    X, y, folds, *params = joblib.load(path, mmap_mode="r")
    return Data(_as_array(X), _as_array(y), folds, *({k: _as_array(v) for k, v in one.items()} for one in params))


def _as_array(content: Any) -> Any:
    """A mapped array as a plain one, still mapped: what is fitted shall not have parts of another type."""
    return np.asarray(content) if isinstance(content, np.memmap) else content


@dataclass(frozen=True, slots=True)
class FoldMeasure:
    """Fits a design on the training rows of one fold and measures everything that the fit yields."""

    estimator: Any
    parameters: Parameters
    quantities: Quantities
    data: Data | StoredData
    error_score: float | str
    fold: int = 0

    def of(self, fold: int) -> FoldMeasure:
        """The same of another fold."""
        return replace(self, fold=fold)

    def __call__(self, design: Design) -> dict[str, float]:
        """The scores, the quantities and the times of this fold."""
        try:
            return self._measured(design)
        except Exception as error:
            if self.error_score == "raise":
                # Ends the study; whoever fits raises the cause.
                raise MachineError(f"A fit with {self.parameters.of(design)} failed: {failure(error)}") from error
            if self.error_score != self.error_score or self.quantities.of_fold:  # NaN
                raise
            return {name: float(self.error_score) for name in self.quantities.scorers}

    def _measured(self, design: Design) -> dict[str, float]:
        data = self.data.get()
        train, test = data.folds[self.fold]
        scorers = dict(self.quantities.scorers)
        found = _fit_and_score(
            self.parameters.applied(self.estimator, design),
            data.X,
            data.y,
            scorer=scorers["score"] if self.quantities.is_single else _MultimetricScorer(scorers=scorers),
            train=train,
            test=test,
            verbose=0,
            parameters=None,
            fit_params=dict(data.fit_params),
            score_params=dict(data.score_params),
            return_times=True,
            return_estimator=True,
            error_score="raise",
        )
        times = {name: float(found[name]) for name in TIMES}
        scored = {"score": found["test_scores"]} if self.quantities.is_single else found["test_scores"]
        scores = {name: self._score(float(scored[name])) for name in scorers}
        values: dict[str, float] = {}
        if self.quantities.of_fold:
            fitted = found["estimator"]
            X, y = _safe_split(fitted, data.X, data.y, test, train)
            for name, quantity in self.quantities.of_fold.items():
                value = times["fit_time"] if quantity is None else quantity(fitted, X, y)
                values[name] = self.quantities.told(name, float(value))
        return {**{f"{OWN}{name}": seconds for name, seconds in times.items()}, **scores, **values}

    def _score(self, score: float) -> float:
        is_given = not isinstance(self.error_score, str) and self.error_score == self.error_score
        return float(self.error_score) if score != score and is_given else score


@dataclass(frozen=True, slots=True)
class ApartMeasure:
    """Measures what needs no fit in a fold: a quantity of an unfitted estimator."""

    estimator: Any
    parameters: Parameters
    quantity: Quantity
    data: Data | StoredData

    def __call__(self, design: Design) -> float:
        """The quantity of this design."""
        data = self.data.get()
        return self.quantity(self.parameters.applied(self.estimator, design), data.X, data.y)


@dataclass(slots=True)
class FoldExecutor:
    """Hands each evaluation the fold that its design lacks next to another executor.

    Every design begins with the first fold, so that designs with a few folds are compared on the same rows.
    """

    inner: Executor
    history: History
    n_folds: int
    cost: float | None  # of every fit; None: the time that it took
    times: dict[tuple[Design, int], tuple[float, ...]] = field(default_factory=dict)
    _folds: dict[int, int] = field(default_factory=dict)

    @property
    def measures_elsewhere(self) -> bool:
        """Whether finished evaluations can be fetched without waiting."""
        return bool(getattr(self.inner, "measures_elsewhere", False))

    def has_room(self, objective: Objective) -> bool:
        """As of the other executor."""
        return self.inner.has_room(objective)

    def is_busy(self) -> bool:
        """As of the other executor."""
        return self.inner.is_busy()

    def submit(self, evaluation: Evaluation, objective: Objective, measure: Measure) -> None:
        """Start one evaluation."""
        if isinstance(measure, FoldMeasure):
            p = self.history.purchase_of(evaluation.objective)
            fold = self.n_folds - self.history.readings_missing(p, evaluation.design, self.n_folds)
            self._folds[evaluation.number] = fold
            measure = measure.of(fold)
        self.inner.submit(evaluation, objective, measure)

    def finished(self, wait: float | None = None) -> Iterable[Outcome]:
        """As of the other executor; the times of fits are kept here."""
        for outcome in self.inner.finished(wait):
            yield self._without_times(outcome)

    def close(self) -> None:
        """Close the other executor."""
        self.inner.close()

    def _without_times(self, outcome: Outcome) -> Outcome:
        fold = self._folds.pop(outcome.evaluation.number, None)
        if fold is None:
            return outcome
        values = outcome.values
        if values is not None:
            if all(f"{OWN}{name}" in values for name in TIMES):
                self.times[outcome.evaluation.design, fold] = tuple(values[f"{OWN}{name}"] for name in TIMES)
            values = {name: value for name, value in values.items() if name in outcome.evaluation.yields}
        if self.cost is None or outcome.released:
            return replace(outcome, values=values)
        return replace(outcome, values=values, cost=self.cost, timed=False)


def functions_of(
    estimator: Any, parameters: Parameters, quantities: Quantities, data: Data | StoredData, error_score: float | str
) -> dict[str, Callable[[Design], Any]]:
    """The function of each objective that is asked for."""
    fold = FoldMeasure(estimator, parameters, quantities, data, error_score)
    apart = {name: ApartMeasure(estimator, parameters, one, data) for name, one in quantities.apart.items()}
    return {quantities.fold_names[0]: fold, **apart}
