"""``flexibo ask``."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import asked_by_hand, call, good, history, label, mentions, refusal

from flexibo import Evaluation, Objective, Space, Study
from flexibo.cli import ask as ask_module
from flexibo.history.events import Spent
from flexibo.optimizer import StopKind
from flexibo.storage import Sign, StorageError, open_storage
from flexibo.studyfile.command import Command
from flexibo.studyfile.template import parsed

pytestmark = pytest.mark.usefixtures("by_hand")
URL = "sqlite:///study.db"
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc on this machine")


def lease_over(number: int) -> None:
    """Time passes: the hand that was asked this evaluation asked longer ago than its lease allows."""
    storage = open_storage(URL, "net")
    worker = history().assignments[number].worker
    sign = storage.workers()[worker]
    about = {**sign.about, "asked": sign.about["asked"] - sign.lease - 1.0}
    storage.sign(worker, Sign(sign.beat, sign.seconds, sign.lease, about))


def counted(*tell: object) -> bool:
    """Whether an answer counted by its value, and not by its cost alone."""
    return bool(json.loads(good(*tell, "--json"))["counted"])


class TestAsk:
    def test_it_prints_what_to_measure_and_how_to_answer(self) -> None:
        shown = good("ask")
        (evaluation,) = history().pending.values()
        assert mentions(shown.splitlines()[0], "0", "error")
        assert f"x  {evaluation.design['x']!r}" in shown
        assert evaluation.why in shown
        assert f" flexibo tell {label()} VALUE --cost COST\n" in shown
        assert mentions(shown.splitlines()[-1], "1.0 d")

    def test_what_comes_together_is_answered_together(self) -> None:
        shown = good("ask", "--only", "ms", "--storage", URL, "--name", "net")
        assert mentions(shown.splitlines()[0], "0", "energy [J]", "ms")
        assert f"tell {label()} energy=VALUE ms=VALUE --cost COST --storage {URL} --name net\n" in shown

    def test_what_is_offered_for_pasting_is_quoted(self) -> None:
        together = [Objective("f;touch broken #"), Objective("g h", measured_with="f;touch broken #")]
        Study({"x": (0.0, 1.0)}, together, n_initial=2, seed=0, storage="sqlite:///o d.db", name="odd").close()
        shown = good("ask", "--storage", "sqlite:///o d.db")
        words = shlex.split(shown.partition("Answer with: ")[2].splitlines()[0])
        assert words[3:] == [
            *(f"{one.name}=VALUE" for one in together),
            "--cost",
            "COST",
            "--storage",
            "sqlite:///o d.db",
        ]

    def test_a_script_gets_everything(self) -> None:
        found = json.loads(good("ask", "--json", "--count", 2, "--lease", "2h"))
        pending = list(history().pending.values())
        assert [one["number"] for one in found["evaluations"]] == [0, 1]
        assert [one["design"] for one in found["evaluations"]] == [dict(one.design) for one in pending]
        assert [one["yields"] for one in found["evaluations"]] == [list(one.yields) for one in pending]
        assert (found["study"], found["stopped"], found["lease_seconds"]) == ("net", "", 7200)

    def test_a_shell_gets_variables_that_it_can_eval(self) -> None:
        lines = good("ask", "--shell", "--only", "energy")
        script = 'eval "$1"; printf "%s\\n" "$FLEXIBO_NUMBER" "$FLEXIBO_OBJECTIVE" "$FLEXIBO_OPTION_X"'
        done = subprocess.run(["sh", "-c", script, "-", lines], capture_output=True, text=True, check=True)
        number, objective, x = done.stdout.splitlines()
        assert (number, objective) == ("0", "energy")
        assert float(x) == history().pending[0].design["x"]

    def test_hostile_values_are_only_text_for_a_shell(self) -> None:
        value = "$(touch broken); `touch broken` 'quoted' \"x\""
        space = {"net work": [value, value + "2"], "z": (0.0, 1.0)}
        Study(space, ["a", "b"], n_initial=2, seed=0, storage="sqlite:///odd.db", name="odd").close()
        lines = good("ask", "--shell", "--storage", "sqlite:///odd.db")
        script = 'eval "$1"; printf "%s" "$FLEXIBO_OPTION_NET_WORK"'
        done = subprocess.run(["sh", "-c", script, "-", lines], capture_output=True, text=True, check=True)
        assert done.stdout in (value, value + "2")
        assert not Path("broken").exists()

    def test_a_shell_gets_the_variables_that_a_command_of_a_study_file_gets(self) -> None:
        space = Space({"deep": ["yes", "no"], "layers": [1, 2]}, conditions={"layers": {"deep": ["yes"]}})
        evaluation = Evaluation(space.design({"deep": "no"}), "a", None, 0.0, "", 4, ("a",), attempt=2)
        lines = "\n".join(ask_module._variables(evaluation, "hand-1"))
        command = Command("a", parsed("measure", space.names)[0], folder=".")
        names = [*command.environment(evaluation.design)]
        names[names.index("FLEXIBO_PYTHON")] = "FLEXIBO_HAND"
        assert sorted(re.findall(r"^export (\w+)=", lines, re.MULTILINE)) == sorted(names)
        assert "export FLEXIBO_OPTION_LAYERS=''" in lines
        assert "export FLEXIBO_ATTEMPT=2" in lines

    def test_options_that_a_shell_cannot_tell_apart_are_refused_and_nothing_is_held(self) -> None:
        space = {"a b": (0.0, 1.0), "a-b": (0.0, 1.0)}
        Study(space, ["a", "b"], n_initial=2, seed=0, storage="sqlite:///odd.db", name="odd").close()
        assert "use --json" in refusal("ask", "--shell", "--storage", "sqlite:///odd.db")
        assert not Study.load("sqlite:///odd.db").pending

    def test_what_nobody_could_read_is_given_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: object, **__: object) -> None:
            raise BrokenPipeError

        monkeypatch.setattr(ask_module, "print_json", broken)
        call("ask", "--json", "--count", 2)
        assert not history().pending
        assert open_storage(URL, "net").workers() == {}

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_who_is_ended_before_it_printed_holds_nothing(
        self, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
    ) -> None:
        monkeypatch.setattr(ask_module, "print_json", lambda _: signal.raise_signal(number))
        outcome = call("ask", "--json")
        assert outcome.exit_code == 128 + number
        assert not history().pending
        assert open_storage(URL, "net").workers() == {}

    def test_a_storage_that_fails_half_way_leaves_nothing_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        claim = Study.ask_or_stop

        def failing(self: Study, only: Any = None) -> Any:
            if self.history.pending:
                raise StorageError("The disk is full.")
            return claim(self, only)

        monkeypatch.setattr(Study, "ask_or_stop", failing)
        outcome = call("ask", "--count", 2)
        assert isinstance(outcome.exception, StorageError)
        assert not history().pending

    def test_nothing_to_ask_is_status_1_and_says_why_on_standard_error(self) -> None:
        asked_by_hand()
        good("tell", label(), 0.5, "--cost", 100)
        outcome = call("ask")
        assert (outcome.exit_code, outcome.stdout) == (1, "")
        assert outcome.stderr.count("\n") == 1
        why = outcome.stderr
        outcome = call("ask", "--json")
        assert outcome.exit_code == 1
        found = json.loads(outcome.stdout)
        assert (found["evaluations"], found["stop_kind"]) == ([], StopKind.BUDGET)
        assert found["stopped"] in why
        assert open_storage(URL, "net").workers() == {}

    @pytest.mark.parametrize(
        ("arguments", "facts"),
        [
            (["--shell", "--json"], ["--shell", "--json"]),
            (["--shell", "--count", "2"], ["--shell", "--count"]),
            (["--lease", "soon"], ["'soon'"]),
            (["--only", "energi"], ["'energi'", "'energy'"]),
            (["--name", "nett"], ["'nett'", "'net'"]),
        ],
    )
    def test_a_mistake_holds_nothing(self, arguments: list[str], facts: list[str]) -> None:
        assert mentions(refusal("ask", *arguments), *facts)
        assert not history().pending

    def test_a_study_with_a_rule_of_its_own_is_asked_by_its_program(self) -> None:
        space = Space({"x": (0.0, 1.0)}, valid=lambda design: True)
        Study(space, ["a", "b"], n_initial=2, storage="sqlite:///odd.db", name="odd").close()
        assert mentions(refusal("ask", "--storage", "sqlite:///odd.db"), "'odd'", "custom rule")


class TestLeases:
    @pytest.mark.slow
    def test_a_process_that_ended_leaves_its_evaluation_out(self) -> None:
        command = [sys.executable, "-m", "flexibo", "ask", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        number = json.loads(done.stdout)["evaluations"][0]["number"]
        with Study.load(URL) as other:
            taken = other.ask(3)
            assert number not in [one.number for one in taken]
            assert number in other.history.pending
        assert mentions(good("status"), number, "error", "by hand")

    @needs_proc
    def test_another_worker_takes_it_after_the_lease(self) -> None:
        (mine,) = asked_by_hand()
        with Study.load(URL) as other:
            before = other.ask()
            assert before is not None
            assert before.number != mine["number"]
            lease_over(mine["number"])
            taken = other.ask()
            assert taken is not None
            assert taken.number == mine["number"]

    @needs_proc
    def test_the_next_hand_takes_it_after_the_lease(self) -> None:
        (mine,) = asked_by_hand("--lease", "0.000001s")
        assert json.loads(good("status", "--json"))["in_flight"][0]["worker"]["state"] == "silent"
        assert mentions(good("status"), mine["number"], "error", "by hand", "lease")
        (again,) = asked_by_hand()
        assert again["number"] == mine["number"]
        assert mentions(good("tell", mine["name"], 0.5, "--cost", 2), "0", "error 0.5", "cost 2")
        assert mentions(refusal("tell", mine["name"], 0.6), "'error'", "already")
        assert not counted("tell", again["name"], 0.5, "--cost", 3)
        assert history().spent == 5.0

    @needs_proc
    def test_two_hands_that_were_asked_the_same_are_told_apart(self) -> None:
        first = json.loads(good("ask", "--json"))["hand"]
        lease_over(0)
        shown = good("ask")
        second = history().assignments[0].worker
        assert f"tell {label()} VALUE --cost COST\n" in shown
        assert mentions(refusal("tell", 0, "--released", "--hand", first), "0", "lease")
        assert mentions(refusal("tell", 0, 0.5, "--hand", "hand-none"), "0", "'hand-none'", "--hand")
        assert counted("tell", 0, 0.5, "--cost", 10, "--hand", first)
        assert not counted("tell", 0, 0.6, "--cost", 20, "--hand", second)
        assert history().spent == 30.0
        assert mentions(refusal("tell", 0, 0.7, "--hand", second), "0", "'error'", "already")

    @needs_proc
    def test_attempts_are_told_apart_by_their_names(self) -> None:
        (first,) = asked_by_hand()
        lease_over(0)
        (second,) = asked_by_hand()
        good("tell", second["name"], 0.5, "--cost", 10)
        good("tell", first["name"], 0.6, "--cost", 20)
        assert history().spent == 30.0
        for one in (first, second):
            assert mentions(refusal("tell", one["name"], 0.7), one["name"], "'error'", "already")

    @needs_proc
    def test_a_late_answer_counts_once(self) -> None:
        (mine,) = asked_by_hand()
        lease_over(mine["number"])
        with Study.load(URL) as other:
            taken = other.ask()
            assert taken is not None
            assert counted("tell", mine["name"], 0.5, "--cost", 2)
            other.tell(taken, 0.7, cost=3.0)
        found = history()
        assert [dict(one.values) for one in found.measurements] == [{"error": 0.5}]
        assert found.spent == 5.0

    @needs_proc
    def test_an_answer_after_another_workers_counts_by_its_cost_and_only_once(self) -> None:
        (mine,) = asked_by_hand()
        lease_over(mine["number"])
        with Study.load(URL) as other:
            taken = other.ask()
            assert taken is not None
            other.tell(taken, 0.7, cost=3.0)
        assert not counted("tell", mine["name"], 0.5, "--cost", 2)
        assert mentions(refusal("tell", mine["name"], 0.5, "--cost", 2), mine["number"], "'error'", "already")
        found = history()
        assert [dict(one.values) for one in found.measurements] == [{"error": 0.7}]
        assert found.spent == 5.0
        assert sum(isinstance(event, Spent) for event in found.events) == 1

    @needs_proc
    def test_a_failure_does_not_take_it_from_who_measures_it_now(self) -> None:
        (mine,) = asked_by_hand()
        lease_over(mine["number"])
        with Study.load(URL) as other:
            taken = other.ask()
            assert taken is not None
            assert mentions(refusal("tell", mine["name"], "--released"), mine["number"], "lease")
            assert not counted("tell", mine["name"], "--failed", "burnt", "--cost", 2)
            assert taken.number in other.history.pending
