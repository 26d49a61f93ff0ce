"""Measures the settings of a PostgreSQL server with pgbench, on a server of its own in a temporary folder.

A long run gives the latency that 95 % of the transactions keep. A short one, of a fixed number of transactions, gives
the bytes of write-ahead log and the memory; then the server is stopped as by a crash, and the time until it answers
again is taken. Every measurement starts from a copy of the same database. Needs PostgreSQL's programs on this machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

SECONDS, TRANSACTIONS, CLIENTS = os.environ.get("PGBENCH_SECONDS", "20"), 250, 4
"""How long the long run takes, how many transactions each client makes in the short one, and the clients."""
UNITS = {"mb": "MB", "ms": "ms", "s": "s", "us": ""}
"""What the last part of the name of an option means: `wal_buffers_mb` is the setting `wal_buffers` in MB."""
FOLDERS = [*map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), os.environ.get("PATH", "")]


def call(folder: Path, name: str, *arguments: str) -> str:
    """Run a program of PostgreSQL in the folder, as the user postgres instead of root; what it printed."""
    path = shutil.which(name, path=os.pathsep.join(FOLDERS))
    if path is None:
        raise RuntimeError(f"There is no {name}; install PostgreSQL (Debian: apt-get install postgresql).")
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"] if os.geteuid() == 0 else []
    told = os.environ | {"PGHOST": str(folder), "PGPORT": "5432", "PGUSER": "postgres", "PGDATABASE": "postgres"}
    done = subprocess.run([*user, path, *arguments], cwd=folder, env=told, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr.strip()[-300:]}")
    return done.stdout


def start(folder: Path, settings: Mapping[str, str]) -> float:
    """Start the server with settings; the seconds until it answers."""
    given = " ".join(f"-c {name}={value}" for name, value in settings.items())
    begun = time.perf_counter()
    call(folder, "pg_ctl", "start", "-w", "-D", "data", "-l", "log", "-o", f"-k {folder} -h '' {given}")
    return time.perf_counter() - begun


@cache
def template() -> tempfile.TemporaryDirectory[str]:
    """A folder with a database that every measurement copies; it goes when this process ends."""
    made = tempfile.TemporaryDirectory(prefix="flexibo-pg-")
    folder = Path(made.name)
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    call(folder, "initdb", "-D", "data", "-U", "postgres", "--auth=trust", "--no-sync", "--locale=C")
    start(folder, {"fsync": "off"})
    call(folder, "pgbench", "-i", "-q", "-s", "2")
    call(folder, "pg_ctl", "stop", "-w", "-D", "data")
    return made


@contextmanager
def running(design: Mapping[str, Any]) -> Iterator[tuple[Path, dict[str, str]]]:
    """A server with the settings of a design on a copy of the database: its folder and its settings."""
    settings = {"max_wal_senders": "0", "min_wal_size": "32MB", "recovery_init_sync_method": "syncfs"}
    for name, value in design.items():
        setting, _, unit = name.rpartition("_")
        settings |= {setting: f"{value}{UNITS[unit]}"} if unit in UNITS else {name: str(value)}
    with tempfile.TemporaryDirectory(prefix="flexibo-pg-") as name:
        subprocess.run(["cp", "-a", f"{template().name}/.", name], check=True)
        start(Path(name), settings)
        try:
            yield Path(name), settings
        finally:
            call(Path(name), "pg_ctl", "stop", "-w", "-D", "data", "-m", "immediate")


def p95_ms(design: Mapping[str, Any]) -> tuple[float, float]:
    """The milliseconds that 95 % of the transactions of a long run take at most, and its seconds."""
    with running(design) as (folder, _):
        call(folder, "pgbench", "-n", "-c", str(CLIENTS), "-T", SECONDS, "-l")
        logs = "".join(log.read_text() for log in folder.glob("pgbench_log.*"))
    taken = sorted(int(line.split()[2]) for line in logs.splitlines())
    return taken[int(0.95 * len(taken))] / 1000, float(SECONDS)


def short(design: Mapping[str, Any]) -> tuple[dict[str, float], float]:
    """Bytes of log per transaction, megabytes of memory and the time to recover from a crash, and the seconds."""
    with running(design) as (folder, settings):
        begun, log = time.perf_counter(), [call(folder, "psql", "-Atc", "SELECT pg_current_wal_lsn() - '0/0'")]
        call(folder, "pgbench", "-n", "-c", str(CLIENTS), "-t", str(TRANSACTIONS))
        log.append(call(folder, "psql", "-Atc", "SELECT pg_current_wal_lsn() - '0/0'"))
        number = (folder / "data/postmaster.pid").read_text().split()[0]
        sizes = subprocess.check_output(["ps", "-o", "pss=", "-p", number, "--ppid", number], text=True).split()
        call(folder, "pg_ctl", "stop", "-w", "-D", "data", "-m", "immediate")
        recovery, spent = start(folder, settings), time.perf_counter() - begun
    wal, memory = (float(log[1]) - float(log[0])) / (CLIENTS * TRANSACTIONS), sum(map(int, sizes)) / 1024
    return {"wal_bytes": wal, "memory_mb": memory, "recovery_ms": 1000 * recovery}, spent
