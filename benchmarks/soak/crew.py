"""Processes that share a study, and what is done to them: killed, frozen, started again."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.process import BaseProcess

from benchmarks.soak.journal import is_asked
from benchmarks.soak.worker import Plan, Post, work

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["benchmarks.soak.worker", "flexibo.transfer", "flexibo.storage.sql", "psycopg"])

PATIENCE_SECONDS = 10.0
"""How long to wait until a worker has a question in its hands."""


class SoakError(RuntimeError):
    """What must hold does not."""


@dataclass(slots=True)
class Life:
    """One process, from its start to its end.

    Attributes:
        post: What it was started for.
        process: The process.
        killed: Whether it was killed.
        frozen: Whether it was once stopped for longer than its lease.
        harmed: When it was killed or stopped, on the machine's steady clock.
        stands_still: Whether it is stopped now.
    """

    post: Post
    process: BaseProcess
    killed: bool = False
    frozen: bool = False
    harmed: list[float] = field(default_factory=list)
    stands_still: bool = False


class Crew:
    """The processes of one plan.

    They are forked from a process that has imported everything, so that they begin to work at once.

    Args:
        posts: What each of them is started for; all are of one plan.
    """

    def __init__(self, posts: Sequence[Post]) -> None:
        self.posts = posts
        self.plan: Plan = posts[0].plan
        self.lives: list[Life] = []
        self._present: dict[int, Life] = {}

    def __enter__(self) -> Crew:
        for post in self.posts:
            self._start(post)
        return self

    def __exit__(self, *_: object) -> None:
        """Kill the remaining workers."""
        for life in self._present.values():
            life.process.kill()
            life.process.join()

    def kill(self, rng: random.Random) -> bool:
        """Kill one of those that work, and start another in its place; False if none works."""
        victim = self._victim(rng)
        if victim is None:
            return False
        victim.killed = True
        victim.harmed.append(self._note("kill", victim))
        victim.process.kill()
        victim.process.join()
        self._start(replace(victim.post, life=victim.post.life + 1))
        return True

    def freeze(self, rng: random.Random) -> Life | None:
        """Stop one of those that work, as soon as one has a question in its hands; None if none works."""
        until = time.monotonic() + PATIENCE_SECONDS
        while self.is_working() and not self._measuring() and time.monotonic() < until:
            time.sleep(0.01)
        victim = self._victim(rng, self._measuring())
        if victim is not None and victim.process.pid is not None:
            victim.frozen = victim.stands_still = True
            victim.harmed.append(self._note("freeze", victim))
            os.kill(victim.process.pid, signal.SIGSTOP)
        return victim

    def thaw(self, life: Life) -> None:
        """Let one that was stopped go on."""
        if life.process.pid is not None:
            self._note("thaw", life)
            os.kill(life.process.pid, signal.SIGCONT)
            life.stands_still = False

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Stop all that work for a moment."""
        stopped = [life.process.pid for life in self._working() if life.process.pid is not None]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)

    def is_working(self) -> bool:
        """Whether one of them has not come to its end."""
        return any(life.process.is_alive() for life in self._present.values())

    def check(self) -> None:
        """Complain of a process that ended with an error."""
        for life in self.lives:
            if not life.killed and life.process.exitcode not in (None, 0):
                said = life.post.log.read_text(encoding="utf-8")[-2000:]
                raise SoakError(f"A worker of {self.plan.name!r} ended with {life.process.exitcode}:\n{said}")

    def join(self, until: float) -> None:
        """Wait for all to come to their end, until this time on the steady clock."""
        while self.is_working():
            self.check()
            if time.monotonic() > until:
                raise SoakError(f"The study {self.plan.name!r} did not come to its end in time.")
            time.sleep(0.02)
        self.check()

    def _note(self, what: str, life: Life) -> float:
        """Log what is done to which worker, to investigate a soak that failed; returns when."""
        now = time.monotonic()
        with life.post.folder.joinpath(f"{self.plan.name}.faults").open("a", encoding="utf-8") as file:
            file.write(f"{now:.3f} {what} {life.post.journal.stem}\n")
        return now

    def start(self, post: Post) -> None:
        """Start another worker, in the place of one that came to its end."""
        self._start(post)

    def _start(self, post: Post) -> None:
        process = CONTEXT.Process(target=work, args=(post,), daemon=True)
        process.start()
        life = Life(post, process)
        self.lives.append(life)
        self._present[post.slot] = life

    def _measuring(self) -> list[Life]:
        """Those that have a question in their hands."""
        return [life for life in self._working() if is_asked(life.post.journal)]

    def _working(self) -> list[Life]:
        present = [life for life in self._present.values() if not life.stands_still]
        return [life for life in present if life.process.is_alive()]

    def _victim(self, rng: random.Random, rather: Sequence[Life] = ()) -> Life | None:
        """One of those that are named, or of all that work."""
        working = rather or self._working()
        return rng.choice(working) if working else None
