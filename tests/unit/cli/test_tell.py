"""``flexibo tell``."""

from __future__ import annotations

import json
import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.command_line import HOSTILE, asked_by_hand, good, history, label, mentions, refusal

from flexibo import Study
from flexibo.history.events import Added, Failed, Released, Told
from flexibo.storage import open_storage

pytestmark = pytest.mark.usefixtures("by_hand")
URL = "sqlite:///study.db"


class TestTell:
    def test_a_value_is_stored_with_its_cost(self) -> None:
        asked_by_hand()
        shown = good("tell", label(), 0.25, "--cost", 4.5)
        assert mentions(shown, "0", "error 0.25", "cost 4.5", "4.5 of 100")
        (event,) = [event for event in history().events if isinstance(event, Told)]
        assert (dict(event.values), event.cost) == ({"error": 0.25}, 4.5)
        assert open_storage(URL, "net").workers() == {}

    def test_a_cost_may_be_a_duration(self) -> None:
        asked_by_hand()
        good("tell", label(), 0.25, "--cost", "1.5m")
        assert history().spent == 90.0

    def test_several_values_are_told_by_name(self) -> None:
        asked_by_hand("--only", "energy")
        good("tell", label(), "energy=-3.5", "ms=1e3", "--cost", 1)
        assert dict(history().measurements[0].values) == {"energy": -3.5, "ms": 1000.0}

    @pytest.mark.parametrize("energy", ["energy=-3.5+-0.25", "energy=-3.5±0.25", "-3.5 +- 0.25"])
    def test_a_value_may_have_its_standard_deviation(self, energy: str) -> None:
        asked_by_hand("--only", "energy")
        shown = good("tell", label(), energy, "ms=20", "--cost", 1)
        assert mentions(shown, "energy -3.5 ±0.25, ms 20")
        (event,) = [event for event in history().events if isinstance(event, Told)]
        assert (event.values, event.noise) == ({"energy": -3.5, "ms": 20.0}, {"energy": (0.25, 1)})

    def test_a_negative_value_is_no_option(self) -> None:
        asked_by_hand()
        good("tell", label(), "-3.25", "--cost", 1)
        assert dict(history().measurements[0].values) == {"error": -3.25}

    def test_a_program_reads_whether_it_counted(self) -> None:
        asked_by_hand()
        found = json.loads(good("tell", label(), 1, "--cost", 2, "--json"))
        assert found == {"study": "net", "number": 0, "name": label(), "counted": True, "spent": 2.0, "budget": 100.0}

    def test_without_a_cost_it_says_so(self) -> None:
        asked_by_hand()
        assert mentions(good("tell", label(), 1), "0", "error 1", "without a cost", "0 of 100")

    def test_a_failure_keeps_its_reason(self) -> None:
        asked_by_hand()
        shown = good("tell", label(), "--failed", f"burnt {HOSTILE}", "--cost", 2, "--impossible")
        assert "\x1b" not in shown
        (event,) = [event for event in history().events if isinstance(event, Failed)]
        assert (event.reason, event.cost, event.impossible) == (f"burnt {HOSTILE}", 2.0, True)

    def test_what_was_not_attempted_is_given_back_at_once(self) -> None:
        (mine,) = asked_by_hand()
        good("tell", label(), "--released")
        assert sum(isinstance(event, Released) for event in history().events) == 1
        (again,) = asked_by_hand()
        assert again["design"] == mine["design"]

    def test_telling_twice_says_so_and_changes_nothing(self) -> None:
        asked_by_hand()
        good("tell", label(), 0.25, "--cost", 1)
        events = len(history().events)
        for answer in (["0.75"], ["--failed", "burnt"], ["--released"]):
            assert mentions(refusal("tell", label(), *answer), "0", "'error'", "already")
        assert len(history().events) == events

    def test_a_number_that_was_never_asked_says_so(self) -> None:
        assert mentions(refusal("tell", 0, 1.0), "0", "'net'", "never asked", "flexibo ask")
        asked_by_hand()
        assert mentions(refusal("tell", 7, 1.0), "7", "'net'", "never asked", "0 to 0")

    def test_a_number_alone_is_refused_and_so_is_another_token(self, monkeypatch: pytest.MonkeyPatch) -> None:
        (mine,) = asked_by_hand()
        assert mine["name"] == label()
        wrong = f"0-{'0' if mine['name'][2] != '0' else '1'}{mine['name'][3:]}"
        assert mentions(refusal("tell", 0, 1.0), "0", "'net'", "flexibo ask")
        assert wrong in refusal("tell", wrong, 1.0)
        for name in ("0-", "0-zz", "x", "0-3f", "-1"):
            refusal("tell", name, 1.0)
        assert history().spent == 0.0
        monkeypatch.setenv("FLEXIBO_HAND", "hand-of-another-question")
        good("tell", label().upper(), 1.0, "--cost", 2)

    def test_a_claim_that_was_lost_does_not_reach_another_design_and_its_value_is_brought_back(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lines = good("ask", "--only", "error", "--shell").splitlines()
        variables = dict(shlex.split(line)[1].split("=", 1) for line in lines)
        with closing(sqlite3.connect("study.db")) as connection, connection:
            connection.execute("DELETE FROM flexibo_events WHERE number = (SELECT max(number) FROM flexibo_events)")
        asked_by_hand("--only", "energy")
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        said = refusal("tell", variables["FLEXIBO_NUMBER"], "777+-3", "--cost", 5)
        assert mentions(said, "0", "'net'", "study.unstored.jsonl")
        assert not history().measurements
        assert mentions(good("import", "study.unstored.jsonl"), "'net'", "1 ")
        (found,) = history().measurements
        assert (dict(found.values), dict(found.design)) == ({"error": 777.0}, json.loads(variables["FLEXIBO_DESIGN"]))
        assert [event.noise for event in history().events if isinstance(event, Added)] == [{"error": (3.0, 1)}]
        assert mentions(good("import", "study.unstored.jsonl"), "1 was known")

    def test_what_a_program_measures_is_not_told_by_hand(self) -> None:
        with Study.load(URL) as study:
            evaluation = study.ask()
            assert evaluation is not None
            assert mentions(refusal("tell", evaluation.number, 1.0), evaluation.number, "'net'", "a program")
            assert not study.history.measurements

    @pytest.mark.parametrize(
        ("answer", "facts"),
        [
            (["much"], ["'much'", "finite", "--failed"]),
            (["nan"], ["'nan'", "finite", "--failed"]),
            (["energy=inf", "ms=1"], ["'energy=inf'", "finite", "--failed"]),
            (["energy=1+-", "ms=1"], ["'energy=1+-'", "standard deviation", "3.5+-0.2"]),
            (["energy=1+--2", "ms=1"], ["'energy=1+--2'", "zero or more"]),
            (["energy=+-2", "ms=1"], ["'energy=+-2'", "no finite number"]),
            (["energy=1"], ["no value", "'ms'"]),
            (["energy=1", "ms=1", "speed=1"], ["objective 'speed'"]),
            (["1", "energy=1", "ms=1"], ["'energy'", "NAME=VALUE"]),
            (["energy=1", "ms=1", "--cost", "-1"], ["--cost", "-1"]),
            (["energy=1", "ms=1", "--cost", "3 coins"], ["--cost", "3 coins"]),
            ([], ["VALUE", "--failed", "--released"]),
            (["1", "--released"], ["VALUE", "--failed", "--released"]),
            (["1", "--impossible"], ["--impossible", "--failed REASON"]),
            (["--released", "--cost", "3"], ["--cost", "--released"]),
        ],
    )
    def test_an_answer_of_a_wrong_kind_loses_nothing(self, answer: list[str], facts: list[str]) -> None:
        asked_by_hand("--only", "energy")
        events = len(history().events)
        assert mentions(refusal("tell", label(), *answer), *facts)
        assert len(history().events) == events
        good("tell", label(), "energy=1", "ms=2", "--cost", 1)

    @pytest.mark.slow
    def test_a_loop_in_a_shell_measures_the_whole_budget(self) -> None:
        with Study.load(URL) as study:
            study.budget = 2.0
        script = f"""
        while eval "$({sys.executable} -m flexibo ask --shell --only error 2>reason)" && [ -n "$FLEXIBO_NUMBER" ]; do
            {sys.executable} -m flexibo tell "$FLEXIBO_NUMBER" "$FLEXIBO_OPTION_X" --cost 2 >>told || exit 9
            unset FLEXIBO_NUMBER
        done
        """
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=900)
        assert (done.returncode, done.stderr) == (0, "")
        assert history().spent == 2.0
        assert mentions(Path("reason").read_text(), "budget")
