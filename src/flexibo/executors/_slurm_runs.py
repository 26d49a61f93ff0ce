"""The folder where jobs are kept: one folder per run of an executor, and the jobs that a killed one left behind."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import stat
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flexibo.errors import InvalidValueError, MachineError
from flexibo.executors._messages import ClusterTask, Job
from flexibo.executors._sessions import ProcessIdentity

OWNER = "owner.json"  # which process works with the jobs of a run
PREFIX = "flexibo-"
BEAT_SECONDS = 15.0  # how often a process shows that it still works with its jobs
LEASE_SECONDS = 50.0  # how long that may not be seen; less than the 60 s after which a study gives questions out again


@dataclass(frozen=True, slots=True)
class LeftJob:
    """A job that a process which is gone has submitted."""

    number: str
    folder: Path
    question: tuple[Any, ...]  # which evaluation it measures
    digest: str  # of its function

    @property
    def run(self) -> str:
        """The name that SLURM knows it by."""
        return self.folder.parent.name


class JobFolder:
    """The jobs of one run, in a folder of its own within `folder`, which nobody else may write to."""

    def __init__(self, folder: str | Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.root = Path(folder).expanduser().absolute()
        self.name = f"{PREFIX}{uuid.uuid4().hex[:12]}"
        self.path = self.root / self.name
        self._clock = clock
        self._beat_at = -float("inf")
        self._seen: dict[Path, tuple[str, float]] = {}
        self._gone: set[Path] = set()
        self._left: dict[Path, LeftJob] = {}
        if "%" in str(self.root):
            raise InvalidValueError(f"folder is {str(folder)!r}; SLURM replaces what follows %, so use another one.")
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.mkdir(mode=0o700)
        except OSError as error:
            raise MachineError(
                f"The folder of the jobs, {self.root}, cannot be used ({error.strerror or error}); give another one "
                "as folder, which all machines of the cluster share."
            ) from None
        if not _is_own(self.root.resolve()):
            self.path.rmdir()
            raise InvalidValueError(
                f"Others may write to {self.root}, and could run programs as you; use a folder of your own, or: "
                f"chmod 700 {self.root}"
            )
        self.tend()

    def tend(self) -> None:
        """Show that this process lives, and look for runs whose process does not."""
        now = self._clock()
        if now - self._beat_at < BEAT_SECONDS:
            return
        self._beat_at = now
        self._write_owner(now)
        for path in self._others():
            if path not in self._gone and self._is_gone(path, now):
                self._gone.add(path)
                self._left |= {job.folder: job for job in _left_in(path)}

    def claimed(self, job: Job) -> tuple[LeftJob | None, list[LeftJob]]:
        """A job that was left behind and measures the same with the same function, and those with another one.

        None of them is offered again.
        """
        same = [left for left in self._left.values() if left.question == question_of(job.question)]
        fitting = next((left for left in same if left.digest == job.digest), None)
        for left in same:
            if left is fitting or left.digest != job.digest:
                del self._left[left.folder]
        return fitting, [left for left in same if left.digest != job.digest]

    def close(self) -> None:
        """Remove what is not needed any more; folders with the output of jobs that gave no value stay."""
        waiting = {left.folder.parent for left in self._left.values()}
        for path in (self.path, *self._gone - waiting):
            with suppress(OSError):
                (path / OWNER).unlink(missing_ok=True)
                for left in path.iterdir():
                    if left.is_symlink() and not left.exists():
                        left.unlink()
                    elif left.name == "%j":  # submitit makes one that nobody uses
                        left.rmdir()
                path.rmdir()
        with suppress(OSError):
            self.root.rmdir()

    def _write_owner(self, now: float) -> None:
        about = {**asdict(ProcessIdentity.of_this_process()), "beat": now}
        draft = self.path / f".{OWNER}"
        with suppress(OSError):
            draft.write_text(json.dumps(about))
            draft.replace(self.path / OWNER)

    def _others(self) -> list[Path]:
        with suppress(OSError):
            return [path for path in self.root.glob(f"{PREFIX}*") if path != self.path and _is_own(path)]
        return []

    def _is_gone(self, path: Path, now: float) -> bool:
        """Whether the process of a run is gone: seen at once on this machine, elsewhere after the lease."""
        try:
            text = (path / OWNER).read_text()
            about = json.loads(text)
            identity = ProcessIdentity(about["boot"], about["pid"], about["started"])
        except (OSError, ValueError, KeyError, TypeError):
            return False  # it is being written, or over
        if identity.boot and identity.boot == ProcessIdentity.of_this_process().boot:
            return identity.has_ended()
        before, since = self._seen.get(path, ("", now))
        self._seen[path] = (text, since if text == before else now)
        return now - self._seen[path][1] >= LEASE_SECONDS


def _is_own(folder: Path) -> bool:
    """Whether it is a folder, and no link, that only this user may write to: jobs are pickles, which can run programs.

    The folder of a run may have been made by somebody else before `root` was closed to others.
    """
    about = folder.lstat()
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid() and not about.st_mode & 0o022


def question_of(question: bytes) -> tuple[Any, ...]:
    """What identifies an evaluation, whichever attempt it is."""
    evaluation, _ = pickle.loads(question)
    return (evaluation.number, evaluation.objective, tuple(evaluation.design.items()))


def _left_in(run: Path) -> Iterator[LeftJob]:
    import submitit

    for path in run.glob("*/*_submitted.pkl"):
        number = path.parent.name
        with suppress(Exception):  # a file that is damaged, or of other versions
            task = submitit.core.utils.DelayedSubmission.load(path).args[0]
            if isinstance(task, ClusterTask):
                yield LeftJob(number, path.parent, question_of(task.question), task.digest)


def discard(folder: Path, *, keep_output: bool) -> None:
    """Remove the folder of a job that is over, or all but what it printed."""
    with suppress(OSError):
        has_output = any(path.stat().st_size for pattern in ("*.out", "*.err") for path in folder.glob(pattern))
        if keep_output and has_output:
            for path in [*folder.glob("*.pkl"), *folder.glob("*.sh")]:
                path.unlink()
            return
    shutil.rmtree(folder, ignore_errors=True)
