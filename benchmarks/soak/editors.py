"""Processes that change a study, note, add, import and queue while others measure it: what their users would do."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.process import BaseProcess
from pathlib import Path

from benchmarks.soak.attacks import Attacked
from benchmarks.soak.checks import check, listed
from benchmarks.soak.crew import CONTEXT, Crew, SoakError
from benchmarks.soak.databases import Database
from benchmarks.soak.deeds import deeds, deeds_wrong, questions_wrong
from benchmarks.soak.journal import Journal
from benchmarks.soak.problem import LATER
from benchmarks.soak.worker import Plan, Post
from flexibo import Objective, Study
from flexibo.errors import FlexiBOError
from flexibo.storage import StorageError
from flexibo.transfer import learn_from

WORKERS, EDITORS = 4, 2
ROWS = 5
"""The rows of a table that is imported as a whole."""
EVENTS_PER_KILL = 8
DEEDS = 3
"""What an editor has done, at least, before it is killed."""
PATIENCE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Desk:
    """One process that edits.

    Attributes:
        plan: The study.
        folder: Where it writes its journal.
        slot: Which of those side by side it is.
        life: How many there were in its place before it.
        end: It ends once this file exists.
    """

    plan: Plan
    folder: Path
    slot: int
    end: Path
    life: int = 0

    @property
    def journal(self) -> Path:
        """The file in which it writes down what it does."""
        return self.folder / f"{self.plan.name}-editor-{self.slot}-{self.life}.jsonl"


class Editor:
    """Does one thing after the other to a study, each with a mark that no other has.

    Args:
        desk: What it works on.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._rng = random.Random(f"{desk.plan.seed} {desk.slot} {desk.life}")
        self._journal = Journal(desk.journal)
        self._deeds: dict[str, Callable[[Study], tuple[list[object], Callable[[], object]]]] = {
            "note": self._note,
            "add": self._add,
            "learn": self._learn,
            "enqueue": self._enqueue,
            "change": self._change,
        }

    def until_the_end(self) -> None:
        """Work until the file is there that says so."""
        with Study.load(self._desk.plan.url, self._desk.plan.name) as study:
            number = 0
            while not self._desk.end.exists():
                kind = self._rng.choice(list(self._deeds))
                marks, deed = self._deeds[kind](study)
                self._journal.write("means", number, kind=kind, marks=marks)
                try:
                    deed()
                except StorageError:
                    raise
                except FlexiBOError:
                    self._journal.write("refused", number)
                else:
                    self._journal.write("safe", number)
                if self._rng.random() < 0.1:
                    with suppress(FlexiBOError):  # there may be nothing to confirm, or the budget is too small
                        study.confirm(readings=1)
                number += 1

    def _note(self, study: Study) -> tuple[list[object], Callable[[], object]]:
        text = f"note {self._rng.getrandbits(60)}"
        return [text], lambda: study.note(text)

    def _add(self, study: Study) -> tuple[list[object], Callable[[], object]]:
        value = self._rng.uniform(10.0, 20.0)
        return [value], lambda: study.add(self._design(), {"energy": value})

    def _learn(self, study: Study) -> tuple[list[object], Callable[[], object]]:
        """Import a table; its values are below zero."""
        designs, values = [self._design() for _ in range(ROWS)], [-self._rng.uniform(10.0, 20.0) for _ in range(ROWS)]
        table = self._desk.journal.with_suffix(".csv")
        lines = [f"{d['x']!r},{d['k']},{d['n']},{value!r}" for d, value in zip(designs, values, strict=True)]
        table.write_text("\n".join(["x,k,n,energy", *lines]) + "\n", encoding="utf-8")
        return list(values), lambda: learn_from(study, table)

    def _enqueue(self, study: Study) -> tuple[list[object], Callable[[], object]]:
        why = f"queued {self._rng.getrandbits(60)}"
        return [why], lambda: study.enqueue(self._design(), ["energy"], why=why)

    def _change(self, study: Study) -> tuple[list[object], Callable[[], object]]:
        """Change a range; sometimes an objective comes in addition, of which not all workers have the function."""
        high = self._rng.uniform(0.5, 1.0)
        more = [Objective(name) for name in LATER if self._rng.random() < 0.2]
        return [high], lambda: study.change(options={"x": (0.0, high)}, objectives=more)

    def _design(self) -> dict[str, float | int]:
        return {
            "x": self._rng.uniform(0.0, 1.0),
            "k": self._rng.choice([1, 2, 3, 4]),
            "n": 10 * self._rng.randint(1, 51),
        }


def edit(desk: Desk) -> None:
    """Edit the study until the end."""
    Editor(desk).until_the_end()


def edited(database: Database, folder: Path, kills: int, *, seed: int = 0) -> Attacked:
    """Kill those who measure a study and those who change it; the former are half of the victims."""
    start = time.monotonic()
    rng = random.Random(f"{seed} edited")
    expected = EVENTS_PER_KILL * kills
    plan = Plan(database.url, "edited", budget=expected / 2, seed=seed, is_edited=True)
    plan.create()
    desks = [Desk(plan, folder, slot, folder / "end") for slot in range(EDITORS)]
    lives: list[Desk] = []
    with Crew([Post(plan, folder, slot, by_hand=slot % 2 == 0) for slot in range(WORKERS)]) as crew:
        present = {desk.slot: _started(desk, lives) for desk in desks}
        try:
            for done in range(kills):
                slot = rng.randrange(EDITORS)
                _wait(database, crew, (done + 1) * expected // kills, present, desks[slot])
                time.sleep(rng.uniform(0.0, 0.1))
                if done % 2 and crew.kill(rng):
                    continue
                present[slot].kill()
                present[slot].join()
                desks[slot] = replace(desks[slot], life=desks[slot].life + 1)
                present[slot] = _started(desks[slot], lives)
            (folder / "end").touch()
            for process in present.values():
                process.join(PATIENCE_SECONDS)
                if process.exitcode != 0:
                    raise SoakError(f"An editor of {plan.name!r} ended with {process.exitcode}.")
        finally:
            for process in present.values():
                process.kill()
        # Of what was changed after a worker had ended, those that are left may not be able to measure all.
        crew.start(Post(plan, folder, WORKERS))
        crew.join(time.monotonic() + PATIENCE_SECONDS)
        findings = check(database, crew)
    rows = database.events(plan.name)
    done_deeds = [deed for desk in lives for deed in deeds(desk.journal)]
    if wrong := [*deeds_wrong(rows, done_deeds), *questions_wrong(rows)]:
        raise SoakError(listed(f"{database.kind}, study {plan.name!r}", wrong))
    return Attacked("kill -9, edited meanwhile", kills, findings, time.monotonic() - start)


def _started(desk: Desk, lives: list[Desk]) -> BaseProcess:
    lives.append(desk)
    process = CONTEXT.Process(target=edit, args=(desk,), daemon=True)
    process.start()
    return process


def _wait(database: Database, crew: Crew, events: int, editors: dict[int, BaseProcess], desk: Desk) -> None:
    """Wait until a study has this number of events, and an editor has done a few things."""
    until = time.monotonic() + PATIENCE_SECONDS
    while len(deeds(desk.journal)) < DEEDS or database.count(crew.plan.name) < events:
        crew.check()
        ended = [process.exitcode for process in editors.values() if process.exitcode not in (None, -signal.SIGKILL)]
        if ended or time.monotonic() > until:
            raise SoakError(f"The study {crew.plan.name!r} does not go on; editors ended with {ended}.")
        time.sleep(0.01)
