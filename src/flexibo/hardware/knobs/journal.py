"""The journal: what a session changes and how to undo it, on disk before the first change.

One small JSON file, always replaced as a whole. It names the process and the boot that it belongs to: after a restart
the kernel has its defaults again, and older values must not be restored over them.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from flexibo._internal.files import sync_folder
from flexibo._internal.untrusted_json import untrusted_json
from flexibo.errors import MachineError
from flexibo.hardware.knobs.base import HERE, Roots, Write
from flexibo.hardware.knobs.files import is_knob_place

FORMAT = 1
_TEXT = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class JournalError(MachineError, ValueError):
    """The journal cannot be used; the message says why and what to do."""


def default_path(environment: Mapping[str, str], home: Path) -> Path:
    """The path of a user's journal.

    >>> str(default_path({"XDG_STATE_HOME": "/var/state"}, Path("/root")))
    '/var/state/flexibo/knobs.json'
    """
    state = environment.get("XDG_STATE_HOME", "")
    folder = Path(state) if state.startswith("/") else home / ".local" / "state"
    return folder / "flexibo" / "knobs.json"


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """The content of a journal."""

    host: str
    boot_id: str  # identifies the machine and its boot
    pid: int  # the process of the session; 0 if the session ended and could not restore everything
    started: str  # the start time of that process in the kernel's units; a later process may have the same id
    writes: tuple[Write, ...]


@dataclass(frozen=True, slots=True)
class Journal:
    """The journal file, of one session at a time.

    Attributes:
        path: The file.
        roots: The folders of the machine; nothing outside of them is written.
        processes: The folder in which the kernel lists processes.
    """

    path: Path
    roots: Roots = HERE
    processes: Path = Path("/proc")

    @property
    def boot_id(self) -> str:
        """Identifies the machine and its present boot."""
        return self._kernel("boot_id")

    def begin(self, writes: Sequence[Write]) -> None:
        """Write the journal of a session of this process; it is on disk when this returns."""
        self.check_absent()
        with self._writing():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            draft = self._draft(writes, os.getpid())
            try:
                os.link(draft, self.path)  # unlike a rename, it fails if another process was faster
                sync_folder(self.path.parent)
            except FileExistsError:
                raise JournalError(
                    f"Another session has just begun (journal {self.path}); wait until it ends."
                ) from None
            finally:
                os.unlink(draft)

    def check_absent(self) -> None:
        """Raise an error that says what to do if there is a journal."""
        found = self.load()
        if found is not None:
            raise self._taken(found)

    def update(self, writes: Sequence[Write], *, is_left: bool = False) -> None:
        """Replace the content of the journal; with `is_left` it no longer belongs to a running session."""
        with self._writing():
            draft = self._draft(writes, 0 if is_left else os.getpid())
            os.replace(draft, self.path)
            sync_folder(self.path.parent)

    def end(self) -> None:
        """Remove the journal, because everything is restored."""
        try:
            self.path.unlink(missing_ok=True)
            sync_folder(self.path.parent)
        except OSError as error:
            raise JournalError(
                f"All settings are restored, but the journal {self.path} cannot be removed: {error.strerror}; "
                "remove it."
            ) from None

    def load(self) -> JournalEntry | None:
        """The content of the journal; None if there is none; an error if it is damaged or names no place of a knob."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise JournalError(f"The journal {self.path} cannot be read: {error}. Nothing was done.") from None
        try:
            entry = _entry(untrusted_json(text))
        except (ValueError, TypeError, KeyError):
            raise JournalError(
                f"The journal {self.path} is damaged; nothing was done. Restart the machine, or correct the settings "
                "manually, then remove the file."
            ) from None
        self._check(entry.writes)
        return entry

    def is_of_this_boot(self, entry: JournalEntry) -> bool:
        """Whether the entry is of this machine and of its present boot."""
        return entry.boot_id == self.boot_id

    def is_alive(self, entry: JournalEntry) -> bool:
        """Whether the session's process still runs on this machine."""
        if not entry.pid or not self.is_of_this_boot(entry):
            return False
        return self._started(entry.pid) == entry.started

    def stale(self, entry: JournalEntry) -> JournalError:
        """An error that says why an entry of another boot is not applied."""
        host = self._kernel("hostname")
        origin = "before this machine was restarted" if entry.host == host else f"on the machine {entry.host!r}"
        return JournalError(
            f"The journal {self.path} was written {origin}, and a restart undoes all settings; remove the file, or "
            "restore its values anyway with 'flexibo knobs restore --force'."
        )

    def _taken(self, entry: JournalEntry) -> JournalError:
        if not self.is_of_this_boot(entry):
            return self.stale(entry)
        if not self.is_alive(entry):
            who = f"process {entry.pid}" if entry.pid else "an earlier session"
            return JournalError(
                f"Settings of {who} were not restored; run: flexibo knobs restore --journal {self.path}"
            )
        if entry.pid == os.getpid():
            return JournalError(f"This process (pid {entry.pid}) has a session already; end it before another begins.")
        return JournalError(
            f"Process {entry.pid} is using settings of this machine (journal {self.path}); wait until it ends."
        )

    def _draft(self, writes: Sequence[Write], pid: int) -> str:
        """A file next to the journal with its new content, on disk."""
        self._check(writes)
        entry = JournalEntry(
            self._kernel("hostname"), self.boot_id, pid, self._started(pid) if pid else "", tuple(writes)
        )
        descriptor, draft = tempfile.mkstemp(dir=self.path.parent, prefix=f"{self.path.name}.")
        try:
            with open(descriptor, "w", encoding="utf-8") as file:
                json.dump({"format": FORMAT, **asdict(entry)}, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            os.unlink(draft)
            raise
        return draft

    def _check(self, writes: Sequence[Write]) -> None:
        """Raise an error for a write that is not allowed."""
        for write in writes:
            for path, text in ((write.path, write.value), (write.undo_path, write.before)):
                if not is_knob_place(path, self.roots):
                    raise JournalError(
                        f"The journal {self.path} names {path!r}, which is of no knob; nothing was done."
                    )
                if not _TEXT.fullmatch(text):
                    raise JournalError(f"The journal {self.path} has {text!r} for {path}; nothing was done.")

    def _kernel(self, name: str) -> str:
        folder = self.roots.proc / "sys" / "kernel"
        path = folder / "random" / name if name == "boot_id" else folder / name
        try:
            return path.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise JournalError(f"{path} cannot be read: {error.strerror}; settings need it.") from None

    def _started(self, pid: int) -> str:
        """The start time of a process; empty if there is none with this id."""
        try:
            stat = (self.processes / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return stat.rpartition(")")[2].split()[19]  # field 22; the name before it may contain anything

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except JournalError:
            raise
        except OSError as error:
            raise JournalError(f"The journal {self.path} cannot be written: {error.strerror}.") from None


def _entry(content: Any) -> JournalEntry:
    """The entry from the parsed content; raises ValueError, TypeError or KeyError if it is damaged."""
    if not isinstance(content, dict) or content.pop("format") != FORMAT:
        raise ValueError
    entry = JournalEntry(**{**content, "writes": tuple(_write(one) for one in content["writes"])})
    texts = (entry.host, entry.boot_id, entry.started)
    if not all(isinstance(text, str) for text in texts) or type(entry.pid) is not int:
        raise TypeError
    return entry


def _write(content: Mapping[str, Any]) -> Write:
    kinds = {field.name: {"str": str, "float": float, "bool": bool}[str(field.type)] for field in fields(Write)}
    if set(content) != set(kinds) or any(type(content[name]) is not kind for name, kind in kinds.items()):
        raise TypeError
    return Write(**content)
