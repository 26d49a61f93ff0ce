"""Many real processes on one database: nothing is lost, nothing comes twice, nobody is told that it is locked."""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.forked import forked_into, imported
from tests.integration import storage_writer
from tests.postgres import server
from tests.unit.storage.files import FROZEN, old_events

from flexibo.storage._frozen_writers import is_stopped
from flexibo.storage.sql import SQLStorage, StoredStudy, stored_studies


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'study.db'}" if request.param == "sqlite" else server().new_database()


@pytest.fixture(scope="module", autouse=True)
def ready() -> Iterator[None]:
    with imported("flexibo.storage.sql", "psycopg"):
        yield


class Writer:
    """A process that adds events, and prints into a file what it was told is safe."""

    def __init__(self, folder: Path, url: str, worker: str, number: int) -> None:
        self._out, self._errors = folder / f"{worker}.out", folder / f"{worker}.err"
        self.process = forked_into(self._out, self._errors, storage_writer.main, url, worker, number)

    def is_open(self) -> bool:
        return self._out.read_text().startswith("open\n")

    def is_busy(self) -> bool:
        return self.process.is_alive()

    def killed(self) -> list[tuple[str, int]]:
        """What it was told is safe, killed wherever it is."""
        self.process.kill()
        self.process.join()
        return self._told()

    def finished(self) -> list[tuple[str, int]]:
        """What it was told is safe, once it has come to its end without an error."""
        self.process.join(timeout=120)
        assert (self.process.exitcode, self._errors.read_text()) == (0, "")
        return self._told()

    def _told(self) -> list[tuple[str, int]]:
        lines = self._out.read_text().split("\n")[1:-1]  # a last line without its end is not whole
        return [(line.split()[0], int(line.split()[1])) for line in lines]


def stored(url: str) -> list[tuple[str, int]]:
    return [(event["worker"], event["i"]) for event in SQLStorage(url, "study", create=False).read()]


def check_whole(url: str) -> None:
    """The file of a SQLite database has no damage."""
    if url.startswith("sqlite:///"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.slow
def test_processes_that_open_a_new_database_at_once_all_succeed(url: str, tmp_path: Path) -> None:
    writers = [Writer(tmp_path, url, f"w{n}", 5) for n in range(3)]
    told = [event for writer in writers for event in writer.finished()]
    assert sorted(stored(url)) == sorted(told)
    assert len(set(told)) == 15
    assert stored_studies(url) == [StoredStudy("study", 15)]


@pytest.mark.slow
def test_processes_that_write_at_once_lose_and_double_nothing(url: str, tmp_path: Path) -> None:
    writers = [Writer(tmp_path, url, f"w{n}", 40) for n in range(4)]
    reader = SQLStorage(url, "study")
    lengths = []
    while any(writer.is_busy() for writer in writers):
        lengths.append(len(reader.read()))
        time.sleep(0.01)
    told = [event for writer in writers for event in writer.finished()]
    events = stored(url)
    assert len(events) == len(set(events)) == 160
    assert sorted(events) == sorted(told)
    for n in range(4):
        assert [i for worker, i in events if worker == f"w{n}"] == list(range(40))
    assert lengths == sorted(lengths)
    check_whole(url)


@pytest.mark.slow
def test_what_was_acknowledged_survives_processes_killed_at_any_moment(url: str, tmp_path: Path) -> None:
    rng = random.Random(1)
    told: list[tuple[str, int]] = []
    writers = [Writer(tmp_path, url, f"w{n}", 100_000) for n in range(3)]
    for n in range(3, 8):
        victim = writers.pop(rng.randrange(3))
        while not victim.is_open():
            assert victim.is_busy()
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.2))
        told += victim.killed()
        writers.append(Writer(tmp_path, url, f"w{n}", 100_000))
    for writer in writers:
        told += writer.killed()
    events = stored(url)
    assert len(told) > 10
    assert len(events) == len(set(events))
    assert set(told) <= set(events)
    assert len(events) - len(told) <= 8  # what a process had written and not yet printed when it was killed
    check_whole(url)


FORKS = """
import os, sys, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 on forks beside threads, which is the point here
from flexibo.storage import Sign
from flexibo.storage.sql import SQLStorage
storage = SQLStorage(sys.argv[1], "study")
done = threading.Event()
def sign():
    beat = 0
    while not done.wait(0.001):
        storage.sign("parent", Sign(beat := beat + 1, 0.0, 60.0))
thread = threading.Thread(target=sign)
thread.start()
def work(worker):
    for i in range(10):
        storage.commit(0, lambda new: [{"worker": worker, "i": i}])
work("parent before")
children = []
for n in range(4):
    if not (child := os.fork()):
        links = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
        inherited = [link for link in links if "study.db" in link]
        if inherited:
            os._exit(9)
        work(f"child {n}")
        del storage
        os._exit(0)
    children.append(child)
    work(f"parent {n}")
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
done.set()
thread.join()
assert codes == [0] * 4, codes
assert len(storage.read()) == 90
"""


@pytest.mark.slow
def test_a_forked_process_has_its_own_connections(url: str) -> None:
    done = subprocess.run([sys.executable, "-c", FORKS, url], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    events = stored(url)
    assert len(events) == len(set(events)) == 90
    check_whole(url)


CLOSES = """
import os, sys, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from flexibo.storage import _connections as connections
from flexibo.storage.sql import SQLStorage
connections.FORK_PATIENCE = 0.1
storage = SQLStorage(sys.argv[1], "study")
busy, done = threading.Event(), threading.Event()
def long(new):
    busy.set()
    done.wait()
    return [{"worker": "thread", "i": 0}]
thread = threading.Thread(target=storage.commit, args=(0, long))
thread.start()
busy.wait()
if not (child := os.fork()):
    storage.close()  # the lock of the thread, which is not here, is held for ever
    storage.read()
    os._exit(0)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
done.set()
thread.join()
storage.close()
assert code == 0
assert len(storage.read()) == 1
"""


def test_a_forked_process_closes_a_storage_that_a_thread_of_its_parent_was_using(url: str) -> None:
    done = subprocess.run([sys.executable, "-c", CLOSES, url], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    assert stored(url) == [("thread", 0)]


STOPS = """
import os, signal, sys, time
from flexibo.storage.sql import SQLStorage
storage = SQLStorage(sys.argv[1], "study")
def decide(new):
    os.kill(os.getpid(), signal.SIGSTOP)
    return [{"worker": "stopped", "i": 0}]
storage.commit(0, decide)
time.sleep(600)
"""


def test_a_writer_that_was_stopped_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.storage._sqlite._FROZEN_SECONDS", 0.0)
    url = f"sqlite:///{tmp_path / 'study.db'}"
    storage = SQLStorage(url, "study", patience=20.0)
    with subprocess.Popen([sys.executable, "-c", STOPS, url]) as writer:
        try:
            while not is_stopped(writer.pid):
                assert writer.poll() is None
                time.sleep(0.01)
            for i in range(3):
                storage.commit(i, lambda new, i=i: [{"worker": "mine", "i": i}])  # type: ignore[misc]
            assert is_stopped(writer.pid)
        finally:
            writer.kill()
    assert stored(url) == [("stopped", 0), ("mine", 0), ("mine", 1), ("mine", 2)]


OLD_TABLES = """
CREATE TABLE flexibo (schema INTEGER NOT NULL);
CREATE TABLE flexibo_events (
    study VARCHAR(200) NOT NULL, number INTEGER NOT NULL, content TEXT NOT NULL, PRIMARY KEY (study, number));
INSERT INTO flexibo VALUES (1);
INSERT INTO flexibo_events VALUES ('study', 0, '{"worker": "old", "i": 0}'), ('study', 1, '{"worker": "old", "i": 1}');
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_processes_that_bring_a_database_up_to_date_at_once_all_succeed(kind: str, tmp_path: Path) -> None:
    for attempt in range(2):
        if kind == "sqlite":
            url = f"sqlite:///{tmp_path / f'study-{attempt}.db'}"
            with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
                connection.executescript(OLD_TABLES)
        else:
            url = server().new_database()
            server().execute(OLD_TABLES, url.partition("?")[0].rpartition("/")[2])
        writers = [Writer(tmp_path, url, f"w{n}", 3) for n in range(3)]
        told = [event for writer in writers for event in writer.finished()]
        assert stored(url)[:2] == [("old", 0), ("old", 1)]
        assert sorted(stored(url)[2:]) == sorted(told)
        assert len(told) == 9


@pytest.mark.slow
def test_the_frozen_file_is_brought_up_to_date_by_processes_at_once(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    shutil.copy(FROZEN, path)
    url = f"sqlite:///{path}"
    told = [event for writer in [Writer(tmp_path, url, f"w{n}", 3) for n in range(4)] for event in writer.finished()]
    assert len(told) == 12
    assert stored_studies(url) == [StoredStudy("lenet", 30), StoredStudy("study", 12)]
    assert old_events(path) == old_events(FROZEN)
