"""Commands for a study that a page offers to copy: quoted for the shell; none where a name could harm a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flexibo.storage import shown_url

VARIABLE = "FLEXIBO_STORAGE"


def copyable_commands(url: str, name: str, origin: Mapping[str, Any]) -> dict[str, Any]:
    """The beginnings of commands by their names, the options that end each of them, and what to know about them.

    Words of a design go between the two. Nothing of the `origin`, which others may have written, is part of a command.
    """
    storage = _absolute(url)
    is_secret = shown_url(url) != url
    words = [*(() if is_secret else ("--storage", storage)), "--name", name]
    if not all(word.isprintable() for word in words):
        unsafe = "The name of the study or of its storage has control characters: unsafe to copy to a terminal."
        return {"begin": {}, "end": "", "said": unsafe}
    has_functions = bool(origin.keys() - {"cost_unit"})
    begin = {
        "resume": "flexibo resume" if has_functions else None,
        "confirm": "flexibo confirm" if has_functions else "flexibo confirm --later",
        "enqueue": "flexibo enqueue",
        "note": "flexibo note",
    }
    said: list[str] = []
    if is_secret:
        said.append(f"Set {VARIABLE} to the URL of the storage, which has a password, before you run them.")
    if not has_functions:
        said.append(
            "The functions of this study are in a program: run that again to resume it or to measure what is queued."
        )
    return {"begin": begin, "end": shlex.join(words), "said": " ".join(said)}


def _absolute(url: str) -> str:
    """A URL that names the same SQLite file in every folder, without dots."""
    scheme, sign, path = url.partition(":///")
    if not scheme.startswith("sqlite") or not sign or not path or path.startswith(":"):
        return url
    file = Path(path).expanduser().absolute()
    return f"{scheme}:///{file.resolve() if '..' in file.parts else file}"
