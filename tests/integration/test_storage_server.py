"""A PostgreSQL server that stops, restarts, loses connections or is away; and passwords, which are never shown."""

from __future__ import annotations

import gc
import logging
import os
import re
import select
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from tests.forked import forked_into, imported
from tests.integration import storage_writer
from tests.postgres import PASSWORD, Server, own_server, pool, server

from flexibo import Study
from flexibo.storage import Sign, StorageError
from flexibo.storage._schema import SCHEMA
from flexibo.storage.sql import SQLStorage, StoredStudy, stored_studies

pytestmark = pytest.mark.slow


@pytest.fixture
def postgres() -> Server:
    return server()


def database_of(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]


class Cutter:
    """Stands between a client and the server, and cuts the connection once at the COMMIT of a client.

    Args:
        after: Whether the server gets the COMMIT, and only its answer is lost.
    """

    def __init__(self, postgres: Server, *, after: bool) -> None:
        self._target = str(postgres.folder / f".s.PGSQL.{postgres.port}")
        self._after = after
        self.cuts = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _listen(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as target:
            target.connect(self._target)
            while True:
                for source in select.select([client, target], [], [])[0]:
                    data = source.recv(65536)
                    if not data:
                        return
                    if source is client and b"COMMIT" in data and b"flexibo_events" in self._said and not self.cuts:
                        self.cuts += 1
                        if self._after:
                            target.sendall(data)
                            target.recv(65536)  # the server has committed, and nobody hears of it
                        return
                    if source is client:
                        self._said += data
                    (target if source is client else client).sendall(data)

    _said = b""


class Refuser(Cutter):
    """Refuses connections as a server that starts up or is full, a number of times; later ones reach the server."""

    def __init__(self, postgres: Server, code: str, message: str, times: int) -> None:
        self._error = f"SFATAL\0VFATAL\0C{code}\0M{message}\0\0".encode()
        self.left = times
        super().__init__(postgres, after=False)

    def _pass_on(self, client: socket.socket) -> None:
        if self.left <= 0:
            self.cuts = 1  # and cuts no connection
            super()._pass_on(client)
            return
        self.left -= 1
        with client:
            if client.recv(8, socket.MSG_PEEK)[4:8] == b"\x04\xd2\x16\x2f":
                client.recv(8)
                client.sendall(b"N")  # no TLS
            client.recv(65536)
            client.sendall(b"E" + (len(self._error) + 4).to_bytes(4, "big") + self._error)


STARTING = ("57P03", "the database system is starting up")
FULL = ("53300", "sorry, too many clients already")


@pytest.mark.parametrize("refusal", [STARTING, FULL])
def test_a_server_that_starts_up_or_is_full_is_waited_for_when_opened_and_later(
    postgres: Server, refusal: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    between = Refuser(postgres, *refusal, times=2)
    url = between.url(database_of(postgres.new_database()))
    gc.disable()  # an error that was handled may keep what failed alive for long
    try:
        assert stored_studies(url) == []
        assert between.left == 0
        storage = SQLStorage(url, "study")
        storage.close()
        between.left = 2
        storage.commit(0, lambda _: [{"n": 0}])
        assert (between.left, storage.read()) == (0, [{"n": 0}])
        assert len([record for record in caplog.records if refusal[1] in record.getMessage()]) == 2
    finally:
        gc.enable()
        between.close()


def test_a_server_that_stays_full_is_one_sentence_that_says_what_to_do(postgres: Server) -> None:
    between = Refuser(postgres, *FULL, times=10**9)
    try:
        with pytest.raises(StorageError, match=r"max_connections.*PgBouncer") as caught:
            SQLStorage(between.url("postgres"), "study", patience=0.3)
        assert "\n" not in str(caught.value)
    finally:
        between.close()


@pytest.fixture
def cutter(postgres: Server) -> Iterator[Callable[[bool], Cutter]]:
    made: list[Cutter] = []

    def make(after: bool) -> Cutter:
        made.append(Cutter(postgres, after=after))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("after", [True, False])
def test_events_are_added_once_when_the_answer_to_a_commit_is_lost(
    postgres: Server, cutter: Callable[[bool], Cutter], after: bool
) -> None:
    direct = SQLStorage(postgres.new_database(), "study")
    direct.commit(0, lambda _: [{"n": 0}])
    between = cutter(after)
    storage = SQLStorage(between.url(database_of(str(direct).split("'")[1])), "study")
    calls: list[list[Any]] = []
    storage.commit(0, lambda new: calls.append(new) or [{"n": 1}, {"n": 2}])
    assert between.cuts == 1
    assert direct.read() == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert calls == ([[{"n": 0}]] if after else [[{"n": 0}], []])


def test_who_decides_again_gets_only_what_it_has_not_seen(
    postgres: Server, cutter: Callable[[bool], Cutter], caplog: pytest.LogCaptureFixture
) -> None:
    url = postgres.new_database()
    direct = SQLStorage(url, "study")
    direct.commit(0, lambda _: [{"n": 0}])
    between = cutter(False)
    storage = SQLStorage(between.url(database_of(url)), "study")
    calls: list[list[Any]] = []
    other = threading.Event()

    class Adding(logging.Handler):
        """When the storage says that it lost the server, somebody else adds an event."""

        def emit(self, record: logging.LogRecord) -> None:
            direct.commit(0, lambda _: [{"n": "other"}])
            other.set()

    handler = Adding()
    logging.getLogger("flexibo.storage._database").addHandler(handler)
    try:
        storage.commit(0, lambda new: calls.append(new) or [{"n": len(calls)}])
    finally:
        logging.getLogger("flexibo.storage._database").removeHandler(handler)
    assert other.is_set()
    assert calls == [[{"n": 0}], [{"n": "other"}]]
    assert direct.read() == [{"n": 0}, {"n": "other"}, {"n": 2}]
    assert " 60 s." in caplog.text


def test_a_connection_that_the_server_ended_is_replaced(postgres: Server) -> None:
    url = postgres.new_database()
    storage = SQLStorage(url, "study")
    ended = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database_of(url)}'"
    storage.commit(0, lambda _: [{"n": 0}])
    for action in (
        lambda: storage.read() == [{"n": 0}] or pytest.fail("events differ"),
        lambda: storage.commit(1, lambda _: [{"n": 1}]),
        lambda: storage.sign("ada", Sign(1, 0.0, 60.0)),
        lambda: list(storage.workers()) == ["ada"] or pytest.fail("workers differ"),
    ):
        assert postgres.execute(ended) != []
        action()
    # In the middle of a transaction too.
    calls: list[int] = []
    storage.commit(2, lambda _: calls.append(1) or (len(calls) == 1 and postgres.execute(ended) and None) or [{"n": 2}])
    assert len(calls) == 2
    assert storage.read() == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_writers_go_on_when_the_server_restarts(postgres: Server, tmp_path: Path) -> None:
    url = postgres.new_database()
    logs = [(tmp_path / f"w{n}.out", tmp_path / f"w{n}.err") for n in range(3)]
    with imported("flexibo.storage.sql", "psycopg"):
        writers = [forked_into(*log, storage_writer.main, url, f"w{n}", 120) for n, log in enumerate(logs)]
        restarts = 0
        while any(writer.is_alive() for writer in writers) and restarts < 2:
            lines = [out.read_text().count("\n") for out, _ in logs]
            if min(lines) > 1 and max(lines) > 30 * (restarts + 1):
                postgres.restart()
                restarts += 1
            time.sleep(0.02)
        for writer in writers:
            writer.join(timeout=120)
    codes = [writer.exitcode for writer in writers]
    assert (codes, restarts == 2) == ([0, 0, 0], True), [errors.read_text()[-500:] for _, errors in logs]
    events = [(event["worker"], event["i"]) for event in SQLStorage(url, "study").read()]
    assert len(events) == len(set(events)) == 360
    assert sorted(events) == sorted((f"w{n}", i) for n in range(3) for i in range(120))


def test_a_server_that_stays_away_is_given_up_after_the_patience(postgres: Server) -> None:
    storage = SQLStorage(postgres.new_database(), "study", patience=0.5)
    storage.commit(0, lambda _: [{"n": 0}])
    postgres.stop()
    try:
        start = time.monotonic()
        with pytest.raises(StorageError, match=r"cannot be reached .*\. Nothing was changed\.$"):
            storage.commit(1, lambda _: [{"n": 1}])
        assert 0.4 < time.monotonic() - start < 10
    finally:
        postgres.start()
    assert storage.read() == [{"n": 0}]
    storage.commit(1, lambda _: [{"n": 1}])
    assert storage.read() == [{"n": 0}, {"n": 1}]


def test_a_server_that_cannot_be_reached_is_one_sentence_at_once(postgres: Server) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        url = f"postgresql://ada:{quote(PASSWORD, safe='')}@127.0.0.1:{taken.getsockname()[1]}/studies"
        start = time.monotonic()
        for opened in (lambda: SQLStorage(url, "study"), lambda: stored_studies(url)):
            with pytest.raises(StorageError, match=r"^postgresql://ada:\*\*\*@127\.0\.0\.1:\d+/studies .*reached") as e:
                opened()
            assert "\n" not in str(e.value)
            assert PASSWORD not in str(e.value)
        assert time.monotonic() - start < 5


def test_a_writer_that_never_ends_is_reported(postgres: Server) -> None:
    url = postgres.new_database()
    storage = SQLStorage(url, "study", patience=0.3)
    storage.commit(0, lambda _: [{"n": 0}])
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("SELECT * FROM flexibo_studies FOR UPDATE"))
        with pytest.raises(StorageError, match=r" is locked .*\. Nothing was changed\.$"):
            storage.commit(1, lambda _: [{"n": 1}])
        assert storage.read() == [{"n": 0}]
    engine.dispose()
    storage.commit(1, lambda _: [{"n": 1}])


def connections_to(postgres: Server, name: str) -> int:
    """The number of connections to a database."""
    counted = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'"
    return int(str(postgres.execute(counted)[0][0]))


def test_a_process_has_one_connection_for_all_its_studies_threads_and_heartbeats(
    postgres: Server, make_study: Callable[..., Study]
) -> None:
    url = postgres.new_database()
    studies = [make_study(storage=url, name=name, lease=0.2) for name in ("a", "b")]
    asked = [study.ask() for study in studies]  # and heartbeats begin
    most = 0
    threads = [threading.Thread(target=study.front) for study in studies for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        most = max(most, connections_to(postgres, database_of(url)))
        time.sleep(0.01)
    for study, evaluation in zip(studies, asked, strict=True):
        assert evaluation is not None
        study.tell(evaluation, 1.0, cost=1.0)
    most = max(most, connections_to(postgres, database_of(url)))
    assert most == 1
    assert [len(SQLStorage(url, name).workers()) for name in ("a", "b")] == [1, 1]


def test_heartbeats_go_on_while_a_write_waits_for_another_process(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flexibo.storage._postgresql._LOCK_SECONDS", 0.2)
    url = postgres.new_database()
    storage = SQLStorage(url, "study")
    storage.commit(0, lambda _: [{"n": 0}])
    engine = sa.create_engine(url)
    writing = threading.Thread(target=storage.commit, args=(1, lambda _: [{"n": 1}]))
    with engine.begin() as connection:
        connection.execute(sa.text("SELECT * FROM flexibo_studies FOR UPDATE"))
        writing.start()
        start = time.monotonic()
        for beat in range(5):
            storage.sign("ada", Sign(beat, 0.0, 60.0))
        took = time.monotonic() - start
        assert writing.is_alive()
    writing.join()
    engine.dispose()
    assert took < 10.0
    assert storage.read() == [{"n": 0}, {"n": 1}]


def test_an_idle_process_has_no_connection(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexibo.storage._connections.IDLE_SECONDS", 0.05)
    url = postgres.new_database()
    storage = SQLStorage(url, "study")
    storage.commit(0, lambda _: [{"n": 0}])
    end = time.monotonic() + 10.0
    while connections_to(postgres, database_of(url)) and time.monotonic() < end:
        time.sleep(0.02)
    assert connections_to(postgres, database_of(url)) == 0
    assert storage.read() == [{"n": 0}]


def test_an_open_connection_that_the_server_ended_does_not_stop_the_opening_of_a_study(postgres: Server) -> None:
    url = postgres.new_database()
    first = SQLStorage(url, "study")
    first.commit(0, lambda _: [{"n": 0}])
    ended = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database_of(url)}'"
    assert postgres.execute(ended) == [(True,)]
    assert SQLStorage(url, "study", create=False).read() == [{"n": 0}]


def work_with_pauses(url: str, worker: str) -> None:
    """A worker whose measurements take longer than a connection is kept."""
    storage = SQLStorage(url, "study")
    for i in range(3):
        storage.commit(0, lambda _, i=i: [{"worker": worker, "i": i}])
        storage.sign(worker, Sign(i, 0.0, 60.0))
        time.sleep(3.0)
    print("done")


@pytest.mark.parametrize(("number", "limit"), [(9, 8), pytest.param(100, 100, marks=pytest.mark.long)])
def test_more_workers_share_a_server_than_it_accepts_connections(tmp_path: Path, number: int, limit: int) -> None:
    crowded = own_server(max_connections=str(limit), max_wal_senders="0")
    crowded.execute("CREATE ROLE worker LOGIN")
    url = crowded.new_database()
    crowded.execute(f"ALTER DATABASE {database_of(url)} OWNER TO worker")
    url = url.replace("postgres@", "worker@")  # for whom the last 3 are not
    logs = [(tmp_path / f"w{n}.out", tmp_path / f"w{n}.err") for n in range(number)]
    with imported("flexibo.storage.sql", "flexibo.storage._postgresql", "sqlalchemy.dialects.postgresql.psycopg"):
        workers = [forked_into(*log, work_with_pauses, url, f"w{n}") for n, log in enumerate(logs)]
        for worker in workers:
            worker.join(timeout=300)
    crowded.stop()
    codes = [worker.exitcode for worker in workers]
    assert codes == [0] * number, [errors.read_text()[-300:] for _, errors in logs if errors.read_text()][:3]


def test_tables_of_others_are_left_alone(postgres: Server) -> None:
    url = postgres.new_database()
    postgres.execute("CREATE TABLE books (title TEXT); INSERT INTO books VALUES ('Emma')", database_of(url))
    assert stored_studies(url) == []
    with pytest.raises(StorageError, match="holds no studies"):
        SQLStorage(url, "study", create=False)
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
    assert postgres.execute(tables, database_of(url)) == [(1,)]
    SQLStorage(url, "study").commit(0, lambda _: [{"n": 0}])
    assert stored_studies(url) == [StoredStudy("study", 1)]
    assert postgres.execute("SELECT * FROM books", database_of(url)) == [("Emma",)]


def test_a_newer_schema_on_a_server_is_refused(postgres: Server) -> None:
    url = postgres.new_database()
    SQLStorage(url, "study")
    postgres.execute("UPDATE flexibo SET schema = 99", database_of(url))
    for create in (True, False):
        with pytest.raises(StorageError, match=rf"schema 99,.* {SCHEMA}\b"):
            SQLStorage(url, "study", create=create)


def test_commits_are_durable_and_locks_end_whatever_the_defaults_of_the_server(postgres: Server) -> None:
    url = postgres.new_database()
    name = database_of(url)
    postgres.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    postgres.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
    storage = SQLStorage(url, "study")
    seen: list[tuple[Any, ...]] = []

    def decide(_: list[Any]) -> list[dict[str, Any]]:
        connection = storage._session._connections._mine.held.connection  # of this very transaction
        shown = ("synchronous_commit", "transaction_isolation", "idle_in_transaction_session_timeout", "lock_timeout")
        seen.append(tuple(connection.exec_driver_sql(f"SHOW {setting}").scalar() for setting in shown))
        return [{"n": 0}]

    storage.commit(0, decide)
    assert seen == [("on", "read committed", "30s", "3s")]


def statements_of_the_page() -> list[str]:
    """The statements for roles with few rights, as the documentation has them."""
    page = Path(__file__).parents[2] / "docs" / "howto" / "postgresql.md"
    (block,) = re.findall(r"```sql\n(.*?)```", page.read_text(), re.DOTALL)
    return [statement.strip() for statement in block.split(";") if statement.strip()]


def test_the_roles_of_the_page_can_work_and_look_and_nothing_else(
    postgres: Server, make_study: Callable[..., Study]
) -> None:
    url = postgres.new_database()
    make_study(storage=url, name="lenet").note("by the owner")
    for statement in statements_of_the_page():
        role = statement.split()[2]
        if not statement.startswith("CREATE") or not postgres.execute(
            f"SELECT 1 FROM pg_roles WHERE rolname = '{role}'"
        ):
            postgres.execute(statement, database_of(url))
    as_worker, as_reader = (url.replace("postgres@", f"flexibo_{role}@") for role in ("worker", "reader"))
    worker = Study.load(as_worker, "lenet")
    first = worker.ask()
    assert first is not None
    worker.tell(first, 0.5, cost=1.0)
    second = worker.ask()
    assert second is not None
    worker.fail(second, "out of memory", cost=1.0)
    third = worker.ask()
    assert third is not None
    worker.release(third)
    worker.close()
    reader = SQLStorage(as_reader, "lenet", create=False)
    assert len(reader.read()) >= 8
    assert reader.workers() == {}
    assert [study.name for study in stored_studies(as_reader)] == ["lenet"]
    with pytest.raises(StorageError, match="permission denied"):
        reader.commit(0, lambda _: [{"n": 0}])
    with pytest.raises(StorageError, match="permission denied"):
        SQLStorage(as_worker, "another study").commit(0, lambda _: [{"n": 0}])
    for statement in (
        "DELETE FROM flexibo_events",
        "UPDATE flexibo_events SET content = ''",
        "CREATE TABLE more (n INT)",
    ):
        engine = sa.create_engine(as_worker)
        with pytest.raises(sa.exc.ProgrammingError, match="permission denied"), engine.begin() as connection:
            connection.execute(sa.text(statement))
        engine.dispose()


def test_a_connection_is_encrypted_and_the_server_is_checked(postgres: Server, tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes certificates, is not installed")
    for name in ("server", "other"):
        words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=flexibo"]
        files = ["-keyout", str(tmp_path / f"{name}.key"), "-out", str(tmp_path / f"{name}.crt")]
        subprocess.run([*words, "-addext", "subjectAltName=IP:127.0.0.1", *files], check=True, capture_output=True)
    for file in ("server.key", "server.crt"):
        shutil.copy(tmp_path / file, postgres.data / file)
        (postgres.data / file).chmod(0o600)
        if os.geteuid() == 0:
            shutil.chown(postgres.data / file, "postgres", "postgres")
    name = database_of(postgres.new_database())
    if not postgres.execute("SELECT 1 FROM pg_roles WHERE rolname = 'guarded'"):
        postgres.execute(f"CREATE ROLE guarded LOGIN PASSWORD '{PASSWORD}'")
    postgres.execute("GRANT ALL ON SCHEMA public TO guarded", name)
    url = f"postgresql://guarded:{quote(PASSWORD, safe='')}@127.0.0.1:{postgres.port}/{name}?sslmode=verify-full"
    encrypted = f"SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = '{name}'"
    try:
        postgres.execute("ALTER SYSTEM SET ssl = on")
        postgres.execute("SELECT pg_reload_conf()")
        end = time.monotonic() + 10.0
        while postgres.execute("SHOW ssl") != [("on",)] and time.monotonic() < end:
            time.sleep(0.02)
        storage = SQLStorage(f"{url}&sslrootcert={tmp_path / 'server.crt'}", "study")
        storage.commit(0, lambda _: [{"n": 0}])
        assert postgres.execute(encrypted) == [(True,)]
        with pytest.raises(StorageError, match="certificate") as caught:
            SQLStorage(f"{url}&sslrootcert={tmp_path / 'other.crt'}", "study")
        assert "\n" not in str(caught.value)
        storage.close()
    finally:
        postgres.execute("ALTER SYSTEM RESET ssl")
        postgres.execute("SELECT pg_reload_conf()")


def test_writers_behind_pgbouncer_share_few_sessions_and_go_on_when_the_server_restarts(
    postgres: Server, tmp_path: Path
) -> None:
    url = pool().new_database()
    logs = [(tmp_path / f"w{n}.out", tmp_path / f"w{n}.err") for n in range(8)]
    most, restarted = 0, False
    with imported("flexibo.storage.sql", "psycopg"):
        writers = [forked_into(*log, storage_writer.main, url, f"w{n}", 30) for n, log in enumerate(logs)]
        while any(writer.is_alive() for writer in writers):
            if not restarted and max(out.read_text().count("\n") for out, _ in logs) > 8:
                most = connections_to(postgres, database_of(url))
                postgres.restart()
                restarted = True
            time.sleep(0.02)
    codes = [writer.exitcode for writer in writers]
    assert (codes, restarted) == ([0] * 8, True), [errors.read_text()[-500:] for _, errors in logs]
    assert 1 <= most <= 4
    events = [(event["worker"], event["i"]) for event in SQLStorage(url, "study").read()]
    assert sorted(events) == sorted((f"w{n}", i) for n in range(8) for i in range(30))
    left = SQLStorage(url, "study")
    with left._session._connections.use() as connection:
        assert connection.exec_driver_sql("SHOW lock_timeout").scalar() == "0"


def test_a_password_is_used_and_never_shown(postgres: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    url = postgres.new_database()
    name = database_of(url)
    if not postgres.execute("SELECT 1 FROM pg_roles WHERE rolname = 'guarded'"):
        postgres.execute(f"CREATE ROLE guarded LOGIN PASSWORD '{PASSWORD}'")
    postgres.execute("GRANT ALL ON SCHEMA public TO guarded", name)
    written = quote(PASSWORD, safe="")
    place = f"127.0.0.1:{postgres.port}/{name}"
    good = [f"postgresql://guarded:{written}@{place}", f"postgresql+psycopg://guarded@{place}?password={written}"]
    said = []
    for each in good:
        storage = SQLStorage(each, "study")
        storage.commit(0, lambda _: [{"n": 0}])
        said += [repr(storage), repr(vars(storage)), repr(vars(storage._session.database)["_engine"])]
        with pytest.raises(StorageError) as caught:
            storage.commit(99, lambda _: [{"n": 0}])
        said += [str(caught.value), repr(caught.value)]
    for wrong in (good[0].replace("guarded:", "nobody:"), good[1].replace(name, "nowhere"), good[1] + "&nonsense=1"):
        with pytest.raises(StorageError) as caught:
            SQLStorage(wrong, "study")
        said += [str(caught.value), repr(caught.value)]
    for text in (*said, caplog.text):
        assert PASSWORD not in text
        assert written not in text
        assert not re.search(r"s3cret|Zk", text)
