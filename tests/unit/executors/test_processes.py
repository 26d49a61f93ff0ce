"""Executors of worker processes, before any process is started; real ones are in tests/integration."""

from __future__ import annotations

import errno
import os
import sys
import threading

import pytest
from tests.unit.executors.questions import ENERGY, ERROR, one, question

from flexibo import Objective
from flexibo._internal.machine import cores
from flexibo.errors import FlexiBOError, InvalidTypeError, InvalidValueError, MachineError
from flexibo.executors.processes import ProcessExecutor, end_all


def test_a_resource_that_was_never_given_is_one_sentence() -> None:
    with pytest.raises(MachineError, match=r"'energy' .*1 of 'jetson'.* 0;"):
        ProcessExecutor(1, resources={"GPU": 1}).has_room(ENERGY)
    with pytest.raises(MachineError, match=r"'error' .*2 of 'GPU'.* 1; .*resources="):
        ProcessExecutor(1, resources={"GPU": 1}).submit(question(), Objective("error", resources={"GPU": 2}), one)


def test_without_resources_given_they_are_not_looked_at() -> None:
    assert ProcessExecutor(1).has_room(ENERGY)


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        ({"n": 0}, "workers is 0;"),
        ({"n": 1.5}, r"workers is 1\.5;"),
        ({"n": True}, "workers is True;"),
        ({"slots": ["energy"]}, r"^slots is \['energy'\];"),
        ({"slots": {"energy": 0}}, "slots of 'energy' is 0;"),
        ({"resources": {"GPU": -1}}, "executor .* -1 .*'GPU';"),
        ({"environment": {"OMP_NUM_THREADS": 1}}, "^environment is {'OMP_NUM_THREADS': 1};"),
        ({"grace": -1}, "^grace is -1;"),
    ],
)
def test_a_wrong_argument_is_one_sentence(arguments: dict[str, object], facts: str) -> None:
    with pytest.raises(FlexiBOError, match=facts):
        ProcessExecutor(**arguments)  # type: ignore[arg-type]


def test_by_default_there_is_a_worker_per_core() -> None:
    assert ProcessExecutor()._capacity.n == cores()


def test_a_function_that_cannot_travel_is_told_at_submit_and_nothing_runs() -> None:
    lock = threading.Lock()
    executor = ProcessExecutor(1)
    with pytest.raises(InvalidTypeError, match=r"function of 'error' .*\(.*lock"):
        executor.submit(question(), ERROR, lambda design: lock)
    assert not executor.is_busy()
    assert executor.has_room(ERROR)


def test_nothing_can_be_submitted_to_a_closed_executor() -> None:
    executor = ProcessExecutor(1)
    executor.close()
    for attempt in (lambda: executor.has_room(ERROR), lambda: executor.submit(question(), ERROR, one)):
        with pytest.raises(InvalidValueError, match="executor is closed"):
            attempt()


def test_a_process_that_cannot_be_started_is_a_fault_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    executor = ProcessExecutor(1)
    executor.submit(question(), ERROR, one)
    assert not executor.has_room(ERROR)
    with pytest.raises(MachineError, match=f"worker process .*started .*{os.strerror(errno.ENOENT)}.*/nowhere/python"):
        executor.finished()
    assert not executor.is_busy()


def test_windows_is_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "name", "nt")
    with pytest.raises(MachineError, match="Linux or macOS"):
        ProcessExecutor(1)


# The worker process, served here


def test_a_forked_copy_neither_uses_nor_ends_the_workers_of_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = ProcessExecutor(1)
    mine = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: mine + 1)
    with pytest.raises(InvalidValueError, match="that made it"):
        executor.has_room(ERROR)
    workers: dict[object, None] = {object(): None}
    end_all(workers, mine)  # type: ignore[arg-type]
    assert workers
