from __future__ import annotations

import numpy as np
import pytest

from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.synthetic.steps import PROXY_SHARE, STEPS
from flexibo.compare.problems.table import find_problem


def final_and_early(problem: Problem, step: int) -> tuple[np.ndarray, np.ndarray]:
    designs = problem.typical_designs()[:1000]
    curve = problem.curves["f2"].values(designs)
    return curve[:, -1], curve[:, step - 1]


@pytest.mark.parametrize("name", ["clear-curves", "crossing-curves:function=3"])
def test_after_the_last_step_a_curve_has_the_value_and_the_cost_of_its_objective(name: str) -> None:
    problem = find_problem(name)
    designs, curve = problem.typical_designs()[:50], problem.curves["f2"]
    assert np.allclose(curve.values(designs)[:, -1], problem.values(designs)[:, 1])
    assert np.allclose(curve.costs(designs)[:, -1], problem.costs(designs)[:, 1])
    assert (np.diff(curve.costs(designs), axis=1) > 0).all()
    assert curve.values(designs).shape == (50, STEPS)


def test_early_values_tell_about_the_last_one_where_curves_do_not_cross() -> None:
    final, early = final_and_early(find_problem("clear-curves"), 1)
    assert np.corrcoef(final, early)[0, 1] > 0.5


def test_designs_that_look_good_early_are_bad_in_the_end_where_curves_cross() -> None:
    problem = find_problem("crossing-curves")
    final, early = final_and_early(problem, 1)
    assert np.corrcoef(final, early)[0, 1] < -0.5
    final, late = final_and_early(problem, STEPS - 1)
    assert np.corrcoef(final, late)[0, 1] > 0.99


def test_a_proxy_that_is_noise_tells_nothing_and_costs_a_sixth() -> None:
    problem = find_problem("noise-proxy:function=2")
    (proxy,), designs = problem.proxies, problem.typical_designs()[:4000]
    told = proxy.values(designs)[:, 0]
    assert proxy.of == "f2"
    assert abs(np.corrcoef(told, problem.values(designs)[:, 1])[0, 1]) < 0.05
    assert told.std() > 0.1 * np.ptp(problem.values(designs)[:, 1])
    assert np.allclose(proxy.costs(designs)[:, 0], PROXY_SHARE * problem.costs(designs)[:, 1])
    assert np.array_equal(told, proxy.values(designs)[:, 0])


def test_steps_and_proxies_leave_the_front_as_it_is() -> None:
    plain = find_problem("zdt1:ratio=10:expensive=2:finite")
    stepped = find_problem("crossing-curves")
    assert stepped.best == plain.best
    assert stepped.fingerprint() != plain.fingerprint()
