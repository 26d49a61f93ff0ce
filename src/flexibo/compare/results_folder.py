"""The folder of a comparison: finished runs survive an interruption of the process."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flexibo._internal.files import write_atomically
from flexibo.compare.runs import Allowance, Run, Task, front_rows_of, read_runs, rows_of, write_runs
from flexibo.errors import InvalidValueError

RESULTS, FRONTS, SETTINGS, LOCK = "results.csv", "fronts.csv", "settings.json", ".lock"
COPY = ".bak"
"""Ends the names of tables as they were before runs were removed."""


class ResultsFolder:
    """The runs of a comparison in a folder: ``results.csv``, ``fronts.csv`` and ``settings.json``.

    All runs in a folder have the same allowance. Runs whose problem or method has another fingerprint than before are
    removed; `forgotten` counts them, and copies of the tables (``results.csv.bak``) still have them.
    """

    def __init__(
        self, folder: Path, allowance: Allowance, *, problems: Mapping[str, str], methods: Mapping[str, str]
    ) -> None:
        self.folder = folder
        stored = self._settings()
        own: dict[str, Any] = asdict(allowance)
        terms = {"from_scratch": False} | stored if stored else {}  # older folders do not say it
        for name, value in own.items():
            if name in terms and terms[name] != value:
                raise InvalidValueError(
                    f"{folder} holds a comparison with {name} {terms[name]}; {value} given. Choose another folder."
                )
        kept = read_runs(folder / RESULTS, folder / FRONTS) if (folder / RESULTS).exists() else []
        if kept and not stored:
            raise InvalidValueError(
                f"{folder} has {RESULTS} without {SETTINGS}, which says what its runs are. Restore it, or choose "
                "another folder."
            )
        before = {"problems": stored.get("problems", {}), "methods": stored.get("methods", {})}
        current = [
            run
            for run in kept
            if problems.get(run.problem, before["problems"].get(run.problem)) == before["problems"].get(run.problem)
            and methods.get(run.method, before["methods"].get(run.method)) == before["methods"].get(run.method)
        ]
        self.forgotten = len(kept) - len(current)
        if self.forgotten:
            self._keep_copies()
        self.runs: dict[Task, Run] = {run.key: run for run in current}
        own |= {"problems": before["problems"] | dict(problems), "methods": before["methods"] | dict(methods)}
        self.tidy()  # first: removed runs must be gone before the settings say that the folder is up to date
        with _writing(folder):
            write_atomically(folder / SETTINGS, (json.dumps(own, indent=1, sort_keys=True) + "\n").encode())

    def add(self, run: Run) -> None:
        """Add a finished run; it is on the disk when this returns."""
        for name, text in ((FRONTS, front_rows_of(run)), (RESULTS, rows_of(run))):
            with _writing(self.folder), open(self.folder / name, "a", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        self.runs[run.key] = run

    def tidy(self) -> None:
        """Write the tables again, in order."""
        with _writing(self.folder):
            write_runs(self.folder / RESULTS, self.folder / FRONTS, self.runs.values())

    def _keep_copies(self) -> None:
        for name in (RESULTS, FRONTS):
            if (self.folder / name).exists():
                with _writing(self.folder):
                    write_atomically(self.folder / f"{name}{COPY}", (self.folder / name).read_bytes())

    def _settings(self) -> dict[str, Any]:
        path = self.folder / SETTINGS
        if not path.exists():
            return {}
        try:
            settings = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError, OSError):
            settings = None
        if not isinstance(settings, dict) or not all(
            isinstance(settings.get(name, {}), dict) for name in ("problems", "methods")
        ):
            raise InvalidValueError(f"{path} cannot be read; restore it, or choose another folder.")
        return settings


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the folder for this process; it is created if necessary."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = open(folder / LOCK, "w")  # noqa: SIM115  # closed below, which also unlocks
    except OSError as error:
        raise InvalidValueError(f"Results cannot be written to {folder}: {error.strerror}.") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InvalidValueError(
                f"Another comparison is writing to {folder}; wait for it, or choose another folder."
            ) from None
        yield
    finally:
        lock.close()


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Turn an error of the operating system into one for the user."""
    try:
        yield
    except OSError as error:
        raise InvalidValueError(
            f"Results cannot be written to {folder}: {error.strerror}. Runs that were finished before are kept."
        ) from None
