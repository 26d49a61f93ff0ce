"""The parameters of estimators as options of a space."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import loguniform, norm, randint, uniform
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from flexibo import Categorical, Integer, Ordinal, Real, Space
from flexibo.errors import InvalidTypeError, InvalidValueError, UnknownNameError
from flexibo.integrations.scikit_learn._parameters import parameters_of


def test_bounds_lists_and_options_are_those_of_a_space() -> None:
    given = {"C": Real(0.1, 10.0, log=True), "max_iter": (50, 100), "tol": np.array([1e-4, 1e-3])}
    options = parameters_of(given, LogisticRegression()).space.options
    assert options == {"C": Real(0.1, 10.0, log=True), "max_iter": Integer(50, 100), "tol": Ordinal([1e-4, 1e-3])}


def test_distributions_of_scipy_become_bounds() -> None:
    given = {"C": loguniform(1e-2, 1e2), "tol": uniform(1e-4, 1e-3), "max_iter": randint(50, 100)}
    options = parameters_of(given, LogisticRegression()).space.options
    assert options["C"] == Real(1e-2, 1e2, log=True)
    assert options["tol"] == Real(1e-4, 1.1e-3)
    assert options["max_iter"] == Integer(50, 99)


def test_another_distribution_is_refused_with_its_name() -> None:
    with pytest.raises(InvalidTypeError, match=r"'C'.*'norm'"):
        parameters_of({"C": norm()}, LogisticRegression())


def test_values_of_any_kind_come_back_as_they_were_given() -> None:
    values = [None, "sqrt", 0.5]
    found = parameters_of({"max_features": values}, RandomForestClassifier())
    assert found.space.options["max_features"] == Categorical(["None", "sqrt", "0.5"])
    back = [found.of(design)["max_features"] for design in found.space.enumerate()]
    assert back == values
    assert [type(value) for value in back] == [type(None), str, float]


def test_values_that_look_the_same_are_refused() -> None:
    with pytest.raises(InvalidValueError, match=r"'max_features'.*None"):
        parameters_of({"max_features": [None, "None"]}, RandomForestClassifier())


def test_a_step_of_a_pipeline_can_be_searched_with_its_parameters() -> None:
    pipeline = make_pipeline(StandardScaler(), SVC())
    found = parameters_of({"standardscaler": [StandardScaler(), MinMaxScaler()], "svc__C": (0.1, 10.0)}, pipeline)
    design = found.space.design({"standardscaler": "MinMaxScaler()", "svc__C": 2.0})
    applied = found.applied(pipeline, design)
    assert isinstance(applied.steps[0][1], MinMaxScaler)
    assert applied.get_params()["svc__C"] == 2.0
    assert applied.steps[0][1] is not found.of(design)["standardscaler"]  # a copy, as it will be fitted
    assert pipeline.get_params()["svc__C"] == 1.0


def test_parameters_of_a_step_that_is_searched_need_not_be_known() -> None:
    pipeline = make_pipeline(StandardScaler(), SVC())
    parameters_of({"svc": [LogisticRegression()], "svc__l1_ratio": (0.0, 1.0)}, pipeline)
    with pytest.raises(UnknownNameError, match="svc__l1_ratio"):
        parameters_of({"svc__l1_ratio": (0.0, 1.0)}, pipeline)


def test_an_unknown_parameter_is_named_with_a_similar_one() -> None:
    with pytest.raises(UnknownNameError, match=r"'max_dept'.*'max_depth'"):
        parameters_of({"max_dept": (1, 3)}, RandomForestClassifier())
    with pytest.raises(UnknownNameError, match="'max_dept'"):
        parameters_of(Space({"max_dept": (1, 3)}), RandomForestClassifier())


@pytest.mark.parametrize("space", [None, {}, [("C", (1, 2))], "C", 3])
def test_what_is_no_space_is_refused(space: object) -> None:
    with pytest.raises(InvalidTypeError, match="space"):
        parameters_of(space, LogisticRegression())


def test_an_inactive_parameter_is_left_as_it_is() -> None:
    space = Space({"kernel": ["linear", "rbf"], "gamma": (0.1, 1.0)}, conditions={"gamma": {"kernel": ["rbf"]}})
    found = parameters_of(space, SVC())
    assert found.of(space.design({"kernel": "linear", "gamma": None})) == {"kernel": "linear"}
    assert found.applied(SVC(gamma="auto"), space.design({"kernel": "linear", "gamma": None})).gamma == "auto"


def test_functions_are_named_without_addresses() -> None:
    found = parameters_of({"metric": [np.dot, None]}, __import__("sklearn.neighbors").neighbors.KNeighborsClassifier())
    assert not any("0x" in str(value) for value in found.space.options["metric"].values)  # type: ignore[union-attr]


@pytest.mark.parametrize("estimator", [3, None, SVC, object()])
def test_what_is_no_estimator_is_refused(estimator: object) -> None:
    with pytest.raises(InvalidTypeError) as error:
        parameters_of({"C": (0.1, 1.0)}, estimator)
    assert error.value.argument == "estimator"
