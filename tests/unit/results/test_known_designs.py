"""What is known of the designs of a history."""

from __future__ import annotations

import numpy as np

from flexibo import Objective, Space, Study
from flexibo.history.readings import readings
from flexibo.results.known_designs import KnownDesigns, failed

LINE = Space({"x": [0, 1, 2, 3, 4, 5]})


def test_values_are_readings_where_there_are_any_and_predictions_elsewhere() -> None:
    study = Study(LINE, [Objective("a", "max", noisy=True), "b"], seed=0, n_initial=1)
    for x, values in ((0, {"a": 1.0, "b": 5.0}), (0, {"a": 3.0}), (3, {"a": 4.0, "b": 2.0}), (5, {"a": 6.0})):
        study.add({"x": x}, values)
    known = KnownDesigns.of(study.predictor, study.history)
    first, last = known.row(0, 7), known.row(2)
    assert (first.number, first.values, first.readings) == (7, {"a": 2.0, "b": 5.0}, {"a": 2, "b": 1})
    assert first.estimates["a"] != 2.0
    assert (last.number, last.values["a"], last.missing) == (0, 6.0, ("b",))
    assert last.values["b"] == last.estimates["b"]
    belief = known.belief()
    assert belief.mu[0].tolist() == [-2.0, 5.0]
    assert belief.known.tolist() == [[True, True], [True, True], [True, False]]


def test_a_design_failed_if_something_that_it_lacks_gave_no_value() -> None:
    study = Study(LINE, ["a", "b"], method="random", seed=0, n_initial=2)
    first = study.ask()
    assert first is not None
    study.fail(first, "no")
    assert failed(study.history, readings(study.history).known).tolist() == [True]
    study.add(dict(first.design), {first.objective: 1.0})
    assert failed(study.history, readings(study.history).known).tolist() == [False]


def test_the_price_is_that_of_what_is_missing_and_unknown_without_any_cost() -> None:
    study = Study(LINE, ["a", "b"], seed=0, n_initial=1)
    study.add({"x": 0}, {"a": 1.0, "b": 5.0}, cost={"a": 3.0, "b": 4.0})
    study.add({"x": 1}, {"a": 1.0})
    known = KnownDesigns.of(study.predictor, study.history)
    places = np.array([0, 1])
    assert sorted(known.missing_prices(places).tolist()) == [[0.0, 0.0], [0.0, 4.0]]
    free = Study(LINE, ["a", "b"], seed=0, n_initial=1)
    free.add({"x": 0}, {"a": 1.0})
    free.add({"x": 1}, {"b": 1.0})
    assert KnownDesigns.of(free.predictor, free.history).price_of_all(places) is None


def test_gains_of_promising_designs_respect_what_is_possible() -> None:
    study = Study(LINE, [Objective("a", "max", upper=7.0), Objective("b", lower=2.0)], seed=0, n_initial=1)
    for x, values in ((0, {"a": 1.0, "b": 5.0}), (3, {"a": 4.0, "b": 2.0}), (5, {"a": 6.0})):
        study.add({"x": x}, values)
    belief = KnownDesigns.of(study.predictor, study.history).belief()
    assert belief.possible(np.array([[-9.0, 1.0]])).tolist() == [[-7.0, 2.0]]
