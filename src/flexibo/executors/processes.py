"""Measures in worker processes of this machine, several evaluations at a time."""

from __future__ import annotations

import os
import selectors
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping

from flexibo._internal.interrupts import deferred_interrupts
from flexibo._internal.machine import cores
from flexibo.errors import InvalidTypeError, InvalidValueError, MachineError
from flexibo.executors._capacity import LocalCapacity, checked_seconds
from flexibo.executors._messages import Fault, Job, MeasuringBegan, Reply, overdue, packed
from flexibo.executors._worker_process import WorkerProcess
from flexibo.executors.base import Measure, Outcome
from flexibo.executors.measure import exit_description
from flexibo.history.events import Evaluation, FailureKind
from flexibo.objectives import Objective

GRACE_SECONDS = 2.0  # how long a function may clean up after its timeout before it is killed
STARTS = 3  # how many worker processes may end before they begin an evaluation; then the machine is considered at fault
LOOK_SECONDS = 0.5  # how often to look for processes that ended, where the system does not notify
EXIT_SECONDS = 0.5  # how long idle worker processes may take to exit


class ProcessExecutor:
    """Calls the objectives' functions in worker processes.

    A function is pickled by value, so lambdas, closures and functions of a script or a notebook work. The modules that
    it uses are imported in the worker process, with the same search path and in the same working
    directory. The worker processes are started when needed and reused. One that crashes fails its evaluation only, and
    one that exceeds its objective's timeout is killed, with all processes that it started. They never outlive this
    process.

    An executor belongs to the process and the thread that use it.

    Args:
        n: How many worker processes; by default one per core that this process may use.
        slots: How many evaluations of an objective may run at a time, as in ``{"energy": 1}``; those that are not
            named are limited by `n` alone.
        resources: What this machine offers in all, as in ``{"GPU": 1}``, for objectives that name `resources`; None:
            they are ignored.
        environment: Variables for the worker processes, beside those of this process. Each also finds its number, from
            0, in ``FLEXIBO_WORKER_SLOT``.
        grace: Seconds between an objective's timeout, when its function is interrupted, and the kill.
        clock: A monotonic clock in seconds.
    """

    measures_elsewhere = True  # in the background; the finished ones can be fetched without waiting

    def __init__(
        self,
        n: int | None = None,
        *,
        slots: Mapping[str, int] | None = None,
        resources: Mapping[str, float] | None = None,
        environment: Mapping[str, str] | None = None,
        grace: float = GRACE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if os.name != "posix":
            raise MachineError("Worker processes need Linux or macOS; measure with the inline executor here.")
        self._capacity = LocalCapacity(cores() if n is None else n, slots, resources)
        self.slots = dict(slots or {})
        self._environment = checked_environment({} if environment is None else environment)
        self._grace, self._clock = checked_seconds("grace", grace), clock
        self._waiting: deque[Job] = deque()
        self._done: list[Outcome] = []
        self._fault: MachineError | None = None
        self._workers: dict[WorkerProcess, Job | None] = {}
        self._owner = os.getpid()
        self._end = weakref.finalize(self, end_all, self._workers, self._owner)

    def has_room(self, objective: Objective) -> bool:
        """Whether a worker, a slot and the resources are free; a `MachineError` if it never has these resources."""
        self._check(objective)
        return self._fault is None and not self._waiting and self._capacity.fits(objective)

    def is_busy(self) -> bool:
        """Whether an evaluation was submitted that is not finished."""
        return self._fault is not None or bool(self._done or self._waiting) or any(self._workers.values())

    def submit(self, evaluation: Evaluation, objective: Objective, measure: Measure) -> None:
        """Start one evaluation; where there is no room, it starts as soon as there is."""
        self._check(objective)
        self._waiting.append(packed(evaluation, objective, measure))
        self._start_waiting()

    def finished(self, wait: float | None = None) -> list[Outcome]:
        """The outcomes that are there, as for every `Executor`; a `MachineError` stops all that runs."""
        until = None if wait is None else self._clock() + wait
        while True:
            with deferred_interrupts():
                self._collect()
            self._start_waiting()
            if self._done:
                done, self._done = self._done, []
                return done
            if self._fault is not None:
                fault = self._fault
                self._give_up()
                raise fault
            if not self.is_busy() or (until is not None and self._clock() >= until):
                return []
            self._rest(until)

    def close(self) -> None:
        """Kill what runs, and end the idle worker processes. Nothing can be submitted afterwards."""
        self._waiting.clear()
        self._done.clear()
        self._fault = None
        self._end()

    def __enter__(self) -> ProcessExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self, objective: Objective) -> None:
        if not self._end.alive:
            raise InvalidValueError("This executor is closed; make a new one.")
        if os.getpid() != self._owner:
            raise InvalidValueError("This executor belongs to the process that made it; make another one here.")
        self._capacity.check(objective)

    def _start_waiting(self) -> None:
        """Hand what waits to worker processes, as far as there is room."""
        for job in list(self._waiting):
            if self._fault is None and self._capacity.fits(job.objective):
                self._start(job)

    def _start(self, job: Job) -> None:
        worker = None
        try:
            with deferred_interrupts():  # a process that was started must be known
                worker = self._idle_worker()
                self._waiting.remove(job)
                self._capacity.reserve(job.objective)
                self._workers[worker] = job
                job.since = self._clock()
                job.starts += not worker.has_served  # one that served before was able to start
            is_sent = worker.send(job.objective.name, job.digest, job.function, job.question)
        except MachineError as error:
            self._fault = error
            return
        except BaseException:  # Ctrl-C: half a task is worse than none
            if worker is not None:
                self._dismiss(worker)
            raise
        if not is_sent:
            self._handle_exit(worker, job)

    def _idle_worker(self) -> WorkerProcess:
        """A worker process that is idle and alive, or a new one."""
        for worker in [worker for worker, job in self._workers.items() if job is None]:
            if not worker.is_over():
                return worker
            self._dismiss(worker)
        slots = {worker.slot for worker in self._workers}
        worker = WorkerProcess(min(set(range(self._capacity.n)) - slots), self._environment)
        self._workers[worker] = None
        return worker

    def _collect(self) -> None:
        """Process all that happened: replies first, then exits, then time limits."""
        for worker, job in list(self._workers.items()):
            is_over = worker.is_over()  # asked before reading, so that nothing that it said before its end is missed
            for reply in worker.received():
                if job is not None:
                    self._heard(worker, job, reply)
            if worker not in self._workers:
                continue
            job = self._workers[worker]
            if is_over:
                self._handle_exit(worker, job)
            elif job is not None and (end := job.ends_at(self._grace)) is not None and self._clock() >= end:
                self._dismiss(worker)
                self._failed(job, *overdue(job))

    def _heard(self, worker: WorkerProcess, job: Job, reply: Reply) -> None:
        if isinstance(reply, MeasuringBegan):
            # The steady clock is the machine's; the bounds are for clocks that are not.
            job.since, job.has_begun = min(max(reply.at, job.since), self._clock()), True
        elif isinstance(reply, Fault):
            self._fault = MachineError(reply.reason)
            self._dismiss(worker)
        else:
            self._workers[worker] = None
            self._capacity.release(job.objective)
            self._done.append(reply.outcome(job.evaluation))

    def _handle_exit(self, worker: WorkerProcess, job: Job | None) -> None:
        """Clean up after a worker process that ended; another one measures what it had not begun."""
        has_ended = worker.await_end(EXIT_SECONDS)  # it hangs up a moment before it has ended
        status = self._dismiss(worker)
        end = exit_description(status) if has_ended else "closed its connection"
        if job is None:
            return
        if job.has_begun:
            self._failed(job, f"Its worker process {end}.", FailureKind.LOST)
        elif job.starts < STARTS:
            self._waiting.appendleft(job)
        else:
            self._fault = MachineError(
                f"{job.starts} worker processes ended before they began to measure {job.objective.name!r}, and the "
                f"last {end}; see what they wrote to the standard error."
            )

    def _failed(self, job: Job, reason: str, kind: FailureKind) -> None:
        self._done.append(Outcome(job.evaluation, None, max(0.0, self._clock() - job.since), reason, kind=kind))

    def _dismiss(self, worker: WorkerProcess) -> int | None:
        """End a worker process, and give back what its evaluation held."""
        job = self._workers.pop(worker)
        if job is not None:
            self._capacity.release(job.objective)
        return worker.end()

    def _give_up(self) -> None:
        self._fault = None
        self._waiting.clear()
        for worker in [worker for worker, job in self._workers.items() if job is not None]:
            self._dismiss(worker)

    def _rest(self, until: float | None) -> None:
        """Sleep until something happens, a time limit is reached, or it is time to return."""
        ends = [job.ends_at(self._grace) for job in self._workers.values() if job is not None]
        moments = [moment for moment in (until, *ends) if moment is not None]
        seconds = [max(0.0, min(moments) - self._clock())] if moments else []
        with getattr(selectors, "PollSelector", selectors.DefaultSelector)() as selector:
            for worker in self._workers:
                seconds += [] if worker.tells_its_end else [LOOK_SECONDS]
                for descriptor in worker.descriptors:
                    selector.register(descriptor, selectors.EVENT_READ)
            selector.select(min(seconds, default=None))


def checked_environment(environment: object) -> dict[str, str]:
    """Variables of an environment: text by name."""
    if not isinstance(environment, Mapping) or not all(
        isinstance(text, str) for pair in environment.items() for text in pair
    ):
        raise InvalidTypeError(
            f"environment is {environment!r}; give texts by name, such as {{'CUDA_VISIBLE_DEVICES': '0'}}."
        )
    return dict(environment)


def end_all(workers: dict[WorkerProcess, Job | None], owner: int) -> None:
    """End worker processes: busy ones at once, idle ones after a moment in which they may exit."""
    if os.getpid() != owner:
        return  # a forked copy of the process that owns them
    idle = [worker for worker, job in workers.items() if job is None]
    for worker in idle:
        worker.dismiss()
    for worker in [worker for worker in workers if worker not in idle]:
        worker.end()
    until = time.monotonic() + EXIT_SECONDS
    for worker in idle:
        worker.await_end(until - time.monotonic())
        worker.end()
    workers.clear()
