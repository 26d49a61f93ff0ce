"""The guard: who may ask, for what, and the headers that every answer carries."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from flexibo.dashboard.responses import json_bytes

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
HEADERS: dict[str, str] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
"""Of every answer, unless it has its own."""
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
LONGEST_TARGET = 4096
"""Bytes of a path and its query."""
METHODS = ("GET", "HEAD")
_HOST = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{1,5})?")


@dataclass(frozen=True, slots=True)
class Access:
    """Who may ask.

    Attributes:
        token: What a request must show; None where everybody who reaches the server may ask.
        hosts: The host names under which the server may be asked for; None is any. Only these stop a page of a stranger
            whose name has been made to lead here.
        cookie: The name of the cookie that stands for the token.
    """

    token: str | None
    hosts: frozenset[str] | None
    cookie: str = "flexibo"

    @property
    def pass_value(self) -> str:
        """What the cookie holds: it follows from the token, which does not follow from it."""
        return hmac.new((self.token or "").encode(), b"flexibo dashboard", "sha256").hexdigest()

    def allows_host(self, named: Iterable[bytes]) -> bool:
        """Whether a request with these Host headers may be answered."""
        given = list(named)
        match = _HOST.fullmatch(given[0].decode("latin-1")) if len(given) == 1 else None
        if match is None:
            return False
        return self.hosts is None or (match["six"] or match["name"]).lower().rstrip(".") in self.hosts

    def is_token(self, given: bytes) -> bool:
        """Whether this is the token; takes as long whatever was given."""
        return self.token is not None and hmac.compare_digest(given, self.token.encode())

    def knows(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether a request shows the token, or the cookie that stands for it."""
        found = False
        for name, value in headers:
            if name == b"authorization" and value[:7].lower() == b"bearer ":
                found |= self.is_token(value[7:].strip())
            elif name == b"cookie":
                found |= hmac.compare_digest(_cookie(value, self.cookie), self.pass_value.encode())
        return found


class Guard:
    """Refuses what must not be answered, and puts the headers on every answer.

    Args:
        app: Answers what is let through.
        access: Who may ask.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] == "http":
            await self._answer(scope, receive, with_headers(send))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        access, headers = self._access, scope["headers"]
        if not access.allows_host(value for name, value in headers if name == b"host"):
            await refuse(send, 421, "This dashboard is not known by that host name; open the address that it printed.")
        elif scope["method"] not in METHODS:
            await refuse(send, 405, "The dashboard only shows; ask with GET or HEAD.", {"allow": ", ".join(METHODS)})
        elif len(scope.get("raw_path") or b"") + len(scope["query_string"]) > LONGEST_TARGET:
            await refuse(send, 414, f"The address is too long; it may have {LONGEST_TARGET} letters.")
        elif access.token is None or access.knows(headers):
            await self._app(scope, receive, send)
        elif scope["path"] == "/" and access.is_token(_token_in(scope["query_string"])):
            cookie = f"{access.cookie}={access.pass_value}; Path=/; HttpOnly; SameSite=Strict"
            await refuse(send, 303, "The token is right; go on without it.", {"location": "/", "set-cookie": cookie})
        else:
            sentence = "A token is needed; open the address that the dashboard printed when it was started."
            await refuse(send, 401, sentence, {"www-authenticate": "Bearer"})


async def refuse(send: Send, status: int, sentence: str, headers: dict[str, str] | None = None) -> None:
    """Answer with one sentence, as JSON."""
    body = json_bytes({"error": sentence})
    sent = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    await send({"type": "http.response.start", "status": status, "headers": _encoded(sent)})
    await send({"type": "http.response.body", "body": body})


def with_headers(send: Send) -> Send:
    """Send with the headers of every answer."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", ()))
            names = {name.lower().decode("latin-1") for name, _ in given}
            message = {**message, "headers": [*given, *_encoded({k: v for k, v in HEADERS.items() if k not in names})]}
        await send(message)

    return sending


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


def _token_in(query: bytes) -> bytes:
    given = parse_qs(query.decode("latin-1"), max_num_fields=20).get("token", [""]) if query.count(b"&") < 20 else [""]
    return given[0].encode("utf-8", "surrogateescape")


def _cookie(header: bytes, name: str) -> bytes:
    """The value of a cookie; others on the same host may have set malformed ones."""
    pairs = (part.strip().partition(b"=") for part in header.split(b";"))
    return next((value for key, _, value in pairs if key == name.encode()), b"")
