"""FlexiSearchCV as users of scikit-learn use it."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from flexibo import Objective, Space, Study
from flexibo.errors import InvalidTypeError, InvalidValueError, SettingsDifferError, UnknownNameError
from flexibo.executors import InlineExecutor
from flexibo.history.events import Told
from flexibo.integrations.scikit_learn import FlexiSearchCV

X, Y = load_iris(return_X_y=True)
SPACE = {"max_depth": (1, 6), "min_samples_leaf": (1, 30)}


def tree_search(**settings: Any) -> FlexiSearchCV:
    chosen = {"n_iter": 4, "cv": 3, "random_state": 0, "method": "random"} | settings
    return FlexiSearchCV(DecisionTreeClassifier(random_state=0), chosen.pop("space", SPACE), **chosen)


@pytest.fixture(scope="module")
def fitted() -> FlexiSearchCV:
    return tree_search(n_iter=6, method="flexibo").fit(X, Y)


def test_the_front_has_all_folds_and_is_not_dominated_by_any_setting_with_all_folds(fitted: FlexiSearchCV) -> None:
    results = fitted.cv_results_
    complete = results["n_folds"] == 3
    losses = np.stack([-results["mean_test_score"], results["mean_model_size"]], axis=1)
    assert len(fitted.front_) == results["on_front"].sum() >= 2
    for row, index in zip(fitted.front_, fitted.front_index_, strict=True):
        assert complete[index]
        assert row.readings == {"score": 3, "model_size": 3}
        assert row.values["score"] == pytest.approx(results["mean_test_score"][index])
        assert dict(row.design) == results["params"][index]
        better = (losses[complete] <= losses[index]).all(axis=1) & (losses[complete] < losses[index]).any(axis=1)
        assert not better.any()


def test_no_more_fits_are_made_than_a_randomised_search_would_make(fitted: FlexiSearchCV) -> None:
    assert fitted.study_.spent == fitted.cv_results_["n_folds"].sum() <= 6 * 3
    assert len(fitted.cv_results_["params"]) > 6  # as bad settings are given up after a fold


def test_the_results_are_those_of_scikit_learn_masked_where_nothing_was_measured(fitted: FlexiSearchCV) -> None:
    results, count = fitted.cv_results_, len(fitted.cv_results_["params"])
    folds = np.ma.stack([results[f"split{k}_test_score"] for k in range(3)], axis=1)
    assert (folds.count(axis=1) == results["n_folds"]).all()
    np.testing.assert_allclose(results["mean_test_score"], folds.mean(axis=1))
    np.testing.assert_allclose(results["std_test_score"], folds.std(axis=1))
    assert (results["rank_test_score"].mask == (results["n_folds"] < 3)).all()
    assert results["rank_test_score"].min() == results["rank_model_size"].min() == 1
    assert results["rank_test_score"][fitted.best_index_] == 1
    for name in ("fit_time", "score_time", "model_size"):
        assert (results[f"mean_{name}"] >= 0).all()
    assert results["param_max_depth"].dtype.kind == "i"
    assert all(len(column) == count for column in results.values())


def test_the_scores_are_those_of_cross_validation(fitted: FlexiSearchCV) -> None:
    scores = cross_val_score(DecisionTreeClassifier(random_state=0, **fitted.best_params_), X, Y, cv=3)
    assert fitted.best_score_ == pytest.approx(scores.mean())
    assert fitted.best_score_ == max(row.values["score"] for row in fitted.front_)


def test_the_best_estimator_is_fitted_to_all_data_and_answers_for_the_search(fitted: FlexiSearchCV) -> None:
    best = DecisionTreeClassifier(random_state=0, **fitted.best_params_).fit(X, Y)
    np.testing.assert_array_equal(fitted.predict(X), best.predict(X))
    np.testing.assert_array_equal(fitted.predict_proba(X), best.predict_proba(X))
    assert fitted.score(X, Y) == pytest.approx(best.score(X, Y))
    assert fitted.n_features_in_ == 4
    assert fitted.classes_.tolist() == [0, 1, 2]
    assert not hasattr(fitted, "transform")
    assert fitted.refit_time_ >= 0
    assert fitted.n_splits_ == 3


def test_the_front_is_printed_as_a_table(fitted: FlexiSearchCV) -> None:
    table = str(fitted.front_)
    assert all(word in table for word in ("score", "model_size", "max_depth=", "(3)"))
    assert len(table.splitlines()) >= len(fitted.front_) + 2


def test_the_same_random_state_gives_the_same_search(fitted: FlexiSearchCV) -> None:
    again = clone(fitted).fit(X, Y)
    assert again.cv_results_["params"] == fitted.cv_results_["params"]
    assert again.best_params_ == fitted.best_params_
    other = clone(fitted).set_params(random_state=1).fit(X, Y)
    assert other.cv_results_["params"] != fitted.cv_results_["params"]


def test_a_clone_has_the_parameters_and_no_results(fitted: FlexiSearchCV) -> None:
    copy = clone(fitted)
    assert copy.get_params()["n_iter"] == 6
    assert copy.get_params()["estimator__random_state"] == 0
    with pytest.raises(NotFittedError):
        copy.predict(X)
    with pytest.raises(AttributeError, match="study"):
        _ = copy.study_


@pytest.mark.parametrize("refit", ["score", "model_size", "knee"])
def test_the_best_setting_is_the_one_that_refit_names(refit: str) -> None:
    search = tree_search(refit=refit, n_iter=6).fit(X, Y)
    if refit == "knee":
        knees = [row for row in search.front_ if row.knee] or list(search.front_)
        assert search.best_index_ == search.front_index_[knees[0].number - 1]
        assert not hasattr(search, "best_score_")
    else:
        values = [row.values[refit] for row in search.front_]
        assert search.best_score_ == (max(values) if refit == "score" else min(values))
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]
    assert 0 < search.score(X, Y) <= 1


def test_refit_may_be_a_function_of_the_results_or_false() -> None:
    search = tree_search(refit=lambda results: int(np.argmin(results["mean_model_size"]))).fit(X, Y)
    assert search.best_index_ == np.argmin(search.cv_results_["mean_model_size"])
    for wrong, kind in ((lambda results: 10**6, IndexError), (lambda results: "best", TypeError)):
        with pytest.raises(kind):
            tree_search(refit=wrong, n_iter=1).fit(X, Y)
    search = tree_search(refit=False).fit(X, Y)
    assert len(search.front_) >= 1
    for name in ("predict", "best_estimator_", "best_params_", "score_samples"):
        assert not hasattr(search, name)
    with pytest.raises(AttributeError, match="refit"):
        search.score(X, Y)


def test_several_scores_and_quantities_are_traded_at_once() -> None:
    scoring = {"error": "neg_log_loss", "accuracy": "accuracy"}
    measure = {"leaves": lambda fitted, X, y: fitted.get_n_leaves(), "seconds": "fit_time"}
    search = tree_search(scoring=scoring, measure=measure, refit="leaves").fit(X, Y)
    assert set(search.front_[0].values) == {"error", "accuracy", "leaves", "seconds"}
    assert search.best_score_ == min(row.values["leaves"] for row in search.front_)
    assert set(search.scorer_) == {"error", "accuracy"}
    assert search.score(X, Y) < 0  # the first score
    assert (search.cv_results_["mean_seconds"] > 0).all()


def test_limits_are_kept() -> None:
    search = tree_search(limits={"model_size": 1700.0}, n_iter=6).fit(X, Y)
    assert len(search.front_) == 1
    assert search.front_[0].values["model_size"] <= 1700.0
    assert (search.cv_results_["mean_model_size"] > 1700.0).any()


def test_limits_that_no_setting_keeps_are_named() -> None:
    with pytest.warns(UserWarning, match=r"'score' \(1\.5\)"):
        search = tree_search(
            measure=["model_size", "fit_time"], limits={"score": 1.5, "model_size": 1e9}, n_iter=2
        ).fit(X, Y)
    assert search.best_params_ in search.cv_results_["params"]


def test_what_is_worse_than_the_reference_is_not_pursued() -> None:
    search = tree_search(reference={"score": 0.8, "model_size": 1e5}, n_iter=6).fit(X, Y)
    results = search.cv_results_
    assert search.study_.reference == {"score": 0.8, "model_size": pytest.approx(5.0)}
    assert (results["n_folds"][results["mean_test_score"] < 0.7] == 1).all()
    assert all(row.values["score"] >= 0.7 for row in search.front_)


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every measurement takes 10 ms, however busy the machine is."""
    ticks = count()
    clock = partial(InlineExecutor, clock=lambda: next(ticks) * 0.01)
    monkeypatch.setattr("flexibo.integrations.scikit_learn.search.InlineExecutor", clock)


@pytest.mark.usefixtures("steady")
def test_what_needs_no_fit_is_measured_apart() -> None:
    apart = {"depth": lambda estimator, X, y: estimator.max_depth}
    search = tree_search(measure=(), apart=apart, n_iter=None, budget=0.3).fit(X, Y)
    results = search.cv_results_
    known = ~results["mean_depth"].mask
    assert results["mean_depth"][known].tolist() == results["param_max_depth"][known].tolist()
    assert "split0_depth" not in results
    assert all(row.readings == {"score": 3, "depth": 1} for row in search.front_)
    assert 0 < search.study_.spent <= 0.3 + 1e-9


@pytest.mark.usefixtures("steady")
def test_a_budget_is_in_seconds_and_may_be_a_text() -> None:
    search = tree_search(n_iter=None, budget="0.3s").fit(X, Y)
    assert search.study_.budget == 0.3
    assert 0.2 < search.study_.spent <= 0.3 + 1e-9
    assert search.cv_results_["n_folds"].sum() == round(search.study_.spent / 0.01)
    both = tree_search(n_iter=2, budget=60).fit(X, Y)
    assert both.cv_results_["n_folds"].sum() <= 2 * 3


@pytest.mark.usefixtures("steady")
def test_one_setting_has_all_folds_even_if_the_budget_is_too_small() -> None:
    search = tree_search(n_iter=None, budget=1e-6).fit(X, Y)
    assert search.cv_results_["n_folds"].tolist() == [3]
    assert search.study_.spent == pytest.approx(0.03)


def test_one_iteration_is_one_setting_in_all_folds() -> None:
    search = tree_search(n_iter=1).fit(X, Y)
    assert search.cv_results_["n_folds"].tolist() == [3]


def test_a_small_space_is_searched_completely() -> None:
    search = tree_search(space={"max_depth": [1, 2]}, n_iter=10).fit(X, Y)
    assert sorted(params["max_depth"] for params in search.cv_results_["params"]) == [1, 2]


def test_pipelines_sparse_rows_frames_and_transformers_work() -> None:
    pandas = pytest.importorskip("pandas")
    pipeline = make_pipeline(StandardScaler(with_mean=False), LogisticRegression(max_iter=5000))
    space = {"logisticregression__C": (0.01, 10.0), "standardscaler": [StandardScaler(with_mean=False), "passthrough"]}
    search = FlexiSearchCV(pipeline, space, n_iter=2, cv=3, random_state=0)
    assert search.fit(sparse.csr_matrix(X), Y).score(sparse.csr_matrix(X), Y) > 0.5
    frame = pandas.DataFrame(X, columns=list("abcd"))
    assert search.fit(frame, pandas.Series(Y)).feature_names_in_.tolist() == list("abcd")
    components = FlexiSearchCV(PCA(), {"n_components": (1, 4)}, n_iter=2, cv=3, random_state=0).fit(X)
    assert components.transform(X).shape[0] == len(X)
    assert components.inverse_transform(components.transform(X)).shape == X.shape


def test_a_space_with_conditions_leaves_inactive_parameters_out() -> None:
    space = Space(
        {"criterion": ["gini", "entropy"], "max_depth": (1, 5)}, conditions={"max_depth": {"criterion": ["gini"]}}
    )
    search = tree_search(space=space).fit(X, Y)
    inactive = [params for params in search.cv_results_["params"] if params["criterion"] == "entropy"]
    assert inactive
    assert not any("max_depth" in params for params in inactive)
    assert search.cv_results_["param_max_depth"].mask.sum() == len(inactive)


def test_groups_reach_the_folds_and_weights_the_fits() -> None:
    groups = np.arange(len(X)) % 3
    search = tree_search(cv=GroupKFold(3)).fit(X, Y, groups=groups)
    assert search.n_splits_ == 3
    weights = (Y == 0).astype(float)  # only one class counts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weighted = tree_search().fit(X, Y, sample_weight=weights)
    assert set(weighted.predict(X)) == {0}


def test_weights_reach_fits_and_scores_as_in_scikit_learns_own_search() -> None:
    tree, grid, weights = DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2]}, 1.0 + 9.0 * (Y == 1)
    theirs = GridSearchCV(tree, grid, cv=3).fit(X, Y, sample_weight=weights).cv_results_
    ours = tree_search(space=grid, n_iter=4).fit(X, Y, sample_weight=weights).cv_results_
    for params, score in zip(theirs["params"], theirs["mean_test_score"], strict=True):
        assert ours["mean_test_score"][ours["params"].index(params)] == pytest.approx(score)


def test_metadata_is_routed() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = DecisionTreeClassifier(random_state=0).set_fit_request(sample_weight="weights")
        search = FlexiSearchCV(estimator, SPACE, n_iter=1, cv=GroupKFold(3), random_state=0)
        search.fit(X, Y, weights=(Y == 0).astype(float), groups=np.arange(len(X)) % 3)
        assert set(search.predict(X)) == {0}
        with pytest.raises(TypeError, match="other"):
            search.fit(X, Y, other=Y)


class Picky(ClassifierMixin, BaseEstimator):
    """Fails for some of its settings, or on some rows."""

    def __init__(self, size: int = 1, fails_from: int = 3, bad_row: float | None = None) -> None:
        self.size, self.fails_from, self.bad_row = size, fails_from, bad_row

    def fit(self, X: Any, y: Any) -> Picky:
        if self.size >= self.fails_from:
            raise MemoryError(f"size {self.size}")
        if self.bad_row is not None and (X[:, 0] == self.bad_row).any():
            raise ArithmeticError("bad row")
        self.classes_, self.padding_ = np.unique(y), bytes(self.size * 100)
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[-1])


def test_settings_that_fail_are_no_obstacle() -> None:
    search = FlexiSearchCV(Picky(), {"size": [1, 2, 3, 4]}, n_iter=10, cv=2, random_state=0)
    with pytest.warns(FitFailedWarning, match="MemoryError"):
        search.fit(X, Y)
    results = search.cv_results_
    failed = [params["size"] >= 3 for params in results["params"]]
    assert results["mean_test_score"].mask.tolist() == failed
    assert results["rank_test_score"].mask.sum() >= sum(failed)
    assert search.best_params_["size"] < 3


def test_an_error_is_raised_if_wanted_or_if_nothing_can_be_fitted() -> None:
    search = FlexiSearchCV(Picky(fails_from=1), {"size": [1, 2, 3, 4]}, n_iter=10, cv=2, random_state=0)
    with pytest.raises(InvalidValueError, match="MemoryError"):
        search.fit(X, Y)
    assert len(search.cv_results_["params"]) >= 1
    with pytest.raises(NotFittedError):
        search.predict(X)
    with pytest.raises(MemoryError, match="size"):
        search.set_params(error_score="raise").fit(X, Y)


def test_a_number_replaces_scores_of_failed_fits_where_there_are_only_scores() -> None:
    scoring = {"a": "accuracy", "b": "balanced_accuracy"}
    search = FlexiSearchCV(
        Picky(), {"size": [1, 4]}, scoring=scoring, refit="a", n_iter=4, cv=2, random_state=0, error_score=-1.0
    ).fit(X, Y)
    by_size = dict(
        zip([p["size"] for p in search.cv_results_["params"]], search.cv_results_["mean_test_a"], strict=True)
    )
    assert by_size[4] == -1.0
    assert by_size[1] > 0


def test_a_fold_that_always_fails_is_named() -> None:
    bad = float(np.max(X[:, 0]))
    search = FlexiSearchCV(Picky(bad_row=bad), {"size": [1, 2]}, n_iter=4, cv=KFold(3, shuffle=True, random_state=0))
    with pytest.raises(InvalidValueError, match=r"3 folds.*bad row"):
        search.fit(X, Y)


def test_folds_of_one_class_and_scores_that_are_no_numbers_are_failures() -> None:
    with pytest.raises(InvalidValueError, match="folds"):  # the rows are sorted by class
        FlexiSearchCV(LogisticRegression(), {"C": (0.1, 1.0)}, n_iter=2, cv=KFold(3), scoring="roc_auc_ovr").fit(
            X[:100], Y[:100]
        )
    with pytest.raises(InvalidValueError, match="nan"):
        tree_search(scoring=lambda estimator, X, y: float("nan")).fit(X, Y)
    with pytest.raises(InvalidValueError, match="dict"):
        tree_search(scoring=lambda estimator, X, y: {"a": 1.0}).fit(X, Y)


@pytest.mark.parametrize(
    ("wrong", "kind", "words"),
    [
        ({"space": {"depth": (1, 3)}}, UnknownNameError, "depth"),
        ({"scoring": "acuracy"}, UnknownNameError, "accuracy"),
        ({"scoring": ["accuracy", "neg_log_loss"]}, InvalidValueError, "refit.*accuracy"),
        ({"refit": "f1"}, UnknownNameError, "score"),
        ({"refit": 3}, InvalidTypeError, "refit"),
        ({"n_iter": 0}, InvalidValueError, "n_iter"),
        ({"n_iter": 1.5}, InvalidValueError, "n_iter"),
        ({"budget": "soon"}, InvalidValueError, "soon"),
        ({"budget": -1}, InvalidValueError, "-1"),
        ({"error_score": "warn"}, InvalidValueError, "warn"),
        ({"apart": {"a": len}}, InvalidValueError, "budget"),
        ({"measure": []}, InvalidValueError, "measure"),
        ({"method": "flexbo"}, UnknownNameError, "flexibo"),
        ({"cv": 1}, ValueError, "k-fold"),
        ({"n_jobs": "all"}, InvalidValueError, "n_jobs.*all"),
        ({"n_jobs": 0}, InvalidValueError, "n_jobs"),
        ({"cv": []}, InvalidValueError, "cv"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_fitted(
    wrong: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        tree_search(**wrong).fit(X, Y)


@pytest.mark.slow
def test_worker_processes_find_what_this_process_finds() -> None:
    search = tree_search(n_jobs=2, space={"max_depth": [1, 2, 3]}, n_iter=6, scoring=lambda e, X, y: e.score(X, y))
    search.fit(X, Y)
    alone = clone(search).set_params(n_jobs=1).fit(X, Y)
    assert [row.values["score"] for row in search.front_] == [row.values["score"] for row in alone.front_]
    sizes = [[row.values["model_size"] for row in one.front_] for one in (search, alone)]
    np.testing.assert_allclose(*sizes, rtol=0.05)  # a pickle depends a little on which strings are the same object
    with pytest.raises(Exception, match="MemoryError"):
        FlexiSearchCV(Picky(fails_from=1), {"size": [1, 2]}, cv=2, n_jobs=2, error_score="raise").fit(X, Y)


def test_a_search_can_be_searched_by_cross_validation() -> None:
    scores = cross_val_score(tree_search(n_iter=2), X, Y, cv=2)
    assert (scores > 0.5).all()


def test_a_fitted_search_is_pickled_without_its_study_unless_that_is_stored(
    fitted: FlexiSearchCV, tmp_path: Path
) -> None:
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict(X), fitted.predict(X))
    assert [dict(row.design) for row in copy.front_] == [dict(row.design) for row in fitted.front_]
    assert str(copy.front_) == str(fitted.front_)
    with pytest.raises(AttributeError, match="storage"):
        _ = copy.study_
    stored = tree_search(storage=f"sqlite:///{tmp_path}/search.db", n_iter=1).fit(X, Y)
    assert pickle.loads(pickle.dumps(stored)).study_.spent == stored.study_.spent


class Counted(DecisionTreeClassifier):
    """Counts its fits, and may be interrupted."""

    fits = 0
    interrupted_at = -1

    def fit(self, X: Any, y: Any) -> Counted:
        if Counted.fits == Counted.interrupted_at:
            raise KeyboardInterrupt
        Counted.fits += 1
        return super().fit(X, y)


@pytest.fixture
def counted() -> Iterator[Callable[..., FlexiSearchCV]]:
    Counted.fits, Counted.interrupted_at = 0, -1

    def make(**settings: Any) -> FlexiSearchCV:
        chosen = {"n_iter": 4, "cv": 3, "random_state": 0, "method": "random"} | settings
        return FlexiSearchCV(Counted(random_state=0), SPACE, **chosen)

    yield make
    Counted.interrupted_at = -1


def test_an_interrupted_search_keeps_what_it_has_and_can_be_resumed(
    counted: Callable[..., FlexiSearchCV], tmp_path: Path
) -> None:
    search = counted(storage=f"sqlite:///{tmp_path}/search.db")
    Counted.fits, Counted.interrupted_at = 0, 5
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert search.cv_results_["n_folds"].sum() == 5
    assert search.study_.spent == 5
    assert not hasattr(search, "best_estimator_")
    with pytest.raises(NotFittedError):
        search.predict(X)
    Counted.interrupted_at = -1
    before = search.cv_results_["params"]
    search.fit(X, Y)
    assert search.cv_results_["params"][: len(before)] == before
    assert (search.cv_results_["n_folds"] > 0).all()
    assert Counted.fits == search.study_.spent + 1  # with the last one to all data
    assert 8 <= search.study_.spent <= 12
    assert search.cv_results_["mean_fit_time"].mask.any()  # of the first process


KILLED = """
import sys
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier
from flexibo.integrations.scikit_learn import FlexiSearchCV

class Counted(DecisionTreeClassifier):
    def fit(self, X, y):
        print("fit", flush=True)
        return super().fit(X, y)

X, Y = load_iris(return_X_y=True)
space = {"max_depth": (1, 6), "min_samples_leaf": (1, 30)}
settings = {"n_iter": 4, "cv": 3, "random_state": 0, "method": "random", "storage": sys.argv[1]}
FlexiSearchCV(Counted(random_state=0), space, **settings).fit(X, Y)
"""


@pytest.mark.slow
def test_a_search_that_was_killed_is_resumed(counted: Callable[..., FlexiSearchCV], tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/search.db"
    with subprocess.Popen([sys.executable, "-c", KILLED, url], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(5):
            assert process.stdout.readline() == "fit\n"
        process.kill()
    known = [event for event in Study.load(url).events if isinstance(event, Told)]
    assert len(known) >= 4
    search = counted(storage=url).fit(X, Y)
    told = [event for event in search.study_.events if isinstance(event, Told)]
    assert [(one.number, one.values) for one in told[: len(known)]] == [(one.number, one.values) for one in known]
    assert Counted.fits == len(told) - len(known) + 1  # with the last one to all data
    assert search.study_.spent <= 12
    assert all(row.readings == {"score": 3, "model_size": 3} for row in search.front_)


def test_a_finished_search_that_is_stored_is_not_repeated_and_can_be_extended(
    counted: Callable[..., FlexiSearchCV], tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/search.db"
    first = counted(storage=url).fit(X, Y)
    before = Counted.fits
    again = counted(storage=url).fit(X, Y)
    assert Counted.fits == before + 1
    assert again.best_params_ == first.best_params_
    more = counted(storage=url, n_iter=6).fit(X, Y)
    assert first.study_.spent < more.study_.spent <= 18


def test_a_stored_search_is_not_continued_with_anything_else(
    counted: Callable[..., FlexiSearchCV], tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/search.db"
    counted(storage=url, n_iter=1).fit(X, Y)
    with pytest.raises(SettingsDifferError, match="data"):
        counted(storage=url, n_iter=9).fit(X + 1, Y)
    with pytest.raises(SettingsDifferError, match="folds"):
        counted(storage=url, n_iter=1, cv=4).fit(X, Y)
    with pytest.raises(SettingsDifferError, match="estimator"):
        counted(storage=url, n_iter=1).set_params(estimator__criterion="entropy").fit(X, Y)
    with pytest.raises(SettingsDifferError, match="cost"):
        counted(storage=url, n_iter=None, budget=3).fit(X, Y)
    assert Study.load(url).budget == 3  # nothing was changed by what was refused
    Study(SPACE, [Objective("a"), Objective("b")], storage=url, name="own")
    with pytest.raises(SettingsDifferError):
        counted(storage=url, study_name="own", n_iter=1).fit(X, Y)


def test_a_failed_fit_leaves_nothing_of_the_fit_before(counted: Callable[..., FlexiSearchCV]) -> None:
    search = counted(n_iter=1).fit(X, Y)
    Counted.fits, Counted.interrupted_at = 0, 1
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert not hasattr(search, "best_params_")


def test_a_search_runs_in_a_thread() -> None:
    search, found = tree_search(n_iter=1), []
    thread = threading.Thread(target=lambda: found.append(search.fit(X, Y).best_score_))
    thread.start()
    thread.join(60)
    assert len(found) == 1


def few_fits(estimator: Any, space: dict[str, Any]) -> FlexiSearchCV:
    """A search for the checks, which expect the errors of the estimator itself, as of the searches of scikit-learn."""
    return FlexiSearchCV(estimator, space, n_iter=1, cv=2, random_state=0, error_score="raise")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([few_fits(LogisticRegression(max_iter=50), {"C": (0.1, 10.0)})])
def test_the_checks_of_scikit_learn_pass(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.long  # the search does the same whatever it predicts
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([few_fits(Ridge(), {"alpha": (0.1, 10.0)})])
def test_the_checks_of_scikit_learn_pass_for_numbers(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
