"""The content of responses: strict JSON, compressed if that helps."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SMALL = 1024
"""Smaller bodies are not compressed, in bytes."""


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
        packed = gzip.compress(plain, compresslevel=5, mtime=0) if len(plain) >= SMALL else None
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
    return json.dumps(_strict(content), allow_nan=False, separators=(",", ":")).encode("ascii")


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
