"""Exit statuses: what a script may rely on, and which mistake, failure or signal leads to which."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from enum import IntEnum
from types import MappingProxyType
from typing import NoReturn

import typer

from flexibo._internal.text import printable


class ExitStatus(IntEnum):
    """How a command ended."""

    DONE = 0
    NOTHING = 1
    MISTAKE = 2
    MACHINE = 3
    FAULT = 4
    INTERRUPTED = 130
    UNREAD = 141
    TERMINATED = 143


MEANINGS: Mapping[ExitStatus, str] = MappingProxyType(
    {
        ExitStatus.DONE: "done",
        ExitStatus.NOTHING: "nothing found, an objective or a check that failed, or work left for another call",
        ExitStatus.MISTAKE: "a mistake in what was typed or in a file",
        ExitStatus.MACHINE: "a machine or a storage that failed, or a package that is missing",
        ExitStatus.FAULT: "a fault of flexibo itself",
        ExitStatus.INTERRUPTED: "Ctrl-C",
        ExitStatus.UNREAD: "output that nobody reads any more, as with head",
        ExitStatus.TERMINATED: "SIGTERM",
    }
)
"""What each status means, for the help and for people who write scripts."""
_OF_THE_MACHINE = {"ENOSPC", "EDQUOT", "EROFS", "EIO", "EMFILE", "ENFILE", "EACCES", "EPERM"}
"""Errors of the operating system that are the machine's and no fault of the program."""


def run(command: Callable[[], object]) -> NoReturn:
    """Run a command line to its end and leave with its status; a mistake is one sentence on standard error."""
    status: int = ExitStatus.DONE
    try:
        command()
    except SystemExit as ended:
        status = _status_of_exit(ended)
    except BaseException as error:
        status = _told(error)
    try:
        sys.stdout.flush()
    except OSError as error:  # what was printed last has not reached its reader, or the disk
        status = status or _told(error)
        _turn_off_output()
    sys.exit(status)


def status_of(error: BaseException) -> ExitStatus:
    """The status that an exception ends a command with."""
    from flexibo.errors import FlexiBOError, MachineError, MissingExtraError
    from flexibo.storage import NoSuchStorageError, StorageError

    if isinstance(error, KeyboardInterrupt):
        return ExitStatus.INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return ExitStatus.UNREAD
    if isinstance(error, NoSuchStorageError):
        return ExitStatus.MISTAKE
    if isinstance(error, MachineError | StorageError | MissingExtraError):
        return ExitStatus.MACHINE
    if isinstance(error, FlexiBOError):
        return ExitStatus.MISTAKE
    if isinstance(error, OSError) and errno.errorcode.get(error.errno or 0) in _OF_THE_MACHINE:
        return ExitStatus.MACHINE
    return ExitStatus.FAULT


def _told(error: BaseException) -> ExitStatus:
    """The status of an exception, after it was told in one sentence; a fault of the program has its traceback too."""
    status = status_of(error)
    text = "Interrupted." if status is ExitStatus.INTERRUPTED else str(error) or type(error).__name__
    if status is ExitStatus.FAULT:
        import platform
        from traceback import format_exception

        from flexibo import __version__

        text = "".join(format_exception(error)) + (
            f"flexibo: This is a fault of flexibo {__version__} (Python {platform.python_version()}), not yours; "
            "please report it with the lines above."
        )
    if status is not ExitStatus.UNREAD:
        _say(text if status is ExitStatus.FAULT else f"flexibo: {text}")
    return status


def _say(text: str) -> None:
    """Print to standard error what others may have written."""
    with suppress(OSError):
        typer.echo(printable(text), err=True)


def _status_of_exit(ended: SystemExit) -> int:
    """The status of an exit; libraries leave with 1 where a closed pipe or an interruption is the reason."""
    if ended.code is None:
        return ExitStatus.DONE
    if not isinstance(ended.code, int):
        _say(str(ended.code))
        return ExitStatus.NOTHING
    for cause in _causes(ended) if ended.code == ExitStatus.NOTHING else ():
        if isinstance(cause, BrokenPipeError):
            _turn_off_output()
            return ExitStatus.UNREAD
        if isinstance(cause, KeyboardInterrupt | typer.Abort):
            return ExitStatus.INTERRUPTED
    return ended.code


def _causes(error: BaseException) -> Iterator[BaseException]:
    """What led to an exception, the nearest first."""
    seen: set[int] = set()
    cause = error.__cause__ or error.__context__
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _turn_off_output() -> None:
    """Let the interpreter's last flush go nowhere, rather than complain of a closed pipe."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
