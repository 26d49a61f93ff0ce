"""The server of the dashboard: its address, its token, and a quick end."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import secrets
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType

import uvicorn

from flexibo.dashboard.access import LOOPBACK_NAMES, Access
from flexibo.dashboard.app import Dashboard, dashboard_app
from flexibo.dashboard.connections import BACKLOG, LimitedProtocol, LoopErrors, most_connections
from flexibo.dashboard.live_feed import MOST_PAGES
from flexibo.errors import InvalidValueError

SHORTEST_TOKEN = 16  # the minimum number of characters of a token
LAST_REQUESTS = 1  # seconds that open requests have to finish when the server ends


@dataclass(frozen=True, slots=True)
class BoundAddress:
    """The address at which the dashboard listens."""

    listening: socket.socket  # the socket, bound
    host: str  # the host as given by the user
    is_loopback: bool  # whether only programs on this machine can reach it

    @property
    def port(self) -> int:
        """The port."""
        return int(self.listening.getsockname()[1])

    def url(self, token: str | None) -> str:
        """The URL to open in a browser, with the token if there is one."""
        bound = ipaddress.ip_address(self.listening.getsockname()[0].partition("%")[0])
        host = socket.gethostname() if bound.is_unspecified else self.host
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{self.port}/{'' if token is None else f'?token={token}'}"


def bound_address(host: str, port: int) -> BoundAddress:
    """Bind a socket to a host and a port."""
    if not 0 <= port <= 65535:
        raise InvalidValueError(f"The port is {port}; it must be between 0 and 65535, 0 chooses a free one.")
    try:
        family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (socket.gaierror, UnicodeError):
        raise InvalidValueError(f"There is no host {host!r}; give a name or an address of this machine.") from None
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(where)
        listening.listen()
    except OSError as error:
        listening.close()
        raise InvalidValueError(_bind_error(error, host, port)) from None
    is_loopback = ipaddress.ip_address(str(where[0]).partition("%")[0]).is_loopback
    return BoundAddress(listening, host, is_loopback)


def chosen_token(given: str, *, needed: bool) -> str | None:
    """The given token, or a new one if one is needed."""
    if not given:
        return secrets.token_urlsafe(24) if needed else None
    if len(given) < SHORTEST_TOKEN or not given.isascii() or not all(c.isalnum() or c in "-_.~" for c in given):
        raise InvalidValueError(
            f"The token has {len(given)} characters; it must have at least {SHORTEST_TOKEN} of a-z, A-Z, 0-9, '-', "
            "'_', '.' and '~'. Without a token, the dashboard makes one."
        )
    return given


def serve(
    urls: Sequence[str], address: BoundAddress, token: str | None, *, ready: Callable[[], None] = lambda: None
) -> None:
    """Serve the studies of these storages until Ctrl-C."""
    hosts = LOOPBACK_NAMES | {address.host.lower()} if address.is_loopback else None
    access = Access(token, hosts, cookie=f"flexibo-{address.port}")
    pages = min(MOST_PAGES, most_connections() // 2)  # the other half is for their requests
    app, dashboard = dashboard_app(urls, access, most_pages=pages)
    config = uvicorn.Config(
        app,
        http=LimitedProtocol,
        backlog=BACKLOG,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=LAST_REQUESTS,
    )
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # malformed requests of strangers are not logged
    with suppress(KeyboardInterrupt):  # uvicorn raises Ctrl-C again when it has ended
        _Server(config, dashboard, ready).run(sockets=[address.listening])


class _Server(uvicorn.Server):
    """A server that ends the live streams when it is stopped."""

    def __init__(self, config: uvicorn.Config, dashboard: Dashboard, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._dashboard = dashboard
        self._ready = ready
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(LoopErrors())
        await super().startup(sockets)
        self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._dashboard.watcher.close()
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._dashboard.feed.close)
        super().handle_exit(sig, frame)


def _bind_error(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        free = _free(host, port)
        return f"Port {port} of {host} is in use; give another one with --port{free}, or use --port 0 to find one."
    if error.errno == errno.EACCES:
        return f"Port {port} needs special rights; give one above 1023 with --port."
    return f"{host} port {port} is not available ({error.strerror}); give an address of this machine with --host."


def _free(host: str, port: int) -> str:
    """The next free port, in brackets."""
    for other in range(port + 1, min(port + 20, 65536)):
        with suppress(OSError):
            family, _, _, _, where = socket.getaddrinfo(host, other, type=socket.SOCK_STREAM)[0]
            with socket.socket(family, socket.SOCK_STREAM) as trying:
                trying.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trying.bind(where)
                return f" ({other} is free)"
    return ""
