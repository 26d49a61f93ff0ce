from __future__ import annotations

import pytest
from tests.unit.experiments.made_repeats import line_about, problem, twice

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
    assert line_about(result, "identifies more designs on the Pareto front").verdict == verdict
