"""Evaluations that are sent to a worker, and the messages of worker processes and of clusters about them."""

from __future__ import annotations

import hashlib
import pickle
import platform
import struct
import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

import cloudpickle  # type: ignore[import-untyped]  # it has no annotations

from flexibo.errors import InvalidTypeError
from flexibo.executors._sessions import ProcessIdentity
from flexibo.executors.base import Measure, Outcome
from flexibo.executors.measure import failure, too_long
from flexibo.history.events import Evaluation, FailureKind
from flexibo.history.reports import Reports
from flexibo.objectives import Objective, error_bars, with_error_bars

CHUNK = 1 << 18  # bytes that are read at a time
LOAD_SECONDS = 300.0  # how long a worker process may take to start and to import what a function with a timeout needs
REMEMBERED = 16  # how many functions a worker process keeps; a function may hold much memory
LENGTH = struct.Struct(">Q")
HERE = (sys.version_info.major, sys.version_info.minor)

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Job:
    """An evaluation that is sent to a worker."""

    evaluation: Evaluation  # the question
    objective: Objective  # what is measured
    function: bytes  # the function, pickled
    digest: str  # names the function
    question: bytes  # the evaluation and the objective, pickled
    since: float = 0.0  # when it was handed to its worker process or, once that is known, when the measuring began
    has_begun: bool = False  # whether the measuring began
    starts: int = 0  # how many new worker processes it was handed to

    def ends_at(self, grace: float) -> float | None:
        """When it is killed; None: never."""
        if self.objective.timeout is None:
            return None
        return self.since + (0.0 if self.has_begun else LOAD_SECONDS) + self.objective.timeout + grace


def packed(evaluation: Evaluation, objective: Objective, measure: Measure) -> Job:
    """The evaluation with its function, pickled every time because what it refers to may have changed."""
    try:
        function: bytes = cloudpickle.dumps(measure)
        question = pickle.dumps((evaluation, objective.to_dict()), protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise InvalidTypeError(
            f"The function of {objective.name!r} cannot be sent to a worker process ({error}); let it make or open "
            "what it needs itself, or measure with the inline executor."
        ) from None
    return Job(evaluation, objective, function, hashlib.sha256(function).hexdigest(), question)


def overdue(job: Job) -> tuple[str, FailureKind]:
    if job.has_begun and job.objective.timeout is not None:
        return too_long(job.objective.timeout), FailureKind.TIMEOUT
    return f"Its worker process did not begin to measure within {LOAD_SECONDS:g} s.", FailureKind.LOST


@dataclass(frozen=True, slots=True)
class WorkingContext:
    """Where functions run: the same in a worker process as in its parent."""

    path: tuple[str, ...]  # where Python looks for modules
    folder: str | None  # the working directory; None where it is gone


@dataclass(frozen=True, slots=True)
class ProcessTask:
    """To a worker process: measure this."""

    objective: str  # the objective that is asked for
    digest: str  # names the function
    function: bytes | None  # the function itself, pickled; None where the worker process has it already
    question: bytes  # the evaluation and the objective, pickled
    place: WorkingContext | None  # where to run it; None where nothing changed


@dataclass(frozen=True, slots=True)
class MeasuringBegan:
    """From a worker process: the measuring began, at this time of the machine's monotonic clock."""

    at: float


@dataclass(frozen=True, slots=True)
class WorkerAnswer:
    """From a worker process: an outcome, without the evaluation that the parent knows.

    All of it is plain, as some clusters send only plain values; so error bars travel beside the values.
    """

    values: Mapping[str, float] | None
    cost: float
    reason: str
    timed: bool
    impossible: bool
    kind: str = FailureKind.ERROR.value
    printed: str = ""
    seconds: float | None = field(default=None, compare=False)
    mistake: str = ""
    reports: Reports = ()
    begun: int | None = None
    bars: Mapping[str, tuple[float, int]] = field(
        default_factory=dict
    )  # deviation and repeats of values that have them

    @classmethod
    def of(cls, outcome: Outcome) -> WorkerAnswer:
        values = outcome.values
        return cls(
            None if values is None else {name: float(value) for name, value in values.items()},
            outcome.cost,
            outcome.reason,
            outcome.timed,
            outcome.impossible,
            outcome.kind.value,
            outcome.printed,
            outcome.seconds,
            outcome.mistake,
            outcome.reports,
            outcome.begun,
            error_bars(values or {}),
        )

    def outcome(self, evaluation: Evaluation) -> Outcome:
        return Outcome(
            evaluation,
            None if self.values is None else with_error_bars(self.values, self.bars),
            self.cost,
            self.reason,
            self.timed,
            self.impossible,
            FailureKind(self.kind),
            printed=self.printed,
            seconds=self.seconds,
            mistake=self.mistake,
            reports=tuple((step, value) for step, value in self.reports),  # some clusters send lists
            begun=self.begun,
        )


@dataclass(frozen=True, slots=True)
class Fault:
    """From a worker process: the machine is at fault rather than a design."""

    reason: str


Reply: TypeAlias = MeasuringBegan | WorkerAnswer | Fault


def encoded(message: ProcessTask | Reply) -> bytes:
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(content)) + content


class MessageReader:
    """Decodes messages from the pieces in which they arrive.

    >>> frames, sent = MessageReader(), encoded(MeasuringBegan(1.5)) + encoded(Fault("no meter"))
    >>> frames.feed(sent[:9]), frames.feed(sent[9:])
    ([], [MeasuringBegan(at=1.5), Fault(reason='no meter')])
    """

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, piece: bytes) -> list[Any]:
        self._bytes += piece
        messages = []
        while len(self._bytes) >= LENGTH.size:
            (length,) = LENGTH.unpack_from(self._bytes)
            end = LENGTH.size + length
            if len(self._bytes) < end:
                break
            messages.append(pickle.loads(self._bytes[LENGTH.size : end]))
            del self._bytes[:end]
        return messages


class Recent(Generic[T]):
    """The things used last, by name.

    A worker process keeps its functions in one, and its parent keeps another: as both see the same names in the same
    order, the parent knows what the worker process has without asking.

    >>> recent = Recent(2)
    >>> for name in "aba":
    ...     recent.use(name, recent.get(name) or name.upper())
    >>> recent.use("c", "C")
    >>> recent.get("a"), recent.get("b")
    ('A', None)
    """

    def __init__(self, limit: int = REMEMBERED) -> None:
        self._limit = limit
        self._things: OrderedDict[str, T] = OrderedDict()

    def get(self, name: str) -> T | None:
        return self._things.get(name)

    def use(self, name: str, thing: T) -> None:
        """Keep the thing as the one used last, and forget the one that has not been used for longest."""
        self._things[name] = thing
        self._things.move_to_end(name)
        if len(self._things) > self._limit:
            self._things.popitem(last=False)


@dataclass(frozen=True, slots=True)
class ClusterTask:
    """To a worker: measure this. All fields are plain, so one with other versions can report what is wrong."""

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
    process: ProcessIdentity | None = None  # which measures it


@dataclass(frozen=True, slots=True)
class AttemptHeard:
    """A heartbeat of the attempt arrived, at this time of our own monotonic clock; more are to follow."""

    attempt: str
    at: float
    process: ProcessIdentity | None = None  # which has it


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
    is_machine: bool = False  # whether the whole machine was lost, which says nothing about the design
    kind: FailureKind = FailureKind.LOST  # of the failure, if it is one
    seconds: float | None = None  # how long it ran, where the cluster tells


@dataclass(frozen=True, slots=True)
class WorkersSeen:
    """Who is there and what each offers, as asked at this time of our own steady clock."""

    offers: Mapping[str, Mapping[str, float]]
    asked_at: float
    silent: frozenset[str] = frozenset()  # those that the cluster lists, but has not heard for longer than the lease


@dataclass(frozen=True, slots=True)
class ClusterLost:
    """The cluster does not answer any more, for this reason."""

    reason: str


Report: TypeAlias = AttemptBegan | AttemptHeard | AttemptEnded | AttemptLost | WorkersSeen | ClusterLost


def task_of(attempt: str, job: Job, *, with_function: bool) -> ClusterTask:
    return ClusterTask(
        attempt, job.objective.name, HERE, job.digest, job.function if with_function else None, job.question
    )


@dataclass(frozen=True, slots=True)
class Loaded:
    evaluation: Evaluation
    objective: Objective
    measure: Measure


_functions: Recent[Measure] = Recent()
_functions_lock = threading.Lock()


def loaded(task: ClusterTask) -> Loaded | Fault | None:
    """What the task needs, on the worker; None if its function did not come along and is not here."""
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
                measure = pickle.loads(task.function or b"")  # once: it may keep a data set between calls
            _functions.use(task.digest, measure)
        evaluation, objective = pickle.loads(task.question)
        return Loaded(evaluation, Objective.from_dict(objective), measure)
    except BaseException as error:
        return Fault(
            f"The function of {task.objective!r} cannot be loaded by a worker on {platform.node()} ({failure(error)}); "
            "install there what it uses, in the same versions as here."
        )
