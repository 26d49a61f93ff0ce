"""The scripts and styles that draw pictures in a browser: one visible table, and nothing outside it is ever read."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from flexibo.errors import unknown_name

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
    "charts-layout.js",
    "charts-around.js",
    "charts-pointing.js",
    "charts.js",
)
"""What draws pictures, in the order in which a page loads it; `window.flexiboCharts` is there after the last."""
STYLES = ("charts.css",)  # what pictures look like
PAGE_SCRIPTS, PAGE_STYLES = ("page.js",), ("page.css",)
"""What a page in one file needs besides."""


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
