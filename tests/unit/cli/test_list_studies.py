"""``flexibo list``."""

from __future__ import annotations

import json

from tests.command_line import (
    HOSTILE,
    asked,
    begun,
    good,
    mentions,
)

from flexibo import Objective, Study
from flexibo.storage import open_storage


class TestList:
    def test_it_shows_how_far_each_study_is(self, study: Study) -> None:
        begun("other", method="random").close()
        shown = good("list")
        assert mentions(shown, "net", "flexibo", f"{study.spent:.4g} of 100")
        assert mentions(shown, "other", "random", "error", "0 0 0", "0 of 100")
        rows = json.loads(good("list", "--json", "--storage", "sqlite:///study.db"))
        assert [row["name"] for row in rows] == ["net", "other"]
        assert rows[0]["spent"] == study.spent
        assert [one["values"] for one in rows[0]["objectives"]] == [study.history.count(0), study.history.count(1)]
        assert sum(one["pending"] for one in rows[0]["objectives"]) == 1
        assert sum(one["failed"] for one in rows[0]["objectives"]) == 1

    def test_one_study_that_cannot_be_read_does_not_hide_the_others(self, study: Study) -> None:
        contents = open_storage("sqlite:///study.db", "net").read()
        future = open_storage("sqlite:///study.db", "future")
        future.commit(0, lambda _: [*contents, {"event": "dreamt", "what": HOSTILE}])
        shown = good("list")
        assert mentions(shown, "future", "'dreamt'")
        assert mentions(shown, "net", "flexibo")
        assert "error" in {row["name"]: row for row in json.loads(good("list", "--json"))}["future"]

    def test_long_names_are_shown_whole_in_a_narrow_terminal(self) -> None:
        name, objective = "a-study-with-a-name-of-fifty-letters-in-one-word-xyz", "an_objective_with_a_long_name_too"
        with begun(name, objectives=[Objective(objective), Objective("energy")]) as study:
            study.tell(asked(study), 1.0, cost=1.0)
        columns = [line.split("  ")[0].strip() for line in good("list").splitlines()[1:]]
        assert "".join(columns) == name
        squeezed = "".join(good("list").split())
        assert "\u2026" not in squeezed
        shown = good("status", "--no-front")
        assert "\u2026" not in shown
        assert objective in shown
        assert max(map(len, shown.splitlines())) <= 80

    def test_an_empty_database_holds_no_studies(self) -> None:
        open_storage("sqlite:///empty.db", "nothing")
        assert mentions(good("list"), "sqlite:///empty.db")
        assert json.loads(good("list", "--json")) == []

    def test_failures_and_costs_are_those_of_the_status_and_of_the_summary(self) -> None:
        with begun(n_initial=4, budget=None, name="net") as study:
            for number, evaluation in enumerate(study.ask(6)):
                if number % 2:
                    study.fail(evaluation, "burnt", cost=0.5, impossible=number == 1)
                else:
                    study.tell(evaluation, 1.0, cost=2.0)
            study.add({"x": 0.5, "k": 1}, {"energy": 1.0}, failed={"error": "too large"})
            summary = study.summary()
        rows = json.loads(good("status", "--json", "--no-front"))["objectives"]
        assert {row["name"]: row["failed"] for row in rows} == dict(summary.failures)
        assert {row["name"]: row["cost"] for row in rows} == dict(summary.costs)
        assert {row["name"]: row["measured"] for row in rows} == dict(summary.evaluations)
        assert sum(row["lost_cost"] for row in rows) == summary.spent - sum(summary.costs.values()) == 1.5
        listed = [line.split() for line in good("list").splitlines()]
        assert listed[1][4:7] == ["0", "3", "7.5"]
        assert listed[2][:4] == ["energy", str(summary.evaluations["energy"]), "(+1", "added)"]
