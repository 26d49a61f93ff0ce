"""Parallel processes with one thread each; they end with the process that started them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import get_context
from typing import Any, TypeVar

from flexibo.errors import FlexiBOError

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")

Task = TypeVar("Task")
Result = TypeVar("Result")


def finished(work: Callable[[Task], Result], tasks: Sequence[Task], jobs: int) -> Iterator[tuple[Task, Result]]:
    """The tasks with their results, in the order in which they finish; with one job, all is done in this process."""
    if jobs == 1 or len(tasks) < 2:
        for task in tasks:
            yield task, work(task)
        return
    pool = ProcessPoolExecutor(min(jobs, len(tasks)), get_context("spawn"), _begin, (os.getpid(),))
    with _environment(dict.fromkeys(ONE_THREAD, "1")):  # workers inherit it; libraries read it at import
        try:
            waiting = iter(tasks)
            running = {pool.submit(work, task): task for task in islice(waiting, 2 * jobs)}
            while running:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=_is_lost):  # results first, then the error
                    yield running.pop(future), future.result()
                running |= {pool.submit(work, task): task for task in islice(waiting, len(done))}
        except BrokenProcessPool:
            raise FlexiBOError(
                "A process died; finished results are kept. Run it again, with fewer jobs if memory is short."
            ) from None
        finally:
            _stop(pool)


def _is_lost(future: Future[Any]) -> bool:
    return future.exception() is not None


def _begin(parent: int) -> None:
    """Make a worker end with its parent, and leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _stop(pool: ProcessPoolExecutor) -> None:
    """Terminate the workers; unfinished work is discarded."""
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Change environment variables, and restore them afterwards."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
