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

from benchmarks.soak.hiding import hide
from benchmarks.soak.journal import Journal
from benchmarks.soak.problem import DEPENDS_ON, QUICK, SPACE, Answer, Pace, measured, objectives
from flexibo import Study
from flexibo.errors import InvalidValueError
from flexibo.executors import Measure, Outcome
from flexibo.history.events import Evaluation, Failed, Spent, Told
from flexibo.objectives import Objective
from flexibo.optimizer import Stop
from flexibo.storage import LogReplacedError, StorageError, processes
from flexibo.study.event_log import EventLog

HOUR = 3600.0
MOST_ERRORS = 20
"""The number of errors of the storage after which a worker gives up."""
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
        is_edited: Whether the study, which exists, is changed while it runs.
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
    is_edited: bool = False

    def opened(self) -> Study:
        """The study, created if necessary."""
        return Study.load(self.url, self.name, lease=self.lease) if self.is_edited else self._created()

    def create(self) -> None:
        """Make the study, which others open."""
        self._created().close()

    def _created(self) -> Study:
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
        user: The user as which it runs, hidden from those of other users; None: it is not hidden.
        on_error: What it does when the storage fails: "raise" the error, "leave" the study, or open it "again" and
            tell what it has not told yet.
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
    user: int | None = None
    on_error: str = "raise"

    @property
    def journal(self) -> Path:
        """The file in which it writes down what it does."""
        return self.folder / f"{self.plan.name}-{self.slot}-{self.life}.jsonl"

    @property
    def log(self) -> Path:
        """The file in which its warnings and errors end up."""
        return self.journal.with_suffix(".log")


def work(post: Post) -> int:
    """Work on the study until it ends; returns how often the storage failed."""
    if post.user is not None:
        hide(post.user)
    os.chdir(post.folder)  # where answers are kept that a study on a server refuses
    log = os.open(post.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 2)  # a traceback of the end of this process is kept as well
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s", force=True)
    set_clock(post.clock)
    if post.plan.elsewhere:
        processes.about_this_process = lambda proc=None: {"host": f"board-{post.slot}", "pid": os.getpid()}
    journal = Journal(post.journal, sync=post.sync)
    worker = Worker(post, journal)
    why = worker.until_the_end()
    journal.write("end", why=why, slowest=worker.slowest, first=worker.first, last=worker.last)
    return worker.errors


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
        self._done = 0
        self._untold: tuple[Evaluation, Answer] | None = None
        self.errors = 0
        self.slowest = {"ask": 0.0, "tell": 0.0}
        self.first = self.last = time.monotonic()

    def until_the_end(self) -> str:
        """Work until the study ends, opened again when the log was replaced; returns why it ended."""
        self.first = time.monotonic()
        while True:
            try:
                with self._post.plan.opened() as study:
                    return self.by_hand(study) if self._post.by_hand else self.running(study)
            except LogReplacedError as error:
                self._journal.write("left")
                if self._post.on_error == "leave":
                    return str(error)
            except StorageError as error:
                self.errors += 1
                if self._post.on_error == "raise" or self.errors > MOST_ERRORS:
                    raise
                self._journal.write("left")
                if self._post.on_error == "leave":
                    return str(error)

    def by_hand(self, study: Study) -> str:
        """Ask, measure, tell; returns why it ended."""
        while self._post.quota is None or self._done < self._post.quota:
            if self._post.end is not None and self._post.end.exists():
                return "It was told to end."
            if self._untold is not None:
                self._tell(study, *self._untold)
                self._done += 1
                continue
            start = time.monotonic()
            question = study.ask_or_stop()
            self._took("ask", start)
            if isinstance(question, Stop):
                if not question.waits:
                    return question.reason
                time.sleep(WAIT_SECONDS)
                continue
            self.asked(study, question)
            self._untold = question, self.measured(question)
        return "The quota is full."

    def running(self, study: Study) -> str:
        """Let the study run; returns why it ended."""
        functions: dict[str, Measure] = dict.fromkeys(DEPENDS_ON, lambda design: None)
        executor = Journalling(self, study)
        try:
            study.run(functions, executor=executor, progress=False)
        except LogReplacedError:
            for evaluation in executor.unstored:
                self._kept(evaluation)
            raise
        return study.stopped

    def asked(self, study: Study, evaluation: Evaluation) -> None:
        """Write down what was asked, and under which name."""
        worker = study.history.assignments[evaluation.number].worker
        question = {"token": evaluation.token, "objective": evaluation.objective, "design": dict(evaluation.design)}
        self._journal.write("asked", evaluation.number, worker=worker, **question)

    def measured(self, evaluation: Evaluation) -> Answer:
        """The answer to an evaluation, on disk before it is told."""
        answer = measured(evaluation, self._post.plan.pace, self._rng, fails=self._post.plan.fails)
        kind, values = ("failed", None) if answer.values is None else ("told", dict(answer.values))
        meant = {"token": evaluation.token, "kind": kind, "values": values, "cost": answer.cost}
        self._journal.write("means", evaluation.number, **meant)
        return answer

    def heard(self, evaluation: Evaluation, outcome: str = "safe") -> None:
        """Write down what the study made of an answer."""
        self._journal.write(outcome, evaluation.number, token=evaluation.token)

    def _kept(self, evaluation: Evaluation) -> None:
        """Write down that an answer was kept beside the study; if a file was removed, it may be stored, too."""
        if self._post.on_error != "leave":
            self.heard(evaluation, "kept")

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
        except LogReplacedError:
            self._kept(evaluation)
            self._untold = None
            raise
        else:
            self.heard(evaluation)
        self._untold = None
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
        self.unstored: list[Evaluation] = []

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
            if is_stored(self._study, evaluation):
                self._worker.heard(evaluation)
            else:  # the run ends with an error, and asks for what is left
                self.unstored.append(evaluation)

    def close(self) -> None:
        """Forget what was not measured."""
        self._waiting.clear()


def is_stored(study: Study, evaluation: Evaluation) -> bool:
    """Whether the study knows an answer of this attempt."""
    answers = (event for event in reversed(study.events) if isinstance(event, Told | Failed | Spent))
    return any(answer.token == evaluation.token for answer in answers)
