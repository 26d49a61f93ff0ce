"""HTML documents that contain everything they need: they open without a network and run only their own scripts.

Nothing here knows about studies: `flexibo.web.pages` builds pages of charts with it.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path

from flexibo import __version__
from flexibo._internal.files import write_atomically
from flexibo._internal.text import printable_line
from flexibo.errors import InvalidValueError

_DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
{styles}
</head>
<body>
<header><h1>{title}</h1></header>
<main>
{body}
</main>
<footer>Created by flexibo {version}. This file contains everything it shows; it needs no network.</footer>
<noscript><p>This page needs JavaScript to draw its charts.</p></noscript>
<script type="application/json" id="data">{data}</script>
{scripts}
</body>
</html>
"""


def document(title: str, body: str, *, data: str, styles: Sequence[str], scripts: Sequence[str]) -> str:
    """An HTML document whose content-security policy allows these scripts and styles and no request.

    Args:
        title: The heading, and the title of the window; any text.
        body: What stands below the heading, as HTML; the caller escapes names from outside (`html.escape`).
        data: What the scripts read from the element with the id "data", made by `embedded_json`.
        styles: Style sheets, as text.
        scripts: Scripts in the order in which they run, as text.
    """
    return _DOCUMENT.format(
        policy=_policy(scripts, styles),
        title=escape(printable_line(title)),
        styles="\n".join(f"<style>{style}</style>" for style in styles),
        body=body,
        version=escape(__version__),
        data=data,
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


def embedded_json(value: object) -> str:
    r"""A value as strict JSON that cannot end the script element it stands in, whatever names it contains.

    >>> embedded_json({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'

    Raises:
        TypeError, ValueError: The value contains what JSON cannot express.
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def write_document(path: str | Path, text: str) -> None:
    """Write a document to a file. An existing file is replaced by the complete document or left unchanged."""
    try:
        write_atomically(Path(path), text.encode())
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidValueError(f"{path} cannot be written: {reason}; give a file in a folder that exists.") from None


def _policy(scripts: Iterable[str], styles: Iterable[str]) -> str:
    """The content-security policy: these scripts and styles, identified by their hashes, and nothing else."""
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
