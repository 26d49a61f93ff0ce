"""What a Dask worker does with an attempt."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from flexibo.errors import MachineError
from flexibo.executors._cluster_messages import ClusterTask, Loaded, loaded
from flexibo.executors._messages import Fault, WorkerAnswer
from flexibo.executors._worker_main import answer
from flexibo.executors.processes import ProcessExecutor

WANTED_SECONDS = 2.0  # how often to look whether an evaluation that runs in a process of its own is still wanted
MISSING, AGAIN = "missing", "again"
"""Replies instead of an answer: this worker has no such function, or the attempt began before."""


def run_on_worker(task: ClusterTask, topic: str) -> Mapping[str, Any] | str:
    """Run the attempt on a Dask worker, unless it began before.

    The answer is sent as an event, which is fast; it is also the result of the task, should the event get lost.
    """
    from distributed import Event, get_worker

    ready = loaded(task)
    if ready is None:
        return MISSING
    if isinstance(ready, Fault):
        return asdict(ready)
    mark, worker = Event(task.attempt), get_worker()
    if mark.is_set():
        return AGAIN
    mark.set()
    worker.log_event(topic, {"attempt": task.attempt, "place": worker.address})
    if ready.objective.timeout is None:
        reply = asdict(answer(ready.evaluation, ready.objective, ready.measure))
    else:
        reply = asdict(_apart(ready, mark.is_set))
    worker.log_event(topic, {"attempt": task.attempt, "reply": reply})
    return reply


_own = threading.local()


def _apart(ready: Loaded, is_wanted: Callable[[], bool]) -> WorkerAnswer | Fault:
    """Measure in a separate process, which is killed after its timeout or when the result is no longer wanted.

    Each thread of a worker keeps its process for the next evaluation.
    """
    processes: ProcessExecutor | None = getattr(_own, "processes", None)
    if processes is None:
        processes = _own.processes = ProcessExecutor(1)
    try:
        processes.submit(ready.evaluation, ready.objective, ready.measure)
        while not (outcomes := processes.finished(WANTED_SECONDS)):
            if not is_wanted():
                raise MachineError("Nobody waits for it any more.")
    except BaseException as error:
        del _own.processes
        processes.close()
        if not isinstance(error, MachineError):
            raise
        return Fault(str(error))
    [outcome] = outcomes
    return WorkerAnswer.of(outcome)
