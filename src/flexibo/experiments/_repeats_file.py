"""The repeats that were finished, one line of JSON each: a run that was killed goes on, and experiments share them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flexibo._internal.append_only import append_line
from flexibo.compare.comparison import method_fingerprint
from flexibo.compare.problems.base import Problem
from flexibo.experiments.repeats import ExperimentSize, Repeat

FILE = "repeats.jsonl"


@dataclass(frozen=True, slots=True)
class RepeatKey:
    """A repeat to be made.

    Attributes:
        problem: The name of the problem, as `find_problem` takes it.
        fingerprint: Of the problem.
        method: The method.
        seed: Decides the initial designs and every draw.
        size: How many initial designs and iterations.
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
        """A text that changes when anything does that decides the result, the library's code included."""
        parts = (self.problem, self.fingerprint, self.method, self.seed, self.size.n_initial, self.size.iterations)
        return " ".join(map(str, (*parts, self.code)))

    def __str__(self) -> str:
        return f"{self.problem}, {self.method}, seed {self.seed}"


class RepeatsFile:
    """The file of finished repeats in a folder. What was made under other size stays there and is not used."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / FILE

    def kept(self, tasks: Sequence[RepeatKey]) -> dict[str, Repeat]:
        """The repeats of these tasks that are finished, by key. A line that a kill cut short is passed over."""
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

    def keep(self, task: RepeatKey, repeat: Repeat) -> Repeat:
        """Write a finished repeat so that it survives a crash of the machine; returns it as it will be read."""
        content = repeat.to_dict()
        append_line(self._path, json.dumps({"key": task.key, "repeat": content}, separators=(",", ":")).encode())
        return Repeat.from_dict(json.loads(json.dumps(content)))


def tasks_of(size: ExperimentSize, problems: Sequence[Problem], methods: Sequence[str]) -> list[RepeatKey]:
    """All repeats that an experiment needs, problem by problem, method by method."""
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
