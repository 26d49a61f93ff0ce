"""A study shared by worker processes with different resources, killed for real, looked at and exported meanwhile."""

from __future__ import annotations

import csv
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.command_line import call, mentions
from tests.forked import COMMAND_LINE, Command, imported
from tests.postgres import PASSWORD, server

from flexibo import Objective, Study
from flexibo.history.events import Asked, Reissued, Released, Told
from flexibo.optimizer import StopKind

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="needs signals")]
PATIENCE = 90.0
BOARD = """
import time
from pathlib import Path

def error(design):
    while Path("hold").exists():
        time.sleep(0.02)
    return design["x"] + design["k"] / 10, 3.0

def energy(design):
    return 1 - design["x"] + design["k"] / 20, 1.0

functions = {"error": error, "energy": energy}
"""
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "COLUMNS": "100", "FLEXIBO_STORAGE": "sqlite:///study.db"}
Start = Callable[..., Command]


@pytest.fixture(scope="module", autouse=True)
def ready() -> Iterator[None]:
    with imported(*COMMAND_LINE):
        yield


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def flexibo(*arguments: str, **variables: str) -> str:
    """What a command prints, called in this process: workers alone need one of their own."""
    done = call(*arguments, env=ENVIRONMENT | variables)
    assert done.exit_code == 0, (done.output, done.exception)
    return str(done.output)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts workers; none outlives its test."""
    (tmp_path / "board.py").write_text(BOARD)
    running: list[Command] = []

    def worker(resource: str, *more: str) -> Command:
        arguments = ["worker", "--functions", "board:functions", "--resources", resource, "--idle", "60s", *more]
        running.append(Command(tmp_path, *arguments, **ENVIRONMENT))
        return running[-1]

    yield worker
    for process in running:
        process.kill()
        process.wait()


def begun(folder: Path, budget: float, url: str = "") -> str:
    objectives = [Objective("error", resources={"GPU": 1}), Objective("energy", unit="J", resources={"jetson": 1})]
    url = url or f"sqlite:///{folder / 'study.db'}"
    chosen: dict[str, Any] = {"budget": budget, "seed": 1, "n_initial": 3, "candidates": 50}
    Study({"x": (0.0, 1.0), "k": [1, 2, 3]}, objectives, storage=url, name="net", **chosen).close()
    return url


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def flights() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(flexibo("status", "--json", "--no-front"))["in_flight"]
    return found


def test_two_workers_with_different_resources_finish_a_study_together(tmp_path: Path, start: Start) -> None:
    gpu, jetson = start("GPU=1"), start("jetson=1", "--name", "net")  # they wait for the study
    url = begun(tmp_path, 20)
    told = [process.communicate(timeout=PATIENCE)[0] for process in (gpu, jetson)]
    assert [process.returncode for process in (gpu, jetson)] == [0, 0], told
    study = Study.load(url)
    workers = {study.history.asked[e.number].objective: set[str]() for e in study.events if isinstance(e, Told)}
    for event in study.events:
        if isinstance(event, Told):
            workers[study.history.asked[event.number].objective].add(event.worker)
    assert {name: len(found) for name, found in workers.items()} == {"error": 1, "energy": 1}
    assert workers["error"] != workers["energy"]
    assert 15 < study.spent <= 24
    assert mentions(told[1], "error", "--resources GPU=1")
    assert study.stop_kind is StopKind.BUDGET
    lines = [line for text in told for line in text.splitlines() if ", cost " in line]
    assert len(lines) == len(study.history.measurements)


def test_a_worker_that_is_killed_is_seen_and_another_goes_on(tmp_path: Path, start: Start) -> None:
    url = begun(tmp_path, 20)
    (tmp_path / "hold").touch()
    gpu = start("GPU=1")
    until(lambda: len(Study.load(url).pending) == 1)
    (flight,) = flights()
    assert flight["objective"] == "error"
    assert (flight["worker"]["pid"], flight["worker"]["state"]) == (gpu.pid, "alive")
    assert mentions(flexibo("status"), "error", gpu.pid, "alive")
    os.kill(gpu.pid, signal.SIGKILL)
    gpu.wait()
    (flight,) = flights()
    assert flight["worker"]["state"] == "dead"
    assert mentions(flexibo("status"), "error", gpu.pid, "dead")

    other = start("GPU=1")
    until(lambda: any(isinstance(event, Reissued) for event in Study.load(url).events))
    row = json.loads(flexibo("list", "--json"))[0]
    assert [objective["pending"] for objective in row["objectives"]] == [1, 0]
    flexibo("export", "--out", "during.csv")
    with open(tmp_path / "during.csv", newline="") as file:
        assert [line["state"] for line in csv.DictReader(file)] == ["pending"]
    (tmp_path / "hold").unlink()
    jetson = start("jetson=1")
    told = [process.communicate(timeout=PATIENCE)[0] for process in (other, jetson)]
    assert [process.returncode for process in (other, jetson)] == [0, 0], told

    study = Study.load(url)
    numbers = [event.evaluation.number for event in study.events if isinstance(event, Asked)]
    answered = [event.number for event in study.events if isinstance(event, Told)]
    assert numbers == list(range(len(numbers)))
    assert sorted(answered) == numbers  # every evaluation was answered, and once
    flexibo("export", "--out", "net.jsonl")
    flexibo("import", "net.jsonl", "--storage", "sqlite:///copy.db")
    assert Study.load(f"sqlite:///{tmp_path / 'copy.db'}").events == study.events


def test_a_worker_that_is_asked_to_stop_gives_back_what_it_holds(tmp_path: Path, start: Start) -> None:
    url = begun(tmp_path, 20)
    (tmp_path / "hold").touch()
    gpu = start("GPU=1")
    until(lambda: len(Study.load(url).pending) == 1)
    gpu.send_signal(signal.SIGTERM)
    told = gpu.communicate(timeout=PATIENCE)[0]
    assert gpu.returncode == 128 + signal.SIGTERM
    assert mentions(told, "SIGTERM", "released evaluation 0", "0 measured", "0 failed")
    assert "Traceback" not in told
    events = Study.load(url).events
    assert isinstance(events[-1], Released)


def test_a_study_on_a_server_is_served_and_moved_and_its_password_never_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    postgres = server()
    database = postgres.new_database().partition("?")[0].rpartition("/")[2]
    if not postgres.execute("SELECT 1 FROM pg_roles WHERE rolname = 'guarded'"):
        postgres.execute(f"CREATE ROLE guarded LOGIN PASSWORD '{PASSWORD}'")
    postgres.execute("GRANT ALL ON SCHEMA public TO guarded", database)
    url = f"postgresql://guarded:{quote(PASSWORD, safe='')}@127.0.0.1:{postgres.port}/{database}"
    begun(tmp_path, 20, url)
    (tmp_path / "board.py").write_text(BOARD)
    arguments = ["worker", "--functions", "board:functions", "--resources", "GPU,jetson"]
    worker = Command(tmp_path, *arguments, **ENVIRONMENT | {"FLEXIBO_STORAGE": url})
    told = worker.communicate(timeout=PATIENCE)[0]
    assert worker.returncode == 0, told
    assert Study.load(url, "net").stop_kind is StopKind.BUDGET
    for command in (("list",), ("status",), ("export", "--out", "net.jsonl")):
        told += flexibo(*command, FLEXIBO_STORAGE=url)
    told += flexibo("import", "net.jsonl", "--name", "again", FLEXIBO_STORAGE=url)
    told += "".join(capfd.readouterr())
    assert "postgresql://guarded:***@127.0.0.1" in told
    assert PASSWORD not in told
    assert quote(PASSWORD, safe="") not in told
    assert Study.load(url, "again").events == Study.load(url, "net").events
