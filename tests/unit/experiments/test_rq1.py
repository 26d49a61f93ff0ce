from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.experiments.made_repeats import line_about, made_up, twice

from flexibo.experiments import Repeat, rq1


@pytest.mark.parametrize(("log", "verdict"), [(0.1, "Agrees"), (0.3, "Does not agree")])
def test_the_verdict_on_cost_functions_follows_the_numbers(log: float, verdict: str) -> None:
    repeats = twice(rq1.LOG, [1, log]) + twice(rq1.RATIO, [1, 0.2]) + twice(rq1.CONSTANT, [1, 0.4])
    claims = [c for c in rq1.evaluate(repeats, {}).claims if "lower hypervolume error" in c.paper]
    assert [c.verdict for c in claims] == [verdict, verdict]
    assert f"{log:.3g} against 0.2 of" in claims[0].line
    assert rq1.RATIO in claims[0].line


def test_a_tie_is_undecided_and_called_one() -> None:
    repeats = [own for method in (rq1.LOG, rq1.RATIO, rq1.CONSTANT) for own in twice(method, [1, 0.2])]
    claims = rq1.evaluate(repeats, {}).claims
    assert [claim.verdict for claim in claims] == ["Undecided"] * len(claims)
    assert all("a tie" in claim.line for claim in claims)


def test_ratio_costs_must_favour_the_cheap_objective() -> None:
    def repeats(ratio: str) -> list[Repeat]:
        bought = {rq1.LOG: ["cheap", "expensive"], rq1.RATIO: [ratio, ratio], rq1.CONSTANT: ["expensive", "expensive"]}
        courses = {method: [[name] for name in names] for method, names in bought.items()}
        return [own for method in courses for own in twice(method, [1, 0.2, 0.1], bought=courses[method])]

    assert line_about(rq1.evaluate(repeats("cheap"), {}), "favour the cheap").verdict == "Agrees"
    assert line_about(rq1.evaluate(repeats("expensive"), {}), "favour the cheap").verdict == "Does not agree"


def test_the_change_of_volume_is_a_share_of_the_first_region() -> None:
    assert rq1.removed_per_evaluation(made_up(rq1.LOG, [1, 1, 1], gain=2.0)) == pytest.approx(20.0)
    gains = {rq1.LOG: 2.0, rq1.RATIO: 3.0, rq1.CONSTANT: 1.0}
    repeats = [own for method, gain in gains.items() for own in twice(method, [1, 0.5], gain=gain)]
    result = rq1.evaluate(repeats, {})
    assert line_about(result, "Log costs", "per evaluation").verdict == "Does not agree"
    assert line_about(result, "Constant", "volume").verdict == "Agrees"


def test_volume_per_cost_is_per_unit_of_the_papers_cost() -> None:
    made = made_up(rq1.LOG, [1, 1, 1], gain=2.0, bought=[["cheap"], ["expensive"]])
    assert rq1.removed_per_cost(made) == pytest.approx(2 * 20.0 / np.log(10.0 * 100.0))


def test_the_last_region_is_a_share_of_the_first() -> None:
    made = made_up(rq1.LOG, [1, 1, 1])
    shrunk = replace(made, iterations=(*made.iterations[:-1], replace(made.iterations[-1], volume=4.0)))
    assert rq1.last_region(shrunk) == pytest.approx(40.0)


def test_a_method_without_regions_or_iterations_has_no_share_of_them() -> None:
    begun = made_up(rq1.LOG, [1])
    assert np.isnan([rq1.removed_per_evaluation(begun), rq1.removed_per_cost(begun), rq1.last_region(begun)]).all()
    assert np.isnan(rq1.cheap_share(begun))
    both = made_up(rq1.LOG, [1, 1, 1], bought=[["cheap"], ["expensive", "cheap"]])
    assert rq1.cheap_share(both) == pytest.approx(2 / 3)
