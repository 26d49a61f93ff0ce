"""Many processes that answer at once, alone and with readers that never let go."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from benchmarks.soak.checks import Findings, check
from benchmarks.soak.crew import CONTEXT, Crew, SoakError
from benchmarks.soak.databases import Database
from benchmarks.soak.journal import account
from benchmarks.soak.problem import INSTANT
from benchmarks.soak.worker import Plan, Post
from flexibo import Study

LONGEST_WAIT_SECONDS = 2.0
"""No ask and no tell may take longer while others read, on a machine with a processor to spare."""
HOLD_SECONDS = 3.0
"""How long a reader keeps one transaction open."""
PATIENCE_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Load:
    """What processes measured together, and how fast.

    Attributes:
        findings: What was found in the study.
        seconds: From the first question to the last answer.
        read: How often the whole study was read meanwhile; None without a reader.
    """

    findings: Findings
    seconds: float
    read: int | None = None

    @property
    def per_second(self) -> float:
        """Evaluations asked and told per second, by all processes together."""
        return self.findings.evaluations / self.seconds


def loaded(
    database: Database, name: str, folder: Path, *, processes: int, each: int, readers: bool = False, sync: bool = False
) -> Load:
    """Let processes answer a number of evaluations each, as fast as possible, and look for missing ones.

    Args:
        database: Where the study is kept.
        name: The study.
        folder: Where the workers write their journals.
        processes: How many work at once.
        each: How many evaluations each of them answers.
        readers: Whether two processes read all the while: one loads the study again and again, the other keeps one
            transaction open for seconds.
        sync: Whether the journals are flushed to the disk line by line.
    """
    plan = Plan(database.url, name, evaluations=processes * each, lease=60.0, pace=INSTANT, candidates=100, fails=False)
    plan.opened().close()
    posts = [Post(plan, folder, slot, quota=each, sync=sync) for slot in range(processes)]
    reads = folder / f"{name}.reads"
    with _reading(database, name, reads) if readers else _nobody(), Crew(posts) as crew:
        crew.join(time.monotonic() + PATIENCE_SECONDS)
    findings = check(database, crew)
    spans = [span for life in crew.lives if (span := account(life.post.journal).span)]
    if findings.counts["told"] != processes * each or findings.safe != processes * each:
        raise SoakError(f"{findings.counts['told']} evaluations were measured instead of {processes * each}.")
    seconds = max(last for _, last in spans) - min(first for first, _ in spans)
    return Load(findings, seconds, int(reads.read_text()) if readers else None)


@contextmanager
def _nobody() -> Iterator[None]:
    yield


@contextmanager
def _reading(database: Database, name: str, reads: Path) -> Iterator[None]:
    """Processes that read until the end; an error of theirs is one of the soak."""
    end = CONTEXT.Event()
    processes = [
        CONTEXT.Process(target=_load_again_and_again, args=(database.url, name, end, reads), daemon=True),
        CONTEXT.Process(target=_hold, args=(_place(database), name, end), daemon=True),
    ]
    for process in processes:
        process.start()
    try:
        yield
        end.set()
        for process in processes:
            process.join(60)
            if process.exitcode != 0:
                raise SoakError(f"A reader ended with {process.exitcode}.")
    finally:
        for process in processes:
            process.kill()
            process.join()


def _load_again_and_again(url: str, name: str, end: Event, reads: Path) -> None:
    """What a dashboard does: open the study, read it, read it again, and open it again."""
    done, known = 0, 0
    while not end.is_set():
        study = Study.load(url, name)
        for _ in range(5):
            study.refresh()
            if len(study.events) < known:
                raise SoakError("A reader saw fewer events than before.")
            known = len(study.events)
            _ = study.spent, study.pending, study.reference, repr(study)
            done += 1
            end.wait(0.1)
    reads.write_text(str(done))


def _place(database: Database) -> dict[str, object]:
    """How the database's own driver reaches it."""
    if database.server is None:
        return {"path": str(database.path)}
    return {"host": str(database.server.folder), "port": database.server.port, "dbname": database.name}


def _hold(place: dict[str, object], name: str, end: Event) -> None:
    """Read within one transaction for seconds, again and again: what it reads must not change meanwhile."""
    query = f"SELECT count(*) FROM flexibo_events WHERE study = {'?' if 'path' in place else '%s'}"
    connection: Any
    if "path" in place:
        connection = sqlite3.connect(str(place["path"]), isolation_level=None, timeout=30)
    else:
        import psycopg

        connection = psycopg.connect(**place, user="postgres", autocommit=True)  # type: ignore[arg-type]
    while not end.is_set():
        connection.execute("BEGIN" if "path" in place else "BEGIN ISOLATION LEVEL REPEATABLE READ")
        first = connection.execute(query, (name,)).fetchone()
        end.wait(HOLD_SECONDS)
        if connection.execute(query, (name,)).fetchone() != first:
            raise SoakError("What one transaction read changed under it.")
        connection.execute("COMMIT")
    connection.close()
