"""Why measurements that stopped early are not continued."""

from __future__ import annotations

from flexibo import Objective, Real, Study
from flexibo.views import curves_view


def test_a_stopped_curve_says_why_it_did_not_go_on() -> None:
    space, objectives = {"x": Real(0.0, 1.0)}, [Objective("error", steps=[3, 9], unit="%"), "joules"]
    study = Study(space, objectives, seed=1, budget=25, method="flexibo")
    study.enqueue({"x": 0.95}, ["error"])
    seen: set[tuple[str, bool]] = set()
    while (asked := study.ask()) is not None:
        x, stop = asked.design["x"], asked.stop
        if asked.objective == "joules":
            study.tell(asked, 1.0 - x, cost=0.1)
        elif x > 0.9:
            study.fail(asked, "no power", cost=1.0, reports=[(1, 99.0)], impossible=True)
        else:
            study.tell(asked, 100.0 * abs(x - 0.3) + 10.0 / stop, cost=stop - asked.start)
        [found] = curves_view(study).objectives
        can_say = study.history.count(0) and study.history.count(1)
        for curve in found.curves:
            seen.add((curve.state, curve.design["x"] > 0.9))
            if curve.state != "stopped":
                assert not curve.why
            elif curve.design["x"] > 0.9:
                assert "no power" in curve.why
            else:
                assert ("step 9" in curve.why) == bool(can_say)
    assert {("stopped", True), ("stopped", False), ("complete", False)} <= seen
