"""Measures on a Dask cluster.

Differences from a plain ``client.submit``:

- Dask reruns a task whose worker died. Here an attempt marks on the scheduler that it began, and a second run refuses
  to measure; the evaluation fails with its cost, and the study decides whether to try again.
- Dask waits forever for a resource that no worker offers. Here it is reported.
- Dask waits five minutes for a worker that stopped responding, or forever. Here the scheduler's record of its
  heartbeats is watched, and after the lease its evaluation is given back and nothing new is sent there.
- Dask cannot stop a thread. Here an evaluation with a timeout runs in a process of its own on the worker.
- A task whose input is lost is cancelled and run again even while it runs, so nothing that was scattered is an input:
  a worker gets a function with the first task that needs it, and keeps it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from flexibo._internal.machine import cores
from flexibo.errors import InvalidTypeError, InvalidValueError, MachineError, missing_extra
from flexibo.executors._capacity import Amounts
from flexibo.executors._cluster import LEASE_SECONDS, PATIENCE_SECONDS, ClusterExecutor, checked_resources_to_offer
from flexibo.executors._dask_cluster import AGAIN, MISSING, LocalDask, run_on_worker
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
from flexibo.executors._sessions import ProcessIdentity

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 10.0  # how long the scheduler may take to answer before it is considered lost
POLL_SECONDS = 1.0  # how often to ask for the present workers
MARK_SECONDS = 3.0  # how long a mark outlives its attempt, for messages that arrive late
GRACE_SECONDS = 15.0  # Dask workers enforce timeouts themselves; this many seconds later they are no longer waited for
# They tell of lost workers and connections, which are reported here anyway.
LOGGERS = ("client", "core", "comm", "comm.core", "comm.tcp", "batched", "utils", "utils_comm", "worker")


class DaskExecutor(ClusterExecutor):
    """Runs evaluations on the workers of a Dask cluster.

    An objective's `resources` are those that workers offer with ``dask worker --resources "GPU=1"``; ``CPU`` counts
    threads. A worker needs flexibo, the same version of Python, and what the functions import.

    Args:
        address: The scheduler's, as in ``"tcp://10.0.0.1:8786"``. By default a cluster is started on this machine, and
            stopped by `close`.
        client: A client of an existing cluster instead, for one with its own security; it is not closed.
        n: How many evaluations may run at a time; on a cluster started here also the number of its worker processes,
            by default one per core.
        resources: The total amounts that a cluster started here offers, as in ``{"GPU": 1}``.
        patience: How many seconds to wait for a worker that offers what an objective needs.
        lease: After this many seconds without a heartbeat of its worker an evaluation is given back to the study. A
            function that runs C code without releasing the interpreter for longer needs more, unless it runs on this
            machine, where its process can be seen.

    Raises:
        MissingExtraError: Dask is not installed.
        MachineError: The scheduler cannot be reached.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        client: Any = None,
        n: int | None = None,
        resources: Mapping[str, float] | None = None,
        patience: float = PATIENCE_SECONDS,
        lease: float = LEASE_SECONDS,
    ) -> None:
        is_new = address is None and client is None
        offered = checked_resources_to_offer(
            address,
            n,
            resources,
            patience,
            lease,
            whose="the scheduler's address",
            starts_one=is_new,
            command="dask worker",
        )
        if address is not None and client is not None:
            raise InvalidValueError("Both address and client are given; give one of them.")
        distributed = _distributed()
        if client is not None and (not isinstance(client, distributed.Client) or client.asynchronous):
            raise InvalidTypeError(f"client is {client!r}; give a distributed.Client that is not asynchronous.")
        local = None
        if is_new:
            n = cores() if n is None else n
            local = LocalDask(n, offered, lease)
        try:
            engine = DaskEngine(client, local.address if local else address, local, lease=lease)
        except BaseException:
            if local is not None:
                local.close()
            raise
        super().__init__(engine, n=n, total=offered, patience=patience, lease=lease)


@dataclass(frozen=True, slots=True)
class Sent:
    """An attempt that Dask has."""

    future: Any
    job: Job
    needs: Amounts
    place: str | None


class DaskEngine:
    """Attempts as tasks of a Dask cluster."""

    pins = True
    places_are_machines = False
    grace = GRACE_SECONDS

    def __init__(
        self, client: Any, address: str | None, local: LocalDask | None = None, *, lease: float = LEASE_SECONDS
    ) -> None:
        self._signs = WorkerSigns(lease)
        self._is_lost = False
        self.reports: SimpleQueue[Report] = SimpleQueue()
        self._hide = lambda record: False
        for name in LOGGERS:
            logging.getLogger(f"distributed.{name}").addFilter(self._hide)
        self._local, self._is_ours = local, client is None
        self._client = _connected(address) if client is None else client
        self.address = str(self._client.scheduler.address)
        self.about = "Dask cluster on this machine" if local else f"Dask cluster at {self.address}"
        self._topic = f"flexibo-{self._client.id}-{id(self)}"
        self._sent: dict[str, Sent] = {}
        self._starts = 0
        self._known: set[tuple[str, str]] = set()
        self._lock = threading.Lock()  # the client calls back in threads of its own
        self._old_marks: deque[tuple[float, str]] = deque()
        self._is_ending = threading.Event()
        self._client.subscribe_topic(self._topic, self._on_event)
        self._ask_for_workers()
        self._watcher = threading.Thread(target=self._watch, name="flexibo-dask", daemon=True)
        self._watcher.start()

    def start(self, attempt: str, job: Job, needs: Amounts, place: str | None) -> None:
        """Send the attempt to the worker; the function goes along unless the worker has it."""
        with self._lock:
            is_known = (place, job.digest) in self._known
            if place is not None:
                self._known.add((place, job.digest))
            self._starts += 1
            key = f"flexibo-{attempt}-{self._starts}"
        import dask

        # Without the warning to scatter large functions, which is ignored on purpose.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            future = self._client.submit(
                run_on_worker,
                task_of(attempt, job, with_function=not is_known),
                self._topic,
                key=key,
                workers=None if place is None else [place],
                resources={name: amount for name, amount in needs.items() if name != "CPU"} or None,
                retries=0,
                pure=False,
            )
        self._sent[attempt] = Sent(future, job, needs, place)
        future.add_done_callback(lambda done: self._on_end(attempt, done))

    def stop(self, attempt: str, *, is_silent: bool = False) -> None:
        """Cancel the task. What runs in a thread of a worker continues until it returns; its result is ignored."""
        if (sent := self._forgotten(attempt)) is not None:
            with suppress(Exception):
                self._client.cancel([sent.future], force=True)

    def has_begun(self, attempt: str) -> bool:
        """Whether the attempt's mark is on the scheduler; if it does not answer, True."""
        try:
            return self._is_marked(attempt)
        except Exception:
            return True

    def _is_marked(self, attempt: str) -> bool:
        return bool(self._ask(self._client.scheduler.event_is_set, name=attempt))

    def remedy(self, needs: Amounts) -> str:
        """How to start a worker that offers these amounts."""
        offered = {name: amount for name, amount in needs.items() if name != "CPU"}
        if self._local is not None and needs["CPU"] <= 1:
            return f"give DaskExecutor resources={offered!r}"
        words = " ".join(f"{name}={amount:g}" for name, amount in offered.items())
        flags = f" --nthreads {needs['CPU']:g}" + (f' --resources "{words}"' if words else "")
        where = "a cluster elsewhere, with its address" if self._local is not None else self.address
        return f"start a worker that does: dask worker {where}{flags}"

    def close(self) -> None:
        """Cancel all tasks and disconnect; a cluster that was started for this is stopped."""
        self._is_ending.set()
        if self._client.status == "running" and not self._is_lost:
            for attempt in list(self._sent):
                self.stop(attempt)
            with suppress(Exception):
                self._client.unsubscribe_topic(self._topic)
                self._clear_marks(everything=True)
        self._watcher.join(ANSWER_SECONDS)
        if self._is_ours:
            with suppress(Exception):
                self._client.close(timeout=2)
        if self._local is not None:
            self._local.close()
        for name in LOGGERS:
            logging.getLogger(f"distributed.{name}").removeFilter(self._hide)

    def _on_event(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """A message of a worker, which arrives through the scheduler in a thread of the client."""
        _, message = event
        attempt = message["attempt"]
        if "place" in message:
            process = ProcessIdentity(**message["process"]) if message.get("process") else None
            self.reports.put(AttemptBegan(attempt, message["place"], time.monotonic(), process))
        elif self._forgotten(attempt) is not None:
            self.reports.put(AttemptEnded(attempt, _read(message["reply"])))

    def _on_end(self, attempt: str, future: Any) -> None:
        """A task is over: called in a thread of the client's, for one task at a time."""
        sent = self._sent.get(attempt)
        if sent is None or sent.future is not future:
            return  # its answer came before
        try:
            reply = future.result(timeout=ANSWER_SECONDS) if future.status != "cancelled" else None
        except Exception as error:
            reply = error
        if reply == MISSING:
            with self._lock:
                self._known = {(place, digest) for place, digest in self._known if place != sent.place}
            self.start(attempt, sent.job, sent.needs, sent.place)
        elif reply == AGAIN:
            self.reports.put(AttemptLost(attempt, f"Its worker{f' ({sent.place})' if sent.place else ''} died.", True))
        elif isinstance(reply, Mapping):
            self._forgotten(attempt)
            self.reports.put(AttemptEnded(attempt, _read(reply)))
        elif self._client.status == "running":
            self.reports.put(self._broken(attempt, reply))

    def _forgotten(self, attempt: str) -> Sent | None:
        """Forget an attempt and return what was sent; its mark is cleared later."""
        sent = self._sent.pop(attempt, None)
        if sent is not None:
            self._old_marks.append((time.monotonic() + MARK_SECONDS, attempt))
        return sent

    def _broken(self, attempt: str, error: BaseException | None) -> Report:
        """The report for a task that failed although Dask itself works."""
        if isinstance(error, ModuleNotFoundError | ImportError | AttributeError):
            reason = (
                f"A worker of the {self.about} cannot run flexibo ({error}); install the same version there as here."
            )
            return AttemptEnded(attempt, Fault(reason))
        what = "it was cancelled" if error is None else f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        try:
            has_begun = self._is_marked(attempt)
        except Exception as silence:  # then the scheduler is lost, and the worker may be well
            return self._lost(silence)
        return AttemptLost(attempt, f"Its worker died, or Dask gave it up ({what}).", has_begun)

    def _lost(self, error: Exception) -> ClusterLost:
        self._is_lost = True
        return ClusterLost(str(error) or type(error).__name__)

    def _watch(self) -> None:
        """Ask regularly for the present workers, until the end or until there is no answer."""
        while not self._is_ending.wait(POLL_SECONDS):
            try:
                if self._client.status != "running":
                    raise ConnectionError("the connection broke")
                self._ask_for_workers()
                self._clear_marks()
            except Exception as error:
                if not self._is_ending.is_set():
                    self.reports.put(self._lost(error))
                return

    def _ask_for_workers(self) -> None:
        asked_at = time.monotonic()
        workers = self._ask(self._client.scheduler.identity)["workers"]
        silent = self._signs.silent({address: about["last_seen"] for address, about in workers.items()}, asked_at)
        offers = {address: {} if address in silent else _offered(about) for address, about in workers.items()}
        self.reports.put(WorkersSeen(offers, asked_at, silent))
        with self._lock:
            self._known = {(place, digest) for place, digest in self._known if place in offers}

    def _clear_marks(self, *, everything: bool = False) -> None:
        while self._old_marks and (everything or self._old_marks[0][0] <= time.monotonic()):
            _, attempt = self._old_marks.popleft()
            self._ask(self._client.scheduler.event_clear, name=attempt)

    def _ask(self, question: Callable[..., Any], **arguments: Any) -> Any:
        return self._client.sync(question, callback_timeout=ANSWER_SECONDS, **arguments)


class WorkerSigns:
    """Which workers the scheduler has not heard for longer than the lease, by our own clock.

    >>> signs = WorkerSigns(60.0)
    >>> signs.silent({"a": 1.5, "b": 1.5}, 0.0), signs.silent({"a": 62.0, "b": 1.5}, 61.0)
    (frozenset(), frozenset({'b'}))
    """

    def __init__(self, lease: float) -> None:
        self._lease = lease
        self._heard: dict[str, tuple[float, float]] = {}

    def silent(self, last_seen: Mapping[str, float], now: float) -> frozenset[str]:
        """Those whose last heartbeat, which the scheduler dates by its own clock, has not changed for long."""
        before = self._heard
        self._heard = {
            address: before[address] if address in before and before[address][0] == seen else (seen, now)
            for address, seen in last_seen.items()
        }
        return frozenset(address for address, (_, since) in self._heard.items() if now - since > self._lease)


def _read(reply: Mapping[str, Any]) -> WorkerAnswer | Fault:
    return WorkerAnswer(**reply) if "values" in reply else Fault(**reply)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise missing_extra("Dask (distributed)", "dask") from None
    return distributed


def _connected(address: str | None) -> Any:
    distributed = _distributed()
    try:
        return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False, name="flexibo")
    except (OSError, TimeoutError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise MachineError(
            f"No Dask scheduler answers at {address!r} within {CONNECT_SECONDS:g} s ({reason}); start one with: "
            "dask scheduler."
        ) from None


def _offered(worker: Mapping[str, Any]) -> dict[str, float]:
    """A worker's resources if it runs; threads count as CPU, even if it declares a resource of that name."""
    if worker.get("status", "running") != "running":
        return {}
    return {name: float(amount) for name, amount in {**worker["resources"], "CPU": worker["nthreads"]}.items()}
