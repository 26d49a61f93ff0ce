"""Log messages as JSON lines on standard error, for programs that collect them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone

import typer

from flexibo._internal.text import json_text, printable

VARIABLE = "FLEXIBO_LOG_JSON"
logger = logging.getLogger("flexibo")


class JSONLines(logging.Formatter):
    """A message as one JSON object in ASCII, so that whatever it holds stays on its line."""

    def format(self, record: logging.LogRecord) -> str:
        """One line: time (UTC), level, logger, process, message, and the traceback of an exception."""
        line = {
            "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        line |= getattr(record, "facts", {})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json_text(line)


def log_as_json_lines() -> None:
    """From now on, write the messages of flexibo from level info and those of other libraries from level warning."""
    handler = logging.StreamHandler()
    handler.setFormatter(JSONLines())
    logging.getLogger().addHandler(handler)
    logger.setLevel(logging.INFO)
    logging.captureWarnings(True)


def logs_json_lines() -> bool:
    """Whether `log_as_json_lines` was called in this process."""
    return any(isinstance(handler.formatter, JSONLines) for handler in logging.getLogger().handlers)


class _Said(logging.Handler):
    """Hands each message to a function."""

    def __init__(self, say: Callable[[str], object]) -> None:
        super().__init__(logging.INFO)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        self._say(record.getMessage())


@contextmanager
def waiting_said(say: Callable[[str], object]) -> Iterator[None]:
    """A context in which a run says what it waits for; JSON lines have that anyway."""
    log = logging.getLogger("flexibo.study.waiting")
    before, handler = log.level, _Said(say)
    if logs_json_lines():
        yield
        return
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


@contextmanager
def failures_logged_once() -> Iterator[None]:
    """A context without the log messages on failures, as each evaluation has a line already."""
    log = logging.getLogger("flexibo.study.failures")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def report(text: str, **facts: object) -> None:
    """Report progress on standard error; on a full disk it is left out, as no study should end for it.

    Where logs are JSON lines, these facts are in them.
    """
    if logs_json_lines():
        logger.info("%s", text, extra={"facts": facts})
        return
    try:
        typer.echo(f"{time.strftime('%H:%M:%S')} {text}", err=True)
    except BrokenPipeError:
        raise
    except OSError:
        logger.debug("Progress could not be reported.", exc_info=True)


def complain(text: str) -> None:
    """Report an error on standard error; parts of the text may come from outside."""
    if logs_json_lines():
        logger.error("%s", text.removeprefix("flexibo: "))
    else:
        typer.echo(printable(text), err=True)
