"""Asks an ASGI application as a server would, without one: any method, path and header, each as it is given."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlencode

import pytest

SECONDS = 60.0
"""How long an answer may take on a crowded machine."""


@dataclass(frozen=True)
class LatestView:
    """What the application answered."""

    path: str
    status_code: int
    raw_headers: list[tuple[str, str]]
    sent: bytes

    @property
    def headers(self) -> dict[str, str]:
        assert len({name for name, _ in self.raw_headers}) == len(self.raw_headers), "a header came twice"
        return dict(self.raw_headers)

    @property
    def content(self) -> bytes:
        return gzip.decompress(self.sent) if self.headers.get("content-encoding") == "gzip" else self.sent

    @property
    def text(self) -> str:
        return self.content.decode()

    def json(self) -> Any:
        return json.loads(self.content)


class Client:
    """Asks one application.

    Args:
        app: The application.
        host: What the Host header says, unless a request says otherwise.
    """

    def __init__(self, app: Any, host: str = "localhost:8765") -> None:
        self.app = app
        self._host = host

    def get(self, target: str, **more: Any) -> LatestView:
        return self.request("GET", target, **more)

    def request(
        self,
        method: str,
        target: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = (),
        fails: type[Exception] | None = None,
    ) -> LatestView:
        if params is not None:
            target += f"?{urlencode(params)}"
        pairs = headers.items() if isinstance(headers, Mapping) else headers
        given = [(_bytes(name).lower(), _bytes(value)) for name, value in pairs]
        if not any(name == b"host" for name, _ in given):
            given.append((b"host", self._host.encode()))
        raw_path, _, query = target.encode("latin-1").partition(b"?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(raw_path.decode("latin-1")),
            "raw_path": raw_path,
            "query_string": query,
            "root_path": "",
            "headers": given,
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8765),
        }
        return asyncio.run(asyncio.wait_for(self._asked(scope, target, fails), SECONDS))

    async def _asked(self, scope: dict[str, Any], target: str, fails: type[Exception] | None) -> LatestView:
        messages: list[dict[str, Any]] = []
        ended = asyncio.Event()
        bodies = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> dict[str, Any]:
            if bodies:
                return bodies.pop()
            await ended.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            messages.append(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                ended.set()

        if fails is None:
            await self.app(scope, receive, send)
        else:
            with pytest.raises(fails):  # a server prints it
                await self.app(scope, receive, send)
        start = messages[0]
        assert start["type"] == "http.response.start"
        headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in start["headers"]]
        return LatestView(
            target, start["status"], headers, b"".join(message.get("body", b"") for message in messages[1:])
        )


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("latin-1")
