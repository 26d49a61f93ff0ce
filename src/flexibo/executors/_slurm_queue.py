"""Jobs of SLURM: submitted through submitit, looked up with squeue and sacct, cancelled with scancel.

submitit asks sacct alone for the state of a job, which needs a database that not every cluster has, and it knows no
difference between a job that waits and one that is unknown. So states are asked for here, for all jobs at once.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from flexibo.errors import MachineError, missing_extra
from flexibo.executors.jobs import JobOptions, to_submitit

COMMAND_SECONDS = 60.0  # how long a command of SLURM may take
FILE_SECONDS = 15.0  # how long a file of a job may take to appear on this machine, on a network file system
END_SECONDS = 5.0  # how long a local job may take to end
LOST = "LOST"  # the state of a job that SLURM does not know any more
INHERITED = ("SLURM_", "SLURMD_", "SRUN_", "SUBMITIT_")  # variables of a job that describe that job alone
KEPT = ("SLURM_CONF",)


class QueueSilentError(Exception):
    """SLURM does not answer."""


class JobRefusedError(Exception):
    """SLURM does not take a job."""


@dataclass(frozen=True, slots=True)
class JobState:
    """The state of a job in SLURM's words, its reason, and for how many seconds it has run."""

    name: str
    reason: str = ""
    seconds: float = 0.0


class JobQueue(Protocol):
    """Where jobs are submitted."""

    about: str  # what it is, for messages
    lag: float  # how many seconds a file of a job that ended may take to appear

    def submit(self, function: Callable[..., Any], *arguments: Any, options: JobOptions) -> str:
        """Submit a job that calls the function; returns the number of the job.

        Raises:
            JobRefusedError: It was refused.
            QueueSilentError: Nobody answered; the job may exist nevertheless.
        """

    def folder_of(self, job: str) -> Path:
        """The folder of a job."""

    def adopt(self, name: str) -> None:
        """Know the jobs of another run, which has this name, too."""

    def states(self, jobs: Collection[str]) -> Mapping[str, JobState]:
        """The states of at least these jobs; raises a `QueueSilentError`."""

    def cancel(self, jobs: Iterable[str]) -> None:
        """Cancel jobs, whatever they do; one that is over stays as it is."""

    def close(self) -> None:
        """Release what is held."""


class SlurmQueue:
    """The queue of the SLURM cluster of this machine; its jobs are found by their `name`."""

    about = "SLURM cluster"
    lag = FILE_SECONDS

    def __init__(self, folder: Path, name: str) -> None:
        if shutil.which("sbatch") is None or shutil.which("squeue") is None:
            raise MachineError(
                "There is no SLURM here (no command sbatch); run this on a login node or in a job of a cluster, or "
                "try it with cluster='local'."
            )
        self._submitit, self._folder, self._name = _submitit(), folder, name
        self._names = [name]

    def submit(self, function: Callable[..., Any], *arguments: Any, options: JobOptions) -> str:
        said = self._folder / "sbatch.err"
        python = f"exec {shlex.quote(sys.executable)}"  # the shell would tell of the end of a process in many words
        executor = _sbatch(self._submitit, said)(folder=self._folder / "%j", max_num_timeout=0, python=python)
        parameters = to_submitit(options)
        # A job is never started again by SLURM: whether to measure again is the study's to decide.
        parameters["additional_parameters"] |= {"no-requeue": True}
        # Without srun the end of the job is the end of its only process, and submitit's signals are not sent.
        executor.update_parameters(job_name=self._name, use_srun=False, **parameters)
        try:
            return str(executor.submit(function, *arguments).job_id)
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            reason = _errors_in(said) or _last_line(str(error)) or type(error).__name__
            raise (JobRefusedError if self._answers() else QueueSilentError)(reason) from None
        finally:
            said.unlink(missing_ok=True)

    def folder_of(self, job: str) -> Path:
        return self._folder / job

    def adopt(self, name: str) -> None:
        self._names += [name] if name not in self._names else []

    def states(self, jobs: Collection[str]) -> dict[str, JobState]:
        names = f"--name={','.join(self._names)}"
        listed = _output(["squeue", "--noheader", names, "--states=all", "--format=%j|%i|%T|%M|%r"])
        found = {}
        for line in listed.splitlines():
            name, number, state, used, reason = line.strip().split("|", 4)
            if name == self._name or number in jobs:
                found[number] = JobState(state, "" if reason == "None" else reason, seconds_used(used))
        aged = [job for job in jobs if job not in found]
        return found | (self._remembered(aged) if aged else {})

    def _remembered(self, jobs: Collection[str]) -> dict[str, JobState]:
        """The states of jobs that ended long ago, from the database of the cluster if it has one."""
        found = {job: JobState(LOST) for job in jobs}
        with suppress(QueueSilentError):
            listed = _output(["sacct", "-X", "-n", "-P", f"--jobs={','.join(jobs)}", "-o", "JobID,State,ElapsedRaw"])
            for line in listed.splitlines():
                number, state, seconds = line.strip().split("|")
                if number in found and state:  # it may say who cancelled it
                    found[number] = JobState(state.split()[0], "", float(seconds or 0))
        return found

    def cancel(self, jobs: Iterable[str]) -> None:
        with suppress(QueueSilentError):
            _output(["scancel", *jobs])

    def close(self) -> None:
        """Nothing is held."""

    @staticmethod
    def _answers() -> bool:
        try:
            _output(["scontrol", "ping"])
        except QueueSilentError:
            return False
        return True


class LocalQueue:
    """Jobs as processes of this machine, through submitit's local executor: to try out what a cluster will run."""

    about = "queue of local jobs"
    lag = 0.0

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._submitit, self._folder, self._clock = _submitit(), folder, clock
        self._jobs: dict[str, tuple[Any, float, float]] = {}  # the job, when it began, and when it must have ended

    def submit(self, function: Callable[..., Any], *arguments: Any, options: JobOptions) -> str:
        executor = self._submitit.LocalExecutor(folder=self._folder / "%j", max_num_timeout=0)
        minutes = to_submitit(options)["time"] or 24 * 60
        executor.update_parameters(timeout_min=minutes, setup=list(options.get("setup", ())))
        try:
            job = executor.submit(function, *arguments)
        except (RuntimeError, OSError) as error:
            raise JobRefusedError(str(error)) from None
        for other, _, _ in self._jobs.values():
            other.done()  # the system forgets a process when its end is looked at
        self._jobs[job.job_id] = (job, self._clock(), self._clock() + 60 * minutes)
        return str(job.job_id)

    def folder_of(self, job: str) -> Path:
        return self._folder / job

    def adopt(self, name: str) -> None:
        """Nothing to do: a process is found by its number."""

    def states(self, jobs: Collection[str]) -> dict[str, JobState]:
        return {job: self._state(job) for job in jobs}

    def _state(self, number: str) -> JobState:
        if number not in self._jobs:
            return JobState("RUNNING" if self._is_left(number) else LOST)
        job, began, end = self._jobs[number]
        now = self._clock()
        name = "RUNNING" if not job.done() else "TIMEOUT" if now >= end else "FAILED"
        return JobState(name, "", now - began)

    def _is_left(self, number: str) -> bool:
        """Whether a job of another run is still a process."""
        with suppress(OSError):
            command = Path("/proc", number, "cmdline").read_bytes().split(b"\0")
            return any(Path(os.fsdecode(word)).parent.parent == self._folder.parent for word in command)
        return False

    def cancel(self, jobs: Iterable[str]) -> None:
        for number in jobs:
            if number in self._jobs:
                self._jobs[number][0].cancel()
                self._await_end(number)
            elif self._is_left(number):
                with suppress(ProcessLookupError):
                    os.kill(int(number), signal.SIGINT)

    def close(self) -> None:
        for number in self._jobs:
            self._await_end(number)

    def _await_end(self, number: str) -> None:
        """Wait until the process of a job has ended: it ends what it started first."""
        with suppress(subprocess.TimeoutExpired):
            self._jobs[number][0]._process.wait(END_SECONDS)


def seconds_used(text: str) -> float:
    """The time that a job has run, as squeue writes it: days-hours:minutes:seconds, from the right.

    >>> seconds_used("0:03"), seconds_used("1-02:03:04"), seconds_used("INVALID")
    (3.0, 93784.0, 0.0)
    """
    days, _, rest = text.rpartition("-")
    try:
        seconds = 0.0
        for part in rest.split(":"):
            seconds = 60 * seconds + float(part)
        return seconds + 86400 * float(days or 0)
    except ValueError:
        return 0.0


def environment_for_jobs(environment: Mapping[str, str]) -> list[str]:
    """The variables that describe the job this process runs in, if it runs in one; a job of its own has others.

    >>> environment_for_jobs({"SLURM_JOB_ID": "7", "SLURM_CONF": "/etc/slurm.conf", "HOME": "/"})
    ['SLURM_JOB_ID']
    """
    return [name for name in environment if name.startswith(INHERITED) and name not in KEPT]


def _sbatch(submitit: Any, said: Path) -> Any:
    """The executor of submitit, but a job does not inherit what describes the job that submits it.

    What sbatch writes to its standard error, which submitit would print, goes to the file `said`.
    """

    class Sbatch(submitit.SlurmExecutor):  # type: ignore[misc]  # submitit is imported when it is used
        def _make_submission_command(self, submission_file_path: Path) -> list[str]:
            unset = [word for name in environment_for_jobs(os.environ) for word in ("-u", name)]
            command = super()._make_submission_command(submission_file_path)
            return ["env", *unset, "sh", "-c", 'said=$1; shift; exec "$@" 2>"$said"', "sh", str(said), *command]

    return Sbatch


def _submitit() -> Any:
    try:
        import submitit
    except ImportError:
        raise missing_extra("submitit", "slurm") from None
    return submitit


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=COMMAND_SECONDS, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise QueueSilentError(f"{command[0]}: {error}") from None
    if done.returncode:
        raise QueueSilentError(_last_line(done.stderr) or f"{command[0]} ended with exit status {done.returncode}")
    return done.stdout


def _errors_in(file: Path) -> str:
    """The errors that sbatch wrote, in one line."""
    with suppress(OSError):
        lines = [line.strip().removeprefix("sbatch: ") for line in file.read_text(errors="replace").splitlines()]
        return "; ".join(line.removeprefix("error: ") for line in lines if line)
    return ""


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not set(line.strip()) <= {"-", "="}]
    return lines[-1].rstrip(".") if lines else ""
