"""The laws of a shared study, checked from what its clients saw: their journals against the rows of the database.

1. Every answer that a worker was told is safe is stored exactly once, with its value and its cost.
2. It is stored for the design and the objective that the worker measured.
3. An attempt is charged once at most, and nothing is stored or charged that nobody answered.
4. No question is in the hands of two living workers at once.
5. What the study refused is not in it, and what it kept aside is in the file beside it.

A store may lose what it acknowledged, as in an asynchronous fail-over. Then the laws hold for the rest, what was lost
is not stored for something else, and it is in the file, too.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.soak.journal import Answered, Claim
from benchmarks.soak.problem import question_key

Row = tuple[int, Mapping[str, Any]]
CLAIMS = ("asked", "reissued")
ANSWERS = ("told", "failed", "spent")
HOW_OFTEN = {"safe": (1, 1), "refused": (0, 0), "kept": (0, 0), "unknown": (0, 1)}
"""How often the answer of an attempt is stored, at least and at most, by what the worker was told."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Rows that a store had acknowledged and lost.

    Attributes:
        rows: What was lost.
        at: When, on the machine's steady clock.
    """

    rows: Sequence[Row]
    at: float

    def tokens(self, kinds: Collection[str]) -> set[str]:
        """The attempts whose claim or answer was lost."""
        return {event["token"] for _, event in self.rows if event["event"] in kinds and not is_given_up(event)}


def is_given_up(event: Mapping[str, Any]) -> bool:
    """Whether the study itself ended an evaluation, since too many of its workers vanished: it is nobody's answer."""
    return event["event"] == "failed" and event.get("kind") == "lost" and "token" not in event


def answers_wrong(rows: Sequence[Row], answers: Sequence[Answered], losses: Sequence[Loss] = ()) -> list[str]:
    """Which answers are lost, doubled, changed, stored for something else or charged twice, or were never given."""
    stored: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for _, event in rows:
        if event["event"] in ANSWERS and not is_given_up(event):
            stored[event["token"]].append(event)
    questions = {event["number"]: event for _, event in rows if event["event"] == "asked"}
    lost = set().union(*(loss.tokens(ANSWERS) for loss in losses))
    wrong = []
    for answer in answers:
        found = stored.pop(answer.claim.token, [])
        least, most = HOW_OFTEN[answer.outcome]
        least = 0 if answer.claim.token in lost else least
        if not least <= len(found) <= most:
            wrong.append(f"The answer {answer} is stored {len(found)} times.")
        for event in found:
            if not _agrees(event, answer):
                wrong.append(f"The answer {answer} is stored as {dict(event)}.")
            if not _is_placed(event, answer.claim, questions):
                wrong.append(f"The answer {answer} is stored for {questions.get(event['number'])}.")
    for token, found in stored.items():
        wrong += [f"Nobody gave the answer {dict(event)}." for event in found]
        wrong += [f"The attempt {token} is charged {len(found)} times."] if len(found) > 1 else []
    return wrong


def holders_wrong(
    claims: Iterable[Claim], harmed: Mapping[str, Sequence[float]] | None = None, losses: Sequence[Loss] = ()
) -> list[str]:
    """Which questions two living workers had in their hands at the same time.

    A worker has a question from the moment in which it has arrived until it begins to tell the answer, so an overlap
    that is found is one.

    Args:
        claims: What all workers were asked.
        harmed: When processes ended without a farewell, or were stopped for longer than their lease, by the name of
            their journal: from then on they count as gone.
        losses: What the store lost: nobody can know of a claim from then on.
    """
    wrong = []
    ended = [_ended(claim, (harmed or {}).get(claim.holder, ()), losses) for claim in claims]
    ended.sort(key=lambda claim: (repr(_key(claim)), claim.since))
    for _, same in groupby(ended, key=_key):
        last: Claim | None = None
        for claim in same:
            if last is not None and claim.since < last.until and claim.holder != last.holder:
                wrong.append(f"{claim.holder} and {last.holder} both had {claim} at {claim.since:.3f}.")
            if last is None or claim.until > last.until:
                last = claim
    return wrong


def kept_wrong(
    rows: Sequence[Row], answers: Iterable[Answered], kept: Sequence[Mapping[str, Any]], losses: Sequence[Loss] = ()
) -> list[str]:
    """Which answers that were refused, or lost, are not in the file beside the study, or not in it after the import.

    Args:
        rows: The study after the import of the file.
        answers: What the workers answered.
        kept: The lines of the file.
        losses: What the store lost; the workers that know of it live.
    """
    lost = set().union(*(loss.tokens(ANSWERS) for loss in losses))
    lines: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for line in kept:
        lines[line["answer"]["token"]].append(line)
    values = _known_values(rows)
    wrong = []
    for answer in answers:
        claim = answer.claim
        if answer.outcome != "kept" and not (answer.outcome == "safe" and claim.token in lost):
            continue
        found = [(line["design"], line["objective"], line["answer"].get("values")) for line in lines[claim.token]]
        if (claim.design, claim.objective, answer.values) not in found:
            wrong.append(f"The answer {answer} is not in the file beside the study.")
        elif answer.values is not None and values.get(_key(claim)) != answer.values[claim.objective]:
            wrong.append(f"The answer {answer} was not brought back: {values.get(_key(claim))}.")
    return wrong


def kept_lines(path: Path) -> list[dict[str, Any]]:
    """The answers in the file beside a study."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def _known_values(rows: Sequence[Row]) -> dict[object, float]:
    """The values that a study knows, by question."""
    designs = {event["number"]: event["design"] for _, event in rows if event["event"] == "asked"}
    values: dict[object, float] = {}
    for _, event in rows:
        if event["event"] in ("told", "added"):
            design = event["design"] if event["event"] == "added" else designs[event["number"]]
            values |= {question_key(name, design): value for name, value in event["values"].items()}
    return values


def _agrees(event: Mapping[str, Any], answer: Answered) -> bool:
    """Whether an event says what was answered; of an answer that came too late only the cost is kept."""
    if event["cost"] != answer.cost:
        return False
    return event["event"] == "spent" or (event["event"], event.get("values")) == (answer.kind, answer.values)


def _is_placed(event: Mapping[str, Any], claim: Claim, questions: Mapping[int, Mapping[str, Any]]) -> bool:
    """Whether an answer is stored for the question that was measured."""
    question = questions.get(event["number"], {})
    stored = (event["number"], question.get("objective"), question.get("design"))
    return stored == (claim.number, claim.objective, claim.design)


def _ended(claim: Claim, harmed: Sequence[float], losses: Sequence[Loss]) -> Claim:
    """The claim until its end, or until its worker or the claim itself was lost."""
    ends = [at for at in harmed if at >= claim.since]
    ends += [loss.at for loss in losses if claim.token in loss.tokens(CLAIMS)]
    return replace(claim, until=min(claim.until, *ends, math.inf))


def _key(claim: Claim) -> tuple[object, ...]:
    return question_key(claim.objective, claim.design)
