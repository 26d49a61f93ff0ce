"""Section 9: asking and telling in a SQLite file, against Optuna's RDB storage on the same disk in the same run.

Both sides draw designs at random, so that next to nothing is thought and the storage is what is timed, on the clock: a
commit waits for the disk. An evaluation of ours is one objective of a design, a trial of Optuna's is a whole design.
"""

from __future__ import annotations

import itertools
import multiprocessing
import sqlite3
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from benchmarks.results import Row
from flexibo import Study
from flexibo.storage.sql import SQLStorage

SECTION = 9
OBJECTIVES = ("error", "energy")
CHOICES = [1, 2, 3, 4]
LARGEST = 512
PROCESSES = 8
WARM_UP = 30
BLOCKS = 6
ROUNDS = 3
"""Both sides take turns, so that a machine that is busy for a while is so for both."""
PATIENCE_SECONDS = 100
"""How long Optuna's SQLite waits for another writer; with the default of 5 s trials fail among eight processes."""
Work = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Size:
    """How many evaluations and trials are timed."""

    count: int


FULL = Size(300)
QUICK = Size(60)


def against_optuna(size: Size) -> list[Row]:
    """Section 9."""
    what, aim = "Ask and tell in a SQLite file against Optuna's RDB storage", 5.0
    if find_spec("optuna") is None:
        note = "Optuna is not installed (extra bench)"
        return [Row(section=SECTION, what=what, measured=None, unit="x", must=1.0, aim=aim, note=note)]
    with tempfile.TemporaryDirectory() as folder:
        seconds, written = _alone(Path(folder), size.count)
        ours, theirs = seconds["flexibo"], seconds["optuna"]
        many_ours, many_theirs = _in_turns(Path(folder), size.count)
        rows = [
            *_compared(what, ours, theirs, aim, f"one process, {size.count} of each after {WARM_UP}, random"),
            *_compared(f"  {PROCESSES} processes at once", many_ours, many_theirs, aim, _waits(size.count)),
        ]
        return [*rows, *_commits(seconds, _pragmas(Path(folder)), written)]


def open_flexibo(folder: Path) -> Work:
    """One evaluation of flexibo, asked and told; the study is created if necessary."""
    space = {"x": (0.0, 1.0), "k": CHOICES, "n": (1, LARGEST)}
    url = f"sqlite:///{folder / 'flexibo.db'}"
    study = Study(space, OBJECTIVES, method="random", storage=url, seed=0, n_initial=1, candidates=100)

    def work() -> None:
        evaluation = study.ask()
        if evaluation is None:
            raise RuntimeError(f"The study stopped before the benchmark was over: {study.stopped}")
        x = float(evaluation.design["x"])
        study.tell(evaluation, x if evaluation.objective == OBJECTIVES[0] else 1.0 - x, cost=1.0)

    return work


def open_optuna(folder: Path) -> Work:
    """One trial of Optuna, asked and told; the study is created if necessary."""
    study = _optuna_study(folder)

    def work() -> None:
        trial = study.ask()
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.suggest_categorical("k", CHOICES)
        trial.suggest_int("n", 1, LARGEST)
        study.tell(trial, [x, 1.0 - x])

    return work


def _optuna_study(folder: Path) -> Any:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = optuna.storages.RDBStorage(
        f"sqlite:///{folder / 'optuna.db'}", engine_kwargs={"connect_args": {"timeout": PATIENCE_SECONDS}}
    )
    return optuna.create_study(
        storage=storage,
        sampler=optuna.samplers.RandomSampler(),
        study_name="study",
        directions=["minimize"] * len(OBJECTIVES),
        load_if_exists=True,
    )


def _alone(folder: Path, count: int) -> tuple[dict[str, float], float]:
    """Seconds of an evaluation, a trial and bare commits, in turns; and how many transactions a trial writes."""
    works = {
        "flexibo": open_flexibo(folder),
        "optuna": open_optuna(folder),
        "commit": _open_storage(folder),
        "wal": _open_bare(folder, "wal"),
        "delete": _open_bare(folder, "delete"),
    }
    for work in works.values():
        _seconds(work, WARM_UP)
    each = max(1, count // BLOCKS)
    blocks = [[_seconds(work, each) / each for work in works.values()] for _ in range(BLOCKS)]
    means = np.mean(blocks, axis=0).tolist()
    return dict(zip(works, means, strict=True)), _written(lambda: _seconds(works["optuna"], WARM_UP)) / WARM_UP


def _written(work: Callable[[], object]) -> int:
    """How many transactions with something to write are committed through SQLAlchemy."""
    written = 0
    dirty = False

    def executing(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        nonlocal dirty
        dirty = dirty or statement.startswith(("INSERT", "UPDATE", "DELETE"))

    def committing(connection: Any) -> None:
        nonlocal written, dirty
        written, dirty = written + dirty, False

    listeners: dict[str, Callable[..., None]] = {"before_cursor_execute": executing, "commit": committing}
    for name, listener in listeners.items():
        sa.event.listen(sa.Engine, name, listener)
    work()
    for name, listener in listeners.items():
        sa.event.remove(sa.Engine, name, listener)
    return written


def _in_turns(folder: Path, count: int) -> tuple[float, float]:
    """Seconds per evaluation and per trial when eight processes share them; each side has every other round."""
    rounds = []
    for number in range(ROUNDS):
        place = folder / f"round-{number}"
        place.mkdir()
        rounds.append([_together(opened, place, count) for opened in (open_flexibo, open_optuna)])
    ours, theirs = np.mean(rounds, axis=0)
    return float(ours), float(theirs)


def _together(opened: Callable[[Path], Work], place: Path, count: int) -> float:
    """Seconds per evaluation or trial when eight processes share them, from the first to the last."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.storage", "flexibo.storage.sql", "optuna"])
    _seconds(opened(place), WARM_UP)
    barrier, times = context.Barrier(PROCESSES), context.SimpleQueue()
    each = max(1, count // PROCESSES)
    processes = [
        context.Process(target=_one_of_many, args=(opened, place, each, barrier, times), daemon=True)
        for _ in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        if process.exitcode != 0:
            raise RuntimeError(f"A process of the benchmark ended with {process.exitcode}.")
    spans = [times.get() for _ in processes]
    seconds: float = max(end for _, end in spans) - min(start for start, _ in spans)
    return seconds / (each * PROCESSES)


def _one_of_many(opened: Callable[[Path], Work], folder: Path, count: int, barrier: Barrier, times: Any) -> None:
    work = opened(folder)
    work()
    barrier.wait()
    start = time.monotonic()
    _seconds(work, count)
    times.put((start, time.monotonic()))


def _compared(what: str, ours: float, theirs: float, aim: float, note: str) -> list[Row]:
    """A trial against an evaluation; and the same per value and per design, as a trial measures all objectives."""
    n = len(OBJECTIVES)
    return [
        Row(section=SECTION, what=what, measured=theirs / ours, unit="x", must=1.0, aim=aim, note=note),
        Row(
            section=SECTION,
            what=f"  per design measured in {n} objectives",
            measured=theirs / (n * ours),
            unit="x",
            note=f"{n} evaluations of ours, each safe by itself, against one trial: the same per objective value",
        ),
        Row(section=SECTION, what="  flexibo, an evaluation", measured=1e3 * ours, unit="ms"),
        Row(section=SECTION, what="  Optuna, a trial", measured=1e3 * theirs, unit="ms"),
    ]


def _waits(count: int) -> str:
    return f"{PROCESSES} x {count // PROCESSES} in one file, {ROUNDS} rounds; Optuna may wait 100 s for a lock"


def _commits(seconds: Mapping[str, float], modes: Mapping[str, str], written: float) -> list[Row]:
    """What a transaction costs on this disk: ours, and SQLite's alone with the settings of either."""
    ours = f"an evaluation has 2; journal_mode {modes['flexibo']}, synchronous FULL: safe when the power fails"
    theirs = f"as Optuna has it (journal_mode {modes['optuna']}, SQLite's default FULL); its trial has {written:.3g}"
    notes = {
        "commit": ("  a commit of ours, one event", ours),
        "wal": ("    SQLite alone, WAL and FULL", ""),
        "delete": ("    SQLite alone, DELETE and FULL", theirs),
    }
    return [
        Row(section=SECTION, what=what, measured=1e3 * seconds[name], unit="ms", note=note)
        for name, (what, note) in notes.items()
    ]


def _open_storage(folder: Path) -> Work:
    """One event, committed by our storage with nothing around it."""
    storage = SQLStorage(f"sqlite:///{folder / 'commits.db'}", "study")
    known = itertools.count()
    return lambda: storage.commit(next(known), lambda new: [{"event": "note", "text": "x" * 300}])


def _open_bare(folder: Path, mode: str) -> Work:
    """One row, committed with nothing but SQLite."""
    connection = sqlite3.connect(folder / f"{mode}.db", isolation_level=None)
    connection.execute(f"PRAGMA journal_mode={mode}")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE events (number INTEGER PRIMARY KEY, content TEXT)")

    def work() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO events (content) VALUES (?)", ("x" * 330,))
        connection.execute("COMMIT")

    return work


def _pragmas(folder: Path) -> dict[str, str]:
    """How each file keeps its results."""
    found = {}
    for name in ("flexibo", "optuna"):
        with closing(sqlite3.connect(folder / f"{name}.db")) as connection:
            found[name] = str(connection.execute("PRAGMA journal_mode").fetchone()[0]).upper()
    return found


def _seconds(work: Work, count: int) -> float:
    """Seconds on the clock of doing something so often."""
    start = time.perf_counter()
    for _ in range(count):
        work()
    return time.perf_counter() - start
