"""The views that a page can request."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from flexibo import views
from flexibo.errors import InvalidValueError, unknown_name
from flexibo.study import Study

LIMIT = 1000
"""Designs or evaluations in one view: more than a screen can show, and few enough to send every second."""
POINTS = 30
"""Steps of a slice along an option."""
VIEWS: dict[str, Callable[[Study], Any]] = {
    "spending": views.spending_view,
    "trace": lambda study: views.trace_view(study, limit=LIMIT),
    "choices": views.choices_view,
    "front": lambda study: views.front_view(study, limit=LIMIT),
    "parallel": lambda study: views.parallel_view(study, limit=LIMIT),
    "importance": views.importance_view,
}
"""Views by name, in the order in which they are computed if several are requested: the fastest first."""
QUICK = frozenset({"spending", "trace", "choices"})
"""Views that need no model."""
SLICE = "slice"


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
