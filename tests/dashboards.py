"""A dashboard in a process of its own."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tests.forked import Command

PATIENCE = 90.0
"""Seconds that anything may take on a crowded machine before a test gives up."""
_MAIN = "from flexibo.cli import main; main()"
Found = TypeVar("Found")


class Running:
    """A dashboard that runs; `address` is what it printed."""

    def __init__(self, process: subprocess.Popen[str] | Command, address: str) -> None:
        self.process = process
        self.address = address

    @property
    def port(self) -> int:
        return int(self.address.partition("//")[2].partition("/")[0].rpartition(":")[2])

    def get(self, path: str) -> Any:
        """What the server says at a path, read from JSON; None where it has nothing to say."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE) as response:
            text = response.read()
        return json.loads(text) if text else None

    def study(self, name: str = "study") -> Any:
        """What the list says of a study; None while it is not there or is being read."""
        found = [s for s in self.get("/api/studies")["studies"] if s["name"] == name and s["state"] != "reading"]
        return found[0] if found else None

    def end(self, how: signal.Signals = signal.SIGINT) -> str:
        """Ask it to end, and return what it printed in the end."""
        self.process.send_signal(how)
        return self.process.communicate(timeout=PATIENCE)[0]


@contextmanager
def dashboard(*words: str) -> Iterator[Running]:
    """A running dashboard of these storages, on any free port; ended in the end, however the test ends."""
    with tempfile.TemporaryDirectory() as folder:
        process = Command(Path(folder), "dashboard", "--port", "0", *words, OMP_NUM_THREADS="1")

        def address() -> str | None:
            printed = process.printed.read_text()
            assert process.process.is_alive(), f"the dashboard did not start: {printed}"
            found = re.search(r"is at (http://\S+)\s", printed)
            return found and found[1]

        try:
            yield Running(process, wait_until(address, "the dashboard starts"))
        finally:
            process.kill()
            process.wait()


@contextmanager
def dashboard_as_people_start_it(*words: str) -> Iterator[Running]:
    """The same, started as a program rather than forked."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", _MAIN, "dashboard", "--port", "0", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        assert process.stdout is not None
        printed = ""
        for line in process.stdout:
            printed += line
            if found := re.search(r"is at (http://\S+)", line):
                yield Running(process, found[1])
                return
        raise AssertionError(f"the dashboard did not start: {printed}")
    finally:
        process.kill()
        process.communicate()


def free_port() -> int:
    """A port that is free and stays so: below those that systems hand out by themselves."""
    while True:
        port = random.SystemRandom().randrange(15000, 30000)
        with socket.socket() as trying:
            if trying.connect_ex(("127.0.0.1", port)) != 0:
                return port


def wait_until(condition: Callable[[], Found], what: str, seconds: float = PATIENCE) -> Found:
    """What a condition returns once that is true."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"{what}: not within {seconds:g} s"
        time.sleep(0.05)
    return found
