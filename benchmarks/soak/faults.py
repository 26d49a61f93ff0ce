"""Studies that come to their end although their workers are killed and frozen, and their server restarted."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.soak.checks import Findings, check
from benchmarks.soak.crew import Crew, Life, SoakError
from benchmarks.soak.databases import Database
from benchmarks.soak.hiding import FIRST_USER
from benchmarks.soak.worker import Plan, Post

WORKERS = 4
PATIENCE_SECONDS = 240.0
"""How long a study may take to come to its end once nothing more is done to its workers."""
EVENTS_PER_EVALUATION = 2
CLOCKS = ("right", "back", "right", "jumping")
"""The time of day on the workers' machines, one after the other."""


@dataclass(frozen=True, slots=True)
class Faults:
    """What is done to the workers of a study.

    Attributes:
        kills: How many are killed with SIGKILL.
        freezes: How many are stopped for longer than their lease.
        restarts: How often the server is stopped at once, as by a crash, and is away for about a lease.
    """

    kills: int = 0
    freezes: int = 0
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class Survived:
    """A study that kept all that must hold, and how long it took."""

    what: str
    faults: Faults
    findings: Findings
    seconds: float


def survived(
    database: Database,
    plan: Plan,
    faults: Faults,
    folder: Path,
    *,
    expected: int,
    odd_clocks: bool = False,
    hidden: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> Survived:
    """Work on a study with four processes, do all that to them, and look whether everything held.

    Args:
        database: Where the study is kept.
        plan: The study.
        faults: What is done to the workers, at moments that the plan's seed decides, spread over the study.
        folder: Where the workers write their journals.
        expected: How many evaluations the study has, at least about; faults come during nine tenths of them.
        odd_clocks: Whether the time of day is wrong on some of the workers' machines.
        hidden: Whether each worker is a user of its own, and cannot see the processes of others.
        say: Called with the progress.
    """
    start = time.monotonic()
    posts = [_post(plan, folder, slot, odd_clocks=odd_clocks) for slot in range(WORKERS)]
    if hidden:
        posts = [replace(post, user=FIRST_USER + post.slot) for post in posts]
        _open_to_all(database, plan, folder)
    with Crew(posts) as crew:
        _harm(database, crew, faults, expected, say)
        crew.join(time.monotonic() + PATIENCE_SECONDS)
        findings = check(database, crew)
    return Survived(plan.name, faults, findings, time.monotonic() - start)


def _post(plan: Plan, folder: Path, slot: int, *, odd_clocks: bool) -> Post:
    """Every other worker asks and tells itself, the rest use `Study.run`."""
    return Post(plan, folder, slot, by_hand=slot % 2 == 0, clock=CLOCKS[slot % len(CLOCKS)] if odd_clocks else "right")


def _open_to_all(database: Database, plan: Plan, folder: Path) -> None:
    """Let every user write into the study and the folder."""
    plan.opened().close()
    folder.chmod(0o777)
    folder.parent.chmod(0o755)
    if database.server is None:
        database.path.chmod(0o666)


def _harm(database: Database, crew: Crew, faults: Faults, expected: int, say: Callable[[str], None]) -> None:
    """Do it all: each thing once the study has come as far as chance decided, and a moment of chance later."""
    rng = random.Random(f"{crew.plan.seed} {crew.plan.name}")
    kinds = ["kill"] * faults.kills + ["freeze"] * faults.freezes + ["restart"] * faults.restarts
    rng.shuffle(kinds)
    moments = sorted(rng.uniform(0.0, 0.9) * EVENTS_PER_EVALUATION * expected for _ in kinds)
    frozen: list[tuple[float, Life]] = []
    for done, (kind, moment) in enumerate(zip(kinds, moments, strict=True), start=1):
        _wait_for(database, crew, moment, frozen, alone=kind == "freeze")
        time.sleep(rng.uniform(0.0, 2.0) * crew.plan.pace.most)
        if kind == "restart":
            if database.server is None:
                raise SoakError("There is no server to restart.")
            database.server.stop()
            time.sleep(rng.uniform(0.5, 1.5) * crew.plan.lease)
            database.server.start()
        elif kind == "freeze":
            life = crew.freeze(rng)
            frozen += [] if life is None else [(time.monotonic() + rng.uniform(3.0, 4.0) * crew.plan.lease, life)]
        elif not crew.kill(rng):
            raise SoakError(f"The study {crew.plan.name!r} ended after {done - 1} of {len(kinds)} faults.")
        if done % 20 == 0 or done == len(kinds):
            say(f"{database.kind}, {crew.plan.name}: {done} of {len(kinds)} faults")
    for until, life in frozen:
        time.sleep(max(0.0, until - time.monotonic()))
        crew.thaw(life)


def _wait_for(database: Database, crew: Crew, events: float, frozen: list[tuple[float, Life]], *, alone: bool) -> None:
    """Wait until the study has a number of events, and meanwhile resume workers that were frozen long enough.

    Args:
        database: Where the study is.
        crew: Its workers.
        events: What to wait for.
        frozen: Who stands still, and until when.
        alone: Whether to wait as well until no worker is frozen.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        for each in [each for each in frozen if each[0] <= time.monotonic()]:
            frozen.remove(each)
            crew.thaw(each[1])
        if not (alone and frozen) and database.count(crew.plan.name) >= events:
            return
        crew.check()
        if time.monotonic() > until:
            raise SoakError(f"The study {crew.plan.name!r} does not go on.")
        time.sleep(0.01)
