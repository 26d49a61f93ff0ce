"""What a Dask worker does with an attempt, without Dask; real clusters are in tests/integration."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from tests.unit.executors.questions import ERROR, one, question

from flexibo import Design, Objective
from flexibo.errors import MachineError
from flexibo.executors import Outcome, _dask_cluster
from flexibo.executors._dask_cluster import AGAIN, MISSING, LocalDask, StoppedProcesses, run_on_worker
from flexibo.executors._messages import HERE, ClusterTask, packed, task_of
from flexibo.executors._sessions import ProcessIdentity

TOPIC = "flexibo-topic"
TIMED = Objective("error", timeout=5.0)


class FakeDask:
    """Stands for the package `distributed` on a worker: marks of the scheduler, and what the worker said."""

    def __init__(self) -> None:
        self.marks: set[str] = set()
        self.said: list[tuple[str, dict[str, Any]]] = []

    def Event(self, name: str) -> Any:  # noqa: N802
        return SimpleNamespace(is_set=lambda: name in self.marks, set=lambda: self.marks.add(name))

    def get_worker(self) -> Any:
        return SimpleNamespace(address="tcp://a", log_event=lambda *event: self.said.append(event))


@pytest.fixture
def dask(monkeypatch: pytest.MonkeyPatch) -> FakeDask:
    fake = FakeDask()
    monkeypatch.setitem(sys.modules, "distributed", fake)
    return fake


def task(attempt: str, measure: Callable[[Design], Any] = one, objective: Objective = ERROR) -> ClusterTask:
    return task_of(attempt, packed(question(3), objective, measure), with_function=True)


def test_an_attempt_is_marked_and_told_before_its_answer(dask: FakeDask) -> None:
    reply = run_on_worker(task("3-a", lambda design: (design["x"] + 0.5, 4.0)), TOPIC)
    assert reply == {
        "values": {"error": 3.5},
        "cost": 4.0,
        "reason": "",
        "timed": False,
        "impossible": False,
        "kind": "error",
        "printed": "",
        "seconds": reply["seconds"],
        "mistake": "",
        "reports": (),
        "begun": None,
        "bars": {},
    }
    assert dask.marks == {"3-a"}
    assert dask.said == [
        (TOPIC, {"attempt": "3-a", "place": "tcp://a", "process": asdict(ProcessIdentity.of_this_process())}),
        (TOPIC, {"attempt": "3-a", "reply": reply}),
    ]


def test_an_attempt_that_began_before_is_not_measured_again(dask: FakeDask) -> None:
    dask.marks.add("3-a")
    assert run_on_worker(task("3-a", lambda design: pytest.fail("it was measured twice")), TOPIC) == AGAIN
    assert dask.said == []


def test_a_worker_without_the_function_asks_for_it_and_leaves_no_mark(dask: FakeDask) -> None:
    unknown = ClusterTask("3-a", "error", HERE, "never sent", None, b"")
    assert run_on_worker(unknown, TOPIC) == MISSING
    assert (dask.marks, dask.said) == (set(), [])


def test_a_function_that_cannot_be_loaded_is_a_fault_and_leaves_no_mark(dask: FakeDask) -> None:
    reply = run_on_worker(ClusterTask("3-a", "error", HERE, "broken", b"cnowhere\nf\n.", b""), TOPIC)
    assert isinstance(reply, dict)
    assert list(reply) == ["reason"]
    assert "'nowhere'" in reply["reason"]
    assert (dask.marks, dask.said) == (set(), [])


class FakeProcesses:
    """Stands for the executor that a thread of a worker keeps for evaluations with a timeout."""

    made: ClassVar[list[FakeProcesses]]
    result: ClassVar[Any]

    def __init__(self, n: int) -> None:
        self.made.append(self)
        self.submitted: list[Any] = []
        self.is_closed = False

    def submit(self, evaluation: Any, objective: Objective, measure: Any) -> None:
        self.submitted.append(evaluation)

    def finished(self, wait: float) -> Any:
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> type[FakeProcesses]:
    class Own(FakeProcesses):
        made: ClassVar[list[FakeProcesses]] = []
        result: ClassVar[Any] = [Outcome(question(3), {"error": 7.0}, 2.0)]

    monkeypatch.setattr(_dask_cluster, "ProcessExecutor", Own)
    monkeypatch.setattr(_dask_cluster, "_own", SimpleNamespace())
    return Own


def test_an_evaluation_with_a_timeout_is_measured_in_a_process_that_is_kept(
    dask: FakeDask, processes: type[FakeProcesses]
) -> None:
    for attempt in ("3-a", "3-b"):
        reply = run_on_worker(task(attempt, objective=TIMED), TOPIC)
        assert isinstance(reply, dict)
        assert (reply["values"], reply["cost"]) == ({"error": 7.0}, 2.0)
    [kept] = processes.made
    assert kept.submitted == [question(3)] * 2
    assert not kept.is_closed


@pytest.mark.parametrize("error", [MachineError("No meter."), KeyboardInterrupt()])
def test_a_process_that_failed_is_closed_and_the_next_evaluation_gets_another(
    dask: FakeDask, processes: type[FakeProcesses], error: BaseException
) -> None:
    good, processes.result = processes.result, error
    if isinstance(error, MachineError):
        assert run_on_worker(task("3-a", objective=TIMED), TOPIC) == {"reason": "No meter."}
    else:
        with pytest.raises(KeyboardInterrupt):
            run_on_worker(task("3-a", objective=TIMED), TOPIC)
    assert processes.made[0].is_closed
    processes.result = good
    run_on_worker(task("3-b", objective=TIMED), TOPIC)
    assert len(processes.made) == 2


def test_an_evaluation_that_nobody_waits_for_any_more_is_stopped(
    dask: FakeDask, processes: type[FakeProcesses], monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing_yet(self: FakeProcesses, wait: float) -> list[Outcome]:
        dask.marks.clear()  # the study cleared the mark of an attempt that it gave up
        return []

    monkeypatch.setattr(processes, "finished", nothing_yet)
    reply = run_on_worker(task("3-a", objective=TIMED), TOPIC)
    assert isinstance(reply, dict)
    assert list(reply) == ["reason"]
    assert processes.made[0].is_closed


def test_a_cluster_that_cannot_be_started_is_a_fault_of_the_machine_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "executable", "false")  # a program that ends at once
    with pytest.raises(MachineError, match="No Dask cluster"):
        LocalDask(1, {}, 60.0)
    assert list(tmp_path.iterdir()) == []


def test_a_cluster_is_there_as_soon_as_its_address_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\nprintf "%s" "tcp://1.2.3.4:5 $4 $5" > "$3/address"\nexec sleep 60\n')
    program.chmod(0o755)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(program))
    cluster = LocalDask(2, {"GPU": 0.5}, 60.0)
    try:
        assert cluster.address == 'tcp://1.2.3.4:5 2 {"GPU": 0.5}'
    finally:
        cluster.close()
    assert list(tmp_path.iterdir()) == [program]


def test_a_process_that_stays_stopped_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    now, states = [0.0], {7: "S", 8: "T"}
    monkeypatch.setattr(_dask_cluster, "process_state", lambda pid: states[pid])
    stopped = StoppedProcesses(10.0, lambda: now[0])
    assert not any(map(stopped.is_stopped_for_long, states))
    now[0] = 11.0
    assert list(filter(stopped.is_stopped_for_long, states)) == [8]
    states[8] = "R"
    assert not stopped.is_stopped_for_long(8)
    states[8] = "T"
    assert not stopped.is_stopped_for_long(8)
