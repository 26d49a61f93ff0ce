"""A folder that looks like /proc, with processes that are shown, hidden or gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class FakeProc:
    """Processes of a machine by number, as its `/proc` shows them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hidden: set[int] = set()
        (folder / "sys/kernel/random").mkdir(parents=True)
        (folder / "sys/kernel/random/boot_id").write_text("this-boot\n")
        (folder / "self/ns").mkdir(parents=True)
        (folder / "self/ns/pid").symlink_to("pid:[1]")

    def add(self, pid: int, started: int = 500) -> dict[str, Any]:
        """A running process, and what it says about itself."""
        self.show(pid, "S", started)
        return {"host": "here", "pid": pid, "boot": "this-boot", "pids": "pid:[1]", "started": started}

    def show(self, pid: int, state: str, started: int = 500) -> None:
        (self.folder / str(pid)).mkdir(exist_ok=True)
        fields = [state, *["0"] * 18, str(started), "0"]
        (self.folder / str(pid) / "stat").write_text(f"{pid} (a name) with ) in it) {' '.join(fields)}\n")

    def hide(self, pid: int) -> None:
        """As `hidepid=2` does with the processes of other users."""
        self.end(pid)
        self.hidden.add(pid)

    def end(self, pid: int) -> None:
        (self.folder / str(pid) / "stat").unlink()
        (self.folder / str(pid)).rmdir()

    def kill(self, pid: int, number: int) -> None:
        """As `os.kill` with signal 0, for a user who owns none of the processes."""
        assert number == 0
        if pid in self.hidden or (self.folder / str(pid)).exists():
            raise PermissionError(1, "Operation not permitted")
        raise ProcessLookupError(3, "No such process")
