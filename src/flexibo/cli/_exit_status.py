"""Exit statuses, which scripts may rely on, and which error or signal leads to which."""

from __future__ import annotations

import errno
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from enum import IntEnum
from traceback import format_exception
from types import MappingProxyType
from typing import NoReturn

import typer

import flexibo
from flexibo._internal.text import shortened, shortened_words
from flexibo.cli._logs import complain
from flexibo.errors import FlexiBOError, MachineError, MissingExtraError
from flexibo.storage import NoSuchStorageError, StorageError

LONGEST_LINE = 4000  # of an error; the middle of a longer one is left out


class ExitStatus(IntEnum):
    DONE = 0
    NOTHING = 1
    MISTAKE = 2
    MACHINE = 3
    FAULT = 4
    INTERRUPTED = 130
    UNREAD = 141
    TERMINATED = 143


MEANINGS: Mapping[ExitStatus, str] = MappingProxyType(  # what each status means, for the help
    {
        ExitStatus.DONE: "success",
        ExitStatus.NOTHING: "nothing found, a failed objective or check, or work left for the next call",
        ExitStatus.MISTAKE: "an invalid command line or file",
        ExitStatus.MACHINE: "a failed machine or storage, or a missing package",
        ExitStatus.FAULT: "a bug in flexibo",
        ExitStatus.INTERRUPTED: "Ctrl-C",
        ExitStatus.UNREAD: "closed output pipe, as with head",
        ExitStatus.TERMINATED: "SIGTERM",
    }
)
_MACHINE_ERRORS = {"ENOSPC", "EDQUOT", "EROFS", "EIO", "EMFILE", "ENFILE", "EACCES", "EPERM"}
"""Errors of the operating system that are not a bug in the program."""


def exit_with_status(command: Callable[[], object]) -> NoReturn:
    """Run a command line and exit with its status; an error is one sentence on standard error."""
    status: int = ExitStatus.DONE
    _open_closed_streams()
    try:
        command()
    except SystemExit as ended:
        status = _status_of_exit(ended)
    except BaseException as error:
        status = _report(error)
    try:
        sys.stdout.flush()
    except OSError as error:  # the last output did not reach the pipe or the disk
        status = status or _report(error)
        _discard_output()
    sys.exit(status)


def status_of(error: BaseException) -> ExitStatus:
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
    if isinstance(error, OSError) and errno.errorcode.get(error.errno or 0) in _MACHINE_ERRORS:
        return ExitStatus.MACHINE
    return ExitStatus.FAULT


def _report(error: BaseException) -> ExitStatus:
    """Print an exception in one sentence, a bug with its traceback, and return its status."""
    status = status_of(error)
    text = "Interrupted." if status is ExitStatus.INTERRUPTED else str(error) or type(error).__name__
    if isinstance(error, OSError) and error.strerror and error.filename is None:
        text = f"Output cannot be written ({error.strerror}); make room, or send it elsewhere."
    if status is ExitStatus.FAULT:
        text = "".join(format_exception(error)) + (
            f"flexibo: This is a bug in flexibo {flexibo.__version__} (Python {platform.python_version()}); please "
            "report it with the lines above."
        )
    if status is not ExitStatus.UNREAD:
        lines = (shortened(shortened_words(line), LONGEST_LINE) for line in f"flexibo: {text}".split("\n"))
        _print_error(text if status is ExitStatus.FAULT else "\n".join(lines))
    return status


def _print_error(text: str) -> None:
    with suppress(OSError):
        complain(text)


def _status_of_exit(ended: SystemExit) -> int:
    """The status of an exit; libraries exit with 1 also after a closed pipe or an interruption."""
    if ended.code is None:
        return ExitStatus.DONE
    if not isinstance(ended.code, int):
        _print_error(str(ended.code))
        return ExitStatus.NOTHING
    for cause in _causes(ended) if ended.code == ExitStatus.NOTHING else ():
        if isinstance(cause, BrokenPipeError):
            _discard_output()
            return ExitStatus.UNREAD
        if isinstance(cause, KeyboardInterrupt | typer.Abort):
            return ExitStatus.INTERRUPTED
    return ended.code


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    cause = error.__cause__ or error.__context__
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _open_closed_streams() -> None:
    """Discard what is written to a standard stream that was closed, as with ``>&-``; no file may take its number."""
    with suppress(OSError):
        while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
            os.set_inheritable(number, True)
        os.close(number)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  # as long as the process


def _discard_output() -> None:
    """Discard the interpreter's last flush, which would complain about a closed pipe."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
