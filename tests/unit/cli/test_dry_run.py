"""``flexibo run FILE --dry-run``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_line import (
    STUDY_FILE,
    call,
    mentions,
    printed,
)

from flexibo import Study

pytestmark = pytest.mark.usefixtures("folder")


def stored(name: str | None = "toy", file: str = "toy.db") -> Study:
    return Study.load(f"sqlite:///{file}", name)


class TestDryRun:
    def test_a_dry_run_shows_all_and_leaves_nothing(self, folder: Path) -> None:
        shown = printed("run", "study.yaml", "--dry-run")
        assert mentions(shown, "sqlite:///toy.db (new)", "budget 60 s")
        assert mentions(shown, "x", "0 to 1000", "kind", "plain, $(touch pwned)")
        assert mentions(shown, "joules", "board:joules", "1. ", "2. ")
        assert {path.name for path in folder.iterdir()} - {"__pycache__"} == {"study.yaml", "board.py"}

    def test_a_dry_run_as_json_has_the_first_commands_with_values_in_quotes(self) -> None:
        plan = json.loads(call("run", "study.yaml", "--dry-run", "--json").stdout)
        assert plan["options"]["x"] == {"kind": "integer", "low": 0, "high": 1000, "log": False}
        assert plan["budget"] == 60
        first = plan["first"][0]
        assert first["objective"] == "error"
        kind = "plain" if first["design"]["kind"] == "plain" else "'$(touch pwned)'"
        assert first["command"] == f"echo {first['design']['x']} {kind} > last; echo {first['design']['x']} 8"

    def test_a_dry_run_of_a_stored_study_shows_what_comes_next_and_changes_nothing(self) -> None:
        printed("run", "study.yaml")
        events = stored().events
        shown = printed("run", "study.yaml", "--dry-run")
        assert mentions(shown, "sqlite:///toy.db", f"{len(stored().history.measurements)} measurements")
        plan = json.loads(call("run", "study.yaml", "--dry-run", "--json", "--budget", "90s").stdout)
        assert plan["begun"]
        assert len(plan["first"]) == 3
        assert stored().events == events
        assert stored().budget == 60

    def test_a_proxy_is_named_with_its_objective_and_what_is_wrong_with_it(self, folder: Path) -> None:
        text = STUDY_FILE.replace("objectives:", "objectives:\n  small: {command: 'echo {x}', optimise: false}", 1)
        (folder / "study.yaml").write_text(text.replace("error: {", "error: {proxies: [small], ", 1))
        shown = printed("run", "study.yaml", "--dry-run")
        assert mentions(shown, "proxy of error", "Advice: small is a proxy, which is not asked for")

    def test_bounds_and_stop_rules_have_their_units(self, folder: Path) -> None:
        text = STUDY_FILE.replace("unit: J", "unit: J, at_most: 900") + "stop: {max_seconds: 2h, certified_error: 5%}\n"
        (folder / "study.yaml").write_text(text)
        shown = printed("run", "study.yaml", "--dry-run")
        assert mentions(shown, "max_seconds 7200 s", "certified_error 5%", "at most 900 J")

    def test_without_a_seed_a_dry_run_does_not_guess_what_is_asked_first(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(STUDY_FILE.replace("seed: 1\n", ""))
        shown = printed("run", "study.yaml", "--dry-run")
        assert "--seed" in shown
        assert "1. " not in shown
        plan = json.loads(call("run", "study.yaml", "--dry-run", "--json").stdout)
        assert (plan["seed"], plan["first"]) == (None, None)
        plan = json.loads(call("run", "study.yaml", "--dry-run", "--json", "--seed", "7").stdout)
        assert (plan["seed"], len(plan["first"])) == (7, 2)  # one of each objective, until its cost is known
        printed("run", "study.yaml", "--budget", "30s", "--seed", "7")
        first = stored().history.asked[0]
        assert plan["first"][0]["design"] == dict(first.design)
