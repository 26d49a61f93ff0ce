"""A store that loses its last events again and again, as an asynchronous fail-over does, while workers write to it.

Afterwards nothing is stored under another design, nothing was charged twice, and everything that was measured, answers
that were acknowledged and lost included, is in the study or in the file beside it, from where it is brought back.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from benchmarks.soak.crew import SoakError
from benchmarks.soak.databases import Database
from benchmarks.soak.problem import SPACE, objectives, value
from flexibo import Study
from flexibo.errors import InvalidValueError
from flexibo.storage import LogReplacedError
from flexibo.storage.sql import SQLStorage
from flexibo.transfer import import_answers, read_answers
from flexibo.transfer.study_copies import copy_of

STUDY = "failover"
WORKERS = 4
MOST_LOST = 3  # events at a time
PAUSE_SECONDS = (0.1, 0.4)


@dataclass(frozen=True, slots=True)
class FailedOver:
    """What workers and the study went through."""

    losses: int
    lost: int  # events
    acknowledged: int
    kept: int  # answers in the file beside the study
    brought_back: int
    seconds: float


@dataclass(slots=True)
class _Seen:
    """What the workers saw."""

    measured: set[str] = field(default_factory=set)
    acknowledged: set[str] = field(default_factory=set)
    errors: list[BaseException] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    knowing: threading.Lock = field(default_factory=threading.Lock)
    """Held while a worker opens the study again: what is lost in between, no process might know."""


def failed_over(database: Database, losses: int, seed: int, say: Callable[[str], None]) -> FailedOver:
    """Let four workers measure while the store loses its last events a number of times, and check what is left."""
    start, seen, chance = time.monotonic(), _Seen(), random.Random(f"{seed} {STUDY}")
    _opened(database).close()
    threads = [threading.Thread(target=_work, args=(database, seen), daemon=True) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    lost = 0
    for done in range(1, losses + 1):
        time.sleep(chance.uniform(*PAUSE_SECONDS))
        with seen.knowing:
            lost += _lose(database, chance.randint(1, MOST_LOST))
        if done % 20 == 0:
            say(f"{database.kind}, fail-over: {done} of {losses}")
    time.sleep(1.0)
    seen.stop.set()
    for thread in threads:
        thread.join()
    if seen.errors:
        raise SoakError(f"A worker ended with {seen.errors[0]!r}.")
    kept, brought_back = _checked(database, seen)
    seconds = time.monotonic() - start
    return FailedOver(losses, lost, len(seen.acknowledged), kept, brought_back, seconds)


def _opened(database: Database) -> Study:
    return Study(
        SPACE, objectives(), method="random", storage=database.url, name=STUDY, seed=0, n_initial=4, candidates=40
    )


def _work(database: Database, seen: _Seen) -> None:
    study = _opened(database)
    try:
        while not seen.stop.is_set():
            try:
                evaluation = study.ask()
                if evaluation is None:
                    raise SoakError(f"The study stopped: {study.stopped}")
                time.sleep(0.02)
                with seen.lock:
                    seen.measured.add(evaluation.token)
                study.tell(evaluation, value(evaluation), cost=1.0)
                with seen.lock:
                    seen.acknowledged.add(evaluation.token)
            except (LogReplacedError, InvalidValueError):  # as the message says: open the study again
                with seen.knowing:
                    with suppress(LogReplacedError):  # what was lost since the message is kept, too
                        study.refresh()
                    study.close()
                    study = _opened(database)
        with suppress(LogReplacedError):  # what was lost last is noticed, too
            study.refresh()
    except BaseException as error:
        seen.errors.append(error)
    finally:
        study.close()


def _lose(database: Database, count: int) -> int:
    """Lose the last events; the first two, which make the study, are left."""
    with database.connected() as connection:
        mark = "?" if database.server is None else "%s"
        connection.execute("BEGIN IMMEDIATE" if database.server is None else "BEGIN")
        if database.server is not None:
            connection.execute("SELECT study FROM flexibo_studies WHERE study = %s FOR UPDATE", (STUDY,))
        query = f"SELECT number FROM flexibo_events WHERE study = {mark} AND number > 1 ORDER BY number DESC"
        rows = connection.execute(f"{query} LIMIT {count}", (STUDY,)).fetchall()
        for (number,) in rows:
            connection.execute(f"DELETE FROM flexibo_events WHERE study = {mark} AND number = {number}", (STUDY,))
        connection.execute("COMMIT")
    return len(rows)


def _checked(database: Database, seen: _Seen) -> tuple[int, int]:
    """Check the stored events against what the workers saw; returns how many answers were kept and brought back."""
    storage = SQLStorage(database.url, STUDY)
    study = copy_of(storage.read(), STUDY).study
    answers = Counter(e["token"] for e in storage.read() if e["event"] in ("told", "spent"))
    if any(count > 1 for count in answers.values()):
        raise SoakError("An attempt was charged twice.")
    _check_values(study)
    lines = storage.unstored.read_bytes().splitlines() if storage.unstored.exists() else []
    kept = read_answers(lines, "the file")
    tokens = {str(one.answer["token"]) for one in kept}
    nowhere = (seen.measured | seen.acknowledged) - answers.keys() - tokens
    if nowhere:
        raise SoakError(f"{len(nowhere)} measurements are neither in the study nor in {storage.unstored}.")
    copy = copy_of(storage.read(), STUDY)
    counts, _ = import_answers(kept, storage, copy, "the file") if kept else (Counter[str](), [])
    _check_values(copy_of(storage.read(), STUDY).study)
    storage.unstored.unlink(missing_ok=True)
    return len(kept), counts["added"] + counts["told"]


def _check_values(study: Study) -> None:
    """Every value is that of its design."""
    for measurement in study.history.measurements:
        for name, found in measurement.values.items():
            evaluation: Any = type("Question", (), {"design": measurement.design, "objective": name})
            if found != value(evaluation):
                raise SoakError(f"{name} of {dict(measurement.design)} is stored as {found}.")
