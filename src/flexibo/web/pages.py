"""Pages that hold everything in one file: they open without a network, and nothing but their own scripts may run."""

from __future__ import annotations

import json
import os
import secrets
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from flexibo import __version__
from flexibo._internal.text import printable_line
from flexibo.errors import InvalidValueError, unknown_name
from flexibo.web.assets import PAGE_SCRIPTS, PAGE_STYLES, SCRIPTS, STYLES, asset
from flexibo.web.pictures import PICTURES

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
{styles}
</head>
<body>
<header><h1>{title}</h1></header>
<main>
{figures}
</main>
<footer>Drawn by flexibo {version}. Everything is in this file; it needs no network.</footer>
<noscript><p>The pictures of this page need JavaScript.</p></noscript>
<script type="application/json" id="views">{views}</script>
{scripts}
</body>
</html>
"""
_FIGURE = """<figure>
<figcaption><h2>{title}</h2><p>{caption}</p></figcaption>
<div class="chart" data-picture="{name}" data-view="{view}"></div>
</figure>"""


def page(title: str, pictures: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """One HTML file with interactive pictures.

    Args:
        title: What stands above them, and in the title of the window.
        pictures: Names of pictures (see `PICTURES`) with what each shows: views of a study as dictionaries.
    """
    if not pictures:
        raise InvalidValueError("No picture is given; a page needs at least one.")
    texts = [_checked(name, view) for name, view in pictures]
    views = list(dict.fromkeys(texts))
    figures = [
        _FIGURE.format(title=PICTURES[name].title, caption=PICTURES[name].caption, name=name, view=views.index(text))
        for (name, _), text in zip(pictures, texts, strict=True)
    ]
    scripts = [asset(name) for name in (*SCRIPTS, *PAGE_SCRIPTS)]
    styles = [asset(name) for name in (*STYLES, *PAGE_STYLES)]
    return _PAGE.format(
        policy=_policy(scripts, styles),
        title=escape(printable_line(title)),
        styles="\n".join(f"<style>{style}</style>" for style in styles),
        figures="\n".join(figures),
        version=escape(__version__),
        views=f"[{','.join(views)}]",
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


def write_page(path: str | Path, title: str, pictures: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """Write a page; a file that is there already is replaced, by the whole page or not at all.

    Args:
        path: Where to write it.
        title: See `page`.
        pictures: See `page`.
    """
    _write_whole(Path(path), page(title, pictures))


def _checked(name: str, view: Mapping[str, Any]) -> str:
    """A view as JSON that may stand in a page."""
    if name not in PICTURES:
        raise unknown_name("picture", name, PICTURES)
    kind, needed = view.get("kind"), PICTURES[name].kind
    if kind != needed:
        raise InvalidValueError(
            f"Picture {name!r} is given a view of kind {kind!r}; it draws views of kind {needed!r}."
        )
    try:
        text = json.dumps(view, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise InvalidValueError(
            f"The view of picture {name!r} cannot be written as JSON: {printable_line(error)}."
        ) from None
    # Nothing in it can end the script element or begin another, whatever the names in it are.
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _policy(scripts: Iterable[str], styles: Iterable[str]) -> str:
    """The content-security policy: these scripts and styles, told by their hashes, and nothing else from anywhere."""
    rules = {
        "default-src": "'none'",
        "script-src": " ".join(map(_hash, scripts)),
        "style-src": " ".join(map(_hash, styles)),
        "img-src": "data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _write_whole(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(draft, "x", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidValueError(f"{path} cannot be written: {reason}; give a file in a folder that exists.") from None
    finally:
        with suppress(OSError):
            draft.unlink()
