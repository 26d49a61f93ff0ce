"""All repeats of an experiment, in parallel processes, each kept as soon as it is finished."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.table import find_problem
from flexibo.compare.workers import finished
from flexibo.errors import InvalidValueError
from flexibo.experiments._repeats_file import RepeatKey, RepeatsFile, tasks_of
from flexibo.experiments.repeats import ExperimentSize, Progress, Repeat
from flexibo.experiments.single_repeat import repeat

SLOW = ("pesmo", "pesmo-dec")
"""These take many times as long as the others, and begin first, so that no process waits for them at the end."""


def repeats_of(
    size: ExperimentSize,
    problems: Sequence[Problem],
    methods: Sequence[str],
    out: Path,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Repeat]:
    """Every method on every problem, with every seed; what is kept in `out` already is not made again.

    Args:
        size: What everybody gets.
        problems: What to optimise; processes find them by their names.
        methods: The methods.
        out: The folder that keeps what is finished.
        jobs: How many processes.
        progress: Told whenever a repeat is finished.
    """
    if jobs < 1:
        raise InvalidValueError(f"jobs is {jobs}; it must be at least 1.")
    keeper = RepeatsFile(out)
    tasks = tasks_of(size, problems, methods)
    made = keeper.kept(tasks)
    missing = sorted((task for task in tasks if task.key not in made), key=lambda task: task.method not in SLOW)
    if progress is not None:
        progress(len(made), len(tasks), "")
    for task, made_now in finished(_made, missing, jobs):
        made[task.key] = keeper.keep(task, made_now)
        if progress is not None:
            progress(len(made), len(tasks), str(task))
    return [made[task.key] for task in tasks]


def _made(task: RepeatKey) -> Repeat:
    return repeat(find_problem(task.problem), task.method, task.seed, task.size)
