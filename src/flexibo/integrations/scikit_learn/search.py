"""FlexiSearchCV: the parameters of an estimator that trade scores against time and size, by cross-validation."""

from __future__ import annotations

import math
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import joblib  # type: ignore[import-untyped]  # it has no annotations
import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state, indexable
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import check_is_fitted

from flexibo._internal.checks import whole_number
from flexibo._internal.durations import parse_seconds
from flexibo.errors import InvalidTypeError, InvalidValueError, MachineError, SettingsDifferError, unknown_name
from flexibo.executors import Executor, InlineExecutor, ProcessExecutor
from flexibo.integrations.scikit_learn._fingerprint import fingerprint
from flexibo.integrations.scikit_learn._folds import Data, FoldExecutor, functions_of
from flexibo.integrations.scikit_learn._parameters import Parameters, parameters_of
from flexibo.integrations.scikit_learn._quantities import Quantities, quantities_of
from flexibo.integrations.scikit_learn._race import Race
from flexibo.integrations.scikit_learn._results import cv_results, front_of
from flexibo.optimizer.stop import StopKind
from flexibo.study import Study

KNEE = "knee"
DEFAULT_ITERATIONS = 20
FITTED = (
    "best_estimator_",
    "best_index_",
    "best_params_",
    "best_score_",
    "cv_results_",
    "feature_names_in_",
    "front_",
    "front_index_",
    "multimetric_",
    "n_splits_",
    "refit_time_",
    "scorer_",
)


class FlexiSearchCV(BaseSearchCV):  # type: ignore[misc]  # scikit-learn has no types
    """Finds the parameters of an estimator that trade scores against each other, or against time and size.

    It is used like `GridSearchCV`, with several quantities at once, and leaves a front instead of one best design:
    `front_`. Each question is one fit in one fold. The first fold of many parameter settings is measured, the settings
    of the front are measured in all folds, and a setting that is worse than another one on the folds that both have is
    given up.

    Args:
        estimator: An estimator of scikit-learn, also a pipeline.
        space: The parameters to search: a mapping of names, with `step__parameter` in pipelines, to bounds such as
            `(1, 10)`, to a list of any values, to an option of flexibo such as `Real(1e-4, 1.0, log=True)`, or to
            `uniform`, `loguniform` or `randint` of scipy; or a `Space`, in which parameters may depend on others.
        scoring: A score, a list of scores, or a mapping of names to scores, as for `GridSearchCV`; more is better. By
            default the estimator's own `score`.
        measure: What each fit is measured for beside the scores; less is better. Names among "fit_time" (seconds),
            "predict_time" (microseconds per row) and "model_size" (bytes of the pickled estimator), or a mapping of
            names to these or to functions of a fitted estimator, X and y of the test fold. By default "model_size" if
            there is one score, and nothing otherwise.
        apart: Quantities that need no fit in a fold, such as an estimate from the parameters alone: a mapping of names
            to functions of an unfitted estimator, X and y. They are measured on their own, the cheapest first, so
            settings that they rule out are never fitted. This needs a `budget`.
        limits: Bounds by name: a score must be at least, any other quantity at most this. What is limited is not
            optimised.
        reference: The worst values of interest, by name: settings that are worse in any of them are not pursued. By
            default, they are derived from the first settings that are measured.
        refit: Which setting of the front is fitted to all data in the end: the best in the score or quantity of this
            name, "knee" for the best compromise (where the front has none: the best in the first score), a function
            that takes `cv_results_` and returns an index, or False for none. True stands for the only score.
        cv: As for `GridSearchCV`. Every fold is one reading of all scores and quantities.
        n_iter: How many settings could be measured in all folds: `n_iter` times the number of folds is the largest
            number of fits, every fit counts the same, and the search is reproducible. 20 by default.
        budget: The seconds that all fits may take together, also as a text such as "10m". Then what a fit costs is the
            time it takes, and settings that are fitted faster are tried more often. One setting is measured in all
            folds even if that takes longer.
        n_jobs: How many fits run at a time, in worker processes. None is 1 unless joblib's `parallel_config` says
            otherwise, and -1 means all cores.
        random_state: The seed of the search.
        error_score: What becomes of a fit that fails: "raise", or NaN to count the setting as failed, from which the
            search learns. A number replaces the scores of a fit that failed, where only scores are measured.
        storage: A database such as "sqlite:///search.db". A search that is stored there is resumed.
        study_name: The name of the study in the storage.
        method: One of the names that `flexibo.list_methods()` lists.
        verbose: Whether to show a progress bar.

    Attributes:
        front_: The settings measured in all folds that no other such setting dominates; print it. Its rows have the
            `design`, `values` (means over the folds), `spreads`, `best` and `knee`.
        front_index_: The indices of the rows of `front_` in `cv_results_`.
        cv_results_: As of `GridSearchCV`, one entry per setting in the order in which they were begun; masked where
            nothing was measured. Ranks are of settings with all folds. `n_folds` says how many folds were measured.
        best_estimator_: The estimator with the setting that `refit` chose, fitted to all data.
        best_params_: This setting.
        best_index_: Its index in `cv_results_`.
        best_score_: Its mean over the folds in the score or quantity that `refit` names.
        study_: The study; everything that flexibo shows of studies can be shown of it.
        n_splits_: The number of folds.
        scorer_: The scorer, or the scorers by name.
        refit_time_: The seconds of the last fit.

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> space = {"max_depth": (1, 8), "min_samples_leaf": (1, 20)}
    >>> search = FlexiSearchCV(DecisionTreeClassifier(random_state=0), space, n_iter=4, random_state=0).fit(X, y)
    >>> all(row.readings == {"score": 5, "model_size": 5} for row in search.front_)
    True
    >>> search.best_params_ == search.cv_results_["params"][search.best_index_]
    True
    """

    def __init__(
        self,
        estimator: Any,
        space: Any,
        *,
        scoring: Any = None,
        measure: Any = None,
        apart: Any = None,
        limits: Any = None,
        reference: Any = None,
        refit: Any = True,
        cv: Any = None,
        n_iter: int | None = None,
        budget: float | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        error_score: float | str = np.nan,
        storage: Any = None,
        study_name: str = "study",
        method: str = "flexibo",
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.space = space
        self.scoring = scoring
        self.measure = measure
        self.apart = apart
        self.limits = limits
        self.reference = reference
        self.refit = refit
        self.cv = cv
        self.n_iter = n_iter
        self.budget = budget
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.error_score = error_score
        self.storage = storage
        self.study_name = study_name
        self.method = method
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, **params: Any) -> FlexiSearchCV:
        """Search, then fit the setting that `refit` chose to all data.

        Ctrl-C keeps `study_`, `cv_results_` and `front_` and raises KeyboardInterrupt. With a `storage`, the next call
        continues where this one was interrupted or killed.

        Args:
            X: The rows.
            y: The targets, if there are any.
            **params: `groups` for `cv`, and parameters of the estimator's `fit`; with metadata routing, also those of
                the scorers.
        """
        for name in (*FITTED, "_study"):
            self.__dict__.pop(name, None)
        parameters = parameters_of(self.space, self.estimator)
        quantities = quantities_of(self.estimator, self.scoring, self.measure, self.apart, self.limits, self.reference)
        self._check(quantities)
        X, y = indexable(X, y)
        routed = self._get_routed_params_for_fit(params)
        folds = self._folds(X, y, routed.splitter.split)
        data = Data(X, y, folds, routed.estimator.fit, routed.scorer.score)
        race = Race(len(folds), self._max_fits(len(folds)), quantities)
        self._study = self._opened(parameters, quantities, race, data)
        self.scorer_ = quantities.scorers["score"] if quantities.is_single else dict(quantities.scorers)
        self.multimetric_ = not quantities.is_single
        self._search(parameters, quantities, race, data)
        self._choose(quantities)
        if self.refit:
            self._fit_best(X, y, routed.estimator.fit)
        return self

    def score(self, X: Any, y: Any = None, **params: Any) -> float:
        """The score of the best estimator: the one that `refit` names, otherwise the first.

        Args:
            X: The rows.
            y: The targets, if there are any.
            **params: Parameters of the scorer, with metadata routing.
        """
        if not self.refit:
            raise AttributeError("score needs an estimator that was fitted to all data; give another refit than False.")
        check_is_fitted(self)
        given = process_routing(self, "score", **params).scorer["score"] if params else {}
        scorers: dict[str, Any] = self.scorer_ if self.multimetric_ else {"score": self.scorer_}
        scorer = scorers[self.refit] if self.refit in scorers else next(iter(scorers.values()))
        return float(scorer(self.best_estimator_, X, y, **given))

    @property
    def study_(self) -> Study:
        """The study of the last `fit`; a search that was unpickled opens it from its storage."""
        if "_study" not in self.__dict__:
            if not isinstance(self.storage, str) or "cv_results_" not in self.__dict__:
                raise AttributeError(
                    "This search has no study: it was not fitted, or it was pickled without a storage. Give one, such "
                    "as storage='sqlite:///search.db'."
                )
            self._study = Study.load(self.storage, self.study_name)
        return self._study

    def __getstate__(self) -> dict[str, Any]:
        # A study holds locks and connections; a stored one is opened again.
        return {name: value for name, value in super().__getstate__().items() if name != "_study"}

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags  # calls this, since scikit-learn 1.6

        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags.allow_nan = own.input_tags.allow_nan
        tags.target_tags.multi_output = own.target_tags.multi_output
        tags.target_tags.single_output = own.target_tags.single_output
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "best_estimator_" in self.__dict__ or (self.refit is False and "front_" in self.__dict__)

    def _check_refit_for_multimetric(self, scores: Any) -> None:
        """Nothing: `fit` checks `refit`, which may also name what is no score."""

    def _check(self, quantities: Quantities) -> None:
        """Check the arguments that nothing else checks."""
        names = (*quantities.fold_names, *quantities.apart)
        refit = self.refit
        if refit is True and len(quantities.scorers) > 1:
            raise InvalidValueError(
                f"refit is True, and there are several scores; name one of {', '.join(names)}, 'knee', or False.",
                argument="refit",
            )
        if isinstance(refit, str) and refit not in (*names, KNEE):
            raise unknown_name("score or quantity in refit:", refit, (*names, KNEE))
        if not isinstance(refit, bool | str) and not callable(refit):
            raise InvalidTypeError(f"refit is {refit!r}; give a name, a function or False.", argument="refit")
        is_number = isinstance(self.error_score, int | float) and not isinstance(self.error_score, bool)
        if not is_number and self.error_score != "raise":
            raise InvalidValueError(
                f"error_score is {self.error_score!r}; it must be a number, NaN or 'raise'.", argument="error_score"
            )
        if not (self.n_jobs is None or isinstance(self.n_jobs, int | np.integer)) or self.n_jobs == 0:
            raise InvalidValueError(
                f"n_jobs is {self.n_jobs!r}; give a number of processes, -1 for one per core, or None.",
                argument="n_jobs",
            )
        if self.apart and self.budget is None:
            raise InvalidValueError(
                "apart is given without a budget; what is measured apart costs another time than a fit, so give the "
                "seconds that all may take, such as budget='10m'.",
                argument="budget",
            )

    def _folds(self, X: Any, y: Any, params: Mapping[str, Any]) -> list[Any]:
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        folds = list(cv.split(X, y, **params))
        if not folds:
            raise InvalidValueError(f"cv is {self.cv!r}, which gives no fold; give at least one.", argument="cv")
        self.n_splits_ = len(folds)
        return folds

    def _max_fits(self, n_folds: int) -> float:
        if self.n_iter is None:
            return math.inf if self.budget is not None else DEFAULT_ITERATIONS * n_folds
        return whole_number("n_iter", self.n_iter, least=1) * n_folds

    def _seconds(self) -> float | None:
        if not isinstance(self.budget, str):
            return self.budget
        seconds = parse_seconds(self.budget)
        if seconds is None:
            raise InvalidValueError(
                f"budget is {self.budget!r}; give seconds, or a text such as '90s', '10m' or '2h'.", argument="budget"
            )
        return seconds

    def _opened(self, parameters: Parameters, quantities: Quantities, race: Race, data: Data) -> Study:
        seconds = self._seconds()
        origin = {}
        if self.storage is not None:
            made_with = fingerprint(self.estimator, data, quantities.scorers, searched=parameters.space.names)
            origin = {"scikit_learn": made_with, "cost": "fits" if seconds is None else "seconds"}
        seed = None if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        study = Study(
            parameters.space,
            quantities.objectives(cost=1.0 if seconds is None else None),
            method=self.method,
            reference=quantities.told_reference(),
            seed=seed,
            storage=self.storage,
            name=self.study_name,
            stop=race,
            origin=origin,
        )
        if origin:
            _check_same(study.history.origin, origin, self.study_name)
        budget = race.max_fits if seconds is None else seconds
        if study.budget != budget:
            study.budget = budget
        return study

    def _search(self, parameters: Parameters, quantities: Quantities, race: Race, data: Data) -> None:
        """Ask, fit and tell until the budget is spent, and keep what was found, whatever ends it."""
        study = self._study
        with self._executor(data) as (inner, where):
            executor = FoldExecutor(inner, study.history, race.n_folds, 1.0 if self.budget is None else None)
            functions = functions_of(self.estimator, parameters, quantities, where, self.error_score)
            try:
                while True:
                    before = len(study.history.asked)
                    race.searches = True
                    self._run(functions, executor)
                    race.searches = False
                    while race.enqueue(study):
                        self._run(functions, executor)
                    if len(study.history.asked) == before:
                        break
                if race.enqueue_one(study):
                    self._run(functions, executor)
            except MachineError as error:
                raise (error.__cause__ or error) from None
            finally:
                study.close()
                self._keep(parameters, quantities, race, executor)
        self._report_failures(race)
        self._report_broken_limits(quantities)

    def _run(self, functions: Mapping[str, Any], executor: Executor) -> None:
        self._study.run(functions, executor=executor, progress=bool(self.verbose), raise_first=False)
        if self._study.stop_kind in (StopKind.INTERRUPTED, StopKind.TERMINATED):
            raise KeyboardInterrupt("What was measured is in cv_results_ and front_; with a storage, fit continues.")

    @contextmanager
    def _executor(self, data: Data) -> Iterator[tuple[Executor, Any]]:
        """Where to fit, and the data as it is known there."""
        count = joblib.effective_n_jobs(self.n_jobs)
        if count == 1:
            yield InlineExecutor(), data
            return
        threads = {"OMP_NUM_THREADS": str(max(1, joblib.cpu_count() // count))}
        with (
            tempfile.TemporaryDirectory(prefix="flexibo-") as folder,
            ProcessExecutor(count, environment=threads) as executor,
        ):
            yield executor, data.stored(folder)

    def _keep(self, parameters: Parameters, quantities: Quantities, race: Race, executor: FoldExecutor) -> None:
        history = self._study.history
        table = race.table(history)
        self.front_index_ = table.front()
        self.front_ = front_of(table, history, quantities, self.front_index_)
        self.cv_results_ = cv_results(table, history, parameters, quantities, self.front_index_, executor.times)

    def _report_failures(self, race: Race) -> None:
        history = self._study.history
        failed = sum(history.failed_attempts.values())
        reason = next(iter(history.last_reason.values()), "")
        if not len(self.front_):
            why = f"{failed} fits failed, the last with: {reason}" if failed else "the budget is too small; raise it."
            raise InvalidValueError(f"No setting was measured in all {race.n_folds} folds: {why}")
        if failed:
            warnings.warn(
                f"Fits that failed: {failed}. Their settings are not on the front. The last one: {reason}",
                FitFailedWarning,
                stacklevel=3,
            )

    def _report_broken_limits(self, quantities: Quantities) -> None:
        """Warn if no setting keeps all limits: the front then has settings that break some."""
        limits = {name: float(limit) for name, limit in (self.limits or {}).items()}
        broken = [_broken(row.values, limits, quantities) for row in self.front_]
        if limits and all(broken):
            names = sorted(set.intersection(*broken)) or sorted(set.union(*broken))
            asked = ", ".join(f"{name!r} ({limits[name]:g})" for name in names)
            warnings.warn(
                f"No setting with all folds keeps the limits; those of the front break {asked}. Relax them, or raise "
                "n_iter or the budget.",
                UserWarning,
                stacklevel=4,
            )

    def _choose(self, quantities: Quantities) -> None:
        """Set what `refit` says is best."""
        if self.refit is False:
            return
        name = quantities.fold_names[0] if self.refit is True else self.refit
        if callable(name):
            self.best_index_ = _checked_index(name(self.cv_results_), len(self.cv_results_["params"]))
        elif name == KNEE and (knees := [row.number for row in self.front_ if row.knee]):
            self.best_index_ = int(self.front_index_[knees[0] - 1])
        else:
            name = quantities.fold_names[0] if name == KNEE else name
            sign = -1.0 if name in quantities.scorers else 1.0
            best = min(self.front_, key=lambda row: sign * row.values[name])
            self.best_index_ = int(self.front_index_[best.number - 1])
            if self.refit != KNEE:
                self.best_score_ = best.values[name]
        self.best_params_ = self.cv_results_["params"][self.best_index_]

    def _fit_best(self, X: Any, y: Any, params: Mapping[str, Any]) -> None:
        best = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
        start = time.perf_counter()
        if y is None:
            best.fit(X, **params)
        else:
            best.fit(X, y, **params)
        self.refit_time_ = time.perf_counter() - start
        self.best_estimator_ = best
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_


def _broken(values: Mapping[str, float], limits: Mapping[str, float], quantities: Quantities) -> set[str]:
    """The names of the limits that these values break: a score is below its limit, a quantity above."""
    signs = {name: -1.0 if name in quantities.scorers else 1.0 for name in limits}
    return {name for name, limit in limits.items() if signs[name] * values[name] > signs[name] * limit}


def _checked_index(index: object, count: int) -> int:
    if isinstance(index, bool) or not isinstance(index, int | np.integer):
        raise InvalidTypeError(f"refit returned {index!r}; it must return the index of a setting.", argument="refit")
    if not 0 <= index < count:
        raise IndexError(f"refit returned the index {index}; there are {count} settings.")
    return int(index)


def _check_same(stored: Mapping[str, Any], given: Mapping[str, Any], name: str) -> None:
    """Refuse to continue a stored search with another estimator, other data, folds or scores."""
    before = stored.get("scikit_learn")
    if before is None:
        raise SettingsDifferError(f"The stored study {name!r} is not one of FlexiSearchCV.", "Choose another name.")
    differing = [what for what, digest in given["scikit_learn"].items() if before.get(what) != digest]
    if stored.get("cost") != given["cost"]:
        differing.append("unit of costs (n_iter counts fits, budget seconds)")
    if differing:
        raise SettingsDifferError(
            f"The stored study {name!r} was made with another {' and other '.join(differing)}.",
            "Continue it with the same, and with folds that do not change from call to call (a random_state for cv), "
            "or choose another name.",
        )
