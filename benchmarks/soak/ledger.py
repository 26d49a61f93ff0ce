"""What the events of a study add up to, worked out from the raw rows without the library's own replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.soak.history import is_given_up
from benchmarks.soak.problem import question_key

MOST_ATTEMPTS = 3
VANISHED = "vanished"
Key = tuple[object, ...]


@dataclass(slots=True)
class Question:
    """An evaluation, and where it stands.

    Attributes:
        key: The objective and the options that decide it.
        holder: The worker that measures it, or None.
        state: "pending", "released", "told" or "failed".
        impossible: Whether it failed for good.
        answer: The event that answered it.
    """

    key: Key
    holder: str | None
    state: str = "pending"
    impossible: bool = False
    answer: Mapping[str, Any] | None = None


@dataclass(slots=True)
class Ledger:
    """The accounts of a study.

    Attributes:
        questions: All evaluations, by number.
        counts: How often each kind of event, a late answer and a charge for a lost attempt came up.
        spent: What was spent.
        taken: From whom evaluations were taken over.
        wrong: What must not be, in sentences.
    """

    questions: list[Question] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    spent: float = 0.0
    taken: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    _by_key: dict[Key, list[Question]] = field(default_factory=dict)
    _lost: dict[tuple[int, str], float] = field(default_factory=dict)

    @property
    def pending(self) -> list[int]:
        """The evaluations that somebody measures."""
        return [number for number, question in enumerate(self.questions) if question.state == "pending"]

    def add(self, event: Mapping[str, Any]) -> None:
        """Account for the next event."""
        kind = event["event"]
        self.counts[kind] += 1
        if kind == "asked":
            self._ask(event)
        elif kind in ("told", "failed"):
            self._answer(event)
        elif kind in ("reissued", "released"):
            self._take(event)
        elif kind == "spent":
            self.counts["late"] += 1
            if self._question(event).answer is None:
                self.wrong.append(f"Evaluation {event['number']} has a late cost before its answer.")
            self._pay(event)

    def _ask(self, event: Mapping[str, Any]) -> None:
        if event["number"] != len(self.questions):
            self.wrong.append(f"Evaluation {event['number']} was asked as the {len(self.questions)}th.")
        question = Question(question_key(event["objective"], event["design"]), event["worker"])
        before = self._by_key.setdefault(question.key, [])
        if any(other.state in ("pending", "told") or other.impossible for other in before):
            self.wrong.append(f"Evaluation {event['number']} asks {question.key} again.")
        if sum(other.state == "failed" for other in before) >= MOST_ATTEMPTS:
            self.wrong.append(f"Evaluation {event['number']} tries {question.key} more than {MOST_ATTEMPTS} times.")
        before.append(question)
        self.questions.append(question)

    def _answer(self, event: Mapping[str, Any]) -> None:
        question = self._question(event)
        if question.answer is not None:
            self.wrong.append(f"Evaluation {event['number']} was answered twice.")
            return
        if is_given_up(event):
            self.taken += [] if question.holder is None else [question.holder]
            self.counts["charged"] += event["cost"] > 0
        else:
            self.counts["late"] += question.holder != event["worker"]
        self._pay(event)
        question.answer, question.holder = event, None
        question.state, question.impossible = event["event"], event.get("impossible", False)

    def _take(self, event: Mapping[str, Any]) -> None:
        question = self._question(event)
        if question.state != "pending" or question.holder is None:
            self.wrong.append(f"Evaluation {event['number']} was {event['event']} while nobody measured it.")
            return
        if event["event"] == "reissued" or VANISHED in event["reason"]:
            self.taken.append(question.holder)
        if event["cost"] > 0:
            self.counts["charged"] += 1
            self.spent += event["cost"]
            self._lost[event["number"], question.holder] = event["cost"]
        if event["event"] == "reissued":
            question.holder = event["worker"]
        else:
            question.holder, question.state = None, "released"

    def _pay(self, event: Mapping[str, Any]) -> None:
        """A late answer says what the lost attempt did cost, in place of what it was thought to have cost."""
        self.spent += event["cost"] - self._lost.pop((event["number"], event["worker"]), 0.0)

    def _question(self, event: Mapping[str, Any]) -> Question:
        number: int = event["number"]
        return self.questions[number]


def replayed(rows: Sequence[tuple[int, Mapping[str, Any]]]) -> Ledger:
    """The accounts of a study from its rows."""
    ledger = Ledger()
    if [number for number, _ in rows] != list(range(len(rows))):
        ledger.wrong.append("The numbers of the rows have gaps.")
    for _, event in rows:
        ledger.add(event)
    return ledger
