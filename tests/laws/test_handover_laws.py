"""Laws of what a study hands over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.effort import examples

from flexibo import Objective, Space, Study
from flexibo.history.readings import confirmed_front, readings
from flexibo.pareto import hypervolume

SPACE = Space({"x": list(range(5)), "k": ["p", "q"]})
VALUES = st.integers(0, 6).map(float)
READINGS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from("pq"), st.sampled_from("abc"), VALUES), min_size=1, max_size=25
)
REFERENCE = np.array([7.0, 7.0])


def objectives(*, noisy: bool) -> list[Objective]:
    return [Objective("a", noisy=noisy), Objective("b", "max", options=["x"], noisy=noisy), Objective("c", at_most=4.0)]


def told(study: Study, x: int, k: str, name: str, value: float) -> bool:
    """Add a reading, unless an exact one of the same is there."""
    design = SPACE.designs([{"x": x, "k": k}])[0]
    j = study.history.names.index(name)
    known = study.history.known(j)
    objective = study.objectives[j]
    key = int(SPACE.designs([design]).keys(objective.depends_on)[0])
    if key in known and not objective.noisy:
        return False
    study.add(dict(design), {name: value})
    return True


def volume(study: Study) -> float:
    """The hypervolume of the confirmed front, without designs that break a limit."""
    history = study.history
    read = readings(history)
    places = confirmed_front(history, read)
    places = places[(read.mean[places] <= history.limits).all(axis=1)]
    return hypervolume(read.mean[places][:, list(history.optimised)], REFERENCE)


@given(READINGS)
@settings(max_examples=examples(60), deadline=None)
def test_the_confirmed_front_never_shrinks_when_an_exact_reading_is_added(
    rows: list[tuple[int, str, str, float]],
) -> None:
    study, before = Study(SPACE, objectives(noisy=False), n_initial=1, seed=0), 0.0
    for row in rows:
        told(study, *row)
        after = volume(study)
        assert after >= before
        before = after


@given(READINGS, st.booleans())
@settings(max_examples=examples(60), deadline=None)
def test_the_values_of_a_confirmed_design_are_its_readings(
    rows: list[tuple[int, str, str, float]], noisy: bool
) -> None:
    study, seen = Study(SPACE, objectives(noisy=noisy), n_initial=1, seed=0), dict[Any, list[float]]()
    for x, k, name, value in rows:
        if told(study, x, k, name, value):
            seen.setdefault((x, None if name == "b" else k, name), []).append(value)
    history = study.history
    read = readings(history)
    for i in confirmed_front(history, read).tolist():
        design = history.designs[i]
        for j, objective in enumerate(history.objectives):
            own = seen[design["x"], None if objective.name == "b" else design["k"], objective.name]
            assert objective.value(float(read.mean[i, j])) == pytest.approx(np.mean(own))
            assert read.count[i, j] == len(own)


@given(READINGS)
@settings(max_examples=examples(25), deadline=None)
def test_rows_have_distinct_numbers_and_designs_and_only_what_is_complete_is_confirmed(
    rows: list[tuple[int, str, str, float]],
) -> None:
    study = Study(SPACE, objectives(noisy=False), n_initial=1, seed=0, surrogate="gp-plain")
    for row in rows:
        told(study, *row)
    found = study.hand_over(include="possible")
    every = [*found.front, *found.promising]
    assert len({row.number for row in every}) == len({row.design for row in every}) == len(every)
    assert all(not row.missing for row in found.front)
    assert all(row.missing for row in found.promising)
    assert all(row.values == row.estimates for row in found.front)  # exact readings are what the models say
    few = study.hand_over()
    assert {row.number: row.design for row in (*few.front, *few.promising)}.items() <= {
        row.number: row.design for row in every
    }.items()
