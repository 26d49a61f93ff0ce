"""A worker process, served by a thread of this one."""

from __future__ import annotations

import io
import pickle
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import cloudpickle
import pytest
from tests.unit.executors.questions import ERROR, question

from flexibo import Design
from flexibo.errors import DesignError, MachineError
from flexibo.executors._messages import (
    CHUNK,
    Fault,
    MeasuringBegan,
    MessageReader,
    ProcessTask,
    WorkerAnswer,
    WorkingContext,
    encoded,
)
from flexibo.executors._worker_main import answer, enter_context, serve, stopped


def test_what_ends_a_function_without_an_error_is_said_in_words() -> None:
    assert "'error' called sys.exit(3);" in stopped(SystemExit(3), "error")
    assert "'error' was interrupted" in stopped(KeyboardInterrupt(), "error")
    assert "GeneratorExit" in stopped(GeneratorExit(), "error")


def task(measure: object, digest: str = "a", place: WorkingContext | None = None) -> ProcessTask:
    function = None if measure is None else cloudpickle.dumps(measure)
    return ProcessTask("error", digest, function, pickle.dumps((question(2), ERROR.to_dict())), place)


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
    assert "'error'" in fault.reason
    assert "ModuleNotFoundError" in fault.reason
    assert "'no_such_module'" in fault.reason


def test_what_a_function_raises_never_ends_the_worker(parent: socket.socket) -> None:
    parent.sendall(encoded(task(lambda design: sys.exit("enough"), "one")) + encoded(task(lambda design: 1.0, "two")))
    failed, good = (reply for reply in replies(parent, 4) if isinstance(reply, WorkerAnswer))
    assert "'error' called sys.exit('enough')" in failed.reason
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


def test_a_search_path_that_did_not_change_is_not_touched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", path := ["/one", "/two"])
    monkeypatch.setattr("importlib.invalidate_caches", lambda: pytest.fail("it takes long"))
    enter_context(WorkingContext(("/one", "/two"), None))
    enter_context(None)
    assert (sys.path, Path.cwd()) == (path, tmp_path)


def test_a_fault_of_the_machine_is_told_apart_from_a_design_that_cannot_be_built() -> None:
    def raising(error: Exception) -> Callable[[Design], float]:
        def measure(design: Design) -> float:
            raise error

        return measure

    assert answer(question(), ERROR, raising(MachineError("No meter."))) == Fault("No meter.")
    unbuildable = answer(question(), ERROR, raising(DesignError("Too large.")))
    assert isinstance(unbuildable, WorkerAnswer)
    assert (unbuildable.values, unbuildable.reason, unbuildable.impossible) == (None, "Too large.", True)


def test_what_a_function_printed_is_written_before_its_answer_is_sent(
    parent: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stream(io.StringIO):
        def flush(self) -> None:
            flushed.append(self.getvalue())

    flushed: list[str] = []
    monkeypatch.setattr(sys, "stdout", Stream())
    sys.stdout.write("a note")
    parent.sendall(encoded(task(lambda design: 1.0)))
    replies(parent, 2)
    assert flushed == ["a note"]
