"""Stores that lose what they acknowledged, workers that cannot see each other, and a pool of connections in between."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.soak.checks import Findings, check, listed
from benchmarks.soak.crew import Crew, SoakError
from benchmarks.soak.databases import Database
from benchmarks.soak.faults import Faults, survived
from benchmarks.soak.history import ANSWERS, Loss, kept_lines, kept_wrong
from benchmarks.soak.journal import Answered, account
from benchmarks.soak.problem import Pace
from benchmarks.soak.worker import Plan, Post

WORKERS = 4
MOST_LOST = 6
"""Events that a fail-over loses at most."""
EVENTS_BETWEEN = 24
BESIDE = ("shm", "wal")
"""The ends of the names of the files beside a SQLite file."""
PATIENCE_SECONDS = 180.0

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Attacked:
    """A study that was attacked, and kept all that must hold.

    Attributes:
        what: The attack.
        times: How often.
        findings: What was found in the end.
        seconds: How long it took.
        lost: Answers that the store had acknowledged, and lost itself.
    """

    what: str
    times: int
    findings: Findings
    seconds: float
    lost: int = 0


def failed_over(database: Database, folder: Path, times: int, *, seed: int = 0, in_place: bool = False) -> Attacked:
    """Let a store lose its last events, as in an asynchronous fail-over or when an older copy is restored.

    Each time one worker is frozen, with what it was asked, until another one has written in the place of what was lost.
    In the end what the study refused or lost is imported. What is lost `in_place` is lost by an older copy of a SQLite
    file.
    """
    start = time.monotonic()
    rng = random.Random(f"{seed} failover")
    name = "overwritten" if in_place else "failover"
    plan = Plan(database.url, name, evaluations=20 * times, seed=seed, lease=60.0, pace=Pace(0.1, 0.3))
    losses: list[Loss] = []
    with Crew([Post(plan, folder, slot, by_hand=slot % 2 == 0) for slot in range(WORKERS)]) as crew:
        known = 0
        for _ in range(times):
            known = _grown(database, crew, known + EVENTS_BETWEEN)
            frozen = crew.freeze(rng)
            count = rng.randint(1, MOST_LOST)
            if in_place:
                losses.append(_overwrite(database, crew, count))
            else:
                losses.append(Loss(database.lose(plan.name, count), time.monotonic()))
            known = _grown(database, crew, known + 1)
            if frozen is not None:
                crew.thaw(frozen)
        crew.join(time.monotonic() + PATIENCE_SECONDS)
        findings = check(database, crew, losses)
        answers = [answer for life in crew.lives for answer in account(life.post.journal).answers]
    _bring_back(database, plan, folder, answers, losses)
    lost = _lost(answers, losses)
    return Attacked(
        "overwritten in place" if in_place else "commits lost", times, findings, time.monotonic() - start, lost
    )


def files_removed(database: Database, folder: Path, times: int, *, seed: int = 0) -> Attacked:
    """Remove a file beside a SQLite file while workers write: its log, its locks, and so on.

    All workers must notice it and end, as the message asks; what was acknowledged is in the file, and others continue.
    """
    start = time.monotonic()
    rng = random.Random(f"{seed} files")
    plan = Plan(database.url, "files", evaluations=EVENTS_BETWEEN * (times + 1), seed=seed)
    posts = [Post(plan, folder, slot, on_error="leave") for slot in range(WORKERS)]
    with Crew(posts) as crew:
        for life in range(1, times + 1):
            _grown(database, crew, life * EVENTS_BETWEEN)
            time.sleep(rng.uniform(0.0, 0.2))
            database.path.with_name(f"{database.path.name}-{BESIDE[life % len(BESIDE)]}").unlink()
            crew.join(time.monotonic() + PATIENCE_SECONDS)
            for post in posts:
                crew.start(replace(post, life=life))
        crew.join(time.monotonic() + PATIENCE_SECONDS)
        findings = check(database, crew)
    return Attacked("-wal or -shm removed", times, findings, time.monotonic() - start)


def overwritten(database: Database, folder: Path, times: int, *, seed: int = 0) -> Attacked:
    """Overwrite a SQLite file in place with an older copy of itself while workers use it; otherwise a fail-over."""
    return failed_over(database, folder, times, seed=seed, in_place=True)


def _overwrite(database: Database, crew: Crew, events: int) -> Loss:
    """Copy the file, and give it the content of the copy a few `events` later, while nobody writes."""
    copy = database.path.with_name("copy.db")
    with database.connected() as connection, closing(sqlite3.connect(copy)) as target:
        connection.backup(target)
    with closing(sqlite3.connect(copy)) as connection:
        known = int(connection.execute("SELECT count(*) FROM flexibo_events").fetchone()[0])
    _grown(database, crew, known + events)
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        with crew.standing_still():
            with database.connected() as connection:  # or else all that the copy lacks is in the log
                connection.execute("PRAGMA busy_timeout = 100")
                is_busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            if not is_busy:
                rows = database.events(crew.plan.name)[known:]
                with database.path.open("r+b") as file:
                    file.truncate()
                    file.write(copy.read_bytes())
                copy.unlink()
                return Loss(rows, time.monotonic())
        time.sleep(0.05)
    raise SoakError(f"The log of {database.path} could not be copied to it.")


def _bring_back(
    database: Database, plan: Plan, folder: Path, answers: Sequence[Answered], losses: Sequence[Loss]
) -> None:
    """Import what the study refused and what the store lost, and check that all of it was kept."""
    path = folder / f"{database.path.stem if database.server is None else plan.name}.unstored.jsonl"
    if path.exists():
        command = [sys.executable, "-m", "flexibo", "import", str(path), "--storage", database.url, "--name", plan.name]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    if wrong := kept_wrong(database.events(plan.name), answers, kept_lines(path), losses):
        raise SoakError(listed(f"{database.kind}, study {plan.name!r}", wrong))


def _lost(answers: Sequence[Answered], losses: Sequence[Loss]) -> int:
    """How many answers were acknowledged, and lost by the store itself."""
    gone = set().union(*(loss.tokens(ANSWERS) for loss in losses))
    return sum(answer.outcome == "safe" and answer.claim.token in gone for answer in answers)


def hidden(database: Database, folder: Path, kills: int, *, seed: int = 0) -> Attacked:
    """Kill workers of different users, none of which sees the processes of the others (`hidepid`)."""
    plan = Plan(database.url, "hidden", evaluations=8 * kills, seed=seed, pace=Pace(0.3, 3.0), lease=2.0)
    result = survived(database, plan, Faults(kills=kills), folder, expected=8 * kills, hidden=True)
    return Attacked("hidepid, kill -9", kills, result.findings, result.seconds)


def pooled(database: Database, folder: Path, kills: int, *, seed: int = 0) -> Attacked:
    """Kill workers behind PgBouncer in transaction mode, and restart the server behind it once."""
    plan = Plan(database.url, "pooled", evaluations=8 * kills, seed=seed, lease=3.0)
    result = survived(database, plan, Faults(kills=kills, restarts=1), folder, expected=8 * kills)
    return Attacked("kill -9, 1 restart", kills, result.findings, result.seconds)


def _grown(database: Database, crew: Crew, events: int) -> int:
    """Wait until the study has this number of events; returns how many it has."""
    until = time.monotonic() + PATIENCE_SECONDS
    while (count := database.count(crew.plan.name)) < events:
        crew.check()
        if time.monotonic() > until or not crew.is_working():
            raise SoakError(f"The study {crew.plan.name!r} does not go on after {count} events.")
        time.sleep(0.01)
    return count
