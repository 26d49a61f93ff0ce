"""A study as interactive charts in one HTML file, which opens in any browser without a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from flexibo import views, web
from flexibo.errors import InvalidTypeError, InvalidValueError, unknown_name
from flexibo.study import Study
from flexibo.views.axes import axis_of


class View(Protocol):
    """Any view of `flexibo.views`."""

    def to_dict(self) -> dict[str, Any]:
        """The view, ready for JSON."""


VIEWS: Mapping[str, Callable[[Study], View]] = {
    "front": views.front_view,
    "trace": views.trace_view,
    "spending": views.spending_view,
    "importance": views.importance_view,
    "parallel": views.parallel_view,
    "choices": views.choices_view,
    "curves": views.curves_view,
}
"""The function for each kind of view; a slice needs more arguments, so the caller makes it."""


def to_html(study: Study, pictures: Sequence[str | View] | None = None, *, title: str = "") -> str:
    """One HTML file with interactive charts of a study.

    Args:
        study: The study.
        pictures: Names from `flexibo.web.CHARTS`, or views such as ``slice_view(study, "energy", "cores")``; by
            default the front, its trace, the spending, learning curves if an objective has steps, the importance of
            the options, and all designs.
        title: The heading; the study's name with its objectives and constraints by default.
    """
    return web.page(_title(study, title), _drawn(study, pictures))


def write_html(
    study: Study, path: str | Path, pictures: Sequence[str | View] | None = None, *, title: str = ""
) -> None:
    """Write the page of `to_html` to a file. An existing file is replaced by the complete page or left unchanged."""
    web.write_page(path, _title(study, title), _drawn(study, pictures))


def default_pictures(study: Study) -> tuple[str, ...]:
    """The charts of a page that shows the whole study."""
    optimised = sum(bool(objective.optimise) for objective in study.objectives)
    fronts = ("front",) if optimised < 3 else ("front3d", "pairs") if optimised == 3 else ("pairs",)
    curves = ("curves",) if any(objective.stops for objective in study.objectives) else ()
    return (*fronts, "hypervolume", "region", "evaluations", "gains", "spending", *curves, "importance", "parallel")


def _title(study: Study, title: str) -> str:
    """The title of a page: the study's name, its objectives and its constraints."""
    if title:
        return title
    optimised = [objective.name for objective in study.objectives if objective.optimise]
    bounded = [f"{o.name} {axis_of(o, ()).bound_words}" for o in study.objectives if o.is_constraint and not o.optimise]
    within = f", with {_listed(bounded)}" if bounded else ""
    return f"{study.name}: {_listed(optimised)}{within}"


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _drawn(study: Study, pictures: Sequence[str | View] | None) -> list[tuple[str, dict[str, Any]]]:
    """Names of charts with their views; a view that several charts draw is made once."""
    if isinstance(pictures, str):
        raise InvalidTypeError(f"pictures is {pictures!r}; give a list of names, such as [{pictures!r}].")
    made: dict[str, dict[str, Any]] = {}
    drawn = []
    for picture in default_pictures(study) if pictures is None else pictures:
        if not isinstance(picture, str):
            view = picture.to_dict()
            drawn.append((_first_picture(view), view))
            continue
        kind = _kind(picture)
        if kind not in made:
            made[kind] = VIEWS[kind](study).to_dict()
        drawn.append((picture, made[kind]))
    return drawn


def _kind(picture: str) -> str:
    if picture not in web.CHARTS:
        raise unknown_name("picture", picture, web.CHARTS)
    kind = web.CHARTS[picture].kind
    if kind not in VIEWS:
        raise InvalidValueError(
            f"Picture {picture!r} needs arguments; make a view with {kind}_view and give that instead."
        )
    return kind


def _first_picture(view: Mapping[str, Any]) -> str:
    """The name of the default chart for a view."""
    kind = view.get("kind")
    names = [name for name, picture in web.CHARTS.items() if picture.kind == kind]
    if not names:
        raise unknown_name("kind of view", kind, {picture.kind for picture in web.CHARTS.values()})
    return names[0]
