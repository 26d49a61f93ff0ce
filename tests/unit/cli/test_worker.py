"""``flexibo worker``."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.command_line import (
    BOARD_FILE,
    SPACE,
    STUDY_FILE,
    asked,
    begun,
    board,
    call,
    good,
    mentions,
    printed,
    refusal,
)

from flexibo import Objective, Space, Study
from flexibo.history.events import Reissued, Released
from flexibo.optimizer import StopKind
from flexibo.storage import Sign, open_storage
from flexibo.storage.processes import about_this_process

NEEDY = [Objective("error", resources={"GPU": 1}), Objective("energy", resources={"jetson": 2})]


class TestWorker:
    def test_it_measures_until_the_study_is_finished_and_says_each_evaluation_in_a_line(self) -> None:
        board()
        begun(budget=30, method="random").close()
        lines = good("worker", "--functions", "board:functions").splitlines()
        study = Study.load("sqlite:///study.db")
        assert len(study.history.measurements) == len(lines) - 2
        assert mentions(lines[0], "error, energy", "'net'", "0 measurements")
        assert any(" error 0." in line and ", cost 5, for x=0." in line and ", k=" in line for line in lines)
        assert study.stop_kind is StopKind.BUDGET
        assert mentions(lines[-1], f"{len(lines) - 2} measured", "0 failed")
        assert open_storage("sqlite:///study.db", "net").workers() == {}

    def test_as_json_lines_every_line_is_an_object_with_its_event(self) -> None:
        board(fail="error")
        begun(budget=30, method="random").close()
        program = [sys.executable, "-m", "flexibo", "--log-json", "worker", "--functions", "board:functions"]
        ended = subprocess.run(program, capture_output=True, text=True, check=True)
        assert ended.stdout == ""
        lines = [json.loads(line) for line in ended.stderr.splitlines()]
        own = [line for line in lines if "event" in line]
        assert (own[0]["event"], own[-1]["event"]) == ("started", "ended")
        counts = Counter(line["event"] for line in own)
        assert (counts["measured"], counts["failed"]) == (own[-1]["measured"], own[-1]["failed"])
        assert counts["failed"] > 0
        assert all({"number", "objective", "cost"} <= line.keys() for line in own[1:-1])

    def test_it_serves_what_its_resources_allow_and_leaves_the_rest_to_others(self) -> None:
        board()
        begun(objectives=NEEDY, method="random", budget=40).close()
        common = ("worker", "--functions", "board:functions", "--idle", "0.1s")
        first = good(*common, "--resources", "GPU=1,jetson")
        assert mentions(first, "energy", "--resources jetson=2")
        assert mentions(first.splitlines()[-1], "0.1 s", "measured")
        assert {e.objective for e in Study.load("sqlite:///study.db").history.asked} == {"error"}
        good(*common, "--resources", "GPU=1", "--resources", "jetson=2", "--only", "energy")
        asked_for = [evaluation.objective for evaluation in Study.load("sqlite:///study.db").history.asked]
        assert asked_for[:3] == ["error"] * 3
        assert set(asked_for[3:]) == {"energy"}
        assert mentions(refusal(*common), "'net'", "--only", "--resources")

    def test_a_failure_is_one_harmless_line(self, caplog: pytest.LogCaptureFixture) -> None:
        board(fail="error")
        begun(n_initial=1).close()
        lines = good("worker", "--functions", "board:functions").splitlines()
        failed = [line for line in lines if "failed:" in line]
        assert mentions(failed[0], "error failed", "RuntimeError", "burnt \\x1b[31m and gone", "board.py, line 9", "x=")
        assert not caplog.records

    @pytest.mark.parametrize(("number", "name"), [(signal.SIGTERM, "SIGTERM"), (signal.SIGINT, "Ctrl-C")])
    def test_a_signal_stops_it_and_what_it_held_is_given_back(self, number: signal.Signals, name: str) -> None:
        board(kill=int(number))
        begun().close()
        before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)}
        outcome = call("worker", "--functions", "board:functions")
        assert outcome.exit_code == 128 + number
        study = Study.load("sqlite:///study.db")
        (released,) = [event for event in study.events if isinstance(event, Released)]
        last = outcome.stdout.splitlines()[-1]
        assert mentions(last, name, "released", released.number)
        assert not study.pending
        assert open_storage("sqlite:///study.db", "net").workers() == {}
        assert {one: signal.getsignal(one) for one in before} == before

    def test_what_a_dead_worker_held_is_measured_first(self) -> None:
        board()
        dead = begun(budget=20, method="random")
        left = asked(dead)
        worker = next(iter(open_storage("sqlite:///study.db", "net").workers()))
        dead._heartbeat._leave = None  # it dies without a word
        about = {**about_this_process(), "pid": 2**22 + 1}
        open_storage("sqlite:///study.db", "net").sign(worker, Sign(1, 5.0, 60.0, about))
        lines = good("worker", "--functions", "board:functions").splitlines()
        assert f" {left.number} {left.objective} " in lines[1]
        events = Study.load("sqlite:///study.db").events
        assert any(isinstance(event, Reissued) and event.number == left.number for event in events)

    @pytest.mark.parametrize(
        ("arguments", "facts"),
        [
            ([], ["'net'", "--functions MODULE:NAME", "--system", "--file"]),
            (["--functions", "board:functions", "--only", "eror"], ["'eror'", "'error'"]),
            (["--functions", "board:functions", "--system", "lenet"], ["--system", "--functions"]),
            (["--functions", "board:functions", "--resources", "GPU=many"], ["--resources", "'GPU=many'"]),
            (["--functions", "board:functions", "--resources", "GPU=0"], ["--resources", "0.0", "'GPU'"]),
            (["--functions", "board:functions", "--idle", "soon"], ["'soon'"]),
            (["--functions", "board:functions", "--name", "nett", "--idle", "0.1s"], ["'nett'", "'net'"]),
        ],
    )
    def test_a_mistake_is_said_before_anything_is_claimed(self, arguments: list[str], facts: list[str]) -> None:
        board()
        begun().close()
        assert mentions(refusal("worker", *arguments), *facts)
        assert not Study.load("sqlite:///study.db").history.asked

    def test_a_study_with_a_rule_of_its_own_stays_with_its_program(self) -> None:
        board()
        begun(space=Space(SPACE, valid=lambda design: True), cost=lambda design, objective: 1.0).close()
        assert mentions(refusal("worker", "--functions", "board:functions"), "'net'", "custom rule", "custom cost")


def stored(name: str | None = "toy", file: str = "toy.db") -> Study:
    return Study.load(f"sqlite:///{file}", name)


@pytest.mark.usefixtures("folder")
class TestWithAStudyFile:
    def test_it_measures_its_part_from_the_file_of_the_study(self) -> None:
        printed("run", "study.yaml", "--only", "joules", "--idle", "0.01s")
        assert stored().history.count(0) == 0
        shown = printed("worker", "--only", "error", "--idle", "0.01s")
        assert mentions(shown, "error", "'toy'")
        assert stored().history.count(0)

    def test_a_file_may_be_named_and_says_where_the_study_is(self, folder: Path) -> None:
        (folder / "study.yaml").write_text(f"storage: sqlite:///mine.db\n{STUDY_FILE}")
        printed("run", "study.yaml", "--only", "joules", "--idle", "0.01s")
        printed("worker", "--file", "study.yaml", "--only", "error", "--idle", "0.01s")
        assert stored("toy", "mine.db").history.count(0)

    def test_it_does_not_run_a_file_that_has_changed_unasked(self, folder: Path) -> None:
        printed("run", "study.yaml", "--only", "joules", "--idle", "0.01s")
        (folder / "study.yaml").write_text(STUDY_FILE.replace("echo {x} 8", "touch evil; echo {x} 8"))
        told = refusal("worker", "--only", "error", "--idle", "0.01s")
        assert mentions(told, "study.yaml", "has changed", "'toy'", "--file")
        assert not (folder / "evil").exists()

    def test_functions_of_the_command_line_may_take_the_place_of_the_file(self, folder: Path) -> None:
        printed("run", "study.yaml", "--only", "joules", "--idle", "0.01s")
        (folder / "board.py").write_text(BOARD_FILE + "\nfunctions = {'error': lambda design: (0.5, 8.0)}\n")
        sys.modules.pop("board", None)
        printed("worker", "--only", "error", "--functions", "board:functions", "--idle", "0.01s")
        assert stored().history.count(0)
        assert not (folder / "last").exists()
