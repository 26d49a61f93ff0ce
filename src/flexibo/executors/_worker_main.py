"""A worker process: measures what its parent sends, one evaluation at a time, and ends with its parent."""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import select
import signal
import socket
import sys
import threading
import time

from flexibo.errors import MachineError
from flexibo.executors._messages import (
    CHUNK,
    Fault,
    MeasuringBegan,
    MessageReader,
    ProcessTask,
    Recent,
    Reply,
    WorkerAnswer,
    WorkingContext,
    encoded,
)
from flexibo.executors.base import Measure, Outcome
from flexibo.executors.measure import failure, measured
from flexibo.history.events import Evaluation
from flexibo.objectives import Objective

LOOK_SECONDS = 2.0  # how often to check whether the parent is another process, which means that it died


def main(channel: int, life: int, parent: int) -> None:
    for descriptor in (channel, life):
        os.set_inheritable(descriptor, False)  # what a function starts must not keep them open
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # whatever the parent blocks: a timeout interrupts by a signal
    end_with_parent(life, parent)
    with socket.socket(fileno=channel) as connection:
        serve(connection)


def end_with_parent(life: int, parent: int) -> None:
    """Have this process and all that it starts killed as soon as the parent is gone."""
    if sys.platform == "linux":
        import fcntl

        # The kernel kills the group at the end of the pipe, even while C code holds the interpreter and no thread runs.
        fcntl.fcntl(life, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(life, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(life, fcntl.F_SETFL, fcntl.fcntl(life, fcntl.F_GETFL) | os.O_ASYNC)

    def watch() -> None:
        events = select.poll()
        events.register(life, select.POLLIN | select.POLLHUP)
        # A copy of the parent that was forked keeps the pipe open; then only the number of the parent changes.
        while os.getppid() == parent and not events.poll(LOOK_SECONDS * 1000):
            pass
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, name="flexibo-parent", daemon=True).start()


def serve(connection: socket.socket) -> None:
    here = os.getpid()
    frames = MessageReader()
    functions: Recent[Measure] = Recent()
    while chunk := connection.recv(CHUNK):
        for task in frames.feed(chunk):
            reply = answered(task, functions, connection)
            if os.getpid() != here:
                os._exit(0)  # a copy that the function forked and let return: the original answers
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            connection.sendall(encoded(reply))


def answered(task: ProcessTask, functions: Recent[Measure], connection: socket.socket) -> Reply:
    """Load what the task needs, report that it begins, and measure."""
    try:
        enter_context(task.place)
        measure = functions.get(task.digest)
        if measure is None:
            measure = pickle.loads(task.function or b"")
        functions.use(task.digest, measure)
        evaluation, objective = pickle.loads(task.question)
    except BaseException as error:
        return Fault(
            f"The function of {task.objective!r} cannot be loaded in a worker process ({failure(error)}); "
            "worker processes must be able to import what it uses."
        )
    connection.sendall(encoded(MeasuringBegan(time.monotonic())))
    return answer(evaluation, Objective.from_dict(objective), measure)


def enter_context(place: WorkingContext | None) -> None:
    if place is None:
        return
    if sys.path != list(place.path):
        sys.path[:] = place.path
        importlib.invalidate_caches()
    if place.folder is not None:
        os.chdir(place.folder)


def answer(evaluation: Evaluation, objective: Objective, measure: Measure) -> WorkerAnswer | Fault:
    """What became of the evaluation; nothing that a function raises ends the process."""
    start = time.perf_counter()
    try:
        outcome = measured(evaluation, objective, measure)
    except MachineError as error:
        return Fault(str(error))
    except BaseException as error:
        outcome = Outcome(evaluation, None, time.perf_counter() - start, stopped(error, evaluation.objective))
    return WorkerAnswer.of(outcome)


def stopped(error: BaseException, objective: str) -> str:
    """The reason of an evaluation that something else than an error ended."""
    if isinstance(error, SystemExit):
        return f"The function of {objective!r} called sys.exit({error.code!r}); return a value, or raise an error."
    if isinstance(error, KeyboardInterrupt):
        return f"The function of {objective!r} was interrupted in its worker process (KeyboardInterrupt)."
    return failure(error)
