"""What a search measures: scores, and quantities of a fitted estimator beside them, as the objectives of a study.

One fit in one fold yields all scores and all quantities, so they are measured together: nothing of a fold can be had
without its fit. Only what needs no fit is measured apart.
"""

from __future__ import annotations

import math
import pickle
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

import cloudpickle  # type: ignore[import-untyped]  # it has no annotations
import numpy as np
from sklearn.metrics import check_scoring, get_scorer

from flexibo._internal.arrays import FloatArray, plain
from flexibo.errors import InvalidTypeError, InvalidValueError, unknown_name
from flexibo.objectives import Objective

Quantity: TypeAlias = Callable[[Any, Any, Any], float]
"""Takes a fitted estimator and the rows and targets of the test fold, and returns a number; less is better."""

SHORTEST = 0.02  # seconds: predictions are timed until they took this long together, and at least three times
MOST_TIMES = 100
SMALLEST = 1e-12  # what is smaller counts as this much, since it has no logarithm
PREDICTING = ("predict", "transform", "score_samples", "decision_function")


def predict_time(fitted: Any, X: Any, y: Any = None, *, clock: Callable[[], float] = time.perf_counter) -> float:
    """Microseconds per row that a prediction takes: the median of at least three."""
    method = next((name for name in PREDICTING if hasattr(fitted, name)), None)
    if method is None:
        raise InvalidTypeError(f"predict_time needs an estimator that can predict; {type(fitted).__name__} cannot.")
    times: list[float] = []
    while len(times) < 3 or (sum(times) < SHORTEST and len(times) < MOST_TIMES):
        start = clock()
        getattr(fitted, method)(X)
        times.append(clock() - start)
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    return 1e6 * statistics.median(times) / max(1, rows)


def model_size(fitted: Any, X: Any = None, y: Any = None) -> float:
    """The bytes of the pickled estimator."""
    try:
        return float(len(pickle.dumps(fitted, protocol=pickle.HIGHEST_PROTOCOL)))
    except (pickle.PicklingError, AttributeError, TypeError):  # it has functions of a script or lambdas
        return float(len(cloudpickle.dumps(fitted)))


QUANTITIES: Mapping[str, Quantity | None] = MappingProxyType(
    {"fit_time": None, "predict_time": predict_time, "model_size": model_size}
)
"""The quantities that have names; None is the time of the fit, which is taken anyway."""
UNITS: Mapping[Quantity | None, str] = MappingProxyType({None: "s", predict_time: "µs", model_size: "B"})
"""Their units. They are above zero and differ by orders of magnitude, so the study has their decadic logarithms."""


@dataclass(frozen=True, slots=True)
class Quantities:
    """What is measured: scores and quantities of each fold, and what is measured apart from them."""

    scorers: Mapping[str, Any]
    of_fold: Mapping[str, Quantity | None]
    apart: Mapping[str, Quantity]
    limits: Mapping[str, float]
    reference: Mapping[str, float]  # the worst values of interest, in the units of the quantities
    is_single: bool  # whether there is one score, named 'score'

    @property
    def fold_names(self) -> tuple[str, ...]:
        """What one fit yields; the first is the one that is asked for."""
        return (*self.scorers, *self.of_fold)

    @property
    def logarithmic(self) -> frozenset[str]:
        """The quantities of which the study has the logarithms."""
        return frozenset(name for name, quantity in self.of_fold.items() if quantity in UNITS)

    def told(self, name: str, value: float) -> float:
        """A value as the study has it."""
        return math.log10(max(value, SMALLEST)) if name in self.logarithmic else value

    def losses(self, name: str, told: FloatArray) -> FloatArray:
        """Losses of a study as losses in the unit of the quantity."""
        if name not in self.logarithmic:
            return told
        return np.asarray(np.rint(10.0**told) if self.of_fold[name] is model_size else 10.0**told)

    def told_reference(self) -> dict[str, float] | None:
        """The worst values of interest as the study has them."""
        return {name: self.told(name, value) for name, value in self.reference.items()} or None

    def objectives(self, *, cost: float | None) -> list[Objective]:
        """The objectives of the study; `cost` is that of a fold, if it is known beforehand."""
        lead = self.fold_names[0]
        found = []
        for name in (*self.fold_names, *self.apart):
            is_fold, is_score = name not in self.apart, name in self.scorers
            limit = self.told(name, self.limits[name]) if name in self.limits else None
            found.append(
                Objective(
                    name,
                    "max" if is_score else "min",
                    unit=f"log10 {UNITS[self.of_fold[name]]}" if name in self.logarithmic else "",
                    noisy=is_fold,
                    measured_with=lead if is_fold and name != lead else None,
                    cost=cost if name == lead else None,
                    retries=0,  # the same fit fails again
                    at_least=limit if is_score else None,
                    at_most=None if is_score else limit,
                )
            )
        return found


def quantities_of(
    estimator: Any, scoring: object, measure: object, apart: object, limits: object, reference: object = None
) -> Quantities:
    """What a search measures, checked."""
    scorers = scorers_of(estimator, scoring)
    if measure is None and len(scorers) == 1 and not apart:
        measure = ("model_size",)
    of_fold, own = _of_fold(measure), _apart(apart)
    names = [*scorers, *of_fold, *own]
    for name in names:
        if names.count(name) > 1:
            raise InvalidValueError(f"Two scores or quantities are named {name!r}; names must differ.")
    if len(names) < 2:
        raise InvalidValueError(
            f"Only {names[0]!r} is to be measured; a search needs at least two quantities. Name several scores in "
            "scoring, or quantities in measure, such as measure=['predict_time', 'model_size']; for one score alone "
            "use RandomizedSearchCV.",
            argument="measure",
        )
    is_single = scoring is None or isinstance(scoring, str) or callable(scoring)
    bounds, worst = _numbers("limits", limits, names), _numbers("reference", reference, names)
    if worst and (missing := [name for name in names if name not in worst and name not in bounds]):
        raise InvalidValueError(
            f"reference has no value for {', '.join(missing)}; give the worst value of interest of everything that is "
            "optimised.",
            argument="reference",
        )
    found = Quantities(scorers, of_fold, own, bounds, worst, is_single)
    for argument, numbers in (("limits", bounds), ("reference", worst)):
        for name in found.logarithmic & set(numbers):
            if numbers[name] <= 0.0:
                raise InvalidValueError(
                    f"{argument} has {numbers[name]:g} for {name!r}; it must be above zero, as times and sizes are.",
                    argument=argument,
                )
    return found


def scorers_of(estimator: Any, scoring: object) -> dict[str, Any]:
    """The scorers by name; a single one is named 'score', as scikit-learn does."""
    if scoring is None or isinstance(scoring, str) or callable(scoring):
        if isinstance(scoring, str):
            get_known_scorer(scoring)
        return {"score": check_scoring(estimator, scoring)}
    if isinstance(scoring, Mapping):
        given = dict(scoring)
    elif isinstance(scoring, Sequence | set | frozenset):
        given = {name: name for name in scoring}
    else:
        given = {}
    if not given or not all(isinstance(name, str) and name for name in given):
        raise InvalidTypeError(
            f"scoring is {scoring!r}; give a score such as 'accuracy', a list of scores, or a mapping of names to "
            "scores.",
            argument="scoring",
        )
    return {
        name: get_known_scorer(one) if isinstance(one, str) else _callable(name, one) for name, one in given.items()
    }


def get_known_scorer(name: str) -> Any:
    """The scorer of scikit-learn with this name; an error with similar names if there is none."""
    from sklearn.metrics import get_scorer_names

    if name not in get_scorer_names():
        raise unknown_name("score", name, get_scorer_names())
    return get_scorer(name)


def _callable(name: str, given: object) -> Any:
    if not callable(given):
        raise InvalidTypeError(
            f"Score {name!r} is {given!r}; give the name of a score, or a function of an estimator, X and y.",
            argument="scoring",
        )
    return given


def _of_fold(measure: object) -> dict[str, Quantity | None]:
    if isinstance(measure, Mapping):
        given = dict(measure)
    else:
        names = [measure] if isinstance(measure, str) else [] if measure is None else measure
        if not isinstance(names, Sequence | set | frozenset) or not all(isinstance(name, str) for name in names):
            raise InvalidTypeError(
                f"measure is {measure!r}; give names such as ['predict_time', 'model_size'], or a mapping of names to "
                "functions of a fitted estimator, X and y.",
                argument="measure",
            )
        given = {name: name for name in names}
    for name, one in given.items():
        if isinstance(one, str) and one not in QUANTITIES:
            raise unknown_name("quantity in measure:", one, QUANTITIES)
        if not isinstance(one, str):
            _check_function("measure", name, one)
    return {str(name): QUANTITIES[one] if isinstance(one, str) else one for name, one in given.items()}


def _apart(given: object) -> dict[str, Quantity]:
    if not isinstance(given, Mapping | None):
        raise InvalidTypeError(
            f"apart is {given!r}; give a mapping of names to functions of an unfitted estimator, X and y.",
            argument="apart",
        )
    for name, function in (given or {}).items():
        _check_function("apart", name, function)
    return dict(given or {})


def _check_function(argument: str, name: object, function: object) -> None:
    if not isinstance(name, str) or not name or not callable(function):
        raise InvalidTypeError(
            f"{argument} has {function!r} for {name!r}; give a name, and a function of an estimator, X and y.",
            argument=argument,
        )


def _numbers(argument: str, given: object, names: Sequence[str]) -> dict[str, float]:
    """Numbers by the names of what is measured."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(_is_number(value) for value in given.values()):
        raise InvalidTypeError(
            f"{argument} is {given!r}; give numbers by name, such as {{'predict_time': 50.0}}.", argument=argument
        )
    for name in given:
        if name not in names:
            raise unknown_name(f"score or quantity in {argument}:", name, names)
    return {name: float(value) for name, value in given.items()}


def _is_number(value: object) -> bool:
    return isinstance(plain(value), int | float) and not isinstance(value, bool)
