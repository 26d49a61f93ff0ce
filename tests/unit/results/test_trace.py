"""The trace of a study."""

from __future__ import annotations

from flexibo import Evaluation, Objective, Space
from flexibo.history import History
from flexibo.history.events import Asked, Reissued, Spent, Told
from flexibo.results.trace import trace


def test_a_trace_counts_what_vanished_workers_cost() -> None:
    space = Space({"x": [0, 1, 2]})
    history = History(space, [Objective("f"), Objective("g")])

    def asked(number: int, objective: str) -> Asked:
        return Asked(Evaluation(space.design({"x": number}), objective, None, 1.0, "", number, (objective,)), "first")

    for event in (
        asked(0, "f"),
        Reissued(0, "second", 0.0, 4.0),  # the first is thought to have spent 4
        Told(0, {"f": 1.0}, 2.0, "second"),
        asked(1, "g"),
        Spent(0, 1.5, "first"),  # and has really spent 1.5
        Told(1, {"g": 1.0}, 3.0, "first"),
    ):
        history.append(event)
    rows = trace(history, None)
    assert [row.cost for row in rows] == [2.0, 3.0]
    assert [row.cumulative_cost for row in rows] == [6.0, 6.5]
    assert rows[-1].cumulative_cost == history.spent
    assert rows[-1].costs == {"f": 3.5, "g": 3.0}
    assert "costs" not in rows.records()[0]
