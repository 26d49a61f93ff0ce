"""Makes repeats: initial designs, then iterations, each judged by true values.

Repeats are made in parallel processes. Finished ones are kept in a file that experiments share.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo._internal.files import append_line
from flexibo.compare.comparison import method_fingerprint
from flexibo.compare.contestants import study_of
from flexibo.compare.metered_problem import MeteredProblem
from flexibo.compare.problems.base import Problem
from flexibo.compare.problems.table import find_problem
from flexibo.compare.workers import finished
from flexibo.errors import InvalidValueError
from flexibo.experiments.repeats import ExperimentSize, Iteration, Progress, Repeat
from flexibo.history.events import Evaluation
from flexibo.objectives import purchases
from flexibo.pareto import non_dominated
from flexibo.results.confidence import reported_designs
from flexibo.space import Design
from flexibo.study import Study

Clock = Callable[[], float]

TARGET_ERROR = 0.25
"""The paper's target region: a prediction error below this."""
FILE = "repeats.jsonl"
SLOW = ("pesmo", "pesmo-dec")
"""These methods take many times as long as the others and start first, so that no process waits for them at the end."""


def target_region(problem: Problem) -> FloatArray:
    """The losses (n,) below which a design is in the target region.

    They are the first quartile of each objective over all designs. On `dnn-stack`, as in the paper, the prediction
    error must be below 25 % instead; on other problems nearly all designs would be below that bound, or hardly any.
    """
    bounds = np.quantile(problem.losses(problem.typical_designs()), 0.25, axis=0)
    for j, objective in enumerate(problem.objectives):
        if problem.name.partition(":")[0] == "dnn-stack" and objective.name.startswith("error"):
            bounds[j] = TARGET_ERROR * (100.0 if objective.unit == "%" else 1.0)
    return np.asarray(bounds)


def in_target(problem: Problem, designs: Sequence[Design], bounds: FloatArray) -> int:
    """The number of different true outcomes of reported designs below bounds (n,), in losses.

    A reported design that another one dominates by true values does not count.
    """
    if not designs:
        return 0
    losses = np.unique(problem.losses(problem.space.designs(designs)), axis=0)
    losses = losses[non_dominated(losses)]
    return int((losses < bounds).all(axis=1).sum())


def repeat(
    problem: Problem,
    method: str,
    seed: int,
    size: ExperimentSize,
    *,
    clock: Clock = time.process_time,
    metered: MeteredProblem | None = None,
) -> Repeat:
    """Run one method; the seed decides the initial designs, the noise and every draw, the clock the overhead."""
    metered = MeteredProblem(problem, seed=seed) if metered is None else metered
    study = study_of(problem, method, problem.initial_designs(size.n_initial, seed), seed=seed)
    progress = _RepeatProgress(problem, study, metered, clock)
    question = progress.begin()
    iterations = [progress.judged(Iteration(0, (), (), 0.0, 0.0, 0.0, None, None, (), 1.0, 0))]
    while question is not None and len(iterations) <= size.iterations:
        bought = progress.bought(question, iterations[-1])
        # The front is judged after the next question: its models are then fitted, and do not distort the overhead.
        question = progress.ask() if bought.number < size.iterations else None
        iterations.append(progress.judged(bought))
    leads = purchases(problem.objectives)
    means = problem.mean_costs()
    return Repeat(
        problem=problem.name,
        method=method,
        seed=seed,
        leads=tuple(lead.objective for lead in leads),
        lead_costs=tuple(float(means[lead.members[0]]) for lead in leads),
        unit=problem.unit,
        iterations=tuple(iterations),
        front=tuple(progress.true_values(progress.front())),
        stopped=study.stopped,
    )


class _RepeatProgress:
    """A study whose questions are answered by a metered problem."""

    def __init__(self, problem: Problem, study: Study, metered: MeteredProblem, clock: Clock) -> None:
        self._study = study
        self._problem = problem
        self._metered = metered
        self._clock = clock
        self._target = target_region(problem)
        self._opening = 0.0
        self._overhead = 0.0

    def ask(self) -> Evaluation | None:
        """The next question, timed."""
        begin = self._clock()
        question = self._study.ask()
        self._overhead += self._clock() - begin
        return question

    def begin(self) -> Evaluation | None:
        """Answer the initial questions; returns the first question after them. The time before is not overhead."""
        question = self.ask()
        while question is not None and question.initial:
            self._answer(question)
            self._overhead = 0.0
            question = self.ask()
        self._opening = self._metered.spent
        return question

    def bought(self, question: Evaluation, before: Iteration) -> Iteration:
        """Answer a question, and those that follow from it: one iteration, not judged yet."""
        objectives, costs = [question.objective], [self._answer(question)]
        for _ in question.then:
            following = self.ask()
            if following is None:
                break
            objectives.append(following.objective)
            costs.append(self._answer(following))
        overhead, self._overhead = self._overhead, 0.0
        return replace(
            before,
            number=before.number + 1,
            objectives=tuple(objectives),
            costs=tuple(costs),
            spent=self._metered.spent - self._opening,
            log_spent=before.log_spent + sum(math.log(max(cost, math.e)) for cost in costs),
            overhead_s=overhead,
            volume=question.volume,
            gain=question.gain,
            values=self.true_values([question.design])[0],
        )

    def judged(self, iteration: Iteration) -> Iteration:
        """An iteration, with the errors of the reported and of the measured designs after it."""
        designs = self.front()
        found = in_target(self._problem, designs, self._target)
        confirmed = self._problem.error(self._metered.confirmed())
        return replace(iteration, error=self._problem.error(designs), in_target=found, confirmed=confirmed)

    def front(self) -> list[Design]:
        """The reported designs, without their standings: a forest would be fitted many more times for these."""
        return list(reported_designs(self._study.predictor, self._study.history))

    def true_values(self, designs: Sequence[Design]) -> list[tuple[float, ...]]:
        """The true values of designs."""
        if not designs:
            return []
        return [tuple(map(float, row)) for row in self._problem.values(self._problem.space.designs(designs))]

    def _answer(self, question: Evaluation) -> float:
        measurement = self._metered.measure(question.design, question.objective)
        cost = measurement.cost or 0.0
        begin = self._clock()
        self._study.tell(question, measurement.values, cost=cost)
        self._overhead += self._clock() - begin
        return cost


def repeats_of(
    size: ExperimentSize,
    problems: Sequence[Problem],
    methods: Sequence[str],
    out: Path,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[Repeat]:
    """Every method on every problem, with every seed, by `jobs` processes; finished repeats in `out` are reused."""
    if jobs < 1:
        raise InvalidValueError(f"jobs is {jobs}; it must be at least 1.")
    out.mkdir(parents=True, exist_ok=True)
    tasks = _tasks(size, problems, methods)
    made = _read(out / FILE, {task.key for task in tasks})
    missing = sorted((task for task in tasks if task.key not in made), key=lambda task: task.method not in SLOW)
    if progress is not None:
        progress(len(made), len(tasks), "")
    for task, made_now in finished(_made, missing, jobs):
        content = json.dumps({"key": task.key, "repeat": made_now.to_dict()}, separators=(",", ":"))
        append_line(out / FILE, content.encode())
        made[task.key] = Repeat.from_dict(json.loads(content)["repeat"])  # as it will be read
        if progress is not None:
            progress(len(made), len(tasks), str(task))
    return [made[task.key] for task in tasks]


def _made(task: RepeatKey) -> Repeat:
    return repeat(find_problem(task.problem), task.method, task.seed, task.size)


@dataclass(frozen=True, slots=True)
class RepeatKey:
    """Identifies a repeat, with fingerprints of the problem and of the code that decides what the method asks."""

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


def _read(path: Path, wanted: set[str]) -> dict[str, Repeat]:
    """The finished repeats with these keys. Incomplete lines and repeats with other keys are ignored."""
    found: dict[str, Repeat] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            content = json.loads(line)
        except json.JSONDecodeError:
            continue
        if not isinstance(content, dict) or content.get("key") not in wanted or "repeat" not in content:
            continue
        if "confirmed" in content["repeat"]["iterations"]:  # repeats of earlier versions are made again
            found[content["key"]] = Repeat.from_dict(content["repeat"])
    return found


def _tasks(size: ExperimentSize, problems: Sequence[Problem], methods: Sequence[str]) -> list[RepeatKey]:
    """All repeats of an experiment."""
    prints = {problem.name: problem.fingerprint() for problem in problems}
    code = {method: method_fingerprint(method) for method in methods}
    return [
        RepeatKey(problem.name, prints[problem.name], method, seed, size, code[method])
        for problem in problems
        for method in methods
        for seed in range(size.repeats)
    ]
