"""Thinking about one study: pictures that need models, one at a time, in a thread, remembered while nothing changes.

Measuring matters more than looking. Whoever asks gets at once the newest picture there is, and is told when to ask
again; after a calculation that took long there is a rest, so that a dashboard takes a small part of the machine that
measures.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from flexibo._internal.text import printable_line
from flexibo.dashboard.follower import Follower
from flexibo.dashboard.growing_copy import GrowingCopy
from flexibo.dashboard.responses import Body
from flexibo.dashboard.view_requests import QUICK, SLICE, Picture
from flexibo.errors import FlexiBOError
from flexibo.study import Study

EASE = 3.0
"""After thinking, what is only out of date waits for so many times as long."""
SOON = 1.0
"""Seconds after which to ask again for what is being thought out."""
MOST_SLICES = 16
"""So many slices are remembered."""
STEP = 500
"""So many events are learned at a time."""

UNREAD = "The study has not been read yet."

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Thought:
    """A picture as it was at one version of the study.

    Attributes:
        version: The version.
        body: The picture.
    """

    version: str
    body: Body


@dataclass(frozen=True, slots=True)
class Answer:
    """What can be said at once of a picture.

    Attributes:
        thought: The newest picture; None before there is one.
        again: Seconds after which there may be a newer one; None while the study stays as it is.
    """

    thought: Thought | None
    again: float | None


class Lane:
    """Thinks out what is wanted, one picture after the other, in a thread that lives while there is something to do.

    Args:
        think: Makes a picture.
        clock: Gives seconds and never goes back.
    """

    def __init__(self, think: Callable[[Picture], object], clock: Callable[[], float]) -> None:
        self._think = think
        self._clock = clock
        self._lock = threading.Lock()
        self._wanted: set[Picture] = set()
        self._is_thinking = False
        self._rest_until = 0.0

    def rest(self) -> float:
        """Seconds that are left of the rest after the last thinking."""
        return self._rest_until - self._clock()

    def want(self, picture: Picture) -> None:
        """Have a picture thought out."""
        with self._lock:
            self._wanted.add(picture)
            if not self._is_thinking:
                self._is_thinking = True
                threading.Thread(target=self._run, name="flexibo-thinking", daemon=True).start()

    def _run(self) -> None:
        """Make the pictures that are wanted, in the order of their ranks, and rest after all of them."""
        begun = self._clock()
        while True:
            with self._lock:
                if not self._wanted:
                    self._is_thinking = False
                    return
                picture = min(self._wanted, key=lambda wanted: wanted.rank)
            self._think(picture)
            with self._lock:
                self._wanted.discard(picture)
                self._rest_until = self._clock() + EASE * (self._clock() - begun)


class Thinker:
    """Makes pictures of one study: in one lane those that need no model, in another one those that do.

    Args:
        follower: Follows the study.
        clock: Gives seconds and never goes back.
    """

    def __init__(self, follower: Follower, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._follower = follower
        self._lock = threading.Lock()
        self._thoughts: OrderedDict[Picture, Thought] = OrderedDict()
        self._quick, self._slow = Lane(self._think, clock), Lane(self._think, clock)
        self._copy: GrowingCopy | None = None
        self._generation = -1

    def ask(self, picture: Picture) -> Answer:
        """The newest picture there is; a newer one is thought out where there can be one."""
        with self._lock:
            thought = self._thoughts.get(picture)
        if thought is not None and thought.version == self._follower.version:
            return Answer(thought, None)
        if self._follower.is_reading:
            return Answer(thought, SOON)
        lane = self._quick if picture.kind in QUICK else self._slow
        rest = 0.0 if thought is None else lane.rest()
        if rest <= 0.0:
            lane.want(picture)
        return Answer(thought, max(SOON, rest))

    def _think(self, picture: Picture) -> None:
        thought = self._thought(picture)
        with self._lock:
            self._thoughts[picture] = thought
            self._thoughts.move_to_end(picture)
            slices = [known for known in self._thoughts if known.kind == SLICE]
            for old in slices[: max(0, len(slices) - MOST_SLICES)]:
                del self._thoughts[old]

    def _thought(self, picture: Picture) -> Thought:
        version = self._follower.version
        try:
            if picture.kind in QUICK:
                return self._quick_thought(picture)
            study, version = self._caught_up()
            return Thought(version, Body.of(picture.view(study)))
        except FlexiBOError as error:
            reason = printable_line(error)
        except Exception as error:
            logger.warning("The picture %s failed.", picture.kind, exc_info=True)
            reason = f"This picture could not be calculated ({type(error).__name__})."
        return Thought(version, Body.of({"kind": picture.kind, "empty": reason}))

    def _quick_thought(self, picture: Picture) -> Thought:
        """A picture of the follower's own copy, which waits meanwhile."""
        with self._follower.lock:
            if self._follower.copy is None:
                raise FlexiBOError(UNREAD)
            version, view = self._follower.version, picture.view(self._follower.copy.study)
        return Thought(version, Body.of(view))

    def _caught_up(self) -> tuple[Study, str]:
        """The study as it is now, for the slow lane alone, and its version."""
        with self._follower.lock:
            generation, contents = self._follower.generation, list(self._follower.contents)
            version = self._follower.version
        if not contents:
            raise FlexiBOError(UNREAD)
        if self._copy is None or self._generation != generation:
            self._copy, self._generation = GrowingCopy(contents[0], self._follower.name), generation
        for i in range(len(self._copy), len(contents), STEP):
            self._copy.learn(contents[i : i + STEP])
        return self._copy.study, version
