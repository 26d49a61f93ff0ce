"""The output of a command, written to a file while it runs."""

from __future__ import annotations

import io
import logging
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

MOST_BYTES = 16 * 1024 * 1024
"""The size limit of the file of an evaluation: a program that never stops printing must not fill the disk."""

logger = logging.getLogger(__name__)


class CommandLog:
    """The log file of an evaluation, with all its readings.

    If it cannot be written, there is only a warning: the evaluation matters more.

    Args:
        folder: The folder of the file; empty for none.
        objective: What is measured.
        environment: The variables that the command is given.
        command: The command, for people.
    """

    def __init__(self, folder: str, objective: str, environment: Mapping[str, str], command: str) -> None:
        self._file: IO[bytes] | None = None
        self._left = MOST_BYTES
        self._start = time.monotonic()
        if not folder:
            return
        number = environment["FLEXIBO_NUMBER"]
        name = re.sub(r"[^\w.-]", "_", objective)[:60]
        path = Path(folder) / f"{number.zfill(5) if number else 'no-number'}-{name}.log"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "ab", buffering=0)  # noqa: SIM115  # the context is this object's
            self._left -= self._file.seek(0, io.SEEK_END)
        except OSError as error:
            logger.warning("The log %s cannot be written: %s.", path, error.strerror or error)
            return
        if self._left <= 0:  # the last reading has noted that more is omitted
            self._close()
            return
        heading = f"# attempt {environment['FLEXIBO_ATTEMPT'] or '?'}, design {environment['FLEXIBO_DESIGN']}\n"
        self.add(f"{heading}$ {command}\n".encode(errors="replace"))

    def add(self, chunk: bytes) -> None:
        """Write output, up to a limit."""
        if self._left <= 0:
            return
        self._write(chunk[: self._left])
        self._left -= len(chunk)
        if self._left <= 0:
            self._write(b"\n# the rest is omitted\n")

    def end(self, what: str) -> None:
        """Write how it ended."""
        self._write(f"\n# {what} after {time.monotonic() - self._start:.3f} s\n".encode(errors="replace"))

    def _write(self, text: bytes) -> None:
        if self._file is None:
            return
        try:
            self._file.write(text)
        except OSError as error:
            logger.warning("A log cannot be written: %s.", error.strerror or error)
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> CommandLog:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
