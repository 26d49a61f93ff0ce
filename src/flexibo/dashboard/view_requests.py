"""The pictures that the page can ask for, and what each is made with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from flexibo.errors import InvalidValueError, unknown_name
from flexibo.study import Study
from flexibo.views.choices import choices_view
from flexibo.views.front import front_view
from flexibo.views.importance import importance_view
from flexibo.views.parallel import parallel_view
from flexibo.views.slices import slice_view
from flexibo.views.spending import spending_view
from flexibo.views.trace import trace_view

LIMIT = 1000
"""Designs or evaluations in one picture: more than a screen can tell apart, and few enough to send every second."""
POINTS = 30
"""Steps of a slice along an option."""

VIEWS: dict[str, Callable[[Study], Any]] = {
    "spending": spending_view,
    "trace": lambda study: trace_view(study, limit=LIMIT),
    "choices": choices_view,
    "front": lambda study: front_view(study, limit=LIMIT),
    "parallel": lambda study: parallel_view(study, limit=LIMIT),
    "importance": importance_view,
}
"""By name, in the order in which they are thought out where several are wanted: what is quick comes first."""
QUICK = frozenset({"spending", "trace", "choices"})
"""What needs no model."""
SLICE = "slice"


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture that can be asked for.

    Attributes:
        kind: A name in `VIEWS`, or "slice".
        objective: What a slice shows.
        x: The option along it.
        y: A second option, or empty.
    """

    kind: str
    objective: str = ""
    x: str = ""
    y: str = ""

    @property
    def rank(self) -> int:
        """What is wanted first; a slice is, because somebody has just asked for it."""
        return -1 if self.kind == SLICE else list(VIEWS).index(self.kind)

    def view(self, study: Study) -> dict[str, Any]:
        """The picture of a study, ready for JSON."""
        if self.kind == SLICE:
            return dict(slice_view(study, self.objective, self.x, self.y or None, points=POINTS).to_dict())
        return dict(VIEWS[self.kind](study).to_dict())


def slice_picture(query: Mapping[str, str], objectives: Collection[str], options: Collection[str]) -> Picture:
    """The slice that a query means; names that the study does not have are refused."""
    asked = {name: query.get(name, "") for name in ("objective", "x", "y")}
    for name, known, needed in (("objective", objectives, True), ("x", options, True), ("y", options, False)):
        if not asked[name] and needed:
            raise InvalidValueError(f"The slice has no {name}; give objective=, x= and, if you like, y=.")
        if asked[name] and asked[name] not in known:
            raise unknown_name("objective" if name == "objective" else "option", asked[name][:80], known)
    if asked["x"] == asked["y"]:
        raise InvalidValueError("The slice has the same option twice; give two different ones, or leave y out.")
    return Picture(SLICE, **asked)
