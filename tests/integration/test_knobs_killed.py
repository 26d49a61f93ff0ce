"""A process that is killed in the middle of a session: what it left is put back from the journal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command_line import mentions

BOOT = "8259e016-aaaf-4d3a-b0b1-da15852f0567"
FILES = {
    "proc/sys/kernel/random/boot_id": BOOT,
    "proc/sys/kernel/hostname": "board",
    "proc/sys/vm/swappiness": "60",
    "proc/sys/vm/vfs_cache_pressure": "100",
    "sys/devices/system/cpu/cpu1/online": "1",
    "sys/devices/system/cpu/cpu2/online": "1",
}
CHANGED = {"proc/sys/vm/swappiness": "10", "sys/devices/system/cpu/cpu2/online": "0"}
# Hands over to the test by a line, then waits for its end of the pipe to close, which the test keeps open.
WAIT = "import sys; print('ready', flush=True); sys.stdin.read()"
RUN = """
import sys
from flexibo.cli.knobs import knobs
from flexibo.errors import FlexiBOError
try:
    knobs()
except FlexiBOError as error:
    sys.exit(f"flexibo: {error}")
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    (tmp_path / "sys/devices/system/cpu/cpu0").mkdir()
    return tmp_path


def state(machine: Path) -> dict[str, str]:
    return {name: (machine / name).read_text().strip() for name in FILES}


def command(machine: Path, *words: str, journal: str = "knobs.json") -> list[str]:
    places = ["--sys", str(machine / "sys"), "--proc", str(machine / "proc"), "--journal", str(machine / journal)]
    return [sys.executable, "-c", RUN, words[0], *places, *words[1:]]


def begin(machine: Path) -> subprocess.Popen[str]:
    """A session that has its settings and waits."""
    words = command(machine, "set", "swappiness=10", "active_cores=2", "--", sys.executable, "-c", WAIT)
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    assert state(machine) == FILES | CHANGED
    return process


def end(process: subprocess.Popen[str]) -> int:
    """Reap a process and close its pipes, which also ends the command that it ran."""
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        pipe.close()
    return process.wait(timeout=60)


def run(machine: Path, *words: str, journal: str = "knobs.json") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(machine, *words, journal=journal), capture_output=True, text=True, timeout=60)


@pytest.mark.slow
def test_after_a_kill_restore_puts_everything_back_once(machine: Path) -> None:
    process = begin(machine)
    os.kill(process.pid, signal.SIGKILL)
    assert end(process) == -signal.SIGKILL
    assert state(machine) == FILES | CHANGED
    refused = run(machine, "set", "swappiness=30", "--", "true")
    assert refused.returncode != 0
    assert mentions(refused.stderr, process.pid, "flexibo knobs restore")
    assert state(machine) == FILES | CHANGED
    restored = run(machine, "restore")
    assert restored.returncode == 0, restored.stderr
    assert mentions(restored.stdout, "2 settings")
    assert state(machine) == FILES
    assert not (machine / "knobs.json").exists()
    again = run(machine, "restore")
    assert (again.returncode, mentions(again.stdout, machine / "proc")) == (0, False)
    assert run(machine, "set", "swappiness=30", "--", "true").returncode == 0
    assert state(machine) == FILES


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_a_signal_that_can_be_heard_puts_everything_back(machine: Path, number: signal.Signals, status: int) -> None:
    process = begin(machine)
    os.kill(process.pid, number)
    assert end(process) == status
    assert state(machine) == FILES
    assert not (machine / "knobs.json").exists()


@pytest.mark.slow
def test_a_living_session_is_named_and_left_alone(machine: Path) -> None:
    process = begin(machine)
    for words in (["set", "swappiness=30", "--", "true"], ["restore"]):
        refused = run(machine, *words)
        assert refused.returncode != 0
        assert mentions(refused.stderr, process.pid)
        assert "knobs restore" not in refused.stderr
    assert state(machine) == FILES | CHANGED
    assert end(process) == 0
    assert state(machine) == FILES


@pytest.mark.slow
def test_another_journal_does_not_take_changed_settings_for_those_before(machine: Path) -> None:
    process = begin(machine)
    refused = run(machine, "set", "swappiness=30", "--", "true", journal="another.json")
    assert refused.returncode != 0
    assert mentions(refused.stderr, process.pid, f"'{machine / 'knobs.json'}'")
    assert "knobs restore" not in refused.stderr
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=60)
    # The command that it ran lives on and must not keep the lock.
    left = run(machine, "set", "swappiness=30", "--", "true", journal="another.json")
    assert left.returncode != 0
    assert f"flexibo knobs restore --journal '{machine / 'knobs.json'}'" in left.stderr
    assert end(process) == -signal.SIGKILL
    assert state(machine) == FILES | CHANGED
    assert run(machine, "restore").returncode == 0
    assert run(machine, "set", "swappiness=30", "--", "true", journal="another.json").returncode == 0
    assert state(machine) == FILES
