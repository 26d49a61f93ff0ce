"""A stored study, damaged at random again and again: nothing is read that was never written."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.damages import damaged

from benchmarks.soak.crew import SoakError
from benchmarks.soak.problem import SPACE, objectives, value
from flexibo import Study
from flexibo.storage import StorageError
from flexibo.storage.base import Content
from flexibo.storage.recovery import Verdict, readable_events
from flexibo.storage.sql import SQLStorage

STUDY = "damage"
EVALUATIONS = 60


@dataclass(frozen=True, slots=True)
class Damaged:
    """What became of damaged files."""

    files: int
    refused: int  # the damage was noticed
    unharmed: int  # every event was read as it was written
    events: int  # how many were in all these files
    certain: int  # how many of them could be read, and were known to be right


def survived_damage(folder: Path, files: int, say: Callable[[str], None]) -> Damaged:
    """Damage a number of copies of a file, and look what is read from them."""
    path, copy = folder / "study.db", folder / "copy.db"
    right = _made(path)
    data, counts = path.read_bytes(), Counter[str]()
    for seed in range(files):
        kind, now = damaged(data, seed)
        copy.write_bytes(now)
        counts[_read(copy, right, f"{kind}, seed {seed}")] += 1
        for event in readable_events(f"sqlite:///{copy}").get(STUDY, []):
            if event.verdict is Verdict.CHECKED:
                counts["certain"] += 1
                if event.content != right[event.number]:
                    raise SoakError(f"Event {event.number} is certain and wrong ({kind}, seed {seed}).")
        if (seed + 1) % 200 == 0:
            say(f"damage: {seed + 1} of {files} files")
    return Damaged(files, counts["refused"], counts["unharmed"], files * len(right), counts["certain"])


def _made(path: Path) -> list[Content]:
    study = Study(SPACE, objectives(), method="random", storage=f"sqlite:///{path}", name=STUDY, seed=0, n_initial=4)
    for _ in range(EVALUATIONS):
        evaluation = study.ask()
        if evaluation is None:
            raise SoakError(f"The study stopped: {study.stopped}")
        study.tell(evaluation, value(evaluation), cost=1.0)
    study.close()
    with closing(SQLStorage(f"sqlite:///{path}", STUDY)) as storage:
        right = storage.read()
    whole = path.with_name("whole.db")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(whole)) as target:
        source.backup(target)
    shutil.move(whole, path)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return right


def _read(path: Path, right: list[Content], what: str) -> str:
    try:
        with closing(SQLStorage(f"sqlite:///{path}", STUDY, create=False)) as storage:
            found = storage.read()
    except StorageError:
        return "refused"
    if found != right:
        raise SoakError(f"Other events are read than were written ({what}).")
    return "unharmed"
