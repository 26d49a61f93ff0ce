"""The charts that a browser can draw, the scripts and styles that draw them, and pages of charts in one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from flexibo._internal.text import printable_line
from flexibo.errors import InvalidValueError, unknown_name
from flexibo.web.document import document, embedded_json, write_document

SCRIPTS = (
    "echarts.min.js",
    "charts-text.js",
    "charts-axes.js",
    "charts-symbols.js",
    "charts-looks.js",
    "charts-designs.js",
    "charts-front.js",
    "charts-front3d.js",
    "charts-traces.js",
    "charts-bars.js",
    "charts-parallel.js",
    "charts-slice.js",
    "charts-choices.js",
    "charts-curves.js",
    "charts-overlay.js",
    "charts-layout.js",
    "charts-around.js",
    "charts-pointing.js",
    "charts.js",
)
"""What draws pictures, in the order in which a page loads it; `window.flexiboCharts` is there after the last."""
STYLES = ("charts.css",)  # what pictures look like
PAGE_SCRIPTS, PAGE_STYLES = ("page.js",), ("page.css",)  # what a page in one file needs besides
_FIGURE = """<figure>
<figcaption><h2>{title}</h2><p>{caption}</p></figcaption>
<div class="chart" data-picture="{name}" data-view="{view}"></div>
</figure>"""


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: the kind of view it draws, its title, and a caption that says what it shows."""

    kind: str
    title: str
    caption: str


CHARTS = {
    "front": Chart("front", "Pareto front", "Confirmed designs, and promising ones that are not measured yet."),
    "pairs": Chart(
        "front",
        "Pareto front in pairs",
        "The same designs in every pair of objectives. What seems dominated in one is better in another.",
    ),
    "front3d": Chart(
        "front",
        "Pareto front in three dimensions",
        "The designs in three objectives. Drag, or press Shift and an arrow key, to rotate.",
    ),
    "hypervolume": Chart(
        "trace", "Hypervolume", "The hypervolume dominated by the measured designs, against cost; higher is better."
    ),
    "region": Chart(
        "trace",
        "Pareto region",
        "The remaining uncertainty: the volume between the optimistic and the pessimistic front.",
    ),
    "evaluations": Chart(
        "trace",
        "Evaluations of each objective",
        "How often each objective was measured, against cost. Cheap and informative ones are measured more often.",
    ),
    "spend": Chart("trace", "Cost of each objective", "The cost spent on each objective, against total cost."),
    "gains": Chart("trace", "Gain per cost", "The expected gain of each evaluation per expected cost."),
    "spending": Chart("spending", "Spending", "The cost of each objective, so far and at the end of the budget."),
    "importance": Chart(
        "importance",
        "Importance of the options",
        "The share of each objective's variance that an option explains alone, and with interactions.",
    ),
    "parallel": Chart(
        "parallel", "Designs and objectives", "A line for each design, across all its options and objectives."
    ),
    "slice": Chart(
        "slice", "Prediction of the surrogate", "An objective over one or two options; the other options are fixed."
    ),
    "curves": Chart("curves", "Learning curves", "The values of each design at its steps, and where it was stopped."),
    "choices": Chart("choices", "Why these evaluations", "The expected gain of each evaluation, and the runner-up."),
}
"""Charts by name; `flexiboCharts.draw` in the scripts uses the same names."""


@cache
def asset(name: str) -> str:
    """The text of a script or a style.

    >>> asset("charts.js").startswith('"use strict";')
    True
    """
    known = (*SCRIPTS, *STYLES, *PAGE_SCRIPTS, *PAGE_STYLES)
    if name not in known:
        raise unknown_name("script or style", name, known)
    return (files("flexibo.web") / "static" / name).read_text(encoding="utf-8")


def page(title: str, charts: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """One HTML file with interactive charts: names in `CHARTS`, each with its view as a dictionary."""
    if not charts:
        raise InvalidValueError("The list of charts is empty; a page needs at least one.")
    texts = [_checked(name, view) for name, view in charts]
    views = list(dict.fromkeys(texts))
    figures = [
        _FIGURE.format(title=CHARTS[name].title, caption=CHARTS[name].caption, name=name, view=views.index(text))
        for (name, _), text in zip(charts, texts, strict=True)
    ]
    return document(
        title,
        "\n".join(figures),
        data=f"[{','.join(views)}]",
        styles=[asset(name) for name in (*STYLES, *PAGE_STYLES)],
        scripts=[asset(name) for name in (*SCRIPTS, *PAGE_SCRIPTS)],
    )


def write_page(path: str | Path, title: str, charts: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """Write a page to a file. An existing file is replaced by the complete page or left unchanged."""
    write_document(path, page(title, charts))


def _checked(name: str, view: Mapping[str, Any]) -> str:
    if name not in CHARTS:
        raise unknown_name("chart", name, CHARTS)
    kind, needed = view.get("kind"), CHARTS[name].kind
    if kind != needed:
        raise InvalidValueError(f"Chart {name!r} is given a view of kind {kind!r}; it draws views of kind {needed!r}.")
    try:
        return embedded_json(view)
    except (TypeError, ValueError) as error:
        raise InvalidValueError(
            f"The view of chart {name!r} cannot be written as JSON: {printable_line(error)}."
        ) from None
