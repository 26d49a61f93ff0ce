"""Access control: which requests are answered, and the headers of every response."""

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
"""The headers of every response, unless it sets them itself."""
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
LONGEST_TARGET = 4096  # the maximum number of bytes of a path with its query
METHODS = ("GET", "HEAD")
READ_ONLY = "The dashboard is read-only; use GET or HEAD."
_HOST = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{1,5})?")


@dataclass(frozen=True, slots=True)
class Access:
    """Which requests are answered.

    Allowed host names stop other web sites whose name resolves to this machine (DNS rebinding).
    """

    token: str | None  # the secret that a request must contain; None if every request is answered
    hosts: frozenset[str] | None  # the allowed host names; None allows any
    cookie: str = "flexibo"  # the name of the cookie that replaces the token

    @property
    def cookie_value(self) -> str:
        """The value of the cookie: derived from the token, which cannot be derived from it."""
        return hmac.new((self.token or "").encode(), b"flexibo dashboard", "sha256").hexdigest()

    def allows_host(self, named: Iterable[bytes]) -> bool:
        """Whether a request with these Host headers is allowed."""
        given = list(named)
        match = _HOST.fullmatch(given[0].decode("latin-1")) if len(given) == 1 else None
        if match is None:
            return False
        return self.hosts is None or (match["six"] or match["name"]).lower().rstrip(".") in self.hosts

    def is_token(self, given: bytes) -> bool:
        """Whether this is the token; compares in constant time."""
        return self.token is not None and hmac.compare_digest(given, self.token.encode())

    def is_authorised(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether a request contains the token or the cookie."""
        found = False
        for name, value in headers:
            if name == b"authorization" and value[:7].lower() == b"bearer ":
                found |= self.is_token(value[7:].strip())
            elif name == b"cookie":
                found |= hmac.compare_digest(_cookie(value, self.cookie), self.cookie_value.encode())
        return found


@dataclass(frozen=True, slots=True)
class AccessControl:
    """Refuses requests that are not allowed, and adds the headers to every response."""

    app: ASGIApp
    access: Access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] == "http":
            await self._answer(scope, receive, with_headers(send))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        access, headers = self.access, scope["headers"]
        if not access.allows_host(value for name, value in headers if name == b"host"):
            await refuse(send, 421, "This dashboard does not accept that host name; open the address that it printed.")
        elif scope["method"] not in METHODS:
            await refuse(send, 405, READ_ONLY, {"allow": ", ".join(METHODS)})
        elif len(scope.get("raw_path") or b"") + len(scope["query_string"]) > LONGEST_TARGET:
            await refuse(send, 414, f"The address is too long; the limit is {LONGEST_TARGET} bytes.")
        elif access.token is None or access.is_authorised(headers):
            await self.app(scope, receive, send)
        elif scope["path"] == "/" and access.is_token(_token_in(scope["query_string"])):
            cookie = f"{access.cookie}={access.cookie_value}; Path=/; HttpOnly; SameSite=Strict"
            await refuse(
                send, 303, "The token is accepted; continue without it.", {"location": "/", "set-cookie": cookie}
            )
        else:
            message = "A token is required; open the address that the dashboard printed when it started."
            await refuse(send, 401, message, {"www-authenticate": "Bearer"})


async def refuse(send: Send, status: int, message: str, headers: dict[str, str] | None = None) -> None:
    """Answer with an error message, as JSON."""
    body = json_bytes({"error": message})
    sent = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    await send({"type": "http.response.start", "status": status, "headers": _encoded(sent)})
    await send({"type": "http.response.body", "body": body})


def with_headers(send: Send) -> Send:
    """A function that sends a response with the headers that every one has."""

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
    """The value of a cookie; other programs on the same host may have set malformed ones."""
    pairs = (part.strip().partition(b"=") for part in header.split(b";"))
    return next((value for key, _, value in pairs if key == name.encode()), b"")
