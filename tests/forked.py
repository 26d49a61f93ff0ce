"""Real processes without the seconds that imports take: they are forked from one that has imported what they need.

A test module gets that one ready for all its tests, or takes over the one of a module before it::

    @pytest.fixture(scope="module", autouse=True)
    def ready() -> Iterator[None]:
        with imported("flexibo.storage.sql"):
            yield
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest

COMMAND_LINE = (
    "flexibo.cli._run_file",
    "flexibo.cli.worker",
    "flexibo.cli.dashboard",
    "flexibo.dashboard.server",
    "flexibo.storage.sql",
    "flexibo.storage._postgresql",
    "flexibo.study",
    "flexibo.plots",
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "matplotlib.pyplot",
    "psycopg",
    "pydantic.type_adapter",
    "scipy.optimize",
    "sqlalchemy.dialects.postgresql.psycopg",
    "typer.testing",
    "uvicorn",
)
"""What commands import that run, serve or show a study."""
FORKING = "forkserver" in multiprocessing.get_all_start_methods()
"""Whether this system can."""


@contextmanager
def imported(*modules: str) -> Iterator[None]:
    """Meanwhile processes are forked from one that has imported some modules; it stays for those who need no others."""
    if not FORKING:
        pytest.skip("processes cannot be forked here")
    server: Any = forkserver._forkserver  # type: ignore[attr-defined]  # nothing public tells what it has imported
    if server._forkserver_pid is None or not {*modules} <= {*server._preload_modules}:
        stop()
        multiprocessing.get_context("forkserver").set_forkserver_preload(["pytest", *modules])
    yield


def stop() -> None:
    """End the process that others are forked from."""
    forkserver._forkserver._stop()  # type: ignore[attr-defined]  # nothing public stops it


def forked(target: Callable[..., object], *arguments: Any) -> ForkServerProcess:
    """A process that calls a function of a module, with its arguments, and has the environment of now."""
    given = ({**os.environ}, target, *arguments)
    process = multiprocessing.get_context("forkserver").Process(target=_called, args=given)
    process.start()
    return process


def _called(environment: dict[str, str], target: Callable[..., object], *arguments: Any) -> None:
    os.environ.clear()
    os.environ.update(environment)
    target(*arguments)


def forked_into(out: Path, errors: Path, target: Callable[..., object], *arguments: Any) -> ForkServerProcess:
    """A process that prints into files; both exist and are empty when it starts."""
    out.write_text("")
    errors.write_text("")
    return forked(_printing, out, errors, target, *arguments)


def _printing(out: Path, errors: Path, target: Callable[..., object], *arguments: Any) -> None:
    for number, path in ((1, out), (2, errors)):
        file = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    target(*arguments)
    sys.stdout.flush()


class Command:
    """``flexibo`` with its arguments in a folder, in a process of its own; used like `subprocess.Popen`."""

    def __init__(self, folder: Path, *arguments: str, **variables: str) -> None:
        number = len(list(folder.glob("printed-*")))
        self.printed = folder / f"printed-{number}"
        self.process = forked_into(self.printed, self.printed, _flexibo, folder, variables, arguments)
        assert self.process.pid is not None
        self.pid = self.process.pid

    @property
    def returncode(self) -> int | None:
        return self.process.exitcode

    def send_signal(self, number: signal.Signals | int) -> None:
        """Send a signal, unless the process has ended."""
        if self.process.is_alive():
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End the process at once."""
        self.process.kill()

    def wait(self, timeout: float | None = None) -> int:
        """The status of the process, once it has ended."""
        self.process.join(timeout)
        if self.process.exitcode is None:
            raise subprocess.TimeoutExpired("flexibo", timeout or 0.0, self.printed.read_text())
        return self.process.exitcode

    def communicate(self, timeout: float | None = None) -> tuple[str, None]:
        """All that the process printed, once it has ended."""
        self.wait(timeout)
        return self.printed.read_text(), None


def _flexibo(folder: Path, variables: dict[str, str], arguments: tuple[str, ...]) -> None:
    from flexibo.cli import main

    os.chdir(folder)
    os.environ.update(variables)
    sys.path.insert(0, str(folder))
    sys.argv = ["flexibo", *arguments]
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    try:
        main()
    finally:
        atexit._run_exitfuncs()  # which a forked process does not do by itself
