from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.experiments.made_repeats import line_about, made_up, problem, twice

from flexibo import Space
from flexibo.experiments import motivation


def test_designs_near_the_front_are_on_it_and_designs_worse_than_both_medians_are_of_low_quality() -> None:
    near = motivation.on_front(problem(), [(0.5, 0.5), (0.505, 0.505), (0.6, 0.6)])
    assert near.tolist() == [True, True, False]
    assert motivation.low_quality(problem(), [(0.9, 0.9), (0.9, 0.1)]).tolist() == [True, False]


@pytest.mark.parametrize(
    ("found", "verdict"), [(((0.0, 1.0), (1.0, 0.0)), "Agrees"), (((0.8, 0.8),), "Does not agree")]
)
def test_the_verdict_on_the_categories_follows_the_fronts(found: tuple[tuple[float, float], ...], verdict: str) -> None:
    others = [method for method in motivation.CATEGORIES if method != motivation.OURS]
    repeats = [own for method in others for own in twice(method, [1, 0.5])]
    repeats += twice(motivation.OURS, [1, 0.4], front=found)
    result = motivation.evaluate(repeats, {"p": problem()})
    assert line_about(result, "more designs", "front").verdict == verdict


def test_iterations_on_designs_of_low_quality_are_wasted() -> None:
    made = made_up("pal", [1, 1, 1, 1], values=(0.9, 0.9))
    better = replace(made, iterations=(*made.iterations[:-1], replace(made.iterations[-1], values=(0.1, 0.1))))
    assert motivation.wasted(problem(), better) == pytest.approx(200 / 3)
    assert np.isnan(motivation.wasted(problem(), made_up("pal", [1])))


def test_designs_on_the_front_are_counted_once() -> None:
    front = ((0.5, 0.5), (0.5, 0.5), (0.2, 0.8), (0.9, 0.9))
    assert motivation.found_on_front(problem(), made_up("pal", [1], front=front)) == 2.0


@pytest.mark.parametrize(("least", "verdict"), [(1.0, "Does not agree"), (0.1, "Agrees")])
def test_the_verdict_on_variation_follows_the_largest_value_over_the_smallest(least: float, verdict: str) -> None:
    shifted = replace(problem(), values=lambda designs: np.asarray(designs.codes) + least)
    assert motivation._variation({"p": shifted}).verdict == verdict


def test_variation_cannot_be_judged_where_values_are_not_positive() -> None:
    shifted = replace(problem(), values=lambda designs: np.asarray(designs.codes) - 0.5)
    assert motivation._variation({"p": shifted}).verdict == "Cannot be judged"


def test_planes_are_not_called_non_linear() -> None:
    assert motivation._both_non_linear({"p": problem()}).verdict == "Does not agree"
    bowls = replace(problem(), values=lambda designs: (np.asarray(designs.codes) - 0.5) ** 2)
    assert motivation._both_non_linear({"p": bowls}).verdict == "Agrees"
    elsewhere = replace(problem(), space=Space({"x": (0.0, 1.0), "y": (0.0, 1.0)}))
    assert motivation._both_non_linear({"p": elsewhere}).verdict == "Cannot be judged"


@pytest.mark.parametrize(("name", "text"), [("cpu_ghz", "CPU frequency (GHz)"), ("filters_1", "filters 1 (count)")])
def test_an_option_on_an_axis_has_its_unit(name: str, text: str) -> None:
    assert motivation._option(name) == text
