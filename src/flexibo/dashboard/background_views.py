"""The views that a page can request, computed in background threads and kept until the study changes.

Measuring has priority over looking. A request is answered at once with the latest version of the view, and with when to
ask again. After a long computation there is a pause, so that the dashboard uses only a small part of the machine that
measures.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from flexibo import views
from flexibo._internal.text import printable_line
from flexibo.dashboard.follower import Follower, GrowingCopy
from flexibo.dashboard.responses import Body
from flexibo.errors import FlexiBOError, InvalidValueError, unknown_name
from flexibo.study import Study

PAUSE_FACTOR = 3.0  # the pause after a computation, as a multiple of the time it took
SOON = 1.0  # seconds after which to ask again for a view that is being computed
MOST_SLICES = 16  # the maximum number of slices that are kept
STEP = 500  # the number of events that are replayed at a time
UNREAD = "The study has not been read yet."
LIMIT = 1000  # designs or evaluations in one view: more than a screen can show, and few enough to send every second
POINTS = 30  # steps of a slice along an option
VIEWS: dict[str, Callable[[Study], Any]] = {
    "spending": views.spending_view,
    "trace": lambda study: views.trace_view(study, limit=LIMIT),
    "choices": views.choices_view,
    "curves": views.curves_view,
    "front": lambda study: views.front_view(study, limit=LIMIT),
    "parallel": lambda study: views.parallel_view(study, limit=LIMIT),
    "importance": views.importance_view,
}
"""Views by name, in the order in which they are computed if several are requested: the fastest first."""
QUICK = frozenset({"spending", "trace", "choices", "curves"})  # views that need no model
SLICE = "slice"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """One view that can be requested."""

    kind: str  # a name in `VIEWS`, or "slice"
    objective: str = ""  # the objective of a slice
    x: str = ""  # its first option
    y: str = ""  # its second option, or empty

    @property
    def rank(self) -> int:
        """The order of computation; slices come first, because a user is waiting for them."""
        return -1 if self.kind == SLICE else list(VIEWS).index(self.kind)

    def view(self, study: Study) -> dict[str, Any]:
        """The view of a study, ready for JSON."""
        if self.kind == SLICE:
            return views.slice_view(study, self.objective, self.x, self.y or None, points=POINTS).to_dict()
        return dict(VIEWS[self.kind](study).to_dict())


def slice_request(query: Mapping[str, str], objectives: Collection[str], options: Collection[str]) -> ViewRequest:
    """The slice that a query describes; names that the study does not have are refused."""
    given = {name: query.get(name, "") for name in ("objective", "x", "y")}
    for name, known, needed in (("objective", objectives, True), ("x", options, True), ("y", options, False)):
        if not given[name] and needed:
            raise InvalidValueError(f"The slice has no {name}; give objective=, x= and optionally y=.")
        if given[name] and given[name] not in known:
            raise unknown_name("objective" if name == "objective" else "option", given[name][:80], known)
    if given["x"] == given["y"]:
        raise InvalidValueError("The slice has the same option twice; give two different options, or leave y out.")
    return ViewRequest(SLICE, **given)


@dataclass(frozen=True, slots=True)
class ComputedView:
    """A view of one version of the study."""

    version: str  # the version of the study
    body: Body  # the view as JSON


@dataclass(frozen=True, slots=True)
class LatestView:
    """The latest version of a view."""

    view: ComputedView | None  # the view; None before the first one is computed
    again: float | None  # seconds after which there may be a newer one; None while the study does not change


class WorkQueue:
    """Computes views one after the other, in a thread that runs while there are requests."""

    def __init__(self, compute: Callable[[ViewRequest], object], clock: Callable[[], float]) -> None:
        self._compute = compute
        self._clock = clock
        self._lock = threading.Lock()
        self._wanted: set[ViewRequest] = set()
        self._is_running = False
        self._pause_until = 0.0

    def pause_left(self) -> float:
        """Seconds that are left of the pause after the last computation."""
        return self._pause_until - self._clock()

    def add(self, wanted: ViewRequest) -> None:
        """Have a view computed."""
        with self._lock:
            self._wanted.add(wanted)
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name="flexibo-views", daemon=True).start()

    def _run(self) -> None:
        """Compute the requested views in the order of their ranks, then pause."""
        begun = self._clock()
        while True:
            with self._lock:
                if not self._wanted:
                    self._is_running = False
                    return
                wanted = min(self._wanted, key=lambda request: request.rank)
            self._compute(wanted)
            with self._lock:
                self._wanted.discard(wanted)
                self._pause_until = self._clock() + PAUSE_FACTOR * (self._clock() - begun)


class BackgroundViews:
    """The views of one study: one queue computes those that need no model, another one the others."""

    def __init__(self, follower: Follower, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._follower = follower
        self._lock = threading.Lock()
        self._computed: OrderedDict[ViewRequest, ComputedView] = OrderedDict()
        self._quick, self._slow = WorkQueue(self._compute, clock), WorkQueue(self._compute, clock)
        self._copy: GrowingCopy | None = None
        self._generation = -1

    def latest(self, wanted: ViewRequest) -> LatestView:
        """The latest version of a view; a newer one is computed if the study has changed."""
        with self._lock:
            view = self._computed.get(wanted)
        if view is not None and view.version == self._follower.version:
            return LatestView(view, None)
        if self._follower.is_reading:
            return LatestView(view, SOON)
        queue = self._quick if wanted.kind in QUICK else self._slow
        pause = 0.0 if view is None else queue.pause_left()
        if pause <= 0.0:
            queue.add(wanted)
        return LatestView(view, max(SOON, pause))

    def _compute(self, wanted: ViewRequest) -> None:
        view = self._computed_view(wanted)
        with self._lock:
            self._computed[wanted] = view
            self._computed.move_to_end(wanted)
            slices = [known for known in self._computed if known.kind == SLICE]
            for old in slices[: max(0, len(slices) - MOST_SLICES)]:
                del self._computed[old]

    def _computed_view(self, wanted: ViewRequest) -> ComputedView:
        version = self._follower.version
        try:
            if wanted.kind in QUICK:
                return self._quick_view(wanted)
            study, version = self._current_study()
            return ComputedView(version, Body.of(wanted.view(study)))
        except FlexiBOError as error:
            reason = printable_line(error)
        except Exception as error:
            logger.warning("The view %s failed.", wanted.kind, exc_info=True)
            reason = f"This chart could not be computed ({type(error).__name__})."
        return ComputedView(version, Body.of({"kind": wanted.kind, "empty": reason}))

    def _quick_view(self, wanted: ViewRequest) -> ComputedView:
        """A view of the follower's own copy, which is locked meanwhile."""
        with self._follower.lock:
            if self._follower.copy is None:
                raise FlexiBOError(UNREAD)
            version, view = self._follower.version, wanted.view(self._follower.copy.study)
        return ComputedView(version, Body.of(view))

    def _current_study(self) -> tuple[Study, str]:
        """The current study, for the queue of slow views alone, and its version."""
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
