"""Objectives with steps on the command line: ask, tell, status, front, export and import."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from tests.command_line import good, mentions, refusal
from tests.unit.study.small_studies import asked

from flexibo import Design, Objective, Study
from flexibo.cli._progress_lines import evaluation_facts, evaluation_line
from flexibo.dashboard.follower import Follower
from flexibo.executors import Outcome
from flexibo.storage import MemoryStorage, open_storage

URL = "sqlite:///study.db"


@pytest.fixture(autouse=True)
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLEXIBO_STORAGE", URL)
    return opened(URL)


def opened(storage: Any) -> Study:
    return Study(
        {"x": [0.0, 0.25, 0.5, 1.0]},
        [Objective("error", steps=[3, 9]), Objective("joules", unit="J")],
        storage=storage,
        name="net",
        seed=1,
        n_initial=2,
        method="random",
    )


def test_ask_says_from_which_step_to_which_and_where_the_checkpoint_is(study: Study) -> None:
    shown = good("ask", "--only", "error")
    evaluation = next(iter(Study.load(URL).pending))
    folder = str(Study.load(URL).checkpoint(evaluation.design, "error"))
    assert "measure error from step 0 to step 9, of this design" in shown
    assert folder in shown.replace("\n", "")
    assert "--reports STEP=VALUE" in shown
    assert "step" not in good("ask", "--only", "joules")


def test_programs_and_shells_get_the_steps_too() -> None:
    (told,) = json.loads(good("ask", "--only", "error", "--json"))["evaluations"]
    assert (told["from_step"], told["to_step"]) == (0, 9)
    assert told["checkpoint"].startswith(str(Path.cwd() / "study.db.checkpoints"))
    (other,) = json.loads(good("ask", "--only", "joules", "--json"))["evaluations"]
    assert not {"from_step", "to_step", "checkpoint"} & set(other)
    shell = good("ask", "--only", "error", "--shell")
    assert mentions(shell, "FLEXIBO_FROM_STEP=0", "FLEXIBO_TO_STEP=9", "FLEXIBO_CHECKPOINT=")


def test_tell_takes_values_at_earlier_steps_also_of_a_failure() -> None:
    good("ask", "--only", "error", "--count", "2")
    first, second = Study.load(URL).pending
    good("tell", first.label, "0.2", "--cost", "9", "--reports", "1=0.5, 3=0.4")
    good("tell", second.label, "--failed", "no power", "--reports", "3=0.6")
    study = Study.load(URL)
    assert study.curve(first.design, "error") == ((1, 0.5), (3, 0.4), (9, 0.2))
    assert study.curve(second.design, "error") == ((3, 0.6),)


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        (["0.2", "--reports", "1:0.5"], ["'1:0.5'", "1=0.5,3=0.4"]),
        (["0.2", "--reports", "3=0.5,1=0.4"], ["step 1 after step 3"]),
        (["0.2", "--reports", "12=0.5"], ["step 12", "0 to 9"]),
        (["--released", "--reports", "1=0.5"], ["--reports", "--released"]),
    ],
)
def test_wrong_reports_get_one_sentence_and_the_evaluation_stays_out(arguments: list[str], facts: list[str]) -> None:
    good("ask", "--only", "error")
    (evaluation,) = Study.load(URL).pending
    assert mentions(refusal("tell", evaluation.label, *arguments), *facts)
    assert len(Study.load(URL).pending) == 1


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> Study:
    """A study with a design whose error was told at step 3 of 9, and whose energy is measured."""
    memory = MemoryStorage()
    asked(opened(memory), only=["error"])
    contents = memory.read()
    contents[-1]["stop"] = 3
    other = "sqlite:///stopped.db"
    monkeypatch.setenv("FLEXIBO_STORAGE", other)
    open_storage(other, "net").commit(0, lambda none: contents)
    study = Study.load(other)
    (evaluation,) = study.pending
    study.tell(evaluation, 0.5, cost=3.0, reports=[(1, 0.7)])
    for queued in (study.enqueue(evaluation.design, ["joules"]), study.enqueue({"x": 1.0}), study.enqueue({"x": 0.0})):
        for name in queued.objectives:
            question = asked(study, only=[name])
            study.tell(question, 0.9 if name == "error" else 1.0 - float(question.design["x"]), cost=1.0)  # type: ignore[arg-type]
    return study


def test_what_was_only_reached_is_no_value_in_a_table(stopped: Study) -> None:
    good("export", "--out", "net.csv")
    first, *others = csv.DictReader(Path("net.csv").read_text().splitlines())
    assert (first["state"], first["error"], first["stop"], first["reports"]) == ("reached", "", "3", "1=0.7,3=0.5")
    assert {row["state"] for row in others} == {"measured"}
    assert {(row["start"], row["stop"]) for row in others if row["objective"] == "joules"} == {("", "")}


def test_status_and_front_tell_how_far_designs_are(stopped: Study) -> None:
    (error, joules) = json.loads(good("status", "--json"))["objectives"]
    assert (error["reached"], error["lost_cost"], error["cost"]) == (
        1,
        0.0,
        sum((3.0, 1.0, 1.0)[: 1 + error["measured"]]),
    )
    assert "reached" not in joules
    assert mentions(good("status"), "reached")
    shown = json.loads(good("front", "--json", "--possible"))
    rows = {row["design"]["x"]: row for row in shown["promising"]}
    assert rows[stopped.history.asked[0].design["x"]]["reached"] == {"error": 3}
    assert mentions(good("front", "--possible"), " @3 ", "@n")
    assert all("reached" not in row for row in shown["designs"])
    assert len(stopped.front()) >= 1


def test_the_dashboard_tells_early_stops_from_measurements(stopped: Study) -> None:
    follower = Follower("sqlite:///stopped.db", "net", "key")
    follower.look(len(stopped.events), lambda: None)
    shown = follower.summary("")
    assert (shown["measured"], shown["stopped_early"]) == (len(stopped.history.measurements), 1)


def test_a_study_with_steps_is_summed_up_and_traced_without_early_values(stopped: Study) -> None:
    trace = stopped.trace()
    assert (trace[0].value, trace[0].reached, trace[0].has_failed) == (None, 3, False)
    assert stopped.summary().evaluations["error"] == len(trace) - 1 - stopped.summary().evaluations["joules"]
    assert all(row.reached is None for row in trace[1:])


def test_curves_are_exported_and_imported() -> None:
    good("ask", "--only", "error")
    (evaluation,) = Study.load(URL).pending
    good("tell", evaluation.label, "0.2", "--cost", "9", "--reports", "1=0.5,3=0.4")
    good("export", "--out", "net.csv")
    (row,) = csv.DictReader(Path("net.csv").read_text().splitlines())
    assert (row["start"], row["stop"], row["reports"], row["error"]) == ("0", "9", "1=0.5,3=0.4", "0.2")
    good("export", "--out", "net.jsonl")
    good("import", "net.jsonl", "--storage", "sqlite:///copy.db")
    assert Study.load("sqlite:///copy.db").curve(evaluation.design, "error") == ((1, 0.5), (3, 0.4), (9, 0.2))
    assert mentions(good("import", "net.csv"), "0")


def test_a_backup_has_the_checkpoints_of_unfinished_trainings(stopped: Study) -> None:
    done, unfinished = Design({"x": 1.0}), stopped.history.asked[0].design
    for design in (done, unfinished):
        folder = stopped.checkpoint(design, "error")
        folder.mkdir(parents=True)
        (folder / "model").write_bytes(bytes(1_500_000))
    said = good("backup", "copy.db")
    assert mentions(said, "copy.db.checkpoints", "1 unfinished training", "1.5 MB")
    copy = Study.load("sqlite:///copy.db")
    assert (copy.checkpoint(unfinished, "error") / "model").stat().st_size == 1_500_000
    assert not copy.checkpoint(done, "error").exists()
    assert mentions(good("backup", "copy.jsonl"), "no checkpoints", "1 unfinished training")
    assert "checkpoints" not in good("backup", "bare.db", "--without-checkpoints")
    assert not Path("bare.db.checkpoints").exists()
    Path("bare.db").unlink()
    Path("bare.db.checkpoints").mkdir()
    assert mentions(refusal("backup", "bare.db"), "bare.db.checkpoints", "--force")
    assert not Path("bare.db").exists()


def test_lines_of_a_run_and_of_a_worker_say_at_which_step_a_value_is() -> None:
    Path("nets.py").write_text(
        "def error(steps):\n    return 0.5, 9.0\n\ndef joules(design):\n    return 1.0 - design['x'], 1.0\n"
        "functions = {'error': error, 'joules': joules}\n"
    )
    shown = good("worker", "--functions", "nets:functions", "--only", "error", "--idle", "0.1s")
    assert mentions(shown, "error 0.5 at step 9, cost 9")
    evaluation = next(e for e in Study.load(URL).history.asked if e.objective == "error")
    told = Outcome(evaluation, {"error": 0.5}, 9.0)
    assert "error 0.5 at step 9" in evaluation_line(Study.load(URL).history, told)
    resumed = Outcome(evaluation, {"error": 0.5}, 4.0, begun=5)
    assert "error 0.5 at step 9, resumed from step 5;" in evaluation_line(Study.load(URL).history, resumed)
    failed = Outcome(evaluation, None, 9.0, "no power", reports=((4, 0.5),))
    assert "no power after step 4" in evaluation_line(Study.load(URL).history, failed)
    assert evaluation_facts(Study.load(URL).history, told)["to_step"] == 9
