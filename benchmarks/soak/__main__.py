"""``python -m benchmarks.soak``: kill, freeze and crowd the workers of shared studies, and see that nothing is lost.

Parts: "kills" (four processes per study, killed with SIGKILL and frozen past their lease at random moments), "restarts"
(the PostgreSQL server restarted at once, as after a crash), "throughput" (eight processes that answer as fast as they
can), "readers" (the same while others read), "crowd" (32, 64 and 100 processes), "failover" (a store that loses its
last events while one worker stands still, and another one writes first), "damage" (SQLite files damaged at random),
"files" (the files beside a SQLite file removed while workers use them), "overwritten" (a SQLite file overwritten with
an older copy while workers use it), "hidden" (workers that cannot see each other's processes), "pool" (PgBouncer in
transaction mode), "edited" (the study is changed, and results are added, imported and queued, by processes that are
killed, too) and "disk" (each write and each flush fails, kills the worker, or is the last before a power loss).
Each runs where it applies: on a SQLite file, on a throw-away PostgreSQL server. The exit status is 1 if anything that
must hold did not.
"""

from __future__ import annotations

import argparse
import math
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.table import Table
from tests import postgres

from benchmarks.results import machine
from benchmarks.soak import databases
from benchmarks.soak.attacks import Attacked, failed_over, files_removed, hidden, overwritten, pooled
from benchmarks.soak.crew import CONTEXT, SoakError
from benchmarks.soak.damage import Damaged, survived_damage
from benchmarks.soak.databases import Database, postgresql, sqlite_file
from benchmarks.soak.disk import Trials, disk_failed, has_compiler
from benchmarks.soak.editors import edited
from benchmarks.soak.faults import Faults, Survived, survived
from benchmarks.soak.hiding import can_hide
from benchmarks.soak.load import LONGEST_WAIT_SECONDS, Load, loaded
from benchmarks.soak.problem import Pace
from benchmarks.soak.worker import Plan

PARTS = (
    *("kills", "restarts", "throughput", "readers", "crowd", "failover", "damage"),
    *("files", "overwritten", "hidden", "pool", "edited", "disk"),
)
ONLY_ON = {"restarts": "postgresql", "pool": "postgresql"} | dict.fromkeys(
    ("damage", "files", "overwritten", "hidden", "disk"), "sqlite"
)
"""Parts that make sense on one kind of database."""
CROWDS = (32, 64, 100)
CONNECTIONS = "120"
EVERY = 200
"""The number of kills with which each write and flush is tried; with half of them every second one is."""
DATABASES = ("sqlite", "postgresql")
PER_FAULT = 4
"""Evaluations per kill, so that workers also get somewhere."""


def kills(database: Database, folder: Path, count: int, seed: int, say: Callable[[str], None]) -> list[Survived]:
    """Three studies in one database: one that shares a machine, one where leases decide, one that thinks."""
    far, thinking = count // 4, count // 5
    near = count - far - thinking
    plan = partial(Plan, database.url, seed=seed)
    run = partial(survived, database, folder=folder, say=say)
    expected = 12 * far  # a worker stands still for seconds, and the others work on
    leases = plan("leases", budget=1.3 * expected, elsewhere=True, pace=Pace(0.4, 1.5))
    return [
        run(plan("random", evaluations=PER_FAULT * near), Faults(kills=near), expected=PER_FAULT * near),
        run(leases, Faults(kills=far, freezes=max(1, far // 6)), expected=expected, odd_clocks=True),
        run(
            plan("flexibo", method="flexibo", evaluations=PER_FAULT * thinking),
            Faults(kills=thinking),
            expected=PER_FAULT * thinking,
        ),
    ]


def restarts(database: Database, folder: Path, count: int, seed: int, say: Callable[[str], None]) -> list[Survived]:
    """A study whose server crashes and comes back."""
    plan = Plan(database.url, "restarts", evaluations=60 * count, seed=seed, elsewhere=True, lease=3.0)
    return [survived(database, plan, Faults(restarts=count), folder, expected=60 * count, say=say)]


def faults_table(found: Sequence[tuple[str, Survived]]) -> Table:
    """What the workers of each study survived."""
    table = Table(title="Everything that was told is there, once; nothing was asked twice; every study came to its end")
    columns = (
        "database",
        "study",
        "kill -9",
        "freezes",
        "restarts",
        "evaluations",
        "told safely",
        "killed while telling",
    )
    for column in (*columns, "reissued", "released", "late answers", "lost attempts charged", "seconds"):
        table.add_column(column, justify="left" if column in ("database", "study") else "right")
    for kind, each in found:
        faults, findings = each.faults, each.findings
        numbers = (faults.kills, faults.freezes, faults.restarts, findings.evaluations, findings.safe, findings.unknown)
        events = tuple(findings.counts[name] for name in ("reissued", "released"))
        late = findings.counts["late"]
        table.add_row(
            kind, each.what, *map(str, (*numbers, *events, late, findings.counts["charged"])), f"{each.seconds:.0f}"
        )
    return table


def loads_table(found: Sequence[tuple[str, str, Load]]) -> Table:
    """How fast processes answered together."""
    table = Table(title="An instant objective, method random: 0 lost, 0 doubled, nobody told that a database is locked")
    for column in ("database", "study", "measured", "per second", "longest ask", "longest tell", "read meanwhile"):
        table.add_column(column, justify="left" if column in ("database", "study") else "right")
    for kind, what, load in found:
        waits = [f"{1e3 * load.findings.slowest[name]:.0f} ms" for name in ("ask", "tell")]
        read = "-" if load.read is None else f"{load.read} times"
        table.add_row(kind, what, f"{load.findings.evaluations:,}", f"{load.per_second:.0f}", *waits, read)
    return table


ATTACKS: dict[str, tuple[Callable[..., Attacked], int]] = {
    "failover": (failed_over, 10),
    "files": (files_removed, 20),
    "overwritten": (overwritten, 20),
    "hidden": (hidden, 8),
    "pool": (pooled, 8),
    "edited": (edited, 1),
}
"""The attacks by part, and how many kills each of their blows stands for."""


def attacks_table(found: Sequence[tuple[str, Attacked]]) -> Table:
    """What studies survived that lost commits, their log or sight of each other."""
    table = Table(
        title="What was acknowledged and not lost by the store itself is there, once; no claim had two holders"
    )
    for column in ("database", "attack", "times", "evaluations", "claims", "told safely", "unknown", "kept aside"):
        table.add_column(column, justify="left" if column in ("database", "attack") else "right")
    for column in ("reissued", "lost by the store", "seconds"):
        table.add_column(column, justify="right")
    for kind, each in found:
        of = each.findings
        numbers = (each.times, of.evaluations, of.claims, of.safe, of.unknown, of.kept, of.counts["reissued"])
        table.add_row(kind, each.what, *map(str, numbers), str(each.lost), f"{each.seconds:.0f}")
    return table


def disks_table(found: Sequence[Trials]) -> Table:
    """What one worker and its SQLite file survived."""
    table = Table(title="SQLite: one write or flush of a worker fails; every acknowledged answer is there, once")
    for column in ("the disk", "trials", "acknowledged answers", "errors seen"):
        table.add_column(column, justify="left" if column == "the disk" else "right")
    for each in found:
        table.add_row(each.what, *map(str, (each.trials, each.acknowledged, each.errors)))
    return table


class Soak:
    """All parts, one after the other.

    Args:
        given: What the command line says.
        folder: Where databases and journals go.
    """

    def __init__(self, given: argparse.Namespace, folder: Path) -> None:
        self._given = given
        self._folder = folder
        self._begun = time.monotonic()
        self.faults: list[tuple[str, Survived]] = []
        self.loads: list[tuple[str, str, Load]] = []
        self.damages: list[Damaged] = []
        self.attacks: list[tuple[str, Attacked]] = []
        self.disks: list[Trials] = []

    def run(self) -> None:
        """Run what was asked for."""
        for name in self._given.databases:
            for part in self._given.only:
                if ONLY_ON.get(part, name) == name:
                    self._part(name, part)

    def _part(self, name: str, part: str) -> None:
        folder = self._folder / f"{name}-{part}"
        folder.mkdir()
        database = self._database(name, part, folder)
        if database is None:
            return
        self.say(f"{database.kind}: {part} ...")
        given = self._given
        if part == "kills":
            self.faults += [(database.kind, e) for e in kills(database, folder, given.kills, given.seed, self.say)]
        elif part == "restarts":
            count = max(1, given.kills // 50)
            self.faults += [(database.kind, e) for e in restarts(database, folder, count, given.seed, self.say)]
        elif part == "damage":
            self.damages.append(survived_damage(folder, 4 * given.kills, self.say))
        elif part == "throughput":
            self._load(database, folder, f"8 x {given.each}", processes=8, each=given.each)
        elif part == "crowd":
            for workers in given.workers:
                each = max(1, given.each // 25)
                self._load(database, folder, f"{workers} x {each}", processes=workers, each=each)
        elif part == "disk":
            self.disks += disk_failed(folder, step=max(1, EVERY // given.kills), seed=given.seed)
        elif part in ATTACKS:
            attack, share = ATTACKS[part]
            result = attack(database, folder, math.ceil(given.kills / share), seed=given.seed)
            self.attacks.append((database.kind, result))
        else:
            for readers in (False, True):
                what = "4 processes, readers" if readers else "4 processes, no reader"
                self._load(database, folder, what, processes=4, each=max(1, given.each // 4), readers=readers)

    def _database(self, name: str, part: str, folder: Path) -> Database | None:
        """A new database for a part; None, with a line that says so, where the part cannot run."""
        if part == "hidden" and not can_hide(CONTEXT):
            self.say("hidden: left out, only root can hide processes")
            return None
        if part == "disk" and not has_compiler():
            self.say("disk: left out, there is no C compiler")
            return None
        if part == "pool":
            if shutil.which("pgbouncer") is None:
                self.say("pool: left out, PgBouncer is not installed")
                return None
            return databases.pooled(postgres.pool(), postgres.server())
        return sqlite_file(folder) if name == "sqlite" else postgresql(postgres.server())

    def _load(
        self, database: Database, folder: Path, what: str, *, processes: int, each: int, readers: bool = False
    ) -> None:
        study = f"load-{len(self.loads)}"
        load = loaded(database, study, folder, processes=processes, each=each, readers=readers)
        self.loads.append((database.kind, what, load))
        self.say(f"{database.kind}, {what}: {load.per_second:.0f} evaluations per second")
        if readers and max(load.findings.slowest.values()) > LONGEST_WAIT_SECONDS:
            raise SoakError(
                f"{database.kind}: with readers a worker waited {max(load.findings.slowest.values()):.1f} s; at most "
                f"{LONGEST_WAIT_SECONDS:g} s is allowed."
            )

    def say(self, text: str) -> None:
        """Show how far it is."""
        print(f"{time.monotonic() - self._begun:5.0f} s  {text}", file=sys.stderr, flush=True)

    def show(self) -> None:
        """Print what was found."""
        console = Console(width=None if Console().is_terminal else 190)
        for name, fact in machine().items():
            if name in ("platform", "processor", "cores", "load before", "python", "flexibo"):
                console.print(f"{name:>12}  {fact}", highlight=False)
        if self.faults:
            console.print(faults_table(self.faults))
        if self.loads:
            console.print(loads_table(self.loads))
        for damage in self.damages:
            console.print(
                f"{damage.files} damaged files: {damage.refused} refused, {damage.unharmed} read as they were written, "
                f"0 with other events; {damage.certain:,} of {damage.events:,} events brought out and certain"
            )
        if self.attacks:
            console.print(attacks_table(self.attacks))
        if self.disks:
            console.print(disks_table(self.disks))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the soak, print the tables, and return the exit status."""
    given = _arguments(arguments)
    postgres._SETTINGS.update(
        fsync="on", full_page_writes="on", max_connections=CONNECTIONS
    )  # as servers run that keep what they say they keep
    signal.signal(signal.SIGALRM, partial(_too_late, given.seconds))
    signal.setitimer(signal.ITIMER_REAL, given.seconds)
    folder = Path(tempfile.mkdtemp(prefix="flexibo-soak-"))
    soak = Soak(given, folder)
    try:
        soak.run()
    except SoakError as error:
        print(f"The soak failed, and its files are kept in {folder}. {error}", file=sys.stderr)
        return 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        soak.show()
    shutil.rmtree(folder)
    return 0


def _too_late(seconds: float, number: int, frame: FrameType | None) -> None:
    raise SoakError(f"It took longer than {seconds:g} s.")


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="kill -9 per database (200)")
    parser.add_argument("--each", type=int, default=500, help="evaluations of each of eight processes (500)")
    parser.add_argument("--workers", type=int, nargs="+", default=CROWDS, help="sizes of the crowds (32 64 100)")
    parser.add_argument("--seconds", type=float, default=2400.0, help="fail if it takes longer than this (2400)")
    parser.add_argument("--seed", type=int, default=0, help="decides the moments of the kills (0)")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="parts to run")
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=DATABASES, help="where to run them")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
