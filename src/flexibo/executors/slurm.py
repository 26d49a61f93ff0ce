"""Measures in jobs of a SLURM cluster, one per evaluation, submitted through submitit.

- Time in the queue is no time of an evaluation: an attempt begins when its job does, and costs what the job took.
- A job runs at most once. SLURM is told not to start it again, and one that is started again measures nothing.
- What ended a job decides what becomes of its evaluation: too much time or memory is a failure of the design, and a job
  that was cancelled, preempted or lost with its machine is given back.
- Jobs outlive a process that is killed: the next one that is asked the same takes them over.
"""

from __future__ import annotations

import atexit
import logging
import pickle
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue

from flexibo._internal.checks import whole_number
from flexibo._internal.durations import seconds_or_same
from flexibo.errors import InvalidValueError, unknown_name
from flexibo.executors._capacity import Amounts, checked_seconds
from flexibo.executors._cluster import ClusterExecutor
from flexibo.executors._messages import (
    AttemptBegan,
    AttemptEnded,
    AttemptLost,
    ClusterLost,
    Fault,
    Job,
    Report,
    WorkerAnswer,
    WorkersSeen,
    task_of,
)
from flexibo.executors._slurm_job import BEGAN, STOPPED, StartedAgain, run_in_job
from flexibo.executors._slurm_queue import (
    LOST,
    JobQueue,
    JobRefusedError,
    JobState,
    LocalQueue,
    QueueSilentError,
    SlurmQueue,
)
from flexibo.executors._slurm_runs import JobFolder, discard
from flexibo.executors._worker_process import working_context
from flexibo.executors.jobs import JobOptions, checked_by_objective, checked_options, options_of
from flexibo.history.events import FailureKind
from flexibo.objectives import Objective

waiting = logging.getLogger("flexibo.study.waiting")  # what a run waits for, which the command line prints

JOBS = 4  # how many jobs are in the queue or run at a time
FOLDER = "flexibo-jobs"
POLL_SECONDS = 10.0  # how often to ask SLURM for the states of the jobs
LOOK_SECONDS = 0.5  # how often to look for answers
PATIENCE_SECONDS = 600.0  # how long SLURM may not answer: it is restarted now and then, and jobs run on meanwhile
START_SECONDS = 7 * 86400.0
GRACE_SECONDS = 60.0  # a job enforces its timeout itself; this many seconds later it is cancelled
CLOSE_SECONDS = 90.0
SAY_SECONDS = 60.0  # after this long in the queue users are told
PLACE = "SLURM"  # the only place as far as we choose: SLURM chooses the machine

WAITING = frozenset({"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT"})
ACTIVE = frozenset(
    {"RUNNING", "COMPLETING", "CONFIGURING", "STAGE_OUT", "SIGNALING", "SUSPENDED", "STOPPED", "RESIZING"}
)
HOPELESS = frozenset(
    {
        *("PartitionConfig", "PartitionNodeLimit", "PartitionTimeLimit", "BadConstraints", "AccountNotAllowed"),
        *("QOSNotAllowed", "InvalidAccount", "InvalidQOS", "ReservationDeleted", "DependencyNeverSatisfied"),
    }
)
"""Reasons of SLURM for which a job waits until somebody changes the cluster."""
GIVEN_BACK = {
    "CANCELLED": "was cancelled",
    "PREEMPTED": "was preempted",
    "NODE_FAIL": "was lost with its machine",
    "BOOT_FAIL": "got a machine that did not start",
    "REVOKED": "was revoked",
    "DEADLINE": "reached its deadline",
    LOST: "is not known to SLURM any more",
}
"""The ends of a job that say nothing about its design."""


class SlurmExecutor(ClusterExecutor):
    """Runs each evaluation as a job of a SLURM cluster; use it on a machine where ``sbatch`` works.

    An objective's `resources` are asked for: ``CPU`` and ``GPU``, and others as generic resources (``--gres``). All
    else that a job asks for is given here, for all jobs and per objective: ``partition``, ``account``, ``qos``,
    ``constraint``, ``nodelist``, ``exclude``, ``reservation``, ``licenses``, ``gres``, ``cpus``, ``gpus`` (2, or
    ``"a100:2"``), ``memory`` (``"16GB"``), ``time`` (``"4h"``), ``exclusive`` (True: a machine for itself) and
    ``setup`` (shell commands to run first, such as ``["module load cuda"]``). What is not given is as the cluster and
    the variables of sbatch say (``SBATCH_PARTITION`` and so on); without a time, an objective's timeout and five
    minutes more.

    Jobs need the same Python and the modules of the functions at the same paths, and the `folder`: a shared file
    system. `close` cancels them. Those of a process that was killed run on; an executor with the same folder takes
    them over when a study asks for the same evaluation again.

    Args:
        n: How many jobs are in the queue or run at a time.
        job: What every job asks for, as in ``{"partition": "cpu", "time": "30m"}``.
        objectives: What the jobs of an objective ask for instead, as in ``{"error": {"partition": "gpu", "gpus": 1}}``.
        folder: Where jobs and their output are kept; nobody else may write there. The output of jobs that gave no value
            stays.
        start_timeout: How long a job may wait in the queue, in seconds or as in ``"2d"``; then the run ends.
        patience: For how long SLURM may not answer, or a job may ask for more than its partition has, until the run
            ends.
        poll: How often to ask SLURM for the states of the jobs, in seconds.
        cluster: ``"slurm"``, or ``"local"`` to run jobs as processes of this machine, to try out what a cluster will
            run.

    Raises:
        MissingExtraError: submitit is not installed.
        MachineError: There is no SLURM here, or the folder cannot be used.
    """

    def __init__(
        self,
        n: int = JOBS,
        *,
        job: JobOptions | None = None,
        objectives: Mapping[str, JobOptions] | None = None,
        folder: str | Path = FOLDER,
        start_timeout: float | str = START_SECONDS,
        patience: float | str = PATIENCE_SECONDS,
        poll: float = POLL_SECONDS,
        cluster: str = "slurm",
    ) -> None:
        whole_number("n", n, least=1)
        common = checked_options({} if job is None else job, "job")
        self.objectives = checked_by_objective({} if objectives is None else objectives, "objectives")
        waits = checked_seconds("start_timeout", seconds_or_same(start_timeout))
        patience = checked_seconds("patience", seconds_or_same(patience))
        if not checked_seconds("poll", poll):
            raise InvalidValueError("poll is 0; it must be a number of seconds above zero.")
        if cluster not in ("slurm", "local"):
            raise unknown_name("cluster", str(cluster), ("slurm", "local"))
        options = partial(options_of, common=common, special=self.objectives)

        def needs(objective: Objective) -> Amounts:
            options(objective)  # an error if it needs what SLURM cannot give
            return {"CPU": 1.0}

        jobs = JobFolder(folder)
        try:
            queue: JobQueue = LocalQueue(jobs.path) if cluster == "local" else SlurmQueue(jobs.path, jobs.name)
        except BaseException:
            jobs.close()
            raise
        engine = SlurmEngine(queue, jobs, options, n=n, start_timeout=waits, patience=patience, poll=poll)
        super().__init__(engine, n=n, needs=needs)
        engine.begin()
        atexit.register(self.close)

    def close(self) -> None:
        """Cancel all jobs. Nothing can be submitted afterwards."""
        atexit.unregister(self.close)
        super().close()


@dataclass(slots=True, eq=False)
class Sent:
    """An attempt that has a job."""

    job: Job
    number: str  # of the job
    folder: Path
    since: float  # when it was submitted
    has_begun: bool = False
    ended: float | None = None  # when the job was first seen to be over, without an answer
    is_told: bool = False  # whether its end was reported
    has_been_said: bool = False  # whether users were told that it waits


class SlurmEngine:
    """Attempts as jobs. All that may wait for SLURM or the file system happens in one thread."""

    pins = False
    places_are_machines = False
    grace = GRACE_SECONDS

    def __init__(
        self,
        queue: JobQueue,
        jobs: JobFolder,
        options: Callable[[Objective], JobOptions],
        *,
        n: int,
        start_timeout: float = START_SECONDS,
        patience: float = PATIENCE_SECONDS,
        poll: float = POLL_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.about = queue.about
        self.reports: SimpleQueue[Report] = SimpleQueue()
        self.reports.put(WorkersSeen({PLACE: {"CPU": float(n)}}, -float("inf")))
        self._queue, self._jobs, self._options, self._clock = queue, jobs, options, clock
        self._start_timeout, self._patience, self._poll = start_timeout, patience, poll
        self._orders: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._sent: dict[str, Sent] = {}
        self._unsent: dict[str, Job] = {}  # those for which SLURM did not answer
        self._silent_since: float | None = None
        self._ask_at = clock()
        self._is_ending = threading.Event()
        self._thread = threading.Thread(target=self._work, name="flexibo-slurm", daemon=True)

    def begin(self) -> None:
        """Start the thread that submits and looks."""
        self._thread.start()

    def start(self, attempt: str, job: Job, needs: Amounts, place: str | None) -> None:
        """Submit a job for the attempt, or take over one that was left behind."""
        self._orders.put(partial(self._submit, attempt, job))

    def stop(self, attempt: str, *, is_silent: bool = False) -> None:
        """Cancel the attempt's job."""
        self._orders.put(partial(self._cancel, attempt))

    def has_begun(self, attempt: str) -> bool:
        """Whether the job began to measure, as far as its folder shows."""
        sent = self._sent.get(attempt)
        return sent is not None and sent.has_begun

    def remedy(self, needs: Amounts) -> str:
        """What to ask for; SLURM itself decides what there is."""
        return "ask for less in job or objectives"

    def close(self) -> None:
        """Cancel all jobs."""
        self._is_ending.set()
        if self._thread.is_alive():
            self._thread.join(CLOSE_SECONDS)
        self._follow_orders()
        if numbers := [sent.number for sent in self._sent.values()]:
            self._queue.cancel(numbers)
        for sent in self._sent.values():
            discard(sent.folder, keep_output=False)
        self._sent.clear()
        self._queue.close()
        self._jobs.close()

    def step(self) -> None:
        """Do what was ordered, and look for what happened."""
        self._follow_orders()
        self._jobs.tend()
        for attempt, sent in list(self._sent.items()):
            if not sent.is_told:
                self._look_into_folder(attempt, sent)
        if self._clock() >= self._ask_at:
            self._ask_at = self._clock() + self._poll
            try:
                self._ask()
                self._silent_since = None
            except QueueSilentError as error:
                self._bear(error)

    def _work(self) -> None:
        while not self._is_ending.wait(LOOK_SECONDS):
            try:
                self.step()
            except Exception as error:  # a disk that is full, say; without this thread nothing would ever end
                self.reports.put(ClusterLost(f"{type(error).__name__}: {error}"))
                return

    def _follow_orders(self) -> None:
        while True:
            try:
                order = self._orders.get_nowait()
            except Empty:
                return
            order()

    def _submit(self, attempt: str, job: Job) -> None:
        if self._is_ending.is_set():
            return
        fitting, others = self._jobs.claimed(job)
        if others:
            self._queue.cancel([left.number for left in others])
            for left in others:
                discard(left.folder, keep_output=False)
        if fitting is not None:
            self._sent[attempt] = Sent(job, fitting.number, fitting.folder, self._clock())
            self._queue.adopt(fitting.run)
            return
        try:
            task = task_of(attempt, job, with_function=True)
            number = self._queue.submit(run_in_job, task, working_context(), options=self._options(job.objective))
        except JobRefusedError as error:
            self._refuse(attempt, job, str(error))
        except QueueSilentError as error:
            self._unsent[attempt] = job
            self._bear(error)
        else:
            self._sent[attempt] = Sent(job, number, self._queue.folder_of(number), self._clock())

    def _refuse(self, attempt: str, job: Job, reason: str) -> None:
        fault = Fault(
            f"SLURM does not take the jobs of {job.objective.name!r} ({reason}); change what they ask for: job or "
            "objectives of the executor, or the objective's resources."
        )
        self.reports.put(AttemptEnded(attempt, fault))

    def _cancel(self, attempt: str) -> None:
        self._unsent.pop(attempt, None)
        if (sent := self._sent.pop(attempt, None)) is not None:
            self._queue.cancel([sent.number])
            discard(sent.folder, keep_output=True)

    def _bear(self, silence: QueueSilentError) -> None:
        """Wait for SLURM, as it is restarted now and then, but not for ever."""
        now = self._clock()
        self._silent_since = now if self._silent_since is None else self._silent_since
        if now - self._silent_since >= self._patience:
            self.reports.put(ClusterLost(f"no answer for {self._patience:g} s: {silence}"))

    def _look_into_folder(self, attempt: str, sent: Sent) -> None:
        """Report what the job has written: that it began, and its answer."""
        with suppress(OSError):  # a network file system looks again at a folder that is changed
            sent.folder.chmod(sent.folder.stat().st_mode)
        if not sent.has_begun and (sent.folder / BEGAN).exists():
            sent.has_begun = True
            self.reports.put(AttemptBegan(attempt, PLACE, self._clock()))
        answer = sent.folder / f"{sent.number}_0_result.pkl"
        if answer.exists():
            report = self._answered(attempt, sent, answer)
            del self._sent[attempt]
            has_value = isinstance(report, AttemptEnded) and getattr(report.reply, "values", None) is not None
            discard(sent.folder, keep_output=not has_value)
            self.reports.put(report)

    def _answered(self, attempt: str, sent: Sent, file: Path) -> AttemptEnded | AttemptLost:
        try:
            kind, reply = pickle.loads(file.read_bytes())
        except Exception as error:
            return AttemptLost(attempt, f"The answer of its job {sent.number} cannot be read ({error}).", True)
        if isinstance(reply, StartedAgain):
            reason = f"SLURM started its job {sent.number} again, which is not measured twice."
            return AttemptLost(attempt, reason, True, is_machine=True)
        if kind == "success" and isinstance(reply, WorkerAnswer | Fault):
            return AttemptEnded(attempt, reply)
        last = (str(reply).strip().splitlines() or ["no reason"])[-1]
        return AttemptEnded(attempt, Fault(f"A job of the {self.about} cannot run flexibo ({last})."))

    def _ask(self) -> None:
        """Ask for the states of all jobs, and report those that ended without an answer."""
        if not self._sent and not self._unsent:
            return
        known = {sent.number for sent in self._sent.values()}
        states = self._queue.states(known)
        # A job whose submission was not acknowledged has no function, and never measures.
        if strays := [job for job, state in states.items() if job not in known and state.name in WAITING | ACTIVE]:
            self._queue.cancel(strays)
        for attempt, sent in list(self._sent.items()):
            if not sent.is_told and (report := self._judged(attempt, sent, states.get(sent.number, JobState(LOST)))):
                sent.is_told = True
                if isinstance(report, AttemptEnded):  # nobody stops what has ended
                    self._cancel(attempt)
                self.reports.put(report)
        for attempt, job in list(self._unsent.items()):
            del self._unsent[attempt]
            self._submit(attempt, job)

    def _judged(self, attempt: str, sent: Sent, state: JobState) -> Report | None:
        """What the state of its job means for an attempt; None: nothing yet."""
        now = self._clock()
        if state.name in ACTIVE:
            sent.ended = None
        elif state.name in WAITING and sent.has_begun:
            reason = f"SLURM put its job {sent.number} back into the queue."
            return AttemptLost(attempt, reason, True, is_machine=True)
        elif state.name in WAITING:
            self._say_waiting(sent, state, now)
            limit = min(self._start_timeout, self._patience) if state.reason in HOPELESS else self._start_timeout
            is_late = now - sent.since >= limit
            return AttemptEnded(attempt, self._not_started(sent, state, limit)) if is_late else None
        elif sent.ended is None and self._queue.lag:
            sent.ended = now
            self._ask_at = min(self._ask_at, now + self._queue.lag)
        elif now - (sent.ended or 0.0) >= self._queue.lag:
            self._look_into_folder(attempt, sent)
            return self._loss(attempt, sent, state) if attempt in self._sent else None
        return None

    @staticmethod
    def _say_waiting(sent: Sent, state: JobState, now: float) -> None:
        """Say once that a job waits: nothing else happens, perhaps for days."""
        if not sent.has_been_said and now - sent.since >= SAY_SECONDS:
            sent.has_been_said = True
            why = f" ({state.reason})" if state.reason else ""
            waiting.info("Job %s of %r waits in the queue of SLURM%s.", sent.number, sent.job.objective.name, why)

    def _not_started(self, sent: Sent, state: JobState, seconds: float) -> Fault:
        why = f" (SLURM's reason: {state.reason})" if state.reason else ""
        return Fault(
            f"Job {sent.number} of {sent.job.objective.name!r} has not started within {seconds:g} s{why}; let it ask "
            "for less or for another partition, or give a longer start_timeout."
        )

    def _loss(self, attempt: str, sent: Sent, state: JobState) -> AttemptLost:
        """The report for a job that is over without an answer."""
        options, which = self._options(sent.job.objective), f"Its job {sent.number}"
        lost = partial(AttemptLost, attempt, has_begun=sent.has_begun, seconds=state.seconds)
        if state.name == "TIMEOUT":
            limit = f" of {options['time']:g} s" if "time" in options else ""
            return lost(f"{which} exceeded its time limit{limit}.", kind=FailureKind.TIMEOUT)
        if state.name == "OUT_OF_MEMORY":
            limit = f" of {options['memory']} MB" if "memory" in options else ""
            return lost(f"{which} needed more than its memory{limit}.", kind=FailureKind.ERROR)
        is_stopped = (sent.folder / STOPPED).exists()
        if state.name in GIVEN_BACK or is_stopped:
            how = GIVEN_BACK.get(state.name, "was stopped")
            return AttemptLost(attempt, f"{which} {how}.", True, is_machine=True, seconds=state.seconds)
        return lost(f"{which} ended without an answer ({state.name}){_last_words(sent)}.")


def _last_words(sent: Sent) -> str:
    """The last line that the job wrote to its standard error."""
    with suppress(OSError, IndexError):
        text = (sent.folder / f"{sent.number}_0_log.err").read_text(errors="replace")
        return f": {[line for line in text.splitlines() if line.strip()][-1].strip()[-200:].rstrip('.')}"
    return ""
