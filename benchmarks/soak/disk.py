"""A disk that fails at each write and each flush of a worker, and power losses at any moment between them.

A library that is loaded before all others (``disk.c``, built here) counts the writes and flushes to the folder of a
SQLite study. In one trial after the other, one of them fails, is cut short or kills the worker. Then the study goes on
to its end, and its history is checked. One trial is recorded, and played back up to each of its operations.
"""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from benchmarks.soak.checks import check, listed
from benchmarks.soak.crew import Crew, Life, SoakError
from benchmarks.soak.databases import sqlite_file
from benchmarks.soak.history import answers_wrong
from benchmarks.soak.journal import account
from benchmarks.soak.ledger import replayed
from benchmarks.soak.power import Keep, Operation, after_power_loss, operations, written
from benchmarks.soak.problem import INSTANT
from benchmarks.soak.worker import Plan, Post, work
from flexibo.storage.sql import SQLStorage

SOURCE = Path(__file__).with_name("disk.c")
MODES = {"error": 1, "disk full": 2, "short write": 3, "kill -9 before": 4, "kill -9 within": 5}
KILLS = ("kill -9 before", "kill -9 within")
RECORD = 6
EVALUATIONS = 3
STUDY = "disk"


@dataclass(frozen=True, slots=True)
class Trials:
    """Trials of one kind, all of which kept what must hold.

    Attributes:
        what: What the disk did.
        trials: How often.
        acknowledged: Answers that workers were told are safe in them.
        errors: Errors that workers saw, and overcame by opening the study again.
    """

    what: str
    trials: int
    acknowledged: int
    errors: int


def has_compiler() -> bool:
    """Whether the library can be built here."""
    return shutil.which("cc") is not None


def disk_failed(folder: Path, *, step: int = 1, seed: int = 0) -> list[Trials]:
    """Try every `step`-th write and flush; raise a `SoakError` if anything that must hold does not."""
    library = folder / "disk.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl", "-lpthread"], check=True)
    command = [sys.executable, "-m", "benchmarks.soak.disk", str(folder), str(step), str(seed)]
    done = subprocess.run(command, env=os.environ | {"LD_PRELOAD": str(library)}, capture_output=True, text=True)
    if done.returncode:
        raise SoakError(done.stderr[-3000:])
    return [Trials(**fields) for fields in json.loads(done.stdout)]


def main(folder: Path, step: int, seed: int) -> list[Trials]:
    """All trials, in processes forked from this one, which has the library loaded."""
    counted = folder / "counted"
    _forked(counted, partial(_worked, counted, 0, 0, seed))
    total = int((counted / "count").read_text())
    found = []
    for what, mode in MODES.items():
        acknowledged = errors = trials = 0
        for at in range(1 + seed % step, total + 1, step):
            place = folder / f"{mode}-{at}"
            one = _trial(place, mode, at, seed, dies=what in KILLS)
            acknowledged, errors, trials = acknowledged + one.acknowledged, errors + one.errors, trials + 1
            shutil.rmtree(place)
        found.append(Trials(what, trials, acknowledged, errors))
    return [*found, _power_losses(folder / "power", step, seed)]


def _trial(place: Path, mode: int, at: int, seed: int, *, dies: bool) -> Trials:
    """One worker with a disk that fails once, and another one that goes on if it was killed."""
    killed = _forked(place, partial(_worked, place, mode, at, seed), may_die=dies)
    died = time.monotonic()
    if killed:
        _forked(place, partial(_worked, place, 0, 0, seed, life=1))
    _forked(place, partial(_checked, place, seed, [died] if killed else []))
    accounts = [account(journal) for journal in sorted(place.glob("disk-*.jsonl"))]
    acknowledged = sum(answer.outcome == "safe" for each in accounts for answer in each.answers)
    return Trials("", 1, acknowledged, int((place / "errors").read_text()) if not killed else 0)


def _post(place: Path, seed: int, life: int = 0) -> Post:
    (place / "store").mkdir(parents=True, exist_ok=True)
    plan = Plan(
        sqlite_file(place / "store").url,
        STUDY,
        evaluations=EVALUATIONS,
        seed=seed,
        lease=60.0,
        pace=INSTANT,
        fails=False,
    )
    return Post(plan, place, 0, life, on_error="again")


def _worked(place: Path, mode: int, at: int, seed: int, life: int = 0) -> None:
    post = _post(place, seed, life)
    disk = ctypes.CDLL(None)
    disk.soak_disk(os.fsencode(place / "store"), mode, ctypes.c_long(at), os.fsencode(place / "record"))
    errors = work(post)
    disk.soak_disk_count.restype = ctypes.c_long
    (place / "count").write_text(str(disk.soak_disk_count()))
    (place / "errors").write_text(str(errors))


def _checked(place: Path, seed: int, died: Sequence[float]) -> None:
    """Look at the study, and at what its workers saw."""
    lives = [_post(place, seed, life) for life in range(2 if died else 1)]
    crew = Crew(lives[:1])
    nobody = multiprocessing.Process()
    crew.lives += [Life(post, nobody, killed=bool(died) and not post.life) for post in lives]
    crew.lives[0].harmed += died
    check(sqlite_file(place / "store"), crew)


def _power_losses(place: Path, step: int, seed: int) -> Trials:
    """A recorded run, played back up to each operation, with none, all or some of what was not flushed."""
    post = _post(place, seed)
    _forked(place, partial(_recorded, place, post))
    done = operations((place / "record").read_bytes())
    _forked(place, partial(_played_back, place, post, done, step, seed))
    acknowledged, trials = json.loads((place / "played").read_text())
    return Trials("power loss", trials, acknowledged, 0)


def _recorded(place: Path, post: Post) -> None:
    ctypes.CDLL(None).soak_disk(os.fsencode(place), RECORD, ctypes.c_long(0), os.fsencode(f"{place}.record"))
    work(post)
    os.replace(f"{place}.record", place / "record")


def _played_back(place: Path, post: Post, done: Sequence[Operation], step: int, seed: int) -> None:
    rng = random.Random(seed)
    keeps: list[Keep] = [lambda _: 0.0, lambda _: 1.0, lambda _: rng.choice((0.0, rng.random(), 1.0))]
    acknowledged = trials = 0
    for end in range(1 + seed % step, len(done) + 1, step):
        for keep in keeps:
            acknowledged += _lost_power(place / "after", post, done[:end], keep)
            trials += 1
    (place / "played").write_text(json.dumps((acknowledged, trials)))


def _lost_power(place: Path, post: Post, done: Sequence[Operation], keep: Keep) -> int:
    """How many answers were acknowledged before the power was lost, all of which are there."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for path, content in after_power_loss(done, keep).items():
        if path.startswith("store/"):
            (place / Path(path).name).write_bytes(content)
    journal = place / post.journal.name
    journal.write_bytes(written(done, post.journal.name))
    answers = account(journal).answers
    database = sqlite_file(place)
    rows = database.events(STUDY)
    wrong = [*answers_wrong(rows, answers), *replayed(rows).wrong]
    wrong += [damage] if (damage := database.damage() if database.path.exists() else "") else []
    if rows and len(SQLStorage(database.url, STUDY).read()) != len(rows):  # which checks the digests
        wrong.append("The library reads other rows.")
    if wrong:
        raise SoakError(listed(f"After {len(done)} operations and a power loss", wrong))
    return sum(answer.outcome == "safe" for answer in answers)


def _forked(place: Path, action: Callable[[], object], *, may_die: bool = False) -> bool:
    """Do something in a process of its own; returns whether it was killed, which only some may be."""
    place.mkdir(parents=True, exist_ok=True)
    child = os.fork()
    if not child:
        status = 1
        try:
            action()
            status = 0
        except BaseException as error:
            (place / "error").write_text(f"{type(error).__name__}: {error}")
        finally:
            os._exit(status)
    _, ended = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(ended)
    if (killed and not may_die) or (not killed and os.waitstatus_to_exitcode(ended)):
        said = "".join(path.read_text() for path in (place / "error", place / "disk-0-0.log") if path.exists())
        raise SoakError(f"{place}: ended with {ended}. {said}")
    return killed


if __name__ == "__main__":
    print(json.dumps([asdict(each) for each in main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))]))
