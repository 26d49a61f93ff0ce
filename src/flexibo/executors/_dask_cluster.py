"""A Dask cluster on this machine, in processes of its own that end with the one that started it.

Dask's own local cluster starts workers by importing the main module again, which runs a script that has no guard a
second time, and it prints messages about lost connections.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from flexibo.errors import MachineError
from flexibo.executors._sessions import end_session, search_path

START = "import sys; sys.path.pop(0); from flexibo.executors._dask_cluster import main; main(*sys.argv[1:])"
WORKER = "import sys; sys.path.pop(0); from flexibo.executors._dask_cluster import work; work(*sys.argv[1:])"
LOOK_SECONDS = 0.05
START_SECONDS = 60.0  # how long the cluster may take to start; a busy machine takes long to import
QUIET = {"distributed": "critical", "tornado": "critical", "asyncio": "critical"}


class LocalDask:
    """A scheduler and worker processes on this machine."""

    def __init__(self, n: int, resources: Mapping[str, float]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="flexibo-dask-"))
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, str(self._folder), str(n), json.dumps(dict(resources))],
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


def main(folder: str, n: str, resources: str) -> None:
    """Keep a cluster until the standard input ends; its address is written into the folder."""
    _configure(folder)
    try:
        asyncio.run(_keep(Path(folder), int(n), resources))
    finally:
        end_session(os.getpid())
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)  # Dask's threads are not waited for


async def _keep(folder: Path, n: int, resources: str) -> None:
    """A scheduler, and `n` worker processes beside it; one that ends is replaced."""
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
