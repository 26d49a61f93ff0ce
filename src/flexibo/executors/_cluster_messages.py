"""An attempt at an evaluation on a cluster: the task, the reports about it, and what the worker does with it."""

from __future__ import annotations

import pickle
import platform
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from flexibo.executors._messages import Fault, Job, Recent, WorkerAnswer
from flexibo.executors.base import Measure
from flexibo.executors.measure import failure
from flexibo.history.events import Evaluation
from flexibo.objectives import Objective

HERE = (sys.version_info.major, sys.version_info.minor)


@dataclass(frozen=True, slots=True)
class ClusterTask:
    """To a worker: measure this.

    All fields are plain, so a worker with other versions can read it and report what is wrong.
    """

    attempt: str  # names the attempt: the evaluation's number and a random part
    objective: str  # the objective that is asked for
    python: tuple[int, int]  # the version of Python that pickled the function
    digest: str  # names the function
    function: bytes | None  # the function itself, pickled; None where the worker has it already
    question: bytes  # the evaluation and the objective, pickled


@dataclass(frozen=True, slots=True)
class AttemptBegan:
    """The measuring began on this worker, at this time of our own monotonic clock."""

    attempt: str
    place: str
    at: float


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """The worker answered."""

    attempt: str
    reply: WorkerAnswer | Fault


@dataclass(frozen=True, slots=True)
class AttemptLost:
    """The worker died, or the cluster stopped the attempt."""

    attempt: str  # which one
    reason: str  # why, as one sentence
    has_begun: bool  # whether the measuring is known to have begun


@dataclass(frozen=True, slots=True)
class WorkersSeen:
    """Who is there and what each offers, as asked at this time of our own steady clock."""

    offers: Mapping[str, Mapping[str, float]]
    asked_at: float


@dataclass(frozen=True, slots=True)
class ClusterLost:
    """The cluster does not answer any more, for this reason."""

    reason: str


Report: TypeAlias = AttemptBegan | AttemptEnded | AttemptLost | WorkersSeen | ClusterLost


def task_of(attempt: str, job: Job, *, with_function: bool) -> ClusterTask:
    return ClusterTask(
        attempt, job.objective.name, HERE, job.digest, job.function if with_function else None, job.question
    )


@dataclass(frozen=True, slots=True)
class Loaded:
    """A task on its worker, ready to begin."""

    evaluation: Evaluation
    objective: Objective
    measure: Measure


_functions: Recent[Measure] = Recent()
_functions_lock = threading.Lock()


def loaded(task: ClusterTask) -> Loaded | Fault | None:
    """What the task needs, on the worker; None if its function did not come along and is not here.

    A function is unpickled once per worker process, so that what it keeps between calls (a data set, a connection)
    is there the next time.
    """
    if task.python != HERE:
        return Fault(
            f"A worker on {platform.node()} runs Python {HERE[0]}.{HERE[1]}, and this study "
            f"{task.python[0]}.{task.python[1]}; functions need the same version on both sides."
        )
    try:
        with _functions_lock:
            measure = _functions.get(task.digest)
            if measure is None and task.function is None:
                return None
            if measure is None:
                measure = pickle.loads(task.function or b"")
            _functions.use(task.digest, measure)
        evaluation, objective = pickle.loads(task.question)
        return Loaded(evaluation, Objective.from_dict(objective), measure)
    except BaseException as error:
        return Fault(
            f"The function of {task.objective!r} cannot be loaded by a worker on {platform.node()} ({failure(error)}); "
            "install there what it uses, in the same versions as here."
        )
