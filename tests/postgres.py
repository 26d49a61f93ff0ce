"""A throw-away PostgreSQL server from the installed binaries, and PgBouncer in front of it: gone when the tests end."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

PASSWORD = "s3cret-Zk/41?@"
"""Of the user `guarded`, who must log in over the loopback; `postgres` comes in through the socket."""
_START_SECONDS = 60.0
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "max_connections": "60",
    "listen_addresses": "127.0.0.1",
    "log_min_messages": "fatal",
}


class Server:
    """A PostgreSQL server in a temporary folder."""

    def __init__(self, binaries: Path, **settings: str) -> None:
        self._binaries = binaries
        self._settings = _SETTINGS | settings
        self.folder = Path(tempfile.mkdtemp(prefix="flexibo-pg-"))
        self._names = itertools.count()
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        # However the tests end, killed or by an exit without farewell, this hears it and tidies up.
        watch = ["sh", "-c", 'cat >/dev/null; sleep 0.2; rm -rf "$0"', str(self.folder)]
        self._tidying = subprocess.Popen(watch, stdin=subprocess.PIPE, start_new_session=True)
        atexit.register(self._remove)
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        arguments = [
            "-D",
            str(self.data),
            "-U",
            "postgres",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
            "--auth-local=trust",
        ]
        made = subprocess.run(
            [*as_user(), self._binaries / "initdb", *arguments, "--auth-host=scram-sha-256"],
            capture_output=True,
            cwd=self.folder,
        )
        assert made.returncode == 0, made.stderr.decode()
        self.start()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self.port = self.port or _free_port()
        settings = {**self._settings, "port": str(self.port), "unix_socket_directories": str(self.folder)}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*as_user(), self._binaries / "postgres", "-D", str(self.data), *options],
                cwd=self.folder,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,  # Ctrl-C in the tests is not for the server
            )
        end = time.monotonic() + _START_SECONDS
        while not self._answers():
            assert self._process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < end, (self.folder / "log").read_text()
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """Stop the server; SIGQUIT is what ``pg_ctl stop -m immediate`` sends."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(_START_SECONDS)
            self._process = None

    def restart(self) -> None:
        """Stop the server at once, as a crash would, and start it again."""
        self.stop()
        self.start()

    def url(self, database: str) -> str:
        """The URL of a database through the socket, where nobody asks for a password."""
        return f"postgresql+psycopg://postgres@/{database}?host={self.folder}&port={self.port}"

    def new_database(self) -> str:
        """The URL of a new, empty database."""
        name = f"test_{next(self._names)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """What a statement returns."""
        import psycopg

        place = {"host": str(self.folder), "port": self.port, "user": "postgres", "dbname": database}
        with psycopg.connect(**place, autocommit=True) as connection:  # type: ignore[arg-type]
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def _answers(self) -> bool:
        asked = [str(self._binaries / "pg_isready"), "-q", "-h", str(self.folder), "-p", str(self.port)]
        return subprocess.run(asked, check=False).returncode == 0

    def _remove(self) -> None:
        self.stop()
        self._tidying.communicate()


class Pool:
    """PgBouncer in front of a server: each transaction gets any of a few sessions, and a client keeps none.

    It ignores no parameter of a connection, and does not know prepared statements.
    """

    def __init__(self, behind: Server, *, sessions: int) -> None:
        self._names = behind
        self.folder = behind.folder
        self.port = _free_port()
        (self.folder / "pool.ini").write_text(
            f"""[databases]
* = host={behind.folder} port={behind.port} user=postgres
[pgbouncer]
listen_port = {self.port}
unix_socket_dir = {self.folder}
auth_type = any
pool_mode = transaction
default_pool_size = {sessions}
max_client_conn = 500
max_db_connections = {sessions}
server_login_retry = 1
logfile = {self.folder / "pool.log"}
"""
        )
        command = [*as_user(), "pgbouncer", "-q", str(self.folder / "pool.ini")]
        self._process = subprocess.Popen(command, cwd=self.folder, start_new_session=True)
        atexit.register(self.stop)  # before the server, which was registered first
        end = time.monotonic() + _START_SECONDS
        while not (self.folder / f".s.PGSQL.{self.port}").exists():
            assert self._process.poll() is None, (self.folder / "pool.log").read_text()
            assert time.monotonic() < end
            time.sleep(0.02)

    def url(self, database: str) -> str:
        """The URL of a database through the pool."""
        return f"postgresql+psycopg://postgres@/{database}?host={self.folder}&port={self.port}"

    def new_database(self) -> str:
        """The URL of a new, empty database through the pool."""
        return self.url(self._names.new_database().partition("?")[0].rpartition("/")[2])

    def stop(self) -> None:
        """Stop the pool; the server stays."""
        self._process.kill()
        self._process.wait(_START_SECONDS)


def as_user() -> list[str]:
    """The start of a command of a server that dies with the tests, and does not run as root."""
    user = ["--reuid=postgres", "--regid=postgres", "--init-groups"] if os.geteuid() == 0 else []
    return ["setpriv", *user, "--pdeathsig=QUIT", "--"]


def server() -> Server:
    """The server of this test process; the test is skipped, and listed, where there is none."""
    reason = _why_not()
    if reason:
        pytest.skip(reason)
    return _server()


def own_server(**settings: str) -> Server:
    """Another server with these settings, for one test; skipped like `server`."""
    reason = _why_not()
    if reason:
        pytest.skip(reason)
    return Server(_binaries()[-1], **settings)


def pool() -> Pool:
    """PgBouncer in front of the server; the test is skipped, and listed, where it is not installed."""
    behind = server()
    if shutil.which("pgbouncer") is None:
        pytest.skip("PgBouncer is not installed (Debian: apt-get install pgbouncer)")
    return _pool(behind)


@cache
def _server() -> Server:
    return Server(_binaries()[-1])


@cache
def _pool(behind: Server) -> Pool:
    return Pool(behind, sessions=4)


def _why_not() -> str | None:
    if find_spec("psycopg") is None:
        return "psycopg is not installed (extra postgres)"
    if not _binaries():
        return "PostgreSQL is not installed (Debian: apt-get install postgresql)"
    if shutil.which("setpriv") is None:
        return "setpriv, which starts PostgreSQL, is not installed (Debian: util-linux)"
    return None


def _binaries() -> list[Path]:
    """The folders of the installed servers, the newest last."""
    folders = [initdb.parent for initdb in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return sorted(folders, key=lambda folder: int(folder.parent.name))


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port
