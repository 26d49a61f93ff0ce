"""How many workers one database serves: ``python -m benchmarks.workers``.

Processes ask and tell evaluations that take no time, as fast as they can, in one study on a SQLite file and on a
throw-away PostgreSQL server. They are counted while all of them work; afterwards every answer that a worker was told is
safe must be stored once. With ``--evaluation 10`` an evaluation takes 10 s, which is closer to what studies are for.
The exit status is 1 if a worker died, an answer was lost, or SQLite was slower than it must be.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tests import postgres

from benchmarks.results import machine
from benchmarks.soak.crew import Crew, SoakError
from benchmarks.soak.databases import Database, postgresql, sqlite_file
from benchmarks.soak.history import answers_wrong
from benchmarks.soak.journal import Account, account
from benchmarks.soak.ledger import replayed
from benchmarks.soak.problem import Pace
from benchmarks.soak.worker import Plan, Post

WORKERS = (1, 8, 32, 100)
DATABASES = ("sqlite", "postgresql")
MUST = {8: 60.0, 100: 30.0}
"""Evaluations per second that must be reached on SQLite, by the number of workers."""
START_SECONDS = 300.0
END_SECONDS = 300.0
LEASE_SECONDS = 60.0
CONNECTIONS = "300"


@dataclass(frozen=True, slots=True)
class Served:
    """What workers did together.

    Attributes:
        workers: How many there were.
        dead: How many ended with an error.
        said: What the first of these said last.
        wrong: What is wrong with the stored answers; empty if every safe one is stored once.
        per_second: Evaluations per second while all worked.
        answers: How many answers they were told are safe, from the start to the end.
        median: The median of the evaluations of a worker; without fairness it is far from the mean.
        slowest: The longest ask or tell, in seconds.
        cpu: Seconds of processor time of all workers together per evaluation, which unlike the clock does not depend
            on what else the machine does.
        memory: Megabytes of a worker that it does not share with others.
    """

    workers: int
    dead: int
    said: str
    wrong: Sequence[str]
    per_second: float
    answers: int
    median: float
    slowest: float
    cpu: float
    memory: float

    def verdict(self, *, must: float | None) -> str:
        """What did not hold; empty if everything did."""
        if self.dead:
            return f"{self.dead} dead"
        if self.wrong:
            return f"{len(self.wrong)} wrong"
        return f"below {must:g}" if must is not None and self.per_second < must else ""


def served(database: Database, name: str, folder: Path, *, workers: int, seconds: float, pace: Pace) -> Served:
    """Let workers share a study, and count what they do, for some seconds, once all have begun."""
    plan = Plan(database.url, name, lease=LEASE_SECONDS, pace=pace, candidates=100, fails=False)
    plan.opened().close()
    end = folder / f"{name}.end"
    posts = [Post(plan, folder, slot, sync=False, end=end) for slot in range(workers)]
    with Crew(posts) as crew:
        _wait_for_all(crew)
        begin, used = time.monotonic(), _cpu_seconds(crew)
        time.sleep(seconds)
        counted, used = time.monotonic() - begin, _cpu_seconds(crew) - used
        memory = statistics.median(_own_megabytes(life.process.pid or 0) for life in crew.lives)
        end.touch()
        for life in crew.lives:
            life.process.join(END_SECONDS)
        dead = [life for life in crew.lives if life.process.exitcode != 0]
    accounts = [account(life.post.journal) for life in crew.lives]
    rows = database.events(name)
    wrong = [*replayed(rows).wrong, *answers_wrong(rows, [answer for each in accounts for answer in each.answers])]
    within = [sum(begin <= at < begin + counted for at in each.safe) for each in accounts]
    return Served(
        workers=workers,
        dead=len(dead),
        said=dead[0].post.log.read_text(encoding="utf-8")[-500:] if dead else "",
        wrong=wrong,
        per_second=sum(within) / counted,
        answers=sum(len(each.safe) for each in accounts),
        median=statistics.median(within),
        slowest=max(_slowest(each) for each in accounts),
        cpu=used / max(sum(within), 1),
        memory=memory,
    )


def _wait_for_all(crew: Crew) -> None:
    """Wait until every worker has asked something, or died."""
    until = time.monotonic() + START_SECONDS
    waiting = list(crew.lives)
    while waiting:
        waiting = [life for life in waiting if life.process.is_alive() and not account(life.post.journal).names]
        if time.monotonic() > until:
            raise SoakError(f"{len(waiting)} workers did not begin within {START_SECONDS:g} s.")
        time.sleep(0.2)


def _slowest(each: Account) -> float:
    return max(each.slowest.values(), default=0.0)


def _cpu_seconds(crew: Crew) -> float:
    """Processor time of all workers so far."""
    total = 0
    for life in crew.lives:
        with suppress(OSError):  # it has ended
            text = Path(f"/proc/{life.process.pid}/stat").read_text(encoding="utf-8", errors="replace")
            total += sum(int(word) for word in text.rpartition(")")[2].split()[11:13])
    return total / os.sysconf("SC_CLK_TCK")


def _own_megabytes(pid: int) -> float:
    """Memory of a process that no other process shares; 0 where Linux does not say."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def table(found: Sequence[tuple[str, Served]], musts: Sequence[float | None], *, seconds: float) -> Table:
    """One row per database and number of workers."""
    result = Table(title=f"One study, ask and tell, counted for {seconds:g} s while all workers are at work")
    for column in ("database", "workers", "evaluations/s", "median of a worker", "longest wait", "CPU each", "memory"):
        result.add_column(column, justify="left" if column == "database" else "right")
    for column in ("dead", "lost or doubled", "verdict"):
        result.add_column(column, justify="right")
    for (kind, each), must in zip(found, musts, strict=True):
        result.add_row(
            kind,
            str(each.workers),
            f"{each.per_second:.1f}",
            f"{each.median:g}",
            f"{each.slowest:.1f} s",
            f"{1e3 * each.cpu:.0f} ms",
            f"{each.memory:.0f} MB",
            str(each.dead),
            str(len(each.wrong)),
            each.verdict(must=must) or "held",
        )
    return result


def _must(kind: str, workers: int) -> float | None:
    return MUST.get(workers) if kind == "SQLite" else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, print the table, and return the exit status."""
    given = _arguments(arguments)
    postgres._SETTINGS.update(fsync="on", full_page_writes="on", max_connections=CONNECTIONS)
    folder = Path(tempfile.mkdtemp(prefix="flexibo-workers-"))
    pace = Pace(given.evaluation, given.evaluation, at_least=given.evaluation)
    found: list[tuple[str, Served]] = []
    for name in given.databases:
        for workers in given.workers:
            place = folder / f"{name}-{workers}"
            place.mkdir()
            database = sqlite_file(place) if name == "sqlite" else postgresql(postgres.server())
            print(f"{database.kind}, {workers} workers ...", file=sys.stderr, flush=True)
            one = served(database, f"w{workers}", place, workers=workers, seconds=given.seconds, pace=pace)
            found.append((database.kind, one))
            for line in [one.said, *one.wrong[:3]] if one.dead or one.wrong else ():
                print(line, file=sys.stderr, flush=True)
    shutil.rmtree(folder)
    console = Console(width=None if Console().is_terminal else 150)
    for fact, value in machine().items():
        if fact in ("platform", "processor", "cores", "load before", "python", "flexibo"):
            console.print(f"{fact:>12}  {value}", highlight=False)
    console.print(f"{'load after':>12}  {', '.join(f'{load:.2f}' for load in os.getloadavg())}", highlight=False)
    musts = [None if given.evaluation else _must(kind, each.workers) for kind, each in found]
    console.print(table(found, musts, seconds=given.seconds))
    return 1 if any(each.verdict(must=must) for (_, each), must in zip(found, musts, strict=True)) else 0


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers", description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=WORKERS, help="numbers of workers (1 8 32 100)")
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=DATABASES, help="where to run them")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long to count (20)")
    parser.add_argument("--evaluation", type=float, default=0.0, help="seconds that an evaluation takes (0)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
