"""The trace of a study."""

from __future__ import annotations

from flexibo import Evaluation, Objective, Space, Study
from flexibo.history import History
from flexibo.history.events import Asked, Reissued, Spent, Told
from flexibo.objectives import Reading
from flexibo.results.region_rises import region_rises
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


def test_a_trace_has_the_error_bars_of_values() -> None:
    study = Study({"x": (1, 100)}, ["a", "b"], seed=0)
    for told in (Reading(1.0, deviation=0.5, repeats=3), 2.0):
        evaluation = study.ask()
        assert evaluation is not None
        study.tell(evaluation, told, cost=1.0)
    barred = study.trace()[0].objective
    assert [row.deviations for row in study.trace()] == [{barred: 0.5}, {}]
    assert [record.get(f"deviation:{barred}") for record in study.trace().records()] == [0.5, None]
    assert not any(name.startswith("deviation:") for name in study.trace()[1:].records()[0])


def test_regions_of_a_study_with_fewer_objectives_are_not_compared_with_the_present_ones() -> None:
    study = Study({"x": (1, 100)}, ["a", "b"], budget=8, seed=0)
    functions = {"a": lambda d: (1 / d["x"], 1.0), "b": lambda d: (d["x"], 1.0), "c": lambda d: (1e6 * d["x"], 1.0)}
    study.run({name: functions[name] for name in "ab"}, progress=False)
    assert any(row.region_volume is not None for row in study.trace())
    study.change(objectives=[Objective("a", retries=2)])
    assert any(row.region_volume is not None for row in study.trace())
    study.change(objectives=["c"], budget=20)
    study.run(functions, progress=False)
    volumes = [row.region_volume for row in study.trace()]
    assert volumes[:8] == [None] * 8
    assert any(volume is not None for volume in volumes[8:])
    assert all(number >= 8 for number in region_rises(study.history))
