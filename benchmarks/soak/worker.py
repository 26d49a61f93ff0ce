"""A process that works on a shared study, with ask and tell or with `Study.run`, and logs what it does."""

from __future__ import annotations

import logging
import os
import random
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.soak.journal import Journal
from benchmarks.soak.problem import DEPENDS_ON, QUICK, SPACE, Answer, Pace, measured, objectives
from flexibo import Study
from flexibo.errors import InvalidValueError
from flexibo.executors import Measure, Outcome
from flexibo.history.events import Evaluation
from flexibo.objectives import Objective
from flexibo.optimizer import Stop
from flexibo.storage import processes
from flexibo.study.event_log import EventLog

HOUR = 3600.0
WAIT_SECONDS = 0.05
"""How often a worker that has nothing to do looks again."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A study that several processes share.

    Attributes:
        url: The database.
        name: The study.
        method: Its method.
        evaluations: How many it may ask, all workers together; None: there is only a budget.
        budget: What it may spend.
        seed: Decides the study, and the answers of its workers.
        lease: Seconds without a sign of life after which a worker is taken for gone.
        elsewhere: Whether the workers claim to run on machines of their own, so that only leases show a lost worker.
        pace: How long evaluations last.
        candidates: How many designs the method looks at.
        fails: Whether some evaluations fail.
    """

    url: str
    name: str
    method: str = "random"
    evaluations: int | None = None
    budget: float | None = None
    seed: int = 0
    lease: float = 2.0
    elsewhere: bool = False
    pace: Pace = QUICK
    candidates: int = 40
    fails: bool = True

    def opened(self) -> Study:
        """The study, created if necessary."""
        return Study(
            SPACE,
            objectives(),
            method=self.method,
            budget=self.budget,
            storage=self.url,
            name=self.name,
            seed=self.seed,
            n_initial=4,
            candidates=self.candidates,
            lease=self.lease,
            stop=None if self.evaluations is None else {"max_evaluations": self.evaluations},
        )


@dataclass(frozen=True, slots=True)
class Post:
    """One worker of a plan.

    Attributes:
        plan: The study.
        folder: Where it writes its journal and its log.
        slot: Which of the workers that run side by side it is.
        life: How many there were in its place before it.
        by_hand: Whether it asks and tells itself rather than with `Study.run`.
        quota: The number of answers after which it ends; None: it ends with the study.
        clock: "right", "back" (an hour late) or "jumping" (an hour back and forth).
        sync: Whether its journal is flushed to the disk line by line.
        end: It ends once this file exists; None: there is none.
    """

    plan: Plan
    folder: Path
    slot: int
    life: int = 0
    by_hand: bool = True
    quota: int | None = None
    clock: str = "right"
    sync: bool = True
    end: Path | None = None

    @property
    def journal(self) -> Path:
        """The file in which it writes down what it does."""
        return self.folder / f"{self.plan.name}-{self.slot}-{self.life}.jsonl"

    @property
    def log(self) -> Path:
        """The file in which its warnings and errors end up."""
        return self.journal.with_suffix(".log")


def work(post: Post) -> None:
    """Work on the study until it ends."""
    log = os.open(post.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 2)  # a traceback of the end of this process is kept as well
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s", force=True)
    set_clock(post.clock)
    if post.plan.elsewhere:
        processes.about_this_process = lambda proc=None: {"host": f"board-{post.slot}", "pid": os.getpid()}
    journal = Journal(post.journal, sync=post.sync)
    worker = Worker(post, journal)
    with post.plan.opened() as study:
        why = worker.by_hand(study) if post.by_hand else worker.running(study)
    journal.write("end", why=why, slowest=worker.slowest, first=worker.first, last=worker.last)


def set_clock(how: str) -> None:
    """Put the time of day wrong; what the study measures leases with is not touched."""
    right, begun = time.time, time.monotonic()
    if how == "back":
        time.time = lambda: right() - HOUR
    elif how == "jumping":
        time.time = lambda: right() - HOUR * (int(time.monotonic() - begun) % 2)
    EventLog.__init__.__kwdefaults__["clock"] = time.time  # type: ignore[index]


class Worker:
    """Answers evaluations and keeps its journal.

    Args:
        post: What it works on, and how.
        journal: What it writes into.
    """

    def __init__(self, post: Post, journal: Journal) -> None:
        self._post = post
        self._journal = journal
        self._rng = random.Random(f"{post.plan.seed} {post.plan.name} {post.slot} {post.life}")
        self.slowest = {"ask": 0.0, "tell": 0.0}
        self.first = self.last = time.monotonic()

    def by_hand(self, study: Study) -> str:
        """Ask, measure, tell; returns why it ended."""
        done = 0
        self.first = time.monotonic()
        while self._post.quota is None or done < self._post.quota:
            if self._post.end is not None and self._post.end.exists():
                return "It was told to end."
            start = time.monotonic()
            question = study.ask_or_stop()
            self._took("ask", start)
            if isinstance(question, Stop):
                if not question.waits:
                    return question.reason
                time.sleep(WAIT_SECONDS)
                continue
            self.asked(study, question)
            self._tell(study, question, self.measured(question))
            done += 1
        return "The quota is full."

    def running(self, study: Study) -> str:
        """Let the study run; returns why it ended."""
        functions: dict[str, Measure] = dict.fromkeys(DEPENDS_ON, lambda design: None)
        study.run(functions, executor=Journalling(self, study), progress=False)
        return study.stopped

    def asked(self, study: Study, evaluation: Evaluation) -> None:
        """Write down what was asked, and under which name."""
        self._journal.write("asked", evaluation.number, worker=study.history.assignments[evaluation.number].worker)

    def measured(self, evaluation: Evaluation) -> Answer:
        """The answer to an evaluation, on disk before it is told."""
        answer = measured(evaluation, self._post.plan.pace, self._rng, fails=self._post.plan.fails)
        kind, values = ("failed", None) if answer.values is None else ("told", dict(answer.values))
        self._journal.write("means", evaluation.number, kind=kind, values=values, cost=answer.cost)
        return answer

    def heard(self, evaluation: Evaluation, outcome: str = "safe") -> None:
        """Write down what the study made of an answer."""
        self._journal.write(outcome, evaluation.number)

    def _tell(self, study: Study, evaluation: Evaluation, answer: Answer) -> None:
        start = time.monotonic()
        try:
            if answer.values is not None:
                study.tell(evaluation, answer.values, cost=answer.cost)
            else:
                study.fail(evaluation, answer.reason, cost=answer.cost, impossible=answer.impossible)
        except InvalidValueError as error:
            if "was answered already" not in str(error):
                raise
            self.heard(evaluation, "refused")
        else:
            self.heard(evaluation)
        self._took("tell", start)

    def _took(self, what: str, start: float) -> None:
        self.last = time.monotonic()
        self.slowest[what] = max(self.slowest[what], self.last - start)


class Journalling:
    """An executor that measures here, and writes down what it hands over before and after the study stored it.

    Args:
        worker: Measures, and keeps the journal.
        study: What asks.
    """

    def __init__(self, worker: Worker, study: Study) -> None:
        self._worker = worker
        self._study = study
        self._waiting: list[Evaluation] = []

    def has_room(self, objective: Objective) -> bool:
        """Whether nothing waits to be measured."""
        return not self._waiting

    def submit(self, evaluation: Evaluation, objective: Objective, measure: Measure) -> None:
        """Take one evaluation."""
        self._waiting.append(evaluation)
        self._worker.asked(self._study, evaluation)

    def is_busy(self) -> bool:
        """Whether something waits to be measured."""
        return bool(self._waiting)

    def finished(self, wait: float | None = None) -> Iterable[Outcome]:
        """Measure what was submitted. The study takes an outcome before it asks for the next one."""
        while self._waiting:
            evaluation = self._waiting.pop(0)
            answer = self._worker.measured(evaluation)
            values: dict[str, Any] | None = None if answer.values is None else dict(answer.values)
            yield Outcome(evaluation, values, answer.cost, answer.reason, timed=False, impossible=answer.impossible)
            self._worker.heard(evaluation)

    def close(self) -> None:
        """Forget what was not measured."""
        self._waiting.clear()
