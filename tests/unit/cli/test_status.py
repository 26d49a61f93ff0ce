"""``flexibo status``."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import (
    HOSTILE,
    asked,
    begun,
    good,
    mentions,
    refusal,
    worked,
)

from flexibo import Objective, Study
from flexibo.storage.processes import about_this_process
from flexibo.transfer import records, study_copy
from flexibo.views.status import in_flight

ASSETS = Path(__file__).parents[2] / "assets"


def fingerprints(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


class TestStatus:
    def test_it_shows_money_objectives_flights_failures_notes_and_the_front(self, study: Study) -> None:
        shown = good("status")
        assert "\x1b" not in shown
        assert mentions(shown, "net", "sqlite:///study.db", "flexibo", "seed 3", "2 options", "3")
        assert mentions(shown, f"{study.spent:.4g} of 100", "in flight")
        assert mentions(shown, f"process {os.getpid()}", "alive")
        assert mentions(shown, "burnt red\\x1b[31m and gone")
        assert mentions(shown, "fan was repaired red\\x1b[31m")
        found = study.hand_over()
        assert ("Confirmed front" in shown) == bool(found.front)
        assert ("Promising" in shown) == bool(found.promising)
        assert found.sentence().split()[-2] in shown
        assert max(map(len, shown.splitlines())) <= 80
        assert "onfirm" not in good("status", "--no-front")

    def test_json_has_it_all(self, study: Study) -> None:
        found = json.loads(good("status", "--name", "net", "--json"))
        assert found["spent"] == study.spent
        assert found["budget"] == 100
        assert found["reserved"] > 0
        assert found["settings"]["seed"] == 3
        assert [one["reason"] for one in found["failures"]] == [f"burnt {HOSTILE}\nand gone"]
        assert found["notes"][0]["text"] == f"The fan was repaired {HOSTILE}"
        (flight,) = found["in_flight"]
        assert flight["design"] == dict(study.pending[0].design)
        assert flight["worker"]["state"] == "alive"
        assert flight["worker"]["pid"] == os.getpid()
        assert len(found["front"]) == len(study.front())
        assert len(found["promising"]) == len(study.promising())
        by_state = {
            state: sum(one[state] for one in found["objectives"]) for state in ("measured", "failed", "pending")
        }
        assert by_state == {"measured": 7, "failed": 1, "pending": 1}

    def test_what_the_queue_reserves_is_a_part_of_what_is_left(self) -> None:
        objectives = [Objective("error", cost=5.0), Objective("energy", cost=1.0)]
        with begun(objectives=objectives) as study:
            worked(study, 2)
            study.enqueue({"x": 0.75, "k": 1})
            left = 100 - study.spent
            found = json.loads(good("status", "--json", "--no-front"))
            assert (found["left"], found["reserved_for_queue"]) == (left, found["queued"][0]["expected_cost"])
            assert mentions(good("status", "--no-front"), f"{left:g} left", f"{found['reserved_for_queue']:.4g} of it")
            study.budget = study.spent + 1.0
        found = json.loads(good("status", "--json", "--no-front"))
        assert found["reserved_for_queue"] == found["left"] == 1.0
        assert mentions(good("status", "--no-front"), "1 left", "all of it")

    def test_without_a_budget_nothing_is_left(self) -> None:
        begun(budget=None).close()
        assert json.loads(good("status", "--json", "--no-front"))["left"] is None

    def test_only_the_last_failures_are_shown_and_the_rest_is_counted(self) -> None:
        with begun(n_initial=8, budget=None) as study:
            for number, evaluation in enumerate(study.ask(8)):
                study.fail(evaluation, f"reason {number}", impossible=number == 7)
        shown = good("status")
        assert mentions(shown, "impossible", "reason 7", "reason 3", "3", "--json")
        assert not mentions(shown, "reason 2")

    def test_a_failure_does_not_cheapen_the_mean_of_what_was_measured(self) -> None:
        with begun(n_initial=2, budget=None) as study:
            for evaluation, cost in zip(study.ask(4), (8.0, 1.0, 0.5, 1.0), strict=True):
                if cost == 0.5:
                    study.fail(evaluation, "too large", cost=cost, impossible=True)
                else:
                    study.tell(evaluation, 0.5, cost=cost)
        rows = {row["name"]: row for row in json.loads(good("status", "--json"))["objectives"]}
        assert (rows["error"]["cost"], rows["error"]["mean_cost"]) == (8.0, 8.0)
        assert rows["error"]["lost_cost"] == 0.5
        assert rows["energy"]["mean_cost"] == 1.0

    def test_hostile_names_are_only_names(self) -> None:
        objectives = [Objective(f"error {HOSTILE}"), Objective("energy", unit=HOSTILE)]
        with begun(objectives=objectives, space={HOSTILE: ["a", f"b{HOSTILE}"], "[bold]": (0.0, 1.0)}) as study:
            for evaluation in study.ask(6):
                study.tell(evaluation, float(evaluation.design["[bold]"]), cost=1.0)
            asked(study)
            shown = [good("status"), good("list")]
        assert all("\x1b" not in text and "red\\x1b[31m" in text for text in shown)
        front = shown[0][shown[0].index("onfirmed") :]
        assert front.count("red\\x1b[31m") >= 3
        assert "[bold]=" in front

    def test_a_study_is_named_where_there_are_several(self, study: Study) -> None:
        begun("other").close()
        assert mentions(refusal("status"), "sqlite:///study.db", "'net', 'other'")
        assert mentions(refusal("status", "--name", "othr"), "'othr'", "'other'")

    def test_objectives_that_come_with_others_and_results_from_before_have_their_numbers(self) -> None:
        objectives = [Objective("error"), Objective("energy"), Objective("ms", measured_with="energy")]
        with begun(objectives=objectives) as study:
            study.add({"x": 0.5, "k": 1}, {"energy": 1.0, "ms": 2.0})
        lines = good("status", "--no-front").splitlines()
        assert any(line.split() == ["ms", "0", "1"] for line in lines)
        assert any(line.split()[:5] == ["energy", "0", "0", "0", "1"] for line in lines)

    def test_a_study_of_version_1_is_shown_and_not_migrated(self, tmp_path: Path) -> None:
        folder = tmp_path / "old"
        folder.mkdir()
        shutil.copy(ASSETS / "study-schema-1.db", folder / "old.db")
        before = fingerprints(folder)
        where = ("--storage", f"sqlite:///{folder / 'old.db'}")
        for command in (("list",), ("status",), ("status", "--json"), ("export", "--out", "-", "--format", "csv")):
            good(*command, *where)
        assert fingerprints(folder) == before

    def test_nothing_is_written_and_no_lock_is_waited_for(self, study: Study) -> None:
        before = study.events
        writer = sqlite3.connect("study.db", isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        try:
            for command in (("list",), ("status",), ("export", "--out", "f.jsonl")):
                good(*command)
        finally:
            writer.execute("ROLLBACK")
            writer.close()
        study.refresh()
        assert study.events == before


class TestWorkersInFlight:
    @pytest.fixture
    def flight(self, study: Study) -> Callable[..., dict[str, Any]]:
        """What is said of the worker of the evaluation in flight, when its sign is changed."""

        def look(now: float = 10.0, **changed: Any) -> dict[str, Any]:
            copy = study_copy("sqlite:///study.db")
            ((worker, sign),) = copy.workers.items()
            signs = {worker: dataclasses.replace(sign, **changed)} if changed else {}
            copy = dataclasses.replace(copy, workers=signs)
            found = records(copy.study.history, copy.times)
            flying = next(one for one in found if one.state == "pending")
            assert flying.asked is not None
            (flight,) = in_flight(copy, found, flying.asked + now)
            assert flight["seconds"] == pytest.approx(now)
            return dict(flight["worker"])

        return look

    def test_one_that_signs_is_alive_and_one_that_does_not_is_silent(self, flight: Callable[..., Any]) -> None:
        board = {"host": "board", "pid": 7}
        found = flight(10.0, seconds=0.0, about=board, lease=60.0)
        assert (found["host"], found["pid"], found["state"]) == ("board", 7, "alive")
        assert 10.0 <= found["silent_seconds"] < 60.0
        assert flight(500.0, seconds=0.0, about=board, lease=60.0)["state"] == "silent"
        assert flight(500.0, seconds=500.0, about=board, lease=60.0)["state"] == "alive"

    def test_one_whose_process_is_gone_from_this_machine_is_dead(self, flight: Callable[..., Any]) -> None:
        assert flight(about={**about_this_process(), "pid": 2**22 + 1})["state"] == "dead"

    def test_one_that_left_is_gone(self, flight: Callable[..., Any]) -> None:
        assert flight()["state"] == "gone"

    def test_a_strangers_words_about_itself_are_not_trusted(self, flight: Callable[..., Any]) -> None:
        found = flight(about={"host": ["x"], "pid": {"a": 1}})
        assert (found["host"], found["pid"]) == (None, None)
