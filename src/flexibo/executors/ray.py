"""Measures on a Ray cluster.

By default Ray reruns a task whose worker died, and waits forever for a resource that no machine offers.
Here an attempt runs at most once: when its worker dies, the evaluation fails with its cost, and whether to try again is
the study's to decide; and a missing resource is reported. Nor does Ray notice a worker process that stopped responding:
here an evaluation sends heartbeats, and after the lease it is given back and its process is killed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from flexibo._internal.machine import cores
from flexibo.errors import InvalidValueError, MachineError, missing_extra
from flexibo.executors._capacity import Amounts
from flexibo.executors._cluster import (
    BEATS_PER_LEASE,
    LEASE_SECONDS,
    PATIENCE_SECONDS,
    ClusterExecutor,
    checked_resources_to_offer,
)
from flexibo.executors._messages import ClusterLost, Job, Recent, Report, WorkersSeen, task_of
from flexibo.executors._ray_gateway import Ready, Refused, StartAttempt, StopAttempt
from flexibo.executors._sessions import end_session, search_path

START = "import sys; sys.path.pop(0); from flexibo.executors._ray_gateway import main; main(*sys.argv[1:])"
REACH_SECONDS = 8.0  # how long the head node may take to accept a connection
CONNECT_SECONDS = 30.0  # how long Ray may take to connect to a cluster whose head node accepts connections
START_SECONDS = 120.0  # how long Ray may take to start on this machine; a busy one takes long
SILENCE_SECONDS = 15.0  # how long no report may arrive before the cluster is considered lost
CLOSE_SECONDS = 10.0
GRACE_SECONDS = 1.0  # how long a function may clean up after its timeout before it is killed
STORE_BYTES = 256 * 1024**2  # for the functions that are sent on a cluster started here; results are only numbers


class RayExecutor(ClusterExecutor):
    """Runs evaluations on the workers of a Ray cluster.

    An objective's `resources` are those that machines offer: ``GPU`` (``ray start --num-gpus=1``), ``CPU`` (one, unless
    the objective says otherwise), and others (``--resources='{"jetson": 1}'``). A machine needs flexibo, the same
    versions of Python and Ray, and what the functions import.

    Args:
        address: The head node's, as in ``"10.0.0.1:6379"``, or ``"auto"`` for the cluster of this machine, which must
            be one of the cluster's. By default a cluster is started on this machine, and stopped by `close`.
        n: How many evaluations may run at a time; on a cluster started here by default one per core.
        resources: The total amounts that a cluster started here offers, as in ``{"GPU": 1}``.
        patience: How many seconds to wait for a machine that offers what an objective needs.
        lease: After this many seconds without its heartbeat an evaluation is given back to the study. A function that
            runs C code without releasing the interpreter for longer needs more, unless it runs on this machine, where
            its process can be seen.

    A function without a timeout runs in a thread beside the one that sends heartbeats.

    Raises:
        MissingExtraError: Ray is not installed.
        MachineError: The head node cannot be reached.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        n: int | None = None,
        resources: Mapping[str, float] | None = None,
        patience: float = PATIENCE_SECONDS,
        lease: float = LEASE_SECONDS,
    ) -> None:
        is_new = address is None
        offered = checked_resources_to_offer(
            address,
            n,
            resources,
            patience,
            lease,
            whose="the head node's address",
            starts_one=is_new,
            command="ray start",
        )
        if address is not None and "://" in address:
            raise InvalidValueError(
                f"address is {address!r}; give the head node as host:port, from a machine of the cluster."
            )
        if importlib.util.find_spec("ray") is None:
            raise missing_extra("Ray", "ray")
        n = cores() if n is None and is_new else n
        engine = RayEngine(address, n, offered, beat=lease / BEATS_PER_LEASE)
        super().__init__(engine, n=n, patience=patience, lease=lease)


class RayEngine:
    """Attempts as tasks of a Ray cluster."""

    pins = False
    places_are_machines = True
    grace = GRACE_SECONDS

    def __init__(
        self,
        address: str | None,
        n: int | None,
        resources: Mapping[str, float],
        *,
        beat: float = LEASE_SECONDS / BEATS_PER_LEASE,
    ) -> None:
        self._beat = beat
        self.reports: SimpleQueue[Report] = SimpleQueue()
        self._answers: SimpleQueue[Ready | Refused] = SimpleQueue()
        self._is_local = address is None
        self.about = "Ray cluster on this machine" if address is None else f"Ray cluster at {address}"
        self._functions: Recent[bool] = Recent()
        self._is_ending = threading.Event()
        if address not in (None, "auto"):
            _check_reachable(str(address))
        self._folder = tempfile.mkdtemp(prefix="flexibo-ray-")
        self._process = self._gateway(_settings(address, n, resources, self._folder))
        self._heard = time.monotonic()
        self._reader = threading.Thread(target=self._read, name="flexibo-ray", daemon=True)
        self._reader.start()
        try:
            self.address = self._await_ready(START_SECONDS if self._is_local else CONNECT_SECONDS)
        except BaseException:
            self.close()
            raise
        threading.Thread(target=self._listen, name="flexibo-ray-silence", daemon=True).start()

    def start(self, attempt: str, job: Job, needs: Amounts, place: str | None) -> None:
        """Hand the attempt to Ray, which chooses the place; the function goes along unless the gateway has it."""
        is_known = self._functions.get(job.digest) is not None
        self._functions.use(job.digest, True)
        special = {name: amount for name, amount in needs.items() if name not in ("CPU", "GPU")}
        options = {"num_cpus": needs["CPU"], "num_gpus": needs.get("GPU", 0), "resources": special}
        self._send(StartAttempt(task_of(attempt, job, with_function=not is_known), options, self._beat))

    def stop(self, attempt: str, *, is_silent: bool = False) -> None:
        """Kill the attempt's worker process."""
        self._send(StopAttempt(attempt, is_silent))

    def has_begun(self, attempt: str) -> bool:
        """False: the reports of a worker arrive in order, so a missing one was not sent."""
        return False

    def remedy(self, needs: Amounts) -> str:
        """How to start a machine that offers these amounts."""
        special = {name: amount for name, amount in needs.items() if name not in ("CPU", "GPU")}
        if self._is_local:
            offered = {name: amount for name, amount in needs.items() if name != "CPU"}
            more = f"n={needs['CPU']:g} or more and " if needs["CPU"] > 1 else ""
            return f"give RayExecutor {more}resources={offered!r}"
        flags = f" --num-cpus={needs['CPU']:g}" + (f" --num-gpus={needs['GPU']:g}" if "GPU" in needs else "")
        flags += f" --resources='{json.dumps(special)}'" if special else ""
        return f"start a machine that does: ray start --address={self.address}{flags}"

    def close(self) -> None:
        """Hang up: the gateway stops what it runs and, where it started the cluster, the cluster."""
        self._is_ending.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        if not self._is_local:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(CLOSE_SECONDS)
        if self._process.returncode is None:
            end_session(self._process.pid)
            self._process.wait()
        self._reader.join(CLOSE_SECONDS)
        self._connection.close()
        self._socket.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _gateway(self, settings: Mapping[str, Any]) -> subprocess.Popen[bytes]:
        self._socket, theirs = socket.socketpair()
        self._connection = Connection(os.dup(self._socket.fileno()))
        # A gateway that does not read any more must not stop this process as well.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(SILENCE_SECONDS), 0))
        environment = {**os.environ, "PYTHONPATH": search_path(), "RAY_USAGE_STATS_ENABLED": "0"}
        try:
            return subprocess.Popen(
                [sys.executable, "-c", START, str(theirs.fileno()), json.dumps(settings), self._folder],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment | (_private(self._folder) if self._is_local else {}),
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Ctrl-C at a terminal is ours to handle
            )
        finally:
            theirs.close()

    def _await_ready(self, seconds: float) -> str:
        try:
            answer = self._answers.get(timeout=seconds)
        except Empty:
            answer = Refused(f"it took longer than {seconds:g} s")
        if isinstance(answer, Refused):
            verb = "start" if self._is_local else "be used"
            raise MachineError(f"The {self.about} cannot {verb} ({answer.reason}).")
        self.reports.put(self.reports.get(timeout=seconds))  # the present workers, before the first evaluation
        return answer.address

    def _read(self) -> None:
        """Process the messages of the gateway until it hangs up."""
        with suppress(EOFError, OSError):
            while True:
                message = self._connection.recv()
                if isinstance(message, Ready | WorkersSeen):  # what workers report does not need the head node
                    self._heard = time.monotonic()
                if isinstance(message, Ready | Refused):
                    self._answers.put(message)
                elif isinstance(message, ClusterLost):
                    self._lose(message.reason)
                else:
                    self.reports.put(message)
        self._answers.put(Refused("Ray ended its process"))
        self._lose("Ray ended its process")

    def _listen(self) -> None:
        while not self._is_ending.wait(1.0):
            if time.monotonic() - self._heard > SILENCE_SECONDS:
                self._lose(f"it sent nothing for {SILENCE_SECONDS:g} s")
                return

    def _lose(self, reason: str) -> None:
        if not self._is_ending.is_set():
            self.reports.put(ClusterLost(reason))

    def _send(self, message: StartAttempt | StopAttempt) -> None:
        try:
            self._connection.send(message)
        except OSError:
            self._lose("Ray ended its process")


def _settings(address: str | None, n: int | None, resources: Mapping[str, float], folder: str) -> dict[str, Any]:
    quiet = {"log_to_driver": False, "logging_level": "CRITICAL", "configure_logging": True}
    if address is not None:
        return {"address": address, **quiet}
    return {
        "address": "local",
        "num_cpus": n,
        "num_gpus": resources.get("GPU", 0),
        "resources": {name: amount for name, amount in resources.items() if name != "GPU"},
        "include_dashboard": False,
        "object_store_memory": STORE_BYTES,
        "_temp_dir": folder,
        **quiet,
    }


def _check_reachable(address: str) -> None:
    """Refuse an address that does not answer; Ray itself takes minutes to notice."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise InvalidValueError(f"address is {address!r}; give the head node as host:port, such as '10.0.0.1:6379'.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_SECONDS).close()
    except OSError as error:
        raise MachineError(
            f"No Ray head node answers at {address!r} ({error.strerror or error}); start one with: ray start --head."
        ) from None


def _private(folder: str) -> dict[str, str]:
    """The environment of a private cluster: on the loopback address, with a token of its own."""
    token = Path(folder, "token")
    token.write_text(secrets.token_hex(32))
    token.chmod(0o600)
    return {
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # for Ray this means: use the loopback address only
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
    }
