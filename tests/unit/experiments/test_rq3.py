from __future__ import annotations

import pytest
from tests.unit.experiments.made_repeats import twice

from flexibo.experiments import rq3


def test_errors_are_compared_at_equal_cost_and_not_after_equal_iterations() -> None:
    # Ours buys cheaply and is ahead for its 30 s; theirs is better after a expensive iteration, which costs 100 s.
    ours = twice(rq3.OURS, [1, 0.5, 0.4, 0.4], bought=[["cheap"], ["cheap"], ["cheap"]])
    theirs = twice(rq3.FOREST, [1, 0.6, 0.3, 0.1], bought=[["cheap"], ["expensive"], ["expensive"]])
    log_cost, real_cost = rq3.evaluate(ours + theirs, {}).claims[:2]
    assert real_cost.verdict == "Agrees"
    assert "0.4 against 0.6" in real_cost.line
    # By the paper's logarithms one expensive evaluation costs as much as two cheap ones.
    assert log_cost.verdict == "Does not agree"
    assert "0.4 against 0.3" in log_cost.line


@pytest.mark.parametrize(("forest", "verdict"), [(0.3, "Agrees"), (0.1, "Does not agree")])
def test_the_verdicts_on_models_follow_errors_and_designs_in_the_target_region(forest: float, verdict: str) -> None:
    """The forest that errs less finds more designs in the target region too."""
    repeats = twice(rq3.OURS, [1, 0.2], in_target=2) + twice(rq3.FOREST, [1, forest], in_target=round(0.4 / forest))
    result = rq3.evaluate(repeats, {})
    assert [claim.verdict for claim in result.claims] == [verdict] * 3
    assert [row[0] for row in result.tables[0].rows] == [rq3.OURS, rq3.FOREST]
