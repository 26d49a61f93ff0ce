"""A process that uses Ray on behalf of the user's program.

Ray ends a process whose head node is lost, prints messages about lost workers, and can be used once per process. So it
runs in a process of its own, which ends with the one that started it. Ray reruns nothing here: a task whose worker dies
is reported as lost.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any, NoReturn, TypeAlias, TypeVar

from flexibo.executors._messages import (
    AttemptBegan,
    AttemptEnded,
    AttemptHeard,
    AttemptLost,
    ClusterLost,
    ClusterTask,
    Fault,
    Recent,
    Report,
    WorkerAnswer,
    WorkersSeen,
    loaded,
)
from flexibo.executors._sessions import ProcessIdentity, end_session
from flexibo.executors._worker_main import answer

POLL_SECONDS = 1.0  # how often to ask for the present workers
REACH_SECONDS = 3.0  # how long the head node may take to accept a connection

LEAVE_SECONDS = 5.0  # how long Ray may take to leave a cluster
MACHINE_ERRORS = ("LocalRayletDiedError", "NodeDiedError")  # Ray's names of the loss of a whole machine

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StartAttempt:
    """To the gateway: start an attempt with these options of ``ray.remote``."""

    task: ClusterTask
    options: Mapping[str, Any]
    beat: float  # seconds between two heartbeats


@dataclass(frozen=True, slots=True)
class StopAttempt:
    """To the gateway: kill an attempt; one that `is_silent` does not hear that it shall end."""

    attempt: str
    is_silent: bool = False


@dataclass(frozen=True, slots=True)
class Ready:
    """From the gateway: Ray is there, and its head node is at this address."""

    address: str


@dataclass(frozen=True, slots=True)
class Refused:
    """From the gateway: Ray cannot be used, for this reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Place:
    """From a worker: where an attempt is, and whether it has begun."""

    node: str
    process: ProcessIdentity
    has_begun: bool


Said: TypeAlias = Place | WorkerAnswer | Fault
"""What a worker yields: places, the last of them again and again as a heartbeat, and in the end its answer."""


def run_on_worker(task: ClusterTask, function: bytes, beat: float) -> Generator[Said, None, None]:
    """Run the attempt on a Ray worker: yields where it is when it arrives and when it begins, then its answer.

    A function with a timeout runs in the main thread, where it can be interrupted, and without heartbeats.
    """
    import ray

    arrived = Place(ray.get_runtime_context().get_node_id(), ProcessIdentity.of_this_process(), has_begun=False)
    yield arrived
    ready = yield from with_heartbeats(lambda: loaded(replace(task, function=function)), arrived, beat)
    if ready is None or isinstance(ready, Fault):
        yield ready or Fault(f"The function of {task.objective!r} did not arrive.")
        return
    begun = replace(arrived, has_begun=True)
    yield begun
    if ready.objective.timeout is not None:
        yield answer(ready.evaluation, ready.objective, ready.measure)
    else:
        yield (
            yield from with_heartbeats(lambda: answer(ready.evaluation, ready.objective, ready.measure), begun, beat)
        )


def with_heartbeats(work: Callable[[], T], sign: Said, seconds: float) -> Generator[Said, None, T]:
    """What `work`, which raises nothing, returns; yields the sign at this interval in seconds until then."""
    done: SimpleQueue[T] = SimpleQueue()
    threading.Thread(target=lambda: done.put(work()), name="flexibo-measuring", daemon=True).start()
    while True:
        try:
            return done.get(timeout=seconds)
        except Empty:
            yield sign


def kill_here(process: ProcessIdentity) -> None:
    """Kill a process of this machine that was stopped, and so does not end when it is asked to."""
    process.kill()


class Gateway:
    def __init__(self, ray: Any, tell: Callable[[Report], None]) -> None:
        self._ray, self._tell = ray, tell
        self._remote = ray.remote(num_returns="streaming", max_retries=0, retry_exceptions=False)(run_on_worker)
        self._functions: Recent[Any] = Recent()
        self._kill = ray.remote(num_cpus=0, max_retries=0)(kill_here)
        self._running: dict[str, Any] = {}
        self._places: dict[str, Place] = {}

    def start(self, message: StartAttempt) -> None:
        task = message.task
        function = self._functions.get(task.digest) or self._ray.put(task.function)
        self._functions.use(task.digest, function)
        try:
            remote = self._remote.options(**message.options)
            generator = remote.remote(replace(task, function=None), function, message.beat)
        except (ValueError, TypeError) as error:
            fault = Fault(f"Ray does not take the resources of {task.objective!r}: {error}")
            self._tell(AttemptEnded(task.attempt, fault))
            return
        self._running[task.attempt] = generator
        threading.Thread(target=self._follow, args=(task.attempt, generator), daemon=True).start()

    def stop(self, attempt: str, *, is_silent: bool = False) -> None:
        generator, place = self._running.pop(attempt, None), self._places.pop(attempt, None)
        if generator is not None:
            with suppress(Exception):
                self._ray.cancel(generator, force=True)
        if is_silent and place is not None and not place.process.kill():
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

            there = NodeAffinitySchedulingStrategy(place.node, soft=False)
            with suppress(Exception):
                self._kill.options(scheduling_strategy=there).remote(place.process)

    def _follow(self, attempt: str, generator: Any) -> None:
        has_begun = False
        for said in self._said_by(attempt, generator):
            if self._running.get(attempt) is not generator:
                return  # it was stopped, and perhaps started again
            if isinstance(said, Place):
                self._places[attempt] = said
                if said.has_begun and not has_begun:
                    has_begun = True
                    self._tell(AttemptBegan(attempt, said.node, time.monotonic(), said.process))
                self._tell(AttemptHeard(attempt, time.monotonic(), said.process))
                continue
            self._running.pop(attempt, None)
            self._places.pop(attempt, None)
            self._tell(said if isinstance(said, AttemptLost) else AttemptEnded(attempt, said))
            return

    def _said_by(self, attempt: str, generator: Any) -> Generator[Said | AttemptLost, None, None]:
        """What a worker says, and in the end what became of it."""
        has_begun = False
        try:
            for reference in generator:
                said = self._ray.get(reference)
                has_begun = has_begun or (isinstance(said, Place) and said.has_begun)
                yield said
            yield AttemptLost(attempt, "Its worker gave no answer.", has_begun)
        except self._ray.exceptions.RayTaskError as error:  # nothing of the function's gets here: it is an answer
            cause = getattr(error, "cause", error)
            reason = (str(cause).strip() or type(cause).__name__).splitlines()[-1]
            yield Fault(f"A worker of the Ray cluster cannot run flexibo ({reason}).")
        except Exception as error:
            if type(error).__name__ in MACHINE_ERRORS or self._is_lost(self._places.get(attempt)):
                yield AttemptLost(attempt, "Its worker's machine was lost.", has_begun, is_machine=True)
            else:
                yield AttemptLost(attempt, _reason_of_loss(error), has_begun)

    def _is_lost(self, place: Place | None) -> bool:
        """Whether the cluster knows that the machine at this place is gone, with which its processes died."""
        with suppress(Exception):
            return place is not None and any(
                node["NodeID"] == place.node and not node["Alive"] for node in self._ray.nodes()
            )
        return False


def _reason_of_loss(error: BaseException) -> str:
    name = type(error).__name__
    words = {
        "WorkerCrashedError": "Its worker process died.",
        "OutOfMemoryError": "Its worker process was killed because memory was short.",
        "TaskCancelledError": "It was cancelled.",
    }
    first = (str(error).strip().splitlines() or [""])[0]
    return words.get(name, f"Its worker died ({name}: {first}).")


def watch(ray: Any, head: str, tell: Callable[[Report], None]) -> None:
    """Report the present machines every second, until the head node is gone."""
    host, _, port = head.rpartition(":")
    while True:
        asked_at = time.monotonic()
        try:
            # Ray itself waits a minute for a head node that is gone.
            socket.create_connection((host.strip("[]"), int(port)), REACH_SECONDS).close()
        except OSError as error:
            tell(ClusterLost(f"the head node at {head} does not answer: {error.strerror or error}"))
            return
        with suppress(Exception):
            nodes = {node["NodeID"]: offered(node["Resources"]) for node in ray.nodes() if node["Alive"]}
            tell(WorkersSeen(nodes, asked_at))
        time.sleep(POLL_SECONDS)


def offered(resources: Mapping[str, float]) -> dict[str, float]:
    """What a node offers to evaluations, without what Ray counts for itself."""
    own = ("memory", "object_store_memory")
    shown = {name: float(amount) for name, amount in resources.items() if name not in own and ":" not in name}
    return {"CPU": 0.0, **shown}


def main(descriptor: str, settings: str, folder: str) -> None:
    connection = Connection(int(descriptor))
    lock = threading.Lock()

    def tell(report: Any) -> None:
        with lock, suppress(OSError):
            connection.send(report)

    try:
        import ray

        ray.init(**json.loads(settings))
        head = ray.get_runtime_context().gcs_address
    except BaseException as error:
        tell(Refused(_reason_of_refusal(error)))
        leave(folder)
    tell(Ready(head))
    threading.Thread(target=watch, args=(ray, head, tell), daemon=True).start()
    gateway = Gateway(ray, tell)
    with suppress(EOFError, OSError):
        while True:
            message = connection.recv()
            if isinstance(message, StartAttempt):
                gateway.start(message)
            else:
                gateway.stop(message.attempt, is_silent=message.is_silent)
    if json.loads(settings)["address"] != "local":
        threading.Timer(LEAVE_SECONDS, leave, (folder,)).start()
        with suppress(BaseException):
            ray.shutdown()  # the cluster kills what still runs
    leave(folder)


def leave(folder: str) -> NoReturn:
    """End at once with all processes that were started: Ray waits long for a head node that is gone."""
    end_session(os.getpid())
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _reason_of_refusal(error: BaseException) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if type(cause).__name__ == "AuthenticationError":
            return "it wants a token: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"
        cause = cause.__cause__
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
