"""Trackers mirror a study: everything once, also after a resume, and no error of theirs reaches it."""

from __future__ import annotations

import csv
import io
import json
import logging
import pickle
from pathlib import Path
from typing import Any

import pytest

from flexibo import Objective, Study
from flexibo.integrations._tracking import (
    FRONT_SECONDS,
    TrackedEvaluation,
    TrackedFront,
    TrackedStudy,
    Tracker,
    csv_text,
    described,
)
from flexibo.objectives import Reading
from flexibo.optimizer.stop import StopKind
from flexibo.storage import MemoryStorage

SPACE = {"x": (0.0, 1.0), "k": ["a", "b"]}


def fails(design: Any) -> Any:
    if design["x"] > 0.7:
        raise MemoryError("no memory")
    return 1 - design["x"], 1.0


FUNCTIONS = {"a": lambda design: (design["x"], 2.0), "b": fails}


class Server:
    """A tracker that keeps everything in memory, for each study."""

    def __init__(self) -> None:
        self.runs: dict[str, list[TrackedEvaluation]] = {}
        self.fronts: list[TrackedFront] = []
        self.ends: list[StopKind | None] = []
        self.opened: list[TrackedStudy] = []
        self.is_away = False

    def tracker(self, **settings: Any) -> Tracker:
        return Tracker(self.connect, "memory", **({"patience": 30.0} | settings))

    def connect(self, study: TrackedStudy) -> Server:
        self.check()
        self.opened.append(study)
        self.key = study.key
        return self

    def check(self) -> None:
        if self.is_away:
            raise ConnectionError("nobody answers")

    def recorded(self) -> set[int]:
        return {one.number for one in self.runs.get(self.key, [])}

    def record(self, evaluation: TrackedEvaluation) -> None:
        self.check()
        self.runs.setdefault(self.key, []).append(evaluation)

    def show(self, front: TrackedFront) -> None:
        self.check()
        self.fronts.append(front)

    def end(self, stop: StopKind | None, reason: str) -> None:
        self.ends.append(stop)

    @property
    def numbers(self) -> list[int]:
        [runs] = self.runs.values()
        return [one.number for one in runs]


def opened(storage: Any = None, tracker: Any = (), **settings: Any) -> Study:
    given = {"seed": 0, "n_initial": 3, "candidates": 50, "budget": 14} | settings
    return Study(SPACE, ["a", "b"], storage=storage, callbacks=tracker, **given)


def run(study: Study) -> None:
    study.run(FUNCTIONS, progress=False, raise_first=False)


def test_every_evaluation_is_recorded_once_with_its_facts() -> None:
    server = Server()
    study = opened(tracker=server.tracker())
    run(study)
    assert server.numbers == list(range(len(study.history.asked)))
    [runs] = server.runs.values()
    for one, row in zip(runs, study.trace(), strict=True):
        asked = study.history.asked[one.number]
        assert (one.design, one.why, one.attempt) == (dict(asked.design), asked.why, asked.attempt)
        assert one.values == dict(row.values)
        assert one.cost == row.cost
        assert one.spent == pytest.approx(row.cumulative_cost)
        assert one.is_failed == (row.value is None)
        assert one.began <= one.ended
        assert ("failed" in one.texts) == one.is_failed
    assert any(one.is_failed and "no memory" in one.reason for one in runs)
    assert server.ends == [study.stop_kind]


def test_values_on_the_way_are_recorded_and_an_early_stop_has_not_failed() -> None:
    memory, server = MemoryStorage(), Server()
    stepped = Study({"x": [1, 2, 3]}, [Objective("a", steps=[3, 9]), "b"], storage=memory, seed=0, method="random")
    stepped.ask(3, only=["a"])
    contents = memory.read()
    contents[-1]["stop"] = 3  # the last of them is only looked at
    copy = MemoryStorage()
    copy.commit(0, lambda none: contents)
    study = Study.load(copy, callbacks=server.tracker())
    failed, whole, early = study.pending
    study.fail(failed, "no power", reports=[(1, 0.9)])
    study.tell(whole, 0.2, reports=[(1, 0.9)])
    study.tell(early, 0.5)
    study.close()
    [runs] = server.runs.values()
    found = [(one.is_failed, dict(one.values), one.curve, one.steps) for one in runs]
    assert found == [
        (True, {}, ((1, 0.9),), "0 to 9"),
        (False, {"a": 0.2}, ((1, 0.9), (9, 0.2)), "0 to 9"),
        (False, {}, ((3, 0.5),), "0 to 3"),
    ]
    assert "a" not in runs[-1].metrics


def test_error_bars_are_recorded_beside_their_values() -> None:
    server = Server()
    study = opened(tracker=server.tracker())
    for told in (Reading(2.0, deviation=0.25), 1.0):
        [evaluation] = study.ask(1)
        study.tell(evaluation, told, cost=1.0)
    study.close()
    [[first, second]] = server.runs.values()
    name = first.objective
    assert (first.metrics[name], first.metrics[f"{name} deviation"]) == (2.0, 0.25)
    assert not any("deviation" in metric for metric in second.metrics)


def test_the_front_is_sent_as_files_and_numbers() -> None:
    server = Server()
    study = opened(tracker=server.tracker())
    run(study)
    front = server.fronts[-1]
    rows = list(csv.DictReader(io.StringIO(front.files["front.csv"])))
    assert [float(row["value:a"]) for row in rows] == [row.values["a"] for row in study.front()]
    assert len(json.loads(front.files["front.json"])) == len(study.front()) == front.metrics["front"]
    assert front.files["front.svg"].startswith("<svg")
    assert front.metrics["hypervolume"] == study.summary().hypervolume


def test_the_front_is_also_sent_now_and_then_while_a_study_runs() -> None:
    server, now = Server(), [0.0]
    tracker = server.tracker(clock=lambda: now[0])
    study = opened(tracker=tracker, budget=None)
    for n in range(5):
        evaluation = study.ask()
        assert evaluation is not None
        now[0] += FRONT_SECONDS * (n == 2)
        study.tell(evaluation, 0.5, cost=1.0)
    study.close()
    assert [front.step for front in server.fronts] == [3, 5]


def test_a_resumed_study_goes_on_where_it_was_and_nothing_is_there_twice(tmp_path: Path) -> None:
    server, url = Server(), f"sqlite:///{tmp_path / 's.db'}"
    for budget in (10, 20, 20):
        with opened(url, server.tracker(), budget=budget) as study:
            run(study)
    assert server.numbers == list(range(len(study.history.asked)))
    assert len({about.key for about in server.opened}) == 1


def test_what_was_measured_before_it_was_tracked_is_added(tmp_path: Path) -> None:
    server, url = Server(), f"sqlite:///{tmp_path / 's.db'}"
    with opened(url) as study:
        run(study)
    with opened(url, server.tracker()) as study:
        run(study)
    assert server.numbers == list(range(len(study.history.asked)))
    [runs] = server.runs.values()
    assert runs[-1].spent == pytest.approx(study.spent)


def test_a_tracker_that_is_away_changes_nothing_and_gets_the_rest_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server, url = Server(), f"sqlite:///{tmp_path / 's.db'}"
    server.is_away = True
    tracker = server.tracker(patience=0.01)
    with opened(url, tracker) as study:
        run(study)
        events = study.events
    warnings = [record for record in caplog.records if record.name.startswith("flexibo.integrations")]
    assert [record.levelno for record in warnings if record.levelno >= logging.WARNING] == [logging.WARNING]
    with opened(f"sqlite:///{tmp_path / 'untracked.db'}") as untracked:
        run(untracked)
    assert [type(event) for event in events] == [type(event) for event in untracked.events]
    server.is_away = False
    with opened(url, server.tracker()) as study:
        run(study)
    assert server.numbers == list(range(len(study.history.asked)))


def test_two_workers_record_what_each_of_them_measured() -> None:
    server, storage = Server(), MemoryStorage()
    first, second = (opened(storage, server.tracker(), budget=None) for _ in range(2))
    for _ in range(4):
        for study in (first, second):
            evaluation = study.ask()
            assert evaluation is not None
            study.tell(evaluation, 0.5 + evaluation.number / 100, cost=1.0)
    first.close()
    second.close()
    assert sorted(server.numbers) == list(range(8))


def test_a_study_is_told_from_others_of_the_same_name() -> None:
    keys = set()
    for _ in range(2):
        study = opened()
        study.ask()
        keys.add(described(study).key)
    assert len(keys) == 2


def test_one_tracker_can_follow_several_studies() -> None:
    server = Server()
    tracker = server.tracker()
    for _ in range(2):
        run(opened(tracker=tracker, budget=8))
    assert len(server.runs) == 2


def test_a_study_that_asked_nothing_is_not_recorded() -> None:
    server = Server()
    opened(tracker=server.tracker()).close()
    assert not server.opened


def test_an_error_of_a_callback_at_the_end_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def __call__(self, study: Study, event: object) -> None:
            pass

        def flush(self, study: Study) -> None:
            raise RuntimeError("a broken flush")

    study = opened(tracker=Broken())
    run(study)
    assert study.stopped
    assert "a broken flush" in caplog.text


def test_tables_without_rows_are_empty() -> None:
    assert csv_text([]) == ""


def test_a_pickled_study_keeps_its_trackers(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from flexibo.integrations.tensorboard import TensorBoardTracker

    study = opened(f"sqlite:///{tmp_path / 's.db'}", TensorBoardTracker(tmp_path / "runs"))
    again = pickle.loads(pickle.dumps(study))
    run(again)
    assert list((tmp_path / "runs").glob("*/evaluations/00000"))
