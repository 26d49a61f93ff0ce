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
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from flexibo.executors._messages import (
    AttemptBegan,
    AttemptEnded,
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
from flexibo.executors._sessions import end_session
from flexibo.executors._worker_main import answer

POLL_SECONDS = 1.0  # how often to ask for the present workers
REACH_SECONDS = 3.0  # how long the head node may take to accept a connection

LEAVE_SECONDS = 5.0  # how long Ray may take to leave a cluster


@dataclass(frozen=True, slots=True)
class StartAttempt:
    """To the gateway: start an attempt with these options of ``ray.remote``."""

    task: ClusterTask
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StopAttempt:
    """To the gateway: kill an attempt."""

    attempt: str


@dataclass(frozen=True, slots=True)
class Ready:
    """From the gateway: Ray is there, and its head node is at this address."""

    address: str


@dataclass(frozen=True, slots=True)
class Refused:
    """From the gateway: Ray cannot be used, for this reason."""

    reason: str


def run_on_worker(task: ClusterTask, function: bytes) -> Iterator[str | WorkerAnswer | Fault]:
    """Run the attempt on a Ray worker: yields where it runs as soon as it begins, then its answer."""
    import ray

    ready = loaded(replace(task, function=function))
    if ready is None or isinstance(ready, Fault):
        yield ready or Fault(f"The function of {task.objective!r} did not arrive.")
        return
    yield ray.get_runtime_context().get_node_id()
    yield answer(ready.evaluation, ready.objective, ready.measure)


class Gateway:
    def __init__(self, ray: Any, tell: Callable[[Report], None]) -> None:
        self._ray, self._tell = ray, tell
        self._remote = ray.remote(num_returns="streaming", max_retries=0, retry_exceptions=False)(run_on_worker)
        self._functions: Recent[Any] = Recent()
        self._running: dict[str, Any] = {}

    def start(self, message: StartAttempt) -> None:
        task = message.task
        function = self._functions.get(task.digest) or self._ray.put(task.function)
        self._functions.use(task.digest, function)
        try:
            generator = self._remote.options(**message.options).remote(replace(task, function=None), function)
        except (ValueError, TypeError) as error:
            fault = Fault(f"Ray does not take the resources of {task.objective!r}: {error}")
            self._tell(AttemptEnded(task.attempt, fault))
            return
        self._running[task.attempt] = generator
        threading.Thread(target=self._follow, args=(task.attempt, generator), daemon=True).start()

    def stop(self, attempt: str) -> None:
        generator = self._running.pop(attempt, None)
        if generator is not None:
            with suppress(Exception):
                self._ray.cancel(generator, force=True)

    def _follow(self, attempt: str, generator: Any) -> None:
        has_begun = False
        try:
            for reference in generator:
                said = self._ray.get(reference)
                if isinstance(said, str):
                    has_begun = True
                    self._tell(AttemptBegan(attempt, said, time.monotonic()))
                else:
                    self._tell(AttemptEnded(attempt, said))
                    return
            self._tell(AttemptLost(attempt, "Its worker gave no answer.", has_begun))
        except self._ray.exceptions.RayTaskError as error:  # nothing of the function's gets here: it is an answer
            cause = getattr(error, "cause", error)
            reason = (str(cause).strip() or type(cause).__name__).splitlines()[-1]
            self._tell(AttemptEnded(attempt, Fault(f"A worker of the Ray cluster cannot run flexibo ({reason}).")))
        except Exception as error:
            self._tell(AttemptLost(attempt, _reason_of_loss(error), has_begun))
        finally:
            self._running.pop(attempt, None)


def _reason_of_loss(error: BaseException) -> str:
    name = type(error).__name__
    words = {
        "WorkerCrashedError": "Its worker process died.",
        "LocalRayletDiedError": "Its worker's machine was lost.",
        "NodeDiedError": "Its worker's machine was lost.",
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
            gateway.start(message) if isinstance(message, StartAttempt) else gateway.stop(message.attempt)
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
