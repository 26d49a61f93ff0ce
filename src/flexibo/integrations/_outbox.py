"""An outbox: what a tracker is sent goes there in the background, so that a study never waits for a server."""

from __future__ import annotations

import atexit
import logging
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies

from flexibo._internal.text import printable_line, shortened

Session = TypeVar("Session")
PAUSES = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)  # seconds before sending again what a server did not take
THREAD_PREFIX = "flexibo-"
PROBE_SECONDS = 5.0

logger = logging.getLogger(__name__)
_open: weakref.WeakSet[Outbox[Any]] = weakref.WeakSet()


class Outbox(Generic[Session]):
    """Sends what is put into it, in order, from a thread that lives as long as there is something to send.

    What cannot be sent because the tracker does not answer is sent again later; what the tracker refuses is dropped.
    The first of either is a warning, later ones are not.

    Args:
        connect: Opens a session with the tracker; called in the background before the first thing is sent.
        name: The name of the tracker, for messages.
        is_refusal: Whether an error means that the tracker will never take it; other errors are tried again. By default
            those that say that something was called wrongly.
        wait: Called with the number of seconds before something is sent again.
    """

    def __init__(
        self,
        connect: Callable[[], Session],
        name: str,
        *,
        is_refusal: Callable[[Exception], bool] | None = None,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        self._connect = connect
        self._name = name
        self._is_refusal = is_refusal or is_misuse
        self._wait = wait
        self._jobs: deque[Callable[[Session], None]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._session: Session | None = None
        self._has_warned = False
        self._is_late = False  # a flush was in vain, and nothing was sent since
        self.is_away = False
        _open.add(self)

    def put(self, send: Callable[[Session], None]) -> None:
        """Send this soon; returns at once."""
        with self._changed:
            self._jobs.append(send)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=f"{THREAD_PREFIX}{self._name}", daemon=True)
                self._thread.start()

    def flush(self, seconds: float) -> int:
        """Wait until everything was sent, at most this long, and return how much was not.

        If the tracker does not answer, or after a wait in vain, it returns at once, until something was sent again.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._jobs or self.is_away, 0.0 if self._is_late else seconds)
            left = len(self._jobs)
            self._is_late = left > 0
        if left:
            self._warn(f"{left} things could not be sent to {self._name} in {seconds:g} s.")
        return left

    def _work(self) -> None:
        failures = 0
        while True:
            with self._changed:
                if not self._jobs:
                    self._thread = None
                    return
                job = self._jobs[0]
            try:
                if self._session is None:
                    self._session = self._connect()
                job(self._session)
            except (Exception, SystemExit) as error:  # some libraries exit where they should raise
                said = printable_line(shortened(f"{type(error).__name__}: {error}"))
                if isinstance(error, Exception) and not self._is_refusal(error):
                    self._warn(f"{self._name} does not answer ({said}).")
                    with self._changed:
                        self.is_away = True
                        self._changed.notify_all()
                    self._wait(PAUSES[min(failures, len(PAUSES) - 1)])
                    failures += 1
                    continue
                self._warn(f"{self._name} refuses something ({said}).")
            failures, self.is_away = 0, False
            with self._changed:
                self._is_late = False
                self._jobs.popleft()
                self._changed.notify_all()

    def _warn(self, what: str) -> None:
        level = logging.DEBUG if self._has_warned else logging.WARNING
        self._has_warned = True
        logger.log(level, "%s The study continues; what is missing there is added when it is resumed.", what)


def check_answers(uri: str) -> None:
    """Raise an error if nobody answers at a URI: libraries of trackers may try for minutes before they say so."""
    parts = urlsplit(uri)
    if parts.scheme in ("http", "https") and parts.hostname and not getproxies():
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname, port), timeout=PROBE_SECONDS).close()


def is_misuse(error: Exception) -> bool:
    """Whether an error says that something was called wrongly, which no second attempt mends."""
    return isinstance(error, TypeError | ValueError | LookupError | AttributeError)


@atexit.register
def _flush_all(seconds: float = 10.0) -> None:
    """Send what is left when the process ends, unless the tracker is known not to answer."""
    for outbox in list(_open):
        if not outbox.is_away:
            outbox.flush(seconds)
