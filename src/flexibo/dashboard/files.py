"""The files of the page: a fixed table, read once. A request never names a path."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from flexibo.dashboard.responses import Body
from flexibo.web import SCRIPTS, STYLES, asset

PAGE = "index.html"
OWN = (
    "api.js",
    "app.css",
    "app.js",
    "colours.js",
    "compare.js",
    "dom.js",
    "format.js",
    "headline.js",
    "icon.svg",
    "list.js",
    "live.js",
    "panel.js",
    "study.js",
    "tables.js",
    "theme.js",
)
"""The dashboard's own files; the scripts that draw charts come from `flexibo.web`."""
TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class File:
    """One file of the page."""

    body: Body  # its content
    type: str  # its media type
    tag: str  # a hash of its content


@cache
def page() -> File:
    """The page itself, with the names of the scripts that draw charts."""
    styles = "\n".join(f'<link rel="stylesheet" href="/static/{name}">' for name in STYLES)
    scripts = "\n".join(f'<script defer src="/static/{name}"></script>' for name in SCRIPTS)
    text = _own(PAGE).replace("<!-- styles -->", styles).replace("<!-- scripts -->", scripts)
    return _file(PAGE, text)


@cache
def page_files() -> dict[str, File]:
    """The files that the page loads, by name."""
    drawing = {name: _file(name, asset(name)) for name in (*SCRIPTS, *STYLES)}
    return drawing | {name: _file(name, _own(name)) for name in OWN}


def _own(name: str) -> str:
    return (files("flexibo.dashboard") / "static" / name).read_text(encoding="utf-8")


def _file(name: str, text: str) -> File:
    content = text.encode()
    tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
    return File(Body.of_bytes(content), TYPES[name.rpartition(".")[2]], tag)
