"""The benchmark of expensive evaluations watches the paper's method without changing it."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.expensive_share import INITIAL, VARIANTS, VARIED, FixedGaussianProcess, Variant, drawn_pool, run

from flexibo.compare.contestants import study_of
from flexibo.compare.problems.table import find_problem
from flexibo.methods.table import METHODS

ITERATIONS = 4


def test_the_watched_method_asks_what_the_papers_method_asks() -> None:
    problem = find_problem("dnn-stack")
    study = study_of(problem, "flexibo-gp-log", problem.initial_designs(INITIAL, 0), seed=0)
    asked = []
    while len(asked) < ITERATIONS and (question := study.ask()) is not None:
        designs = problem.space.designs([question.design])
        j = [objective.name for objective in problem.objectives].index(question.objective)
        study.tell(question, float(problem.values(designs)[0, j]), cost=float(problem.costs(designs)[0, j]))
        asked += [] if question.initial else [j]
    watched = run(problem, Variant("as it is"), 0, ITERATIONS)
    assert watched.bought == asked
    assert len(watched.divisors) == len(watched.deviations) == ITERATIONS
    assert not [name for name in METHODS if "watched" in name]


def test_free_readings_leave_divisors_of_the_floor_and_of_a_training() -> None:
    free = next(variant for variant in VARIANTS if "free" in variant.title)
    found = run(find_problem("dnn-stack"), free, 0, ITERATIONS)
    assert found.divisors == pytest.approx([np.log(15.7)] * ITERATIONS)


def test_a_pool_of_few_networks_and_deployments_varies_in_these_only() -> None:
    problem = find_problem("dnn-stack")
    variant = Variant("a pool", pool=60, networks=3, few_options=True)
    pool = drawn_pool(problem.space, variant, np.random.default_rng(0))
    assert len(np.unique(pool.keys(problem.objectives[0].depends_on))) == 3
    varying = [name for name in problem.space.names if len({design[name] for design in pool}) > 1]
    assert set(varying) <= {*(problem.objectives[0].depends_on or ()), *VARIED}


def test_a_fixed_process_learns_nothing_from_later_losses() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((INITIAL + 5, 2)), rng.random(INITIAL + 5)
    groups = np.arange(2)
    early = FixedGaussianProcess().fit(X[:INITIAL], y[:INITIAL], groups=groups, rng=rng)
    late = FixedGaussianProcess().fit(X, y, groups=groups, rng=rng)
    assert np.array_equal(late.extend(X, y).predict(X)[0], early.predict(X)[0])


def test_every_variant_is_compared_with_an_earlier_one() -> None:
    titles = [variant.title for variant in VARIANTS]
    assert len(set(titles)) == len(titles)
    assert all(titles.index(variant.against) <= row for row, variant in enumerate(VARIANTS))
