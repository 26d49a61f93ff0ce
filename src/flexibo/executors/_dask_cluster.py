"""What a Dask worker does with an attempt, and a Dask cluster on this machine.

The cluster runs in processes of its own that end with the one that started it. Dask's own local cluster starts workers
by importing the main module again, which runs a script without a guard twice, and it prints about lost connections.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flexibo.errors import MachineError
from flexibo.executors._messages import ClusterTask, Fault, Loaded, WorkerAnswer, loaded
from flexibo.executors._sessions import ProcessIdentity, end_session, process_state, search_path
from flexibo.executors._worker_main import answer
from flexibo.executors.processes import ProcessExecutor

START = "import sys; sys.path.pop(0); from flexibo.executors._dask_cluster import main; main(*sys.argv[1:])"
WORKER = "import sys; sys.path.pop(0); from flexibo.executors._dask_cluster import work; work(*sys.argv[1:])"
LOOK_SECONDS = 0.05
START_SECONDS = 60.0  # how long the cluster may take to start; a busy machine takes long to import
QUIET = {"distributed": "critical", "tornado": "critical", "asyncio": "critical"}
LEASES_UNTIL_KILLED = 2  # after that long a stopped worker process of a local cluster is replaced
WANTED_SECONDS = 2.0  # how often to look whether an evaluation that runs in a process of its own is still wanted
MISSING, AGAIN = "missing", "again"  # replies of a worker that has no such function, or that the attempt began before


class LocalDask:
    """A scheduler and worker processes on this machine."""

    def __init__(self, n: int, resources: Mapping[str, float], lease: float) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="flexibo-dask-"))
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, str(self._folder), str(n), json.dumps(dict(resources)), str(lease)],
            stdin=subprocess.PIPE,  # its end is the end of this process
            env={**os.environ, "PYTHONPATH": search_path()},
            start_new_session=True,  # Ctrl-C at a terminal is ours to handle
        )
        try:
            self.address = self._await_address()
        except BaseException:
            self.close()
            raise

    def _await_address(self) -> str:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self._process.poll() is None:
            if (written := self._folder / "address").exists():
                return written.read_text()
            time.sleep(LOOK_SECONDS)
        raise MachineError(
            f"No Dask cluster could be started on this machine within {START_SECONDS:g} s; free memory and processes, "
            "or give the address of one."
        )

    def close(self) -> None:
        if self._process.returncode is None:
            end_session(self._process.pid)
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def main(folder: str, n: str, resources: str, lease: str) -> None:
    """Keep a cluster until the standard input ends; its address is written into the folder."""
    _configure(folder)
    try:
        asyncio.run(_keep(Path(folder), int(n), resources, StoppedProcesses(LEASES_UNTIL_KILLED * float(lease))))
    finally:
        end_session(os.getpid())
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)  # Dask's threads are not waited for


class StoppedProcesses:
    """Which processes have been stopped (by SIGSTOP, say) for longer than `seconds`."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._since: dict[int, float] = {}

    def is_stopped_for_long(self, pid: int) -> bool:
        try:
            is_stopped = process_state(pid) in ("T", "t")
        except (OSError, IndexError):  # it ended, or this system does not tell
            is_stopped = False
        if not is_stopped:
            self._since.pop(pid, None)
            return False
        return self._clock() - self._since.setdefault(pid, self._clock()) > self._seconds


async def _keep(folder: Path, n: int, resources: str, stopped: StoppedProcesses) -> None:
    """A scheduler, and `n` worker processes beside it; one that ends or stays stopped is replaced."""
    from distributed import Scheduler

    is_over = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False, dashboard_address="127.0.0.1:0") as scheduler:
        command = [sys.executable, "-c", WORKER, scheduler.address, resources, str(folder)]
        workers = [subprocess.Popen(command, stdin=subprocess.DEVNULL) for _ in range(n)]
        while len(scheduler.workers) < n and not is_over.done() and not any(w.poll() for w in workers):
            await asyncio.sleep(LOOK_SECONDS)
        if len(scheduler.workers) < n:
            return  # one printed why it cannot start
        draft = folder / "draft"
        draft.write_text(scheduler.address)
        draft.rename(folder / "address")  # there as a whole, or not at all
        while not is_over.done():
            await asyncio.sleep(LOOK_SECONDS)
            for i, worker in enumerate(workers):
                if stopped.is_stopped_for_long(worker.pid):
                    worker.kill()
                if worker.poll() is not None:
                    workers[i] = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        end_session(os.getpid())


def work(address: str, resources: str, folder: str) -> None:
    """Be a worker process, with one thread for evaluations, until the scheduler is gone."""
    _configure(folder)

    async def serve() -> None:
        from distributed import Worker

        async with Worker(
            address,
            nthreads=1,
            host="127.0.0.1",
            dashboard=False,
            dashboard_address="127.0.0.1:0",
            local_directory=folder,
            memory_limit=0,  # what a measurement takes is not Dask's to judge
            resources=json.loads(resources),
        ) as worker:
            await worker.finished()

    try:
        asyncio.run(serve())
    finally:
        os._exit(0)  # a thread that still measures is not waited for


def _configure(folder: str) -> None:
    """Let Dask write into the folder alone, serve no pages, and not print what the executor reports."""
    import dask

    routes: dict[str, list[str]] = {f"distributed.{role}.http.routes": [] for role in ("scheduler", "worker")}
    dask.config.set({"temporary-directory": folder, "logging": QUIET, **routes})


def run_on_worker(task: ClusterTask, topic: str) -> Mapping[str, Any] | str:
    """Run the attempt on a Dask worker, unless it began before; the result is sent as an event too, which is faster."""
    from distributed import Event, get_worker

    ready = loaded(task)
    if ready is None:
        return MISSING
    if isinstance(ready, Fault):
        return asdict(ready)
    mark, worker = Event(task.attempt), get_worker()
    if mark.is_set():
        return AGAIN
    here = asdict(ProcessIdentity.of_this_process())
    worker.log_event(topic, {"attempt": task.attempt, "place": worker.address, "process": here})
    mark.set()  # it waits for the scheduler, so the event is sent too before a function can hold the interpreter
    if ready.objective.timeout is None:
        reply = asdict(answer(ready.evaluation, ready.objective, ready.measure))
    else:
        reply = asdict(_apart(ready, mark.is_set))
    worker.log_event(topic, {"attempt": task.attempt, "reply": reply})
    return reply


_own = threading.local()


def _apart(ready: Loaded, is_wanted: Callable[[], bool]) -> WorkerAnswer | Fault:
    """Measure in a process that this thread keeps; it is killed after its timeout or when nobody waits any more."""
    processes: ProcessExecutor | None = getattr(_own, "processes", None)
    if processes is None:
        processes = _own.processes = ProcessExecutor(1)
    try:
        processes.submit(ready.evaluation, ready.objective, ready.measure)
        while not (outcomes := processes.finished(WANTED_SECONDS)):
            if not is_wanted():
                raise MachineError("Nobody waits for it any more.")
    except BaseException as error:
        del _own.processes
        processes.close()
        if not isinstance(error, MachineError):
            raise
        return Fault(str(error))
    [outcome] = outcomes
    return WorkerAnswer.of(outcome)
