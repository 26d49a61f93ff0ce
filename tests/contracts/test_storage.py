from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.postgres import pool, server
from tests.unit.storage.files import lose_last

from flexibo._internal.interrupts import deferred_interrupts
from flexibo.storage import LogReplacedError, MemoryStorage, Sign, Storage, StorageError, open_storage
from flexibo.storage.sql import SQLStorage

DATABASES = ["sqlite", "postgresql", "pgbouncer"]


def new_url(kind: str, folder: Path) -> str:
    if kind == "sqlite":
        return f"sqlite:///{folder / 'study.db'}"
    return (pool() if kind == "pgbouncer" else server()).new_database()


@pytest.fixture(params=["memory", *DATABASES])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    return MemoryStorage() if request.param == "memory" else SQLStorage(new_url(request.param, tmp_path), "study")


@pytest.fixture(params=DATABASES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return new_url(request.param, tmp_path)


def add(storage: Storage, *events: dict[str, Any]) -> None:
    storage.commit(0, lambda _: events)


def test_events_come_back_in_order(storage: Storage) -> None:
    assert storage.read() == []
    add(storage, {"event": "a", "x": 1.5}, {"event": "b", "text": "ü'; DROP TABLE flexibo_events; -- %s :x \0 \ud800"})
    add(storage, {"event": "c", "nested": {"list": [1, None, True]}})
    assert [event["event"] for event in storage.read()] == ["a", "b", "c"]
    assert storage.read()[1]["text"] == "ü'; DROP TABLE flexibo_events; -- %s :x \0 \ud800"
    assert storage.read()[2]["nested"] == {"list": [1, None, True]}


def test_a_number_comes_back_to_the_last_bit(storage: Storage) -> None:
    numbers = [0.1 + 0.2, 1e-320, 1.7976931348623157e308, -0.0, 2**80]
    add(storage, {"numbers": numbers})
    assert [repr(number) for number in storage.read()[0]["numbers"]] == [repr(number) for number in numbers]


def test_what_is_known_already_is_not_read_again(storage: Storage) -> None:
    add(storage, {"event": "a"}, {"event": "b"}, {"event": "c"})
    assert storage.read(2) == [{"event": "c"}]
    assert storage.read(3) == []
    assert storage.read(9) == []


def test_what_was_read_can_be_changed_without_harm(storage: Storage) -> None:
    add(storage, {"event": "a"})
    storage.read()[0]["event"] = "changed"
    storage.commit(0, lambda new: [new[0].update(event="changed") or {"event": "b"}])
    assert storage.read() == [{"event": "a"}, {"event": "b"}]


def test_who_decides_gets_the_events_it_does_not_know(storage: Storage) -> None:
    add(storage, {"n": 0}, {"n": 1}, {"n": 2})
    given: list[Any] = []
    storage.commit(1, lambda new: given.extend(new) or [{"n": 3}])
    assert given == [{"n": 1}, {"n": 2}]
    assert storage.read() == [{"n": n} for n in range(4)]


def test_who_decides_may_add_nothing(storage: Storage) -> None:
    storage.commit(0, lambda _: [])
    assert storage.read() == []
    add(storage, {"n": 0})
    storage.commit(1, lambda _: ())
    assert storage.read() == [{"n": 0}]


def test_an_exception_of_who_decides_is_passed_on_and_nothing_is_added(storage: Storage) -> None:
    add(storage, {"n": 0})
    for error in (KeyError(7), KeyboardInterrupt(7)):

        def refuse(new: list[dict[str, Any]], error: BaseException = error) -> Sequence[dict[str, Any]]:
            assert new == [{"n": 0}]
            raise error

        with pytest.raises(type(error), match="7"):
            storage.commit(0, refuse)
    assert storage.read() == [{"n": 0}]
    add(storage, {"n": 1})
    assert storage.read() == [{"n": 0}, {"n": 1}]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}])
def test_what_json_does_not_know_is_refused_and_nothing_is_added(url: str, value: object) -> None:
    storage = SQLStorage(url, "study")
    with pytest.raises((ValueError, TypeError)):
        add(storage, {"n": 0}, {"value": value})
    assert storage.read() == []
    add(storage, {"n": 0})
    assert storage.read() == [{"n": 0}]


def test_large_events_are_kept(storage: Storage) -> None:
    add(storage, *({"n": n, "text": "x" * 200_000} for n in range(10)))
    assert [event["n"] for event in storage.read()] == list(range(10))
    assert len(storage.read(9)[0]["text"]) == 200_000


def test_threads_share_a_storage_and_lose_nothing(storage: Storage) -> None:
    errors = []

    def work(worker: int) -> None:
        try:
            known: list[Any] = []
            for i in range(10):
                storage.commit(len(known), lambda new, i=i: known.extend(new) or [{"worker": worker, "i": i}])
                known.append({"worker": worker, "i": i})
                storage.sign(str(worker), Sign(i, 0.1 * i, 60.0))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    events = storage.read()
    assert len(events) == 40
    for worker in range(4):
        assert [event["i"] for event in events if event["worker"] == worker] == list(range(10))
    assert {sign.beat for sign in storage.workers().values()} == {9}


def test_the_latest_sign_of_each_worker_is_kept_until_it_leaves(storage: Storage) -> None:
    assert storage.workers() == {}
    storage.sign("ada", Sign(1, 0.5, 60.0, {"host": "board", "pid": 7}))
    storage.sign("bob", Sign(2**40, 1e6, 0.25))
    storage.sign("ada", Sign(2, 15.5, 30.0, {"host": "bürd", "pid": 8, "nested": [1]}))
    assert storage.workers() == {
        "ada": Sign(2, 15.5, 30.0, {"host": "bürd", "pid": 8, "nested": [1]}),
        "bob": Sign(2**40, 1e6, 0.25),
    }
    storage.sign("ada", None)
    storage.sign("nobody", None)
    assert list(storage.workers()) == ["bob"]
    assert storage.read() == []


def test_two_who_open_a_database_see_what_the_other_adds(url: str) -> None:
    first, second = SQLStorage(url, "study"), SQLStorage(url, "study")
    first.commit(0, lambda _: [{"n": 0}])
    given: list[Any] = []
    second.commit(0, lambda new: given.extend(new) or [{"n": 1}])
    assert given == [{"n": 0}]
    assert first.read(1) == [{"n": 1}]
    first.sign("ada", Sign(1, 0.0, 60.0))
    assert list(second.workers()) == ["ada"]


def test_studies_share_a_database_without_mixing(url: str) -> None:
    first, second = SQLStorage(url, "first"), SQLStorage(url, "second")
    first.commit(0, lambda _: [{"event": "a"}])
    second.commit(0, lambda new: [*new, {"event": "b"}])
    second.sign("ada", Sign(1, 0.0, 60.0))
    assert first.read() == [{"event": "a"}]
    assert second.read() == [{"event": "b"}]
    assert first.workers() == {}


def test_a_reader_sees_only_whole_transactions_and_does_not_wait(url: str) -> None:
    writer, reader = SQLStorage(url, "study"), SQLStorage(url, "study")
    seen: list[Any] = []
    writer.commit(0, lambda _: seen.append(reader.read()) or [{"n": 0}, {"n": 1}])
    assert seen == [[]]
    assert len(reader.read()) == 2


def test_nobody_else_writes_while_one_decides_and_all_may_when_it_is_over(url: str) -> None:
    first, second = SQLStorage(url, "study"), SQLStorage(url, "study", patience=0.1)

    def refused(_: list[Any]) -> Sequence[dict[str, Any]]:
        with pytest.raises(StorageError, match="another process"):
            second.commit(0, lambda _: [{"n": "second"}])
        raise KeyError

    first.commit(0, lambda _: [{"n": 0}])
    with pytest.raises(KeyError):
        first.commit(1, refused)
    second.commit(1, lambda _: [{"n": 1}])
    first.commit(2, lambda _: [])
    second.commit(2, lambda _: [{"n": 2}])
    assert first.read() == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_a_storage_that_lost_events_which_were_read_is_refused(url: str) -> None:
    storage = SQLStorage(url, "study")
    storage.commit(0, lambda _: [{"n": 0}])
    with pytest.raises(StorageError, match=r"no longer .* 5 events .*'study'"):
        storage.commit(5, lambda _: [{"n": 5}])
    assert storage.read() == [{"n": 0}]


def test_nothing_is_added_to_a_log_in_which_others_replaced_a_lost_event(url: str) -> None:
    first, second = SQLStorage(url, "study"), SQLStorage(url, "study")
    first.commit(0, lambda _: [{"n": 0}])
    first.commit(1, lambda _: [{"n": "lost"}])
    lose_last(url)
    second.commit(0, lambda _: [{"n": "other"}])
    asked: list[Any] = []
    with pytest.raises(LogReplacedError, match=r"'study' .* 2\b"):
        first.commit(2, lambda new: asked.append(new) or [{"n": 2}])
    with pytest.raises(LogReplacedError, match=r"'study' .* 2\b"):
        first.read(2)
    assert asked == []
    with pytest.raises(LogReplacedError):
        first.read()
    assert second.read() == [{"n": 0}, {"n": "other"}]
    assert SQLStorage(url, "study").read(2) == []


def test_a_log_that_was_replaced_is_noticed_whatever_part_of_it_is_read(url: str) -> None:
    first, second = SQLStorage(url, "study"), SQLStorage(url, "study")
    for n in range(3):
        second.commit(n, lambda _, n=n: [{"n": n}])
    assert len(first.read()) == 3
    for _ in range(2):
        lose_last(url)
    SQLStorage(url, "study").commit(1, lambda _: [{"n": n} for n in ("b", "c", "d", "e")])
    for after in (3, 4, 5):
        with pytest.raises(LogReplacedError):
            first.read(after)
        with pytest.raises(LogReplacedError):
            first.commit(after, lambda _: [{"n": 9}])


@pytest.mark.parametrize("change", ["content = '{\"n\": 7}'", "digest = 'no digest'"])
def test_a_changed_event_is_noticed_by_who_reads_it(url: str, change: str) -> None:
    SQLStorage(url, "study").commit(0, lambda _: [{"n": n} for n in range(5)])
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE flexibo_events SET {change} WHERE number = 3")
    engine.dispose()
    for use in (
        lambda storage: storage.read(),
        lambda storage: storage.read(5),
        lambda storage: storage.commit(0, lambda _: [{"n": 5}]),
        lambda storage: storage.commit(4, lambda _: [{"n": 5}]),
    ):
        with pytest.raises(StorageError, match=r"Event 3 .*'study'"):
            use(SQLStorage(url, "study"))


def test_tables_that_a_newer_version_has_changed_meanwhile_are_left_alone(url: str) -> None:
    storage = SQLStorage(url, "study")
    storage.commit(0, lambda _: [{"n": 0}])
    engine = sa.create_engine(url)
    for schema, error in ((99, StorageError), (2, LogReplacedError)):
        with engine.begin() as connection:
            connection.exec_driver_sql(f"UPDATE flexibo SET schema = {schema}")
        with pytest.raises(error):
            storage.commit(1, lambda _: [{"n": 1}])
        with pytest.raises(error):
            storage.sign("ada", Sign(1, 0.0, 60.0))
    with engine.begin() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM flexibo_events").scalar() == 1
        assert connection.exec_driver_sql("SELECT count(*) FROM flexibo_workers").scalar() == 0
    engine.dispose()


def test_a_version_without_digests_cannot_write_to_these_tables(url: str) -> None:
    SQLStorage(url, "study").commit(0, lambda _: [{"n": 0}])
    engine = sa.create_engine(url)
    with engine.begin() as connection, pytest.raises(sa.exc.IntegrityError, match="digest"):
        connection.exec_driver_sql("INSERT INTO flexibo_events (study, number, content) VALUES ('study', 1, '{}')")
    engine.dispose()


@pytest.mark.parametrize("name", ["", "x" * 201, "two\nlines", "nul\0", "\ud800"])
def test_a_name_that_no_database_can_keep_is_refused(url: str, name: str) -> None:
    with pytest.raises(ValueError, match="printable"):
        SQLStorage(url, name)


def test_any_other_name_is_kept(url: str) -> None:
    for name in ("x" * 200, "LeNet on the TX2", "'; DROP TABLE flexibo; --", "学习"):
        SQLStorage(url, name).commit(0, lambda _, name=name: [{"name": name}])
        assert SQLStorage(url, name).read() == [{"name": name}]


def test_a_storage_that_is_used_inside_its_own_transaction_says_so_and_goes_on(url: str) -> None:
    storage = SQLStorage(url, "study")
    uses = [storage.read, storage.workers, storage.close, lambda: storage.commit(0, lambda _: [{"n": 1}])]
    for use in uses:
        with pytest.raises(StorageError, match="inside its own"):
            storage.commit(0, lambda _, use=use: use() or [{"n": 0}])
    assert storage.read() == []
    storage.commit(0, lambda _: [{"n": 2}])
    assert SQLStorage(url, "study").read() == [{"n": 2}]


@pytest.mark.parametrize("seconds", [0.0, 0.2])
def test_an_interrupt_that_is_put_off_ends_the_waiting_for_another_writer(url: str, seconds: float) -> None:
    first, second = SQLStorage(url, "study"), SQLStorage(url, "study", patience=10)
    first.commit(0, lambda _: [{"n": 0}])

    def interrupted(_: list[Any]) -> Sequence[dict[str, Any]]:
        with pytest.raises(KeyboardInterrupt):
            waiting()
        return [{"n": 1}]

    def waiting() -> None:
        with deferred_interrupts():
            if seconds:
                threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
            else:
                signal.raise_signal(signal.SIGINT)
            second.commit(0, lambda _: [{"n": "second"}])

    first.commit(1, interrupted)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    second.commit(2, lambda _: [{"n": 2}])
    assert first.read() == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_an_interrupt_that_is_put_off_waits_for_a_transaction_that_need_not_wait(url: str) -> None:
    storage = SQLStorage(url, "study")
    done = []

    def write() -> None:
        with deferred_interrupts():
            storage.commit(0, lambda _: signal.raise_signal(signal.SIGINT) or [{"n": 0}])
            done.append(storage.read())

    with pytest.raises(KeyboardInterrupt):
        write()
    assert done == [[{"n": 0}]]


def test_no_storage_is_memory_and_a_storage_is_itself() -> None:
    memory = MemoryStorage()
    assert open_storage(memory, "study") is memory
    assert isinstance(open_storage(None, "study"), MemoryStorage)
    with pytest.raises(TypeError, match=r"sqlite:///study\.db"):
        open_storage(7, "study")  # type: ignore[arg-type]
