"""All repeats of an experiment, in parallel processes, each kept as soon as it is finished."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

from flexibo.benchmarks.problem import Problem
from flexibo.benchmarks.problems import find_problem
from flexibo.benchmarks.reproduce.base import Progress, Repeat, Terms
from flexibo.benchmarks.reproduce.keeping import Keeper, Task, tasks_of
from flexibo.benchmarks.reproduce.repeating import repeat
from flexibo.errors import FlexiBOError, InvalidValueError

SLOW = ("pesmo", "pesmo-dec")
"""These take many times as long as the others, and begin first, so that no process waits for them at the end."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def repeats_of(
    terms: Terms,
    problems: Sequence[Problem],
    methods: Sequence[str],
    out: Path,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Repeat]:
    """Every method on every problem, with every seed; what is kept in `out` already is not made again.

    Args:
        terms: What everybody gets.
        problems: What to optimise; processes find them by their names.
        methods: The methods.
        out: The folder that keeps what is finished.
        jobs: How many processes.
        progress: Told whenever a repeat is finished.
    """
    if jobs < 1:
        raise InvalidValueError(f"jobs is {jobs}; it must be at least 1.")
    keeper = Keeper(out)
    tasks = tasks_of(terms, problems, methods)
    made = keeper.kept(tasks)
    missing = sorted((task for task in tasks if task.key not in made), key=lambda task: task.method not in SLOW)
    if progress is not None:
        progress(len(made), len(tasks), "")
    for task, finished in _finished(missing, jobs):
        made[task.key] = keeper.keep(task, finished)
        if progress is not None:
            progress(len(made), len(tasks), str(task))
    return [made[task.key] for task in tasks]


def _finished(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[Task, Repeat]]:
    """The tasks with their repeats, as they are finished."""
    if jobs == 1 or len(tasks) < 2:
        for task in tasks:
            yield task, _made(task)
        return
    with _one_thread_each(), ProcessPoolExecutor(min(jobs, len(tasks)), mp_context=get_context("spawn")) as pool:
        futures: dict[Future[Repeat], Task] = {pool.submit(_made, task): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            raise FlexiBOError(
                "A process died; what was finished is kept. Run it again, with fewer jobs if memory is short."
            ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _made(task: Task) -> Repeat:
    return repeat(find_problem(task.problem), task.method, task.seed, task.terms)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes that start in this context use one thread each: it is read when numpy is imported."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
