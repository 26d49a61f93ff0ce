"""The command line of stored studies: list, status, export, import, run, resume, worker."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from flexibo import Evaluation, Objective, Space, Study
from flexibo import cli as command_line
from flexibo.cli import app
from flexibo.cli._exit_status import ExitStatus, status_of
from flexibo.cli._files import write_whole
from flexibo.cli._workers import functions_of, offered
from flexibo.errors import FlexiBOError, InvalidValueError, UnknownNameError
from flexibo.executors import EXECUTORS, InlineExecutor, find_executor
from flexibo.executors.processes import ProcessExecutor
from flexibo.hardware import MeterError
from flexibo.history import History
from flexibo.history.events import Reissued, Released
from flexibo.storage import Sign, open_storage
from flexibo.storage.heartbeat import about_this_process
from flexibo.systems import catalogue
from flexibo.systems.base import System
from flexibo.systems.platforms import LinuxCpu
from flexibo.transfer import records, study_copy
from flexibo.views.status import in_flight

ASSETS = Path(__file__).parents[2] / "assets"
HOSTILE = "red\x1b[31m"
SPACE = {"x": (0.0, 1.0), "k": [1, 2, 3]}


def error(design: Any) -> tuple[float, float]:
    return design["x"] + design["k"] / 10, 5.0


def energy(design: Any) -> tuple[float, float]:
    return 1.0 - design["x"] + design["k"] / 20, 1.0


def call(*arguments: object, **how: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=True, **how)


def good(*arguments: object, **how: Any) -> str:
    outcome = call(*arguments, **how)
    assert outcome.exit_code == 0, (outcome.output, outcome.exception)
    return str(outcome.stdout)


def refusal(*arguments: object, **how: Any) -> str:
    """The one sentence that a mistake earns."""
    outcome = call(*arguments, **how)
    assert isinstance(outcome.exception, FlexiBOError), (outcome.output, outcome.exception)
    return str(outcome.exception)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test has a folder of its own, and no storage by default."""
    for variable in ("FLEXIBO_STORAGE", "FLEXIBO_DATA"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    before = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = before[0]
    for module in set(sys.modules) - before[1]:
        if not module.startswith("flexibo") and str(getattr(sys.modules[module], "__file__", "")).startswith(
            str(tmp_path)
        ):
            del sys.modules[module]


def begun(name: str = "net", url: str = "sqlite:///study.db", **settings: Any) -> Study:
    objectives = settings.pop("objectives", [Objective("error"), Objective("energy", unit="J", noisy=True)])
    chosen = {"budget": 100, "seed": 3, "n_initial": 3, "candidates": 50, "storage": url, "name": name}
    return Study(settings.pop("space", SPACE), objectives, **(chosen | settings))


def asked(study: Study) -> Evaluation:
    evaluation = study.ask()
    assert evaluation is not None
    return evaluation


def worked(study: Study, steps: int) -> None:
    for _ in range(steps):
        evaluation = asked(study)
        value, cost = {"error": error, "energy": energy}[evaluation.objective](evaluation.design)
        study.tell(evaluation, value, cost=cost)


@pytest.fixture
def study() -> Iterator[Study]:
    """A study with a bit of everything, whose worker is this process."""
    with begun() as study:
        worked(study, 7)
        study.fail(asked(study), f"burnt {HOSTILE}\nand gone", cost=2.0)
        study.note(f"The fan was repaired {HOSTILE}")
        asked(study)
        yield study


def fingerprints(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


class TestList:
    def test_it_shows_how_far_each_study_is(self, study: Study) -> None:
        begun("other", method="random").close()
        shown = " ".join(good("list").split())
        assert "net flexibo" in shown
        assert f"{study.spent:.4g} of 100" in shown
        assert "other random error 0 0 0 0 of 100" in shown
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
        assert "future cannot be read: The event 'dreamt' is unknown" in " ".join(shown.split())
        assert "net" in shown
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
        assert good("list") == "sqlite:///empty.db holds no studies.\n"
        assert json.loads(good("list", "--json")) == []


class TestFindingTheStorage:
    def test_it_may_come_from_the_environment(self, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
        (Path() / "second.db").touch()
        assert "there are second.db, study.db here" in refusal("list")
        monkeypatch.setenv("FLEXIBO_STORAGE", "sqlite:///study.db")
        assert "net" in good("list")

    def test_without_any_the_sentence_says_how_to_name_one(self) -> None:
        sentence = refusal("status")
        assert "there is no .db file here; begin with flexibo init or flexibo run" in sentence
        assert sentence.endswith("or set FLEXIBO_STORAGE.")

    @pytest.mark.parametrize("command", ["list", "status", "export --out f.csv", "resume", "worker --idle 1s"])
    def test_a_password_is_never_printed(self, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("psycopg")
        monkeypatch.setenv("FLEXIBO_STORAGE", "postgresql://ada:s3cret@127.0.0.1:1/studies")
        outcome = call(*command.split())
        assert "postgresql://ada:***@127.0.0.1:1/studies cannot be reached" in str(outcome.exception)
        assert "s3cret" not in f"{outcome.exception} {outcome.output}"
        assert not Path("f.csv").exists()

    def test_a_mistake_is_one_harmless_sentence_and_status_2(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(sys, "argv", ["flexibo", "status", "--storage", f"sqlite:///{HOSTILE}.db"])
        with pytest.raises(SystemExit) as ended:
            command_line.main()
        assert ended.value.code == 2
        printed = capsys.readouterr().err
        assert printed.startswith("flexibo: There is no file ")
        assert "\x1b" not in printed
        assert printed.count("\n") == 1


class TestStatus:
    def test_it_shows_money_objectives_flights_failures_notes_and_the_front(self, study: Study) -> None:
        shown = good("status")
        words = " ".join(shown.split())
        assert "\x1b" not in shown
        assert "net, in sqlite:///study.db" in words
        assert "Method flexibo, seed 3; 2 options, infinitely many designs, 3 of them measured first." in words
        assert f"Spent {study.spent:.4g} of 100" in words
        assert "more expected for what is in flight" in words
        assert f"process {os.getpid()} (alive, last sign" in words
        assert "burnt red\\x1b[31m and gone" in words
        assert "The fan was repaired red\\x1b[31m" in words
        assert f"Pareto front: {len(study.front())} designs" in words
        assert max(map(len, shown.splitlines())) <= 80
        assert "Pareto front" not in good("status", "--no-front")

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
        by_state = {
            state: sum(one[state] for one in found["objectives"]) for state in ("measured", "failed", "pending")
        }
        assert by_state == {"measured": 7, "failed": 1, "pending": 1}

    def test_only_the_last_failures_are_shown_and_the_rest_is_counted(self) -> None:
        with begun(n_initial=8) as study:
            for number, evaluation in enumerate(study.ask(8)):
                study.fail(evaluation, f"reason {number}", impossible=number == 7)
        words = " ".join(good("status").split())
        assert "impossible: reason 7" in words
        assert "reason 2 " not in words
        assert "... and 3 before; --json has them all." in words

    def test_a_failure_does_not_cheapen_the_mean_of_what_was_measured(self) -> None:
        with begun(n_initial=2) as study:
            for evaluation, cost in zip(study.ask(4), (8.0, 1.0, 0.5, 1.0), strict=True):
                if cost == 0.5:
                    study.fail(evaluation, "too large", cost=cost, impossible=True)
                else:
                    study.tell(evaluation, 0.5, cost=cost)
        rows = {row["name"]: row for row in json.loads(good("status", "--json"))["objectives"]}
        assert (rows["error"]["cost"], rows["error"]["mean_cost"]) == (8.5, 8.0)
        assert rows["energy"]["mean_cost"] == 1.0

    def test_hostile_names_are_only_names(self) -> None:
        objectives = [Objective(f"error {HOSTILE}"), Objective("energy", unit=HOSTILE)]
        with begun(objectives=objectives, space={HOSTILE: ["a", f"b{HOSTILE}"], "[bold]": (0.0, 1.0)}) as study:
            for evaluation in study.ask(6):
                study.tell(evaluation, float(evaluation.design["[bold]"]), cost=1.0)
            asked(study)
            shown = [good("status"), good("list")]
        assert all("\x1b" not in text and "red\\x1b[31m" in text for text in shown)
        front = shown[0][shown[0].index("Pareto front") :]
        assert front.count("red\\x1b[31m") >= 3
        assert "[bold]=" in front

    def test_a_study_is_named_where_there_are_several(self, study: Study) -> None:
        begun("other").close()
        assert "holds several studies; name one of 'net', 'other'" in refusal("status")
        assert "did you mean 'other'?" in refusal("status", "--name", "othr")

    def test_objectives_that_come_with_others_and_results_from_before_have_their_numbers(self) -> None:
        objectives = [Objective("error"), Objective("energy"), Objective("ms", measured_with="energy")]
        with begun(objectives=objectives) as study:
            study.add({"x": 0.5, "k": 1}, {"energy": 1.0, "ms": 2.0})
        lines = good("status", "--no-front").splitlines()
        assert any(line.split() == ["ms", "1"] for line in lines)
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


class TestExportAndImport:
    def test_a_study_moves_from_one_database_to_another(self, study: Study) -> None:
        assert good("export", "--out", "net.jsonl") == f"net.jsonl has the {len(study.events)} events of study 'net'.\n"
        first, *lines = Path("net.jsonl").read_text().splitlines()
        assert json.loads(first) == {
            "format": "flexibo-events",
            "version": 1,
            "study": "net",
            "events": len(study.events),
        }
        assert [json.loads(line) for line in lines] == open_storage("sqlite:///study.db", "net").read()
        told = good("import", "net.jsonl", "--storage", "sqlite:///other.db", "--name", "copy")
        assert told == f"sqlite:///other.db has the study 'copy' now, with {len(study.events)} events.\n"
        assert Study.load("sqlite:///other.db", "copy").events == study.events

    def test_a_pipe_will_do(self, study: Study) -> None:
        lines = good("export", "--out", "-", "--format", "jsonl")
        good("import", "-", "--format", "jsonl", "--storage", "sqlite:///other.db", input=lines)
        assert Study.load("sqlite:///other.db").events == study.events

    def test_a_table_has_a_row_per_evaluation(self, study: Study) -> None:
        good("export", "--out", "net.csv")
        assert len(Path("net.csv").read_text().splitlines()) > len(study.history.asked)
        assert Path("net.csv").read_text() == good("export", "--out", "-", "--format", "csv")

    def test_a_file_is_replaced_by_force_only(self, study: Study) -> None:
        Path("net.csv").write_text("mine")
        assert "net.csv exists already; give another name, or --force" in refusal("export", "--out", "net.csv")
        assert Path("net.csv").read_text() == "mine"
        good("export", "--out", "net.csv", "--force")
        assert Path("net.csv").read_text().startswith("number,")

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["--out", "net.txt"], "The format of net.txt is 'txt'; give a name that ends in .jsonl or .csv"),
            (["--out", "-"], "The format of - is not given"),
            (["--out", "nowhere/net.csv"], "nowhere/net.csv cannot be written; give a file in a folder that exists"),
            (["--out", "net.csv", "--name", "nett"], "did you mean 'net'?"),
        ],
    )
    def test_what_cannot_be_exported_leaves_no_file(self, study: Study, arguments: list[str], sentence: str) -> None:
        before = {path.name for path in Path().iterdir()}
        assert sentence in refusal("export", *arguments)
        assert {path.name for path in Path().iterdir()} == before

    def test_a_file_appears_whole_or_not_at_all(self, tmp_path: Path) -> None:
        def interrupted() -> Iterator[str]:
            yield "half of it"
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write_whole(tmp_path / "f.csv", interrupted(), force=False)
        assert list(tmp_path.iterdir()) == []

        def overtaken() -> Iterator[str]:
            (tmp_path / "f.csv").write_text("theirs")
            yield "ours"

        with pytest.raises(InvalidValueError, match="exists already"):
            write_whole(tmp_path / "f.csv", overtaken(), force=False)
        assert [path.read_text() for path in tmp_path.iterdir()] == ["theirs"]

    def test_a_damaged_export_makes_no_database(self, study: Study) -> None:
        good("export", "--out", "net.jsonl")
        lines = Path("net.jsonl").read_text().splitlines()
        Path("net.jsonl").write_text("\n".join([*lines[:5], f"{{{HOSTILE}", *lines[6:]]))
        sentence = refusal("import", "net.jsonl", "--storage", "sqlite:///other.db")
        assert sentence.startswith("Line 6 of net.jsonl is damaged: it is not JSON.")
        assert not Path("other.db").exists()

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (
                ["none.jsonl", "--storage", "sqlite:///other.db"],
                "none.jsonl cannot be read: No such file or directory.",
            ),
            (["net.jsonl"], "sqlite:///study.db holds a study 'net' already"),
            (["net.jsonl", "--storage", "sqlite:///study.db"], "holds a study 'net' already"),
            (["net.bin", "--storage", "sqlite:///other.db"], "The format of net.bin is 'bin'"),
        ],
    )
    def test_what_cannot_be_imported_is_refused(self, study: Study, arguments: list[str], sentence: str) -> None:
        good("export", "--out", "net.jsonl")
        assert sentence in refusal("import", *arguments)
        assert status_of(call("import", *arguments).exception) is ExitStatus.MISTAKE
        assert not Path("other.db").exists()

    def test_an_export_says_how_many_attempts_were_measured(self, study: Study) -> None:
        told = good("export", "--out", "net.csv")
        states = Counter(record.state for record in records(study.history, [None] * len(study.events)))
        assert told.startswith(f"net.csv has {states.total()} attempts of study 'net': ")
        assert states["failed"] == states["pending"] == 1
        for state, number in states.items():
            assert f"{number} {state}" in told
        good("import", "net.csv")
        Path("more.csv").write_text("x,k,error\n0.5,1,0.25\n")
        good("import", "more.csv")
        again = good("export", "--out", "net.csv", "--force")
        assert again.endswith(", and 1 result that was brought in.\n")

    def test_results_of_a_table_are_added_all_or_none(self) -> None:
        begun().close()
        table = "x,k,error,energy\n0.5,1,0.25,\n0.75,2,0.5,1.5\n0.1,2,,\n"
        Path("known.csv").write_text(f"\ufeff{table}", encoding="utf-8")
        told = good("import", "known.csv")
        assert told == "2 results were added to study 'net'. 1 rows have no values and were passed over.\n"
        found = Study.load("sqlite:///study.db").history
        assert (found.count(0), found.count(1), found.spent) == (2, 1, 0.0)
        told = good("import", "known.csv")
        assert told.startswith("0 results were added to study 'net'.")
        assert told.endswith("2 rows were known to the study and not added again.\n")
        Path("bad.csv").write_text("x,k,error\n0.2,1,0.25\n0.3,7,0.25\n")
        assert "Line 3 of bad.csv: Option 'k' is 7" in refusal("import", "bad.csv")
        assert len(Study.load("sqlite:///study.db").events) == len(found.events)
        Path("bytes.csv").write_bytes(b"x,k,error\n\xff,1,2\n")
        assert "bytes.csv is not CSV" in refusal("import", "bytes.csv")


BOARD = """
import os, signal

calls = []

def error(design):
    calls.append(design)
    if {fail!r} == "error":
        raise RuntimeError("burnt \\x1b[31m" + chr(10) + "and gone")
    if {kill!r} and len(calls) == 3:
        os.kill(os.getpid(), {kill!r})
    return design["x"] + design["k"] / 10, 5.0

def energy(design):
    return 1 - design["x"] + design["k"] / 20, 1.0

functions = {{"error": error, "energy": energy}}

def made():
    return functions

class Bench:
    functions = functions

needs = lambda argument: functions
number = 3
"""


def board(*, fail: str = "", kill: int = 0) -> None:
    Path("board.py").write_text(BOARD.format(fail=fail, kill=kill))


NEEDY = [Objective("error", resources={"GPU": 1}), Objective("energy", resources={"jetson": 2})]


class TestWorker:
    def test_it_measures_until_the_study_is_finished_and_says_each_evaluation_in_a_line(self) -> None:
        board()
        begun(budget=30).close()
        lines = good("worker", "--functions", "board:functions").splitlines()
        study = Study.load("sqlite:///study.db")
        assert len(study.history.measurements) == len(lines) - 2
        assert "Measuring error, energy for study 'net', which has 0 measurements." in lines[0]
        assert any(" error 0." in line and ", cost 5, for x=0." in line and ", k=" in line for line in lines)
        assert "The budget is spent" in lines[-1]
        assert lines[-1].endswith(f"Here: {len(lines) - 2} measured, 0 failed.")
        assert open_storage("sqlite:///study.db", "net").workers() == {}

    def test_it_serves_what_its_resources_allow_and_leaves_the_rest_to_others(self) -> None:
        board()
        begun(objectives=NEEDY).close()
        common = ("worker", "--functions", "board:functions", "--idle", "0.3s")
        first = good(*common, "--resources", "GPU=1,jetson")
        assert "energy is left to others: it needs --resources jetson=2." in first
        assert "There was nothing to do for 0.3 s." in first
        assert {e.objective for e in Study.load("sqlite:///study.db").history.asked} == {"error"}
        good(*common, "--resources", "GPU=1", "--resources", "jetson=2", "--only", "energy")
        asked_for = [evaluation.objective for evaluation in Study.load("sqlite:///study.db").history.asked]
        assert asked_for[:3] == ["error"] * 3
        assert set(asked_for[3:]) == {"energy"}
        assert "There is nothing of study 'net' to measure here; see --only and --resources." in refusal(*common)

    def test_a_failure_is_one_harmless_line(self, caplog: pytest.LogCaptureFixture) -> None:
        board(fail="error")
        begun(n_initial=1).close()
        lines = good("worker", "--functions", "board:functions").splitlines()
        failed = [line for line in lines if "failed:" in line]
        assert "error failed: RuntimeError: burnt \\x1b[31m and gone (board.py, line 9), for x=" in failed[0]
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
        assert f"Stopped by {name}: gave back evaluation {released.number}; " in last
        assert not study.pending
        assert open_storage("sqlite:///study.db", "net").workers() == {}
        assert {one: signal.getsignal(one) for one in before} == before

    def test_what_a_dead_worker_held_is_measured_first(self) -> None:
        board()
        dead = begun(budget=30)
        left = asked(dead)
        worker = next(iter(open_storage("sqlite:///study.db", "net").workers()))
        dead._heartbeat._leave = None  # it dies without a word
        about = {**about_this_process(), "pid": 2**22 + 1}
        open_storage("sqlite:///study.db", "net").sign(worker, Sign(1, 5.0, 60.0, about))
        lines = good("worker", "--functions", "board:functions").splitlines()
        assert f" {left.number} {left.objective} " in lines[1]
        events = Study.load("sqlite:///study.db").events
        assert any(isinstance(event, Reissued) and event.number == left.number for event in events)

    @pytest.mark.parametrize("name", ["functions", "made", "Bench", "Bench.functions"])
    def test_functions_may_be_a_mapping_or_what_makes_one(self, name: str) -> None:
        board()
        assert set(functions_of(f"board:{name}")) == {"error", "energy"}

    @pytest.mark.parametrize(
        ("place", "sentence"),
        [
            ("board", "--functions is 'board'; give MODULE:NAME"),
            ("bord:functions", "Module 'bord' of --functions cannot be imported"),
            ("board:function", "Module 'board' has no 'function'"),
            ("board:needs", "board:needs cannot be called without arguments"),
            ("board:number", "board:number is 3; it must be a mapping"),
        ],
    )
    def test_functions_that_are_not_there_are_refused(self, place: str, sentence: str) -> None:
        board()
        begun().close()
        assert sentence in refusal("worker", "--functions", place)

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            ([], "Study 'net' was made by a program, which has its functions; name them with --functions MODULE:NAME"),
            (["--functions", "board:functions", "--only", "eror"], "did you mean 'error'?"),
            (["--functions", "board:functions", "--system", "lenet"], "Both --system and --functions are given"),
            (["--functions", "board:functions", "--resources", "GPU=many"], "--resources has 'GPU=many'"),
            (["--functions", "board:functions", "--resources", "GPU=0"], "--resources has 0.0 of resource 'GPU'"),
            (["--functions", "board:functions", "--idle", "soon"], "The duration is 'soon'"),
            (["--functions", "board:functions", "--name", "nett", "--idle", "0.3s"], "did you mean 'net'?"),
        ],
    )
    def test_a_mistake_is_said_before_anything_is_claimed(self, arguments: list[str], sentence: str) -> None:
        board()
        begun().close()
        assert sentence in refusal("worker", *arguments)
        assert not Study.load("sqlite:///study.db").history.asked

    def test_a_function_that_is_missing_is_named(self) -> None:
        board()
        begun(objectives=["error", "weight"]).close()
        assert "There is no function of 'weight' among error, energy" in refusal("worker", "--functions", "board:made")

    def test_it_waits_for_a_study_that_is_not_begun_yet(self, monkeypatch: pytest.MonkeyPatch) -> None:
        board()
        steps = iter(
            [lambda: open_storage("sqlite:///late.db", "net"), lambda: begun(url="sqlite:///late.db", budget=20)]
        )
        clock = SimpleNamespace(sleep=lambda seconds: next(steps)(), monotonic=time.monotonic, strftime=time.strftime)
        monkeypatch.setattr(import_module("flexibo.cli.worker"), "time", clock)
        shown = good("worker", "--functions", "board:functions", "--storage", "sqlite:///late.db", "--name", "net")
        assert shown.count("Waiting for the study 'net' to be begun.") == 1
        assert "The budget is spent" in shown

    def test_it_waits_for_no_longer_than_it_may_be_idle(self) -> None:
        outcome = call("worker", "--functions", "board:f", "--storage", "sqlite:///none.db", "--idle", "0.3s")
        assert "There is no file" in str(outcome.exception)
        assert not Path("none.db").exists()
        Path("foreign.db").write_text("not a database" * 100)
        assert "is not a SQLite database" in refusal("worker", "--storage", "sqlite:///foreign.db", "--idle", "10m")

    def test_a_study_with_a_rule_of_its_own_stays_with_its_program(self) -> None:
        board()
        begun(space=Space(SPACE, valid=lambda design: True), cost=lambda design, objective: 1.0).close()
        sentence = refusal("worker", "--functions", "board:functions")
        assert sentence.startswith(
            "Study 'net' has a rule and a cost of its own, which only its program has; go on there"
        )

    def test_what_it_offers_must_suffice_for_all_that_an_objective_needs(self) -> None:
        history = History(Space(SPACE), [Objective("a", resources={"GPU": 1, "jetson": 1}), Objective("b")])
        assert offered(history, ["a", "b"], {"GPU": 2.0})[0] == ["b"]
        assert offered(history, ["a", "b"], {"GPU": 1.0, "jetson": 1.0}) == (["a", "b"], [])


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> System:
    """A system whose recorded table is a formula."""
    objectives = (Objective("error_percent"), Objective("energy_millijoules", unit="mJ"))
    functions = {"error_percent": error, "energy_millijoules": energy}
    system = System("toy-table", Space({"x": [i / 20 for i in range(21)], "k": [1, 2, 3]}), objectives, functions)
    monkeypatch.setattr("flexibo.compare.problems.recorded_systems.recorded_system", lambda name: system)
    return system


class TestRunAndResume:
    def test_a_run_stores_what_it_is_made_of_and_resume_goes_on(self, toy: System) -> None:
        shown = good("run", "toy", "--recorded", "--budget", "80s", "--name", "mine", "--lease", "5m")
        assert "The study is kept in sqlite:///toy-table.db" in shown
        study = Study.load("sqlite:///toy-table.db", "mine")
        assert study.history.origin == {"system": "toy-table", "recorded": True}
        assert 60 < study.spent <= 85
        assert "Made by flexibo run: system toy-table, recorded True." in " ".join(good("status", "--no-front").split())
        again = good("resume", "--budget", "100s")
        assert "What was measured" in again
        study.refresh()
        assert study.budget == 100
        assert 80 < study.spent <= 105
        assert good("resume").count("Stopped: ") == 1
        study.refresh()
        assert study.budget == 100

    def test_run_and_resume_draw_the_same_picture_named_after_the_table(self, toy: System) -> None:
        assert "drawn in toy-table.png" in good("run", "toy", "--recorded", "--budget", "80s")
        assert "drawn in toy-table.png" in good("resume", "--budget", "90s")

    @pytest.mark.parametrize(
        "typed", [("--and", "latency_ms"), ("--limit", "9"), ("--data", "."), ("--estimate", "5"), ("--longest", "9s")]
    )
    def test_what_says_how_to_measure_is_refused_beside_a_recorded_table(
        self, toy: System, typed: tuple[str, str]
    ) -> None:
        told = refusal("run", "toy", "--recorded", *typed)
        assert told == f"{typed[0]} says how to measure, and --recorded measures nothing; leave one of them out."

    def test_a_folder_of_data_that_the_environment_names_does_not_disturb_a_recorded_table(
        self, toy: System, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("FLEXIBO_DATA", str(tmp_path))
        assert "The study is kept in" in good("run", "toy", "--recorded", "--budget", "80s")

    def test_a_share_that_may_be_missed_is_taken_by_run_and_by_resume(self, toy: System) -> None:
        good("run", "toy", "--recorded", "--budget", "80s", "--certified-error", "1%")
        assert Study.load("sqlite:///toy-table.db").stop == {"certified_error": 0.01}
        assert "is certified to miss at most 99 %" in good("resume", "--budget", "100s", "--certified-error", "99%")
        assert Study.load("sqlite:///toy-table.db").stop == {"certified_error": 0.99}

    @pytest.mark.parametrize("flag", ["--budget", "--certified-error", "--longest"])
    def test_an_option_that_is_typed_without_its_number_is_refused(self, toy: System, flag: str) -> None:
        assert refusal("run", "toy", "--recorded", flag, "") == f"{flag} is empty; give it a value, or leave it out."

    @pytest.mark.parametrize("command", [("run", "toy", "--recorded"), ("resume",)])
    def test_a_budget_that_is_typed_counts_also_where_it_is_the_smaller_one(
        self, toy: System, command: tuple[str, ...], caplog: pytest.LogCaptureFixture
    ) -> None:
        good("run", "toy", "--recorded", "--budget", "80s")
        before = Study.load("sqlite:///toy-table.db").spent
        lowered = good(*command, "--budget", "40s")
        assert "The budget was 80 s; it is 40 s now. It is spent already (" in lowered
        assert " of 40 s), so nothing is measured." in lowered
        study = Study.load("sqlite:///toy-table.db")
        assert (study.budget, study.spent) == (40.0, before)
        assert "larger budget" not in caplog.text
        raised = good(*command, "--budget", "100s")
        assert "The budget was" not in raised
        study = Study.load("sqlite:///toy-table.db")
        assert study.budget == 100
        assert study.spent > before

    def test_an_objective_that_always_fails_is_status_1_and_says_what_to_do(
        self, toy: System, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(design: Any) -> float:
            raise OSError("no board")

        failing = dataclasses.replace(toy, functions={**toy.functions, "energy_millijoules": broken})
        monkeypatch.setattr("flexibo.compare.problems.recorded_systems.recorded_system", lambda name: failing)
        for form in ((), ("--json",)):
            outcome = call("run", "toy", "--recorded", *form)
            assert outcome.exit_code == 1
            assert "Objective 'energy_millijoules' gave no value: all " in outcome.stderr
            assert "run the same command again; flexibo status shows the failures" in outcome.stderr
        assert json.loads(outcome.stdout)["front"] == []
        monkeypatch.setattr("flexibo.compare.problems.recorded_systems.recorded_system", lambda name: toy)
        shown = good("run", "toy", "--recorded", "--budget", "80s")
        assert "failed attempts" in shown
        shares = [int(found) for found in re.findall(r"(\d+)% │$", shown, re.MULTILINE)]
        assert len(shares) == 3
        assert sum(shares) == 100

    def test_a_run_may_leave_objectives_to_others(self, toy: System) -> None:
        storage = ("--storage", "sqlite:///shared.db")
        shown = good("run", "toy", "--recorded", "--only", "energy_millijoules", "--idle", "0.3s", *storage)
        assert (
            "Measuring energy_millijoules; others must measure error_percent of study 'toy-table', with flexibo worker "
            "--only error_percent."
        ) in shown
        asked_for = {evaluation.objective for evaluation in Study.load("sqlite:///shared.db").history.asked}
        assert asked_for == {"energy_millijoules"}
        good("worker", "--only", "error_percent", "--idle", "0.3s", *storage)
        history = Study.load("sqlite:///shared.db").history
        assert history.count(0) >= 10
        assert history.count(1) == 10
        good("resume", "--budget", f"{history.spent + 20:g}s", *storage)
        assert Study.load("sqlite:///shared.db").history.count(1) > 10

    def test_worker_processes_measure_too(self, toy: System, monkeypatch: pytest.MonkeyPatch) -> None:
        import cloudpickle

        cloudpickle.register_pickle_by_value(sys.modules[__name__])
        try:
            good("run", "toy", "--recorded", "--budget", "80s", "--executor", "processes", "--workers", "2")
        finally:
            cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
        assert len(Study.load("sqlite:///toy-table.db").history.measurements) > 10

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["--workers", "2"], "--workers is for another executor than inline"),
            (["--address", "board:8786"], "--address is for another executor than inline"),
            (["--executor", "procesess"], "did you mean 'processes'?"),
            (["--executor", "processes", "--address", "x:1"], "Executor 'processes' takes no address"),
            (["--only", "eror_percent"], "did you mean 'error_percent'?"),
            (["--lease", "0s"], "The duration is '0s'"),
        ],
    )
    def test_mistakes_are_said_before_anything_is_measured(
        self, toy: System, arguments: list[str], sentence: str
    ) -> None:
        assert sentence in refusal("run", "toy", "--recorded", *arguments)
        studies = Path("toy-table.db")
        assert not studies.exists() or not Study.load("sqlite:///toy-table.db").history.asked

    def test_a_study_of_a_program_is_gone_on_with_there(self, study: Study) -> None:
        assert refusal("resume") == (
            "Study 'net' was made by a program, which has its functions; go on there, with "
            "Study.load('sqlite:///study.db', 'net').run({...}), or with flexibo worker --functions MODULE:NAME."
        )

    def test_sigterm_stops_a_run_as_ctrl_c_does(self, toy: System, monkeypatch: pytest.MonkeyPatch) -> None:
        calls: list[int] = []

        def killed(design: Any) -> tuple[float, float]:
            calls.append(1)
            if len(calls) == 4:
                signal.raise_signal(signal.SIGTERM)
            return error(design)

        stopping = dataclasses.replace(toy, functions={**toy.functions, "error_percent": killed})
        monkeypatch.setattr("flexibo.compare.problems.recorded_systems.recorded_system", lambda name: stopping)
        stopped = call("run", "toy", "--recorded")
        assert stopped.exit_code == 143
        assert "Stopped: Interrupted by SIGTERM; what was measured is kept." in stopped.stdout
        assert re.search(r"^Spent \S+ of 1800 s; measured ", stopped.stdout, re.MULTILINE)
        assert not Study.load("sqlite:///toy-table.db").pending


class TestExecutors:
    def test_each_is_found_by_its_name(self) -> None:
        assert isinstance(find_executor("inline"), InlineExecutor)
        executor = find_executor("processes", n=2, slots={"energy": 1}, resources={"GPU": 1})
        assert isinstance(executor, ProcessExecutor)
        assert executor.has_room(Objective("a", resources={"GPU": 1}))
        executor.close()

    def test_what_it_does_not_take_is_refused(self) -> None:
        with pytest.raises(UnknownNameError, match="did you mean 'inline'"):
            find_executor("online")
        with pytest.raises(InvalidValueError, match=r"'inline' takes no n; .* processes, dask, ray"):
            find_executor("inline", n=2)
        with pytest.raises(InvalidValueError, match=r"'dask' takes no slots; .* processes"):
            find_executor("dask", slots={"a": 1})

    def test_their_packages_are_imported_when_they_are_used(self) -> None:
        code = "import sys, flexibo.executors, flexibo.cli; print(*sys.modules)"
        printed = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
        heavy = {"dask", "distributed", "ray", "cloudpickle", "sqlalchemy", "sklearn", "torch", "rich.table", "scipy"}
        assert not heavy & set(printed)
        assert list(EXECUTORS) == ["inline", "processes", "dask", "ray"]


FIRST = [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]  # how the labels of MNIST begin
SMALL = {
    f"{what}_{layer}": values
    for layer in (1, 2, 3, 4)
    for what, values in (("filters", (16, 32)), ("filter_size", (1, 3)))
}


class FakeMeter:
    """Gains a joule at each look."""

    name, update_seconds, is_estimate = "a fake", 0.001, False

    def __init__(self) -> None:
        self.joules = 0.0

    def read_joules(self) -> float:
        self.joules += 1.0
        return self.joules


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # where the processor has no bfloat16 of its own
class TestSplitBetweenMachines:
    """The paper's split: a board reads energy and begins the study, a GPU machine trains."""

    @pytest.fixture
    def data(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """MNIST in its own format, but small."""
        pytest.importorskip("torch")
        monkeypatch.setattr(catalogue, "NETWORKS", MappingProxyType({**catalogue.NETWORKS, "lenet": SMALL}))
        reading = SimpleNamespace(joules=0.25, call_seconds=0.5, watts=0.5, seconds_total=0.01)
        monkeypatch.setattr("flexibo.systems.network_runner.measure", lambda run, meter, **how: reading)
        folder = tmp_path / "data"
        folder.mkdir()
        rng = np.random.default_rng(0)
        for part, count in (("train", 60), ("t10k", 20)):
            labels = np.array((FIRST * 6)[:count], dtype=np.uint8)
            pixels = (rng.integers(0, 40, (count, 12, 12)) + 20 * labels[:, None, None]).astype(np.uint8)
            images = struct.pack(">HBBIII", 0, 8, 3, count, 12, 12) + pixels.tobytes()
            (folder / f"{part}-images-idx3-ubyte").write_bytes(images)
            (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">HBBI", 0, 8, 1, count) + labels.tobytes())
        return folder

    @pytest.fixture
    def no_meter(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
        def remove() -> None:
            def nothing(self: object) -> None:
                raise MeterError("There is no meter.")

            monkeypatch.setattr(LinuxCpu, "meter", nothing)

        return remove

    @pytest.fixture
    def begin(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
        """The board begins the study; it has a meter, and does not train."""
        monkeypatch.setattr(LinuxCpu, "meter", lambda self: FakeMeter())

        def run(*more: str) -> str:
            common = ("--data", data, "--platform", "linux-cpu", "--epochs", "1", "--idle", "0.3s", "--budget", "20s")
            return good("run", "lenet", "--only", "energy_millijoules", *common, *more)

        return run

    def test_a_board_begins_and_a_trainer_without_a_meter_goes_on(
        self, data: Path, begin: Callable[..., str], no_meter: Callable[[], None]
    ) -> None:
        shown = begin("--and", "latency_ms")
        assert "energy_millijoules is of one inference, read from a fake." in " ".join(shown.split())
        assert "held-out" not in shown
        assert not Path("models").exists()
        study = Study.load("sqlite:///lenet.db")
        origin = study.history.origin
        assert origin["system"] == "lenet"
        assert (origin["epochs"], origin["dataset"], origin["and"]) == (1, "mnist", ["latency_ms"])
        assert not {"storage", "data", "models"} & set(origin)
        assert study.history.count(0) == 0
        assert study.history.count(1) == study.history.count(2) > 0
        no_meter()
        good("worker", "--system", "lenet", "--only", "error_percent", "--data", data, "--idle", "0.3s")
        study.refresh()
        assert study.history.count(0) > 0
        assert list(Path("models").glob("lenet-*.json"))
        assert "Without a meter" in refusal("worker", "--data", data, "--idle", "0.3s")

    def test_run_with_the_error_alone_joins_what_was_begun_where_energy_is_measured(
        self, data: Path, begin: Callable[..., str], no_meter: Callable[[], None]
    ) -> None:
        only = ("run", "lenet", "--only", "error_percent", "--data", data, "--idle", "0.3s")
        assert "There is no file" in refusal(*only)
        begin()
        no_meter()
        good(*only)
        assert Study.load("sqlite:///lenet.db").history.count(0) > 0
        Study(SPACE, ["a", "b"], storage="sqlite:///other.db", seed=0).close()
        assert "holds no study of lenet; begin it where energy is measured" in refusal(
            *only, "--storage", "sqlite:///other.db"
        )

    def test_what_would_mix_values_is_refused(
        self, data: Path, begin: Callable[..., str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begin()
        reading = ("worker", "--only", "energy_millijoules", "--idle", "0.3s", "--data", data)
        assert "study is of system 'lenet'; 'resnet' given" in refusal(*reading, "--system", "resnet")
        with monkeypatch.context() as patch:
            patch.setattr(FakeMeter, "name", "another")
            assert "is read from a fake; here it would be from another" in refusal(*reading)
        with monkeypatch.context() as patch:
            offers = LinuxCpu.options
            patch.setattr(LinuxCpu, "options", lambda self, traits: {**offers(self, traits), "batch": (1, 2)})
            assert "This machine offers other values of batch than the one that the study was begun on" in refusal(
                *reading
            )
        assert "which decides the shape of the network; give --data" in refusal(*reading[:-2])
        good(*reading)

    def test_a_study_that_was_trained_otherwise_is_not_gone_on_with(
        self, data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(LinuxCpu, "meter", lambda self: FakeMeter())
        both = ("--data", data, "--platform", "linux-cpu", "--epochs", "1", "--budget", "1s")
        good("run", "lenet", *both)
        training = ("worker", "--only", "error_percent", "--data", data, "--idle", "0.3s")
        assert "are not those that the study was begun with" in refusal(*training, "--epochs", "2")
        assert "are not those that the study was begun with" in refusal(*training, "--limit", "30")
        good(*training)
        good("resume", "--data", data, "--budget", "2s")
