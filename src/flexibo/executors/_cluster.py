"""Measures on a cluster: which attempt runs where, what became of it, and when to wait no longer."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Protocol, TypeVar

from flexibo._internal.checks import whole_number
from flexibo.errors import InvalidValueError, MachineError
from flexibo.executors._capacity import Amounts, ClusterCapacity, checked_seconds, in_words, needed
from flexibo.executors._messages import (
    AttemptBegan,
    AttemptEnded,
    AttemptHeard,
    AttemptLost,
    ClusterLost,
    Fault,
    Job,
    Report,
    WorkersSeen,
    packed,
)
from flexibo.executors._sessions import ProcessIdentity
from flexibo.executors.base import Measure, Outcome
from flexibo.executors.measure import too_long
from flexibo.history.events import Evaluation, FailureKind
from flexibo.objectives import Objective, checked_resources
from flexibo.space import Design

PATIENCE_SECONDS = 20.0
LEASE_SECONDS = 60.0
BEATS_PER_LEASE = 4
LOOK_SECONDS = 0.25  # how often to check for lost workers and time limits while no report arrives
STARTS = 3  # how many workers may end before they begin an evaluation; then the machines are considered at fault
MOST_RELEASES = 2  # how often an evaluation is given back because its machine was lost; then it may be what does it

Self = TypeVar("Self", bound="ClusterExecutor")


class Engine(Protocol):
    """A cluster that runs attempts. Its methods never wait; all that happens is put into `reports`."""

    about: str  # what it is and where, for messages, as in ``"Dask cluster at tcp://10.0.0.1:8786"``
    reports: SimpleQueue[Report]  # the reports that were not processed yet
    pins: bool  # whether an attempt runs only on the worker it is started on
    places_are_machines: bool  # whether a place is a whole machine rather than a worker process
    grace: float  # seconds after an objective's timeout until an attempt is stopped from here

    def start(self, attempt: str, job: Job, needs: Amounts, place: str | None) -> None:
        """Start an attempt; None: wherever there will be a worker for it."""

    def stop(self, attempt: str, *, is_silent: bool = False) -> None:
        """Stop an attempt, as far as the cluster can, and forget it; one that `is_silent` cannot help to end itself."""

    def has_begun(self, attempt: str) -> bool:
        """Whether the cluster knows that the attempt began, although no report of it arrived."""

    def remedy(self, needs: Amounts) -> str:
        """What to do if no worker offers these amounts."""

    def close(self) -> None:
        """Stop everything and release what is held."""


@dataclass(slots=True, eq=False)
class Attempt:
    name: str  # the evaluation's number and a random part
    job: Job  # the evaluation and its function
    needs: Amounts  # the resources that it needs
    place: str | None = None  # the worker it runs on, if known
    started: float | None = None  # when it was handed to the cluster; None while it waits here
    began: float | None = None  # when it began to measure
    starts: int = 0  # how often it was handed to the cluster
    unserved: float | None = None  # since when no worker offers what it needs
    heard: float | None = None  # when the last heartbeat of it arrived; None where none does
    process: ProcessIdentity | None = None  # which measures it, if known


class ClusterExecutor:
    """The common part of the executors on clusters; without `n`, as many run as the workers have room for."""

    measures_elsewhere = True  # while this process does something else; what is finished can be fetched at once

    def __init__(
        self,
        engine: Engine,
        *,
        n: int | None = None,
        total: Amounts | None = None,
        needs: Callable[[Objective], Amounts] = needed,
        patience: float = PATIENCE_SECONDS,
        lease: float = LEASE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._capacity, self._needs = ClusterCapacity(n, total), needs
        self._patience, self._lease, self._clock = patience, lease, clock
        self._silent: frozenset[str] = frozenset()
        self._looked_at = clock()
        self._releases: Counter[tuple[str, Design]] = Counter()
        self._attempts: dict[str, Attempt] = {}
        self._done: list[Outcome] = []
        self._fault: MachineError | None = None
        self._gone: MachineError | None = None
        self._asked_at = -float("inf")
        self._is_closed = False

    def has_room(self, objective: Objective) -> bool:
        """Whether an evaluation would start at once, or could be the one that waits for a worker still to come."""
        self._check_open()
        self._take_in()
        if self._fault is not None:
            return False  # `finished` returns the outcomes first, then raises it
        needs = self._needs(objective)
        waiting = [attempt for attempt in self._attempts.values() if attempt.began is None and attempt.place is None]
        if not self._capacity.could_fit(needs):
            return not self._capacity.is_full and all(attempt.needs != needs for attempt in waiting)
        return self._capacity.place(needs) is not None

    def is_busy(self) -> bool:
        return bool(self._attempts or self._done) or self._fault is not None

    def submit(self, evaluation: Evaluation, objective: Objective, measure: Measure) -> None:
        """Start one evaluation; where there is no room, it starts as soon as there is."""
        self._check_open()
        self._take_in()
        job = packed(evaluation, objective, measure)
        attempt = Attempt(f"{evaluation.number}-{uuid.uuid4().hex}", job, self._needs(objective))
        self._attempts[attempt.name] = attempt
        self._launch(attempt)

    def finished(self, wait: float | None = None) -> list[Outcome]:
        """The outcomes that are there; a `MachineError` also for a lost cluster or a resource that no worker offers."""
        until = None if wait is None else self._clock() + wait
        while True:
            self._take_in()
            if self._done:
                done, self._done = self._done, []
                return done
            if self._fault is not None:
                raise self._given_up()
            left = LOOK_SECONDS if until is None else min(LOOK_SECONDS, until - self._clock())
            if not self._attempts or left <= 0:
                return []
            try:
                self._hear(self._engine.reports.get(timeout=left))
            except Empty:
                continue

    def close(self) -> None:
        """Stop what runs, as far as the cluster can, and leave it. Nothing can be submitted afterwards."""
        if self._is_closed:
            return
        self._is_closed = True
        self._attempts.clear()
        self._done.clear()
        self._fault = None
        self._engine.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise InvalidValueError("This executor is closed; make a new one.")
        if self._gone is not None and not self.is_busy():
            raise self._gone

    def _take_in(self) -> None:
        """Process all reports, then check for lost workers and time limits."""
        if self._is_closed:
            return
        while not self._engine.reports.empty():
            self._hear(self._engine.reports.get())
        self._excuse_own_absence()
        for attempt in list(self._attempts.values()):
            if self._fault is None:
                self._look_after(attempt)

    def _excuse_own_absence(self) -> None:
        """Begin the leases again if this process did not look for long: it may have been stopped itself."""
        now, before = self._clock(), self._looked_at
        self._looked_at = now
        if now - before > self._lease / 2:
            for attempt in self._attempts.values():
                attempt.heard = None if attempt.heard is None else now

    def _hear(self, report: Report) -> None:
        if isinstance(report, WorkersSeen):
            self._capacity.update(report.offers)
            self._asked_at, self._silent = report.asked_at, report.silent
        elif isinstance(report, ClusterLost):
            self._gone = self._fault = self._gone or MachineError(
                f"The {self._engine.about} is lost ({report.reason}); start it again, or use another one, and resume "
                "the study."
            )
        elif (attempt := self._attempts.get(report.attempt)) is None:
            return  # it is no longer wanted
        elif isinstance(report, AttemptBegan):
            attempt.began, attempt.place, attempt.unserved = report.at, report.place, None
            attempt.process = report.process or attempt.process
            self._capacity.reserve(attempt.name, attempt.place, attempt.needs)
        elif isinstance(report, AttemptHeard):
            attempt.heard, attempt.process = report.at, report.process or attempt.process
        elif isinstance(report, AttemptEnded):
            self._end(attempt, report)
        else:
            self._lose(attempt, report)

    def _end(self, attempt: Attempt, report: AttemptEnded) -> None:
        self._forget(attempt)
        reply = report.reply
        if isinstance(reply, Fault):
            self._fault = self._fault or MachineError(reply.reason)
            return
        self._done.append(reply.outcome(attempt.job.evaluation))

    def _lose(self, attempt: Attempt, report: AttemptLost, *, is_silent: bool = False) -> None:
        """Fail an attempt that was being measured when its worker died; start one that had not begun elsewhere.

        Where the machine was lost, or its worker `is_silent`, the attempt is given back: its design is not the cause.
        """
        self._engine.stop(attempt.name, is_silent=is_silent)
        if report.has_begun or attempt.began is not None:
            question = (attempt.job.objective.name, attempt.job.evaluation.design)
            is_innocent = report.is_machine or is_silent
            self._releases[question] += is_innocent
            released = is_innocent and self._releases[question] <= MOST_RELEASES
            self._fail(attempt, report.reason, report.kind, released=released, seconds=report.seconds)
        elif attempt.starts < STARTS:
            self._launch(attempt)
        else:
            self._forget(attempt)
            self._fault = MachineError(
                f"{attempt.starts} workers of the {self._engine.about} ended before they began to measure "
                f"{attempt.job.objective.name!r}, the last for this reason: {report.reason}"
            )

    def _fail(
        self, attempt: Attempt, reason: str, kind: FailureKind, *, released: bool = False, seconds: float | None = None
    ) -> None:
        """End an attempt without a value; it costs the `seconds`, or the time since it began."""
        self._forget(attempt)
        since = attempt.began if attempt.began is not None else attempt.started
        cost = 0.0 if since is None else max(0.0, self._clock() - since)
        cost = cost if seconds is None else seconds
        self._done.append(Outcome(attempt.job.evaluation, None, cost, reason, kind=kind, released=released))

    def _forget(self, attempt: Attempt) -> None:
        del self._attempts[attempt.name]
        self._capacity.release(attempt.name)

    def _launch(self, attempt: Attempt) -> None:
        """Start the attempt on a free worker, or leave it to the cluster if no present worker fits."""
        self._capacity.release(attempt.name)
        attempt.place, attempt.started = self._capacity.place(attempt.needs), None
        attempt.heard = attempt.process = None
        if attempt.place is None and (self._capacity.is_full or self._capacity.could_fit(attempt.needs)):
            return  # it waits here until there is room
        attempt.started, attempt.starts = self._clock(), attempt.starts + 1
        self._capacity.reserve(attempt.name, attempt.place, attempt.needs)
        self._engine.start(attempt.name, attempt.job, attempt.needs, attempt.place)

    def _look_after(self, attempt: Attempt) -> None:
        now, timeout = self._clock(), attempt.job.objective.timeout
        if attempt.started is None:
            self._launch(attempt)
        elif self._is_silent(attempt, now):
            reason = f"Its worker{f' ({attempt.place})' if attempt.place else ''} sent nothing for {self._lease:g} s."
            has_begun = attempt.began is not None or self._engine.has_begun(attempt.name)
            self._lose(attempt, AttemptLost(attempt.name, reason, has_begun), is_silent=True)
        elif attempt.began is not None:
            if self._is_missing(attempt.place, attempt.began):
                is_machine = self._engine.places_are_machines
                what = "worker's machine" if is_machine else "worker"
                reason = f"Its {what} ({attempt.place}) died."
                self._lose(attempt, AttemptLost(attempt.name, reason, True, is_machine))
            elif timeout is not None and now > attempt.began + timeout + self._engine.grace:
                self._engine.stop(attempt.name)
                self._fail(attempt, too_long(timeout), FailureKind.TIMEOUT)
        elif self._engine.pins and self._is_missing(attempt.place, attempt.started):
            has_begun = self._engine.has_begun(attempt.name)
            self._lose(attempt, AttemptLost(attempt.name, f"Its worker ({attempt.place}) died.", has_begun))
        elif self._capacity.could_fit(attempt.needs):
            attempt.unserved = None
        elif attempt.unserved is None:
            attempt.unserved = now
        elif now - attempt.unserved >= self._patience:
            self._fault = self._no_worker_error(attempt)

    def _is_silent(self, attempt: Attempt, now: float) -> bool:
        """Whether its worker shows no sign of life; a process that can be seen here to run may be busy in C code."""
        # Where nothing is sent while a function with a timeout runs, the timeout ends it.
        is_bounded = attempt.began is not None and attempt.job.objective.timeout is not None
        is_late = attempt.heard is not None and not is_bounded and now - attempt.heard > self._lease
        if not is_late and attempt.place not in self._silent:
            return False
        return attempt.process is None or not attempt.process.is_running()

    def _is_missing(self, place: str | None, since: float) -> bool:
        """Whether the worker is absent from a list that was asked for after this time."""
        return place is not None and self._asked_at > since and not self._capacity.is_there(place)

    def _no_worker_error(self, attempt: Attempt) -> MachineError:
        return MachineError(
            f"Objective {attempt.job.objective.name!r} needs {in_words(attempt.needs)} on one worker, and no worker "
            f"of the {self._engine.about} has offered that for {self._patience:g} s ({self._capacity.in_words()}); "
            f"{self._engine.remedy(attempt.needs)}."
        )

    def _given_up(self) -> MachineError:
        """The fault, after all submitted evaluations are dropped."""
        fault, self._fault = self._fault, None
        for attempt in list(self._attempts.values()):
            if attempt.started is not None and self._gone is None:
                self._engine.stop(attempt.name)
            self._forget(attempt)
        assert fault is not None
        return fault


def checked_resources_to_offer(
    address: object,
    n: object,
    resources: Mapping[str, float] | None,
    patience: object,
    lease: object,
    *,
    whose: str,
    starts_one: bool,
    command: str,
) -> Mapping[str, float]:
    """What a cluster that this executor starts will offer; an error about the first argument that cannot be used."""
    if address is not None and (not isinstance(address, str) or not address.strip()):
        raise InvalidValueError(f"address is {address!r}; give {whose} as text, or leave it out to start one here.")
    if n is not None:
        whole_number("n", n, least=1)
    checked_seconds("patience", patience)
    if not checked_seconds("lease", lease):
        raise InvalidValueError("lease is 0; it must be a number of seconds above zero.")
    if resources and "CPU" in resources:
        raise InvalidValueError("resources names CPU; use n for the number of evaluations at a time.")
    if resources is not None and not starts_one:
        raise InvalidValueError(
            "resources are what a cluster started here offers; the machines of an existing one declare what they "
            f"offer, with {command} --resources."
        )
    return checked_resources(resources or {}, "The executor")
