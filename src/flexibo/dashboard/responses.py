"""The content of responses: strict JSON, and the files of the page from a fixed table; a request never names a path."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from flexibo.web import SCRIPTS, STYLES, asset

SMALL = 1024  # smaller bodies are not compressed, in bytes
LARGE = 2_000_000  # larger bodies are compressed less, which takes a third of the time, in bytes
PAGE = "index.html"
TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Body:
    """A body that may be sent many times."""

    plain: bytes  # the bytes
    packed: bytes | None  # the same, compressed by gzip; None if that is not smaller

    @classmethod
    def of(cls, content: object) -> Body:
        """The body of a JSON value."""
        return cls.of_bytes(json_bytes(content))

    @classmethod
    def of_bytes(cls, plain: bytes) -> Body:
        """The body of these bytes."""
        level = 5 if len(plain) < LARGE else 1
        packed = gzip.compress(plain, compresslevel=level, mtime=0) if len(plain) >= SMALL else None
        return cls(plain, packed if packed is not None and len(packed) < len(plain) else None)

    def for_request(self, accepted: str) -> tuple[bytes, dict[str, str]]:
        """The bytes for a client that accepts these encodings, and the headers for them."""
        offered = {part.partition(";")[0].strip().lower() for part in accepted.split(",")}
        if self.packed is not None and "gzip" in offered:
            return self.packed, {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        return self.plain, {"Vary": "Accept-Encoding"}


def json_bytes(content: object) -> bytes:
    r"""A value as strict JSON in ASCII: numbers that are not finite become null, unknown types become texts.

    >>> json_bytes({"a": float("inf"), "b": (1, "é")})
    b'{"a":null,"b":[1,"\\u00e9"]}'
    """
    try:
        text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):  # rare, and slower
        text = json.dumps(_strict(content), allow_nan=False, separators=(",", ":"))
    return text.encode("ascii")


def _strict(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _strict(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    return str(value)


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
    own = [file.name for file in (files("flexibo.dashboard") / "static").iterdir()]
    return drawing | {
        name: _file(name, _own(name)) for name in own if name != PAGE and name.rpartition(".")[2] in TYPES
    }


def _own(name: str) -> str:
    return (files("flexibo.dashboard") / "static" / name).read_text(encoding="utf-8")


def _file(name: str, text: str) -> File:
    content = text.encode()
    tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
    return File(Body.of_bytes(content), TYPES[name.rpartition(".")[2]], tag)
