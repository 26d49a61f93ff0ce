"""What must hold of a shared study after everything that was done to its workers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.soak.crew import Crew, SoakError
from benchmarks.soak.databases import Database
from benchmarks.soak.history import Loss, answers_wrong, holders_wrong
from benchmarks.soak.journal import Account, account
from benchmarks.soak.ledger import Ledger, replayed
from benchmarks.soak.problem import DEAREST
from benchmarks.soak.worker import Plan
from flexibo import Study
from flexibo.history.event_dicts import event_to_dict
from flexibo.optimizer import Stop

ROUNDING = 1e-9
SHOWN = 5
"""How many of the things that are wrong are listed."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What happened in a study that kept all that must hold.

    Attributes:
        evaluations: How many were asked.
        claims: How often one was in the hands of a worker.
        safe: Answers that workers were told are safe.
        unknown: Answers of workers that were killed before they heard.
        kept: Answers that the study refused, and kept in a file beside it.
        counts: How often each kind of event, a late answer and a charge for a lost attempt came up.
        slowest: The longest that the study let a worker wait, in seconds, by what it did.
        overshoot: What was spent beyond the budget.
    """

    evaluations: int
    claims: int
    safe: int
    unknown: int
    kept: int
    counts: Mapping[str, int]
    slowest: Mapping[str, float]
    overshoot: float = 0.0


def check(database: Database, crew: Crew, losses: Sequence[Loss] = ()) -> Findings:
    """Look at a study that came to its end; raise a `SoakError` if anything is lost, doubled or miscounted.

    Args:
        database: Where the study is.
        crew: Its workers.
        losses: What the database lost, although it had acknowledged it.
    """
    plan = crew.plan
    rows = database.events(plan.name)
    ledger = replayed(rows)
    accounts = [account(life.post.journal) for life in crew.lives]
    answers = [answer for each in accounts for answer in each.answers]
    claims = [claim for each in accounts for claim in each.claims]
    harmed = {life.post.journal.stem: life.harmed for life in crew.lives}
    wrong = [*ledger.wrong, *answers_wrong(rows, answers, losses), *holders_wrong(claims, harmed, losses)]
    wrong += _taken_wrong(crew, accounts, ledger)
    wrong += [*_ends_wrong(crew, accounts), *_study_wrong(database, plan, rows, ledger)]
    wrong += [damage] if (damage := database.damage()) else []
    wrong += _budget_wrong(plan, ledger, len(crew.posts))
    if wrong:
        raise SoakError(listed(f"{database.kind}, study {plan.name!r}", wrong))
    outcomes = Counter(answer.outcome for answer in answers)
    awake = [each for life, each in zip(crew.lives, accounts, strict=True) if not life.frozen]
    slowest = {what: max((each.slowest.get(what, 0.0) for each in awake), default=0.0) for what in ("ask", "tell")}
    over = 0.0 if plan.budget is None else max(0.0, ledger.spent - plan.budget)
    return Findings(
        evaluations=len(ledger.questions),
        claims=len(claims),
        safe=outcomes["safe"],
        unknown=outcomes["unknown"],
        kept=outcomes["kept"],
        counts=ledger.counts,
        slowest=slowest,
        overshoot=over,
    )


def listed(what: str, wrong: Sequence[str]) -> str:
    """The first things that are wrong, and how many more there are."""
    more = f"\n... and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
    return f"{what}:\n" + "\n".join(wrong[:SHOWN]) + more


def _taken_wrong(crew: Crew, accounts: Sequence[Account], ledger: Ledger) -> list[str]:
    """Whether evaluations were taken only from workers that were killed, or frozen for longer than their lease."""
    living = {
        name: life.post
        for life, each in zip(crew.lives, accounts, strict=True)
        for name in each.names
        if not life.killed and not life.frozen
    }
    return [
        f"An evaluation was taken from {living[name].journal.stem}, alive." for name in ledger.taken if name in living
    ]


def _ends_wrong(crew: Crew, accounts: Sequence[Account]) -> list[str]:
    """Whether every worker that was not killed came to its end, and none was told that the database is locked."""
    wrong = []
    for life, each in zip(crew.lives, accounts, strict=True):
        if each.end is None and not life.killed:
            wrong.append(f"{life.post.journal.stem} did not come to its end.")
        log = life.post.log.read_text(encoding="utf-8") if life.post.log.exists() else ""
        wrong += [f"{life.post.log.stem} says: {line}" for line in log.splitlines() if "locked" in line]
    return wrong


def _study_wrong(
    database: Database, plan: Plan, rows: Sequence[tuple[int, Mapping[str, Any]]], ledger: Ledger
) -> list[str]:
    """Whether the library reads what the rows say, twice the same, and has nothing more to ask."""
    one, two = (Study.load(database.url, plan.name) for _ in range(2))
    wrong = []
    for event, (number, row) in zip(one.events, rows, strict=True):
        if event_to_dict(event) != {name: value for name, value in row.items() if name != "time"}:
            wrong.append(f"Row {number} is read as {event}.")
    if not math.isclose(one.spent, ledger.spent, rel_tol=ROUNDING):
        wrong.append(f"The study says that {one.spent} was spent; the rows add up to {ledger.spent}.")
    told = sum(question.state == "told" for question in ledger.questions) + ledger.counts["added"]
    if len(one.history.measurements) != told:
        wrong.append(f"The study knows {len(one.history.measurements)} measurements; the rows have {told}.")
    if ledger.pending or one.pending:
        wrong.append(f"Still pending at the end: {ledger.pending}; the study says {[e.number for e in one.pending]}.")
    if _state(one) != _state(two):
        wrong.append("Two loads of the study differ.")
    ends = [study.ask_or_stop() for study in (one, two)]
    if ends[0] != ends[1] or not isinstance(ends[0], Stop) or ends[0].waits:
        wrong.append(f"The study has not come to its end: {ends}.")
    for study in (one, two):
        study.close()
    return wrong


def _state(study: Study) -> object:
    history = study.history
    return (
        *(study.events, study.spent, study.pending, history.measurements, history.asked, history.answered),
        *(history.follow_ups, history.failed_attempts, history.reference, history.budget, history.chosen),
    )


def _budget_wrong(plan: Plan, ledger: Ledger, size: int) -> list[str]:
    """Whether the study went to its end and no further: late answers aside, by one misprediction per worker at most."""
    wrong = []
    if plan.evaluations is not None and len(ledger.questions) != plan.evaluations:
        wrong.append(f"{len(ledger.questions)} evaluations were asked instead of {plan.evaluations}.")
    if plan.budget is not None:
        most = plan.budget + DEAREST * (size + ledger.counts["late"] + ledger.counts["charged"])
        if not plan.budget - DEAREST <= ledger.spent <= most:
            wrong.append(f"{ledger.spent} was spent of a budget of {plan.budget}; at most {most} is right.")
    return wrong
