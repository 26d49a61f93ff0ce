from __future__ import annotations

import os
import pickle
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import cloudpickle
import pytest

from flexibo import Design, Evaluation, Objective
from flexibo.errors import FlexiBOError, InvalidTypeError, InvalidValueError, MachineError
from flexibo.executors import _messages, _worker_process
from flexibo.executors._capacity import LocalCapacity
from flexibo.executors._messages import (
    CHUNK,
    Fault,
    MeasuringBegan,
    MessageReader,
    ProcessTask,
    Recent,
    WorkerAnswer,
    WorkingContext,
    encoded,
)
from flexibo.executors._worker_main import enter_context, serve, stopped
from flexibo.executors._worker_process import WorkerProcess
from flexibo.executors.measure import exit_description
from flexibo.executors.processes import ProcessExecutor, cores, end_all

ERROR, ENERGY = Objective("error"), Objective("energy")


def question(objective: str = "error") -> Evaluation:
    return Evaluation(Design({"x": 2}), objective, None, 0.0, "", 0, (objective,))


def task(measure: object, digest: str = "a", place: WorkingContext | None = None) -> ProcessTask:
    function = None if measure is None else cloudpickle.dumps(measure)
    return ProcessTask("error", digest, function, pickle.dumps((question(), ERROR.to_dict())), place)


# MessageReader


def test_frames_come_together_byte_by_byte() -> None:
    sent = encoded(MeasuringBegan(1.0)) + encoded(Fault("x" * 1000))
    frames = MessageReader()
    assert [message for byte in sent for message in frames.feed(bytes([byte]))] == [
        MeasuringBegan(1.0),
        Fault("x" * 1000),
    ]


def test_parent_and_worker_forget_the_same_functions() -> None:
    recent: Recent[int] = Recent(2)
    for number, name in enumerate("abac"):
        recent.use(name, number)
    assert [recent.get(name) for name in "abc"] == [2, None, 3]


# LocalCapacity


def test_slots_limit_an_objective_and_the_number_of_workers_limits_all() -> None:
    slots = LocalCapacity(2, {"energy": 1})
    slots.reserve(ENERGY)
    assert not slots.fits(ENERGY)
    slots.reserve(ERROR)
    assert not slots.fits(ERROR)
    slots.release(ENERGY)
    assert slots.fits(ENERGY)
    assert slots.fits(ERROR)


def test_resources_are_shared_by_fractions_and_given_back() -> None:
    third = Objective("error", resources={"GPU": 1 / 3})
    slots = LocalCapacity(9, resources={"GPU": 1})
    for _ in range(3):
        assert slots.fits(third)
        slots.reserve(third)
    assert not slots.fits(third)
    assert slots.fits(ENERGY)
    slots.release(third)
    assert slots.fits(third)


def test_a_resource_that_was_never_given_is_one_sentence() -> None:
    with pytest.raises(MachineError, match=r"^Objective 'energy' needs 1 of 'jetson', and this executor was given 0; "):
        ProcessExecutor(1, resources={"GPU": 1}).has_room(Objective("energy", resources={"jetson": 1}))
    with pytest.raises(MachineError, match="needs 2 of 'GPU', and this executor was given 1; give it resources="):
        ProcessExecutor(1, resources={"GPU": 1}).submit(question(), Objective("error", resources={"GPU": 2}), float)  # type: ignore[arg-type]


def test_without_resources_given_they_are_not_looked_at() -> None:
    assert ProcessExecutor(1).has_room(Objective("energy", resources={"jetson": 1}))


# Arguments


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n": 0}, "The number of workers is 0; it must be a whole number, 1 or more."),
        ({"n": 1.5}, "The number of workers is 1.5; it must be a whole number, 1 or more."),
        ({"n": True}, "The number of workers is True; it must be a whole number, 1 or more."),
        ({"slots": ["energy"]}, r"slots is \['energy'\]; give a mapping such as"),
        ({"slots": {"energy": 0}}, "The limit in slots of 'energy' is 0; it must be a whole number, 1 or more."),
        ({"resources": {"GPU": -1}}, "The executor has -1 of resource 'GPU'; it must be a number above zero."),
        ({"environment": {"OMP_NUM_THREADS": 1}}, "environment is .* give texts by name"),
        ({"grace": -1}, "grace is -1; it must be a number of seconds, zero or more."),
    ],
)
def test_a_wrong_argument_is_one_sentence(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(FlexiBOError, match=f"^{sentence}"):
        ProcessExecutor(**arguments)  # type: ignore[arg-type]


def test_by_default_there_is_a_worker_per_core() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)


def test_a_function_that_cannot_travel_is_told_at_submit_and_nothing_runs() -> None:
    lock = threading.Lock()
    executor = ProcessExecutor(1)
    with pytest.raises(InvalidTypeError, match=r"^The function of 'error' cannot be sent to a worker process \(.*lock"):
        executor.submit(question(), ERROR, lambda design: lock)
    assert not executor.is_busy()
    assert executor.has_room(ERROR)


def test_nothing_can_be_submitted_to_a_closed_executor() -> None:
    executor = ProcessExecutor(1)
    executor.close()
    for attempt in (lambda: executor.has_room(ERROR), lambda: executor.submit(question(), ERROR, lambda design: 1.0)):
        with pytest.raises(InvalidValueError, match=r"^This executor is closed; make a new one\.$"):
            attempt()


def test_a_process_that_cannot_be_started_is_a_fault_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    executor = ProcessExecutor(1)
    executor.submit(question(), ERROR, lambda design: 1.0)
    assert not executor.has_room(ERROR)
    with pytest.raises(MachineError, match=r"A worker process cannot be started .*No such file"):
        executor.finished()
    assert not executor.is_busy()


def test_a_python_that_does_not_know_its_program_is_a_fault_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(MachineError, match=r"sys\.executable is empty"):
        WorkerProcess(0, {})


def test_windows_is_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "name", "nt")
    with pytest.raises(MachineError, match="Worker processes need Linux or macOS"):
        ProcessExecutor(1)


# Words and moments


def test_how_a_process_ended_is_said_in_words() -> None:
    assert exit_description(-9).startswith("was killed by SIGKILL")
    assert exit_description(-11).startswith("was killed by SIGSEGV (Segmentation fault")
    assert exit_description(-99) == "was killed by signal 99"
    assert exit_description(None) == "was lost"


def test_the_timeout_counts_from_when_the_measuring_began() -> None:
    job = _messages.packed(question(), Objective("error", timeout=10), lambda design: 1.0)
    job.since = 100.0
    assert job.ends_at(grace=2.0) == 112.0 + _messages.LOAD_SECONDS
    assert _messages.overdue(job) == "Its worker process did not begin to measure within 300 s."
    job.has_begun = True
    assert job.ends_at(grace=2.0) == 112.0
    assert _messages.overdue(job) == "It took longer than its timeout of 10 s."


def test_without_a_timeout_an_evaluation_may_run_for_ever() -> None:
    assert _messages.packed(question(), ERROR, lambda design: 1.0).ends_at(grace=2.0) is None


def test_what_ends_a_function_without_an_error_is_said_in_words() -> None:
    assert stopped(SystemExit(3), "error").startswith("The function of 'error' called sys.exit(3); return a value")
    assert "was interrupted" in stopped(KeyboardInterrupt(), "error")
    assert stopped(GeneratorExit(), "error") == "GeneratorExit: "


# The worker process, served here


@pytest.fixture
def parent() -> Iterator[socket.socket]:
    """The parent's end of a connection that a thread serves."""
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=serve, args=(theirs,))
    thread.start()
    ours.settimeout(20)
    yield ours
    ours.close()
    thread.join(20)
    theirs.close()
    assert not thread.is_alive()


def replies(parent: socket.socket, n: int) -> list[object]:
    frames, found = MessageReader(), []
    while len(found) < n:
        found += frames.feed(parent.recv(CHUNK))
    return found


def test_a_worker_says_when_it_begins_and_what_it_found(parent: socket.socket) -> None:
    parent.sendall(encoded(task(lambda design: (design["x"] + 0.5, 4.0))))
    began, answer = replies(parent, 2)
    assert isinstance(began, MeasuringBegan)
    assert answer == WorkerAnswer({"error": 2.5}, 4.0, "", False, False)


def test_a_function_that_was_sent_once_is_known_by_its_digest(parent: socket.socket) -> None:
    parent.sendall(encoded(task(lambda design: 1.0, "one")) + encoded(task(lambda design: 2.0, "two")))
    parent.sendall(encoded(task(None, "one")))
    answers = [reply for reply in replies(parent, 6) if isinstance(reply, WorkerAnswer)]
    assert [answer.values for answer in answers] == [{"error": 1.0}, {"error": 2.0}, {"error": 1.0}]


def test_a_function_that_is_false_as_a_truth_value_is_a_function_too(parent: socket.socket) -> None:
    class Empty(list[float]):
        def __call__(self, design: Design) -> float:
            return 5.0

    parent.sendall(encoded(task(Empty(), "one")) + encoded(task(None, "one")))
    answers = [reply for reply in replies(parent, 4) if isinstance(reply, WorkerAnswer)]
    assert [answer.values for answer in answers] == [{"error": 5.0}] * 2


def test_a_function_that_cannot_be_loaded_is_a_fault_of_the_machine(parent: socket.socket) -> None:
    parent.sendall(encoded(ProcessTask("error", "a", b"cno_such_module\nmeasure\n.", b"", None)))
    [fault] = replies(parent, 1)
    assert isinstance(fault, Fault)
    assert fault.reason == (
        "The function of 'error' cannot be loaded in a worker process "
        "(ModuleNotFoundError: No module named 'no_such_module'); "
        "worker processes must be able to import what it uses."
    )


def test_what_a_function_raises_never_ends_the_worker(parent: socket.socket) -> None:
    parent.sendall(encoded(task(lambda design: sys.exit("enough"), "one")) + encoded(task(lambda design: 1.0, "two")))
    failed, good = (reply for reply in replies(parent, 4) if isinstance(reply, WorkerAnswer))
    assert failed.reason.startswith("The function of 'error' called sys.exit('enough')")
    assert good.values == {"error": 1.0}


def test_a_worker_settles_where_its_parent_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    path = sys.path
    (tmp_path / "below").mkdir()
    enter_context(WorkingContext((*sys.path, "/more"), str(tmp_path / "below")))
    assert sys.path is path
    assert path[-1] == "/more"
    assert Path.cwd() == tmp_path / "below"


def test_a_working_directory_that_is_gone_does_not_matter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert _worker_process.working_context().folder is None
    monkeypatch.chdir(tmp_path)
    enter_context(WorkingContext(tuple(sys.path), None))


# Another process's executor


def test_a_forked_copy_neither_uses_nor_ends_the_workers_of_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = ProcessExecutor(1)
    mine = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: mine + 1)
    with pytest.raises(InvalidValueError, match="belongs to the process that made it"):
        executor.has_room(ERROR)
    workers: dict[object, None] = {object(): None}
    end_all(workers, mine)  # type: ignore[arg-type]
    assert workers
