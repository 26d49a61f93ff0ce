"""What runs in a job: one attempt at an evaluation, called by submitit."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TypeAlias

from flexibo.executors._messages import ClusterTask, Fault, WorkerAnswer, WorkingContext, loaded
from flexibo.executors._worker_main import answer, enter_context

BEGAN, STOPPED = "began", "stopped"  # files in the folder of a job: it began to measure, somebody stopped it


@dataclass(frozen=True, slots=True)
class StartedAgain:
    """From a job: it was started before and began to measure, so it measured nothing now."""


JobReply: TypeAlias = WorkerAnswer | Fault | StartedAgain


def run_in_job(task: ClusterTask, context: WorkingContext) -> JobReply:
    """Measure, and return the answer, which submitit writes into the folder of the job."""
    import submitit

    return run_in_folder(task, context, Path(submitit.JobEnvironment().paths.folder))


def run_in_folder(task: ClusterTask, context: WorkingContext, folder: Path) -> JobReply:
    """Measure at most once, however often the job is started."""
    if (folder / BEGAN).exists():
        return StartedAgain()
    end_when_stopped(folder)
    try:
        enter_context(context)
    except OSError as error:
        return Fault(f"A job cannot work in the folder of the study ({error}); use one that all machines share.")
    ready = loaded(task)
    if ready is None or isinstance(ready, Fault):
        return ready or Fault(f"The function of {task.objective!r} did not arrive.")
    try:
        os.close(os.open(folder / BEGAN, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return StartedAgain()
    return answer(ready.evaluation, ready.objective, ready.measure)


def end_when_stopped(folder: Path) -> None:
    """End at once when the cluster asks for it, and note that: a job that is preempted says nothing about a design.

    submitit would ignore the request, and start a job again that receives the signal of an approaching time limit.
    """

    def end(number: int, frame: FrameType | None) -> None:
        (folder / STOPPED).touch()
        os._exit(128 + number)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGCONT, signal.SIG_DFL)
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
