"""All repeats of an experiment, made in parallel processes. Finished ones are kept in a file that experiments share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexibo._internal.files import append_line
from flexibo.compare.comparison import method_fingerprint
from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.table import find_problem
from flexibo.compare.workers import finished
from flexibo.errors import InvalidValueError
from flexibo.experiments.repeats import ExperimentSize, Progress, Repeat
from flexibo.experiments.single_repeat import repeat

FILE = "repeats.jsonl"
SLOW = ("pesmo", "pesmo-dec")
"""These methods take many times as long as the others and start first, so that no process waits for them at the end."""


def repeats_of(
    size: ExperimentSize,
    problems: Sequence[Problem],
    methods: Sequence[str],
    out: Path,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Repeat]:
    """Every method on every problem, with every seed; finished repeats in `out` are reused.

    Args:
        size: The number of repeats, initial designs and iterations.
        problems: What to optimise; processes find them by their names.
        methods: The methods.
        out: The folder of the file of finished repeats.
        jobs: The number of processes.
        progress: Called whenever a repeat is finished.
    """
    if jobs < 1:
        raise InvalidValueError(f"jobs is {jobs}; it must be at least 1.")
    file = RepeatsFile(out)
    tasks = tasks_of(size, problems, methods)
    made = file.read(tasks)
    missing = sorted((task for task in tasks if task.key not in made), key=lambda task: task.method not in SLOW)
    if progress is not None:
        progress(len(made), len(tasks), "")
    for task, made_now in finished(_made, missing, jobs):
        made[task.key] = file.add(task, made_now)
        if progress is not None:
            progress(len(made), len(tasks), str(task))
    return [made[task.key] for task in tasks]


def _made(task: RepeatKey) -> Repeat:
    return repeat(find_problem(task.problem), task.method, task.seed, task.size)


@dataclass(frozen=True, slots=True)
class RepeatKey:
    """Identifies a repeat.

    Attributes:
        problem: The name of the problem, as `find_problem` takes it.
        fingerprint: Of the problem.
        method: The method.
        seed: Seeds the initial designs and every draw.
        size: The number of initial designs and iterations.
        code: Fingerprint of the code that decides what the method asks.
    """

    problem: str
    fingerprint: str
    method: str
    seed: int
    size: ExperimentSize
    code: str

    @property
    def key(self) -> str:
        """A text that changes with anything that decides the result, including the code of flexibo."""
        parts = (self.problem, self.fingerprint, self.method, self.seed, self.size.n_initial, self.size.iterations)
        return " ".join(map(str, (*parts, self.code)))

    def __str__(self) -> str:
        return f"{self.problem}, {self.method}, seed {self.seed}"


class RepeatsFile:
    """The file of finished repeats in a folder. Repeats with other keys stay in it and are ignored."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / FILE

    def read(self, tasks: Sequence[RepeatKey]) -> dict[str, Repeat]:
        """The finished repeats of these tasks, by key. An incomplete line is ignored."""
        wanted = {task.key for task in tasks}
        found: dict[str, Repeat] = {}
        if not self._path.exists():
            return found
        with open(self._path, encoding="utf-8") as file:
            for line in file:
                content = _parsed(line)
                if content is not None and content["key"] in wanted:
                    found[content["key"]] = Repeat.from_dict(content["repeat"])
        return found

    def add(self, task: RepeatKey, repeat: Repeat) -> Repeat:
        """Write a finished repeat to the disk; returns it as it will be read."""
        content = repeat.to_dict()
        append_line(self._path, json.dumps({"key": task.key, "repeat": content}, separators=(",", ":")).encode())
        return Repeat.from_dict(json.loads(json.dumps(content)))


def tasks_of(size: ExperimentSize, problems: Sequence[Problem], methods: Sequence[str]) -> list[RepeatKey]:
    """All repeats of an experiment."""
    prints = {problem.name: problem.fingerprint() for problem in problems}
    code = {method: method_fingerprint(method) for method in methods}
    return [
        RepeatKey(problem.name, prints[problem.name], method, seed, size, code[method])
        for problem in problems
        for method in methods
        for seed in range(size.repeats)
    ]


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        content = json.loads(line)
    except json.JSONDecodeError:
        return None
    return content if isinstance(content, dict) and {"key", "repeat"} <= content.keys() else None
