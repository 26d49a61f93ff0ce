"""Connections: one for each thread or one for all, closed when nobody needs them."""

from __future__ import annotations

import gc
import os
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.storage.files import contents

from flexibo.storage import StorageError
from flexibo.storage._connections import IDLE_SECONDS, Connections, SharedConnection
from flexibo.storage.sql import SQLStorage, StoredStudy, stored_studies


def test_a_closed_study_is_one_file(tmp_path: Path) -> None:
    storage = SQLStorage(f"sqlite:///{tmp_path / 'study.db'}", "study")
    storage.commit(0, lambda _: [{"n": 0}])
    thread = threading.Thread(target=storage.read)
    thread.start()
    thread.join()
    storage.close()
    assert list(contents(tmp_path)) == ["study.db"]
    assert storage.read() == [{"n": 0}]  # and is opened when it is needed
    del storage
    assert list(contents(tmp_path)) == ["study.db"]
    assert stored_studies(f"sqlite:///{tmp_path / 'study.db'}") == [StoredStudy("study", 1)]
    assert list(contents(tmp_path)) == ["study.db"]


class Line:
    """A connection that only knows whether it is open."""

    def __init__(self) -> None:
        self.is_open = True

    def close(self) -> None:
        self.is_open = False


@pytest.fixture
def opened() -> list[Line]:
    """The connections that were opened, in order."""
    return []


@pytest.fixture
def connections(opened: list[Line]) -> Connections:
    return Connections(lambda: opened.append(Line()) or opened[-1])  # type: ignore[arg-type, func-returns-value, return-value]


def in_a_thread(action: Callable[[], object]) -> None:
    thread = threading.Thread(target=action)
    thread.start()
    thread.join()


def test_a_thread_keeps_its_connection_and_shares_it_with_no_other(
    connections: Connections, opened: list[Line]
) -> None:
    def used() -> Line:
        with connections.use() as connection:
            return connection  # type: ignore[return-value]

    others: list[Line] = []
    assert used() is used() is opened[0]
    in_a_thread(lambda: others.append(used()))
    assert others == opened[1:]
    assert not others[0].is_open, "its thread has ended"
    assert opened[0].is_open


def test_a_dropped_connection_is_closed_and_the_next_use_opens_another(
    connections: Connections, opened: list[Line]
) -> None:
    connections.drop()  # nothing is open yet
    for expected in (1, 2):
        with connections.use():
            assert len(opened) == expected
        connections.drop()
    assert [line.is_open for line in opened] == [False, False]


def test_a_use_within_a_use_is_refused_and_the_first_goes_on(connections: Connections, opened: list[Line]) -> None:
    with connections.use() as connection:
        for inner in (lambda: connections.use().__enter__(), connections.close):
            with pytest.raises(StorageError, match="own transaction"):
                inner()
        assert connection.is_open  # type: ignore[attr-defined]
    with connections.use() as again:
        assert again is connection


def test_a_connection_that_cannot_be_opened_is_tried_again_at_the_next_use() -> None:
    calls: list[int] = []

    def connect() -> Line:
        calls.append(1)
        if len(calls) == 1:
            raise OSError("no server")
        return Line()

    connections = Connections(connect)  # type: ignore[arg-type]
    with pytest.raises(OSError, match="no server"), connections.use():
        pass
    with connections.use():
        assert len(calls) == 2


def test_all_connections_are_closed_with_the_last_reference(opened: list[Line]) -> None:
    own = Connections(lambda: opened.append(Line()) or opened[-1])  # type: ignore[arg-type, func-returns-value, return-value]
    with own.use():
        pass
    del own
    gc.collect()
    assert [line.is_open for line in opened] == [False]


@pytest.fixture
def share(opened: list[Line], tmp_path: Path) -> Callable[..., SharedConnection]:
    """Makes a share in the connection of a process to one database, or to another one."""

    def make(database: str = "studies") -> SharedConnection:
        return SharedConnection((tmp_path, database), lambda: opened.append(Line()) or opened[-1])  # type: ignore[arg-type, func-returns-value, return-value]

    return make


def line_of(shared: SharedConnection) -> Line:
    with shared.use() as connection:
        return connection  # type: ignore[return-value]


def test_all_threads_and_storages_of_a_process_share_one_connection(
    share: Callable[..., SharedConnection], opened: list[Line]
) -> None:
    first, second, elsewhere = share(), share(), share("other studies")
    assert not first.is_open
    used = [line_of(first), line_of(second)]
    in_a_thread(lambda: used.append(line_of(first)))
    assert used == [opened[0]] * 3
    assert first.is_open
    assert line_of(elsewhere) is opened[1]


def test_a_thread_waits_while_another_one_uses_the_shared_connection(share: Callable[..., SharedConnection]) -> None:
    first, second = share(), share()
    order: list[str] = []
    waits = threading.Event()

    def use() -> None:
        waits.set()
        with second.use():
            order.append("second")

    with first.use():
        thread = threading.Thread(target=use)
        thread.start()
        waits.wait()
        thread.join(0.02)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_storage_within_the_transaction_of_another_one_has_a_connection_of_its_own_meanwhile(
    share: Callable[..., SharedConnection], opened: list[Line]
) -> None:
    outer, inner = share(), share()
    with outer.use() as connection:
        assert line_of(inner) is opened[1]
        assert not opened[1].is_open
        for again in (lambda: line_of(outer), outer.close):
            with pytest.raises(StorageError, match="own transaction"):
                again()
        inner.close()  # does not take the connection from the transaction
        assert connection.is_open  # type: ignore[attr-defined]
    assert line_of(inner) is opened[0]


def test_a_shared_connection_is_dropped_only_by_who_uses_it(
    share: Callable[..., SharedConnection], opened: list[Line]
) -> None:
    first, second = share(), share()
    with first.use():
        second.drop()
        assert opened[0].is_open
        first.drop()
        assert not opened[0].is_open
    assert line_of(second) is opened[1]


def test_a_shared_connection_is_closed_with_the_last_storage(
    share: Callable[..., SharedConnection], opened: list[Line]
) -> None:
    first, second, third = share(), share(), share()
    assert line_of(first) is line_of(second) is line_of(third)
    first.close()
    del third
    gc.collect()
    assert opened[0].is_open
    second.close()
    assert not opened[0].is_open
    assert line_of(first) is opened[1]
    del first, second
    gc.collect()
    assert not opened[1].is_open


def test_a_shared_connection_is_closed_after_a_while_without_use(
    share: Callable[..., SharedConnection], opened: list[Line]
) -> None:
    shared = share()
    line_of(shared)
    held = shared._line.held()
    assert held.close_if_idle(1, held.used + IDLE_SECONDS - 0.5) == pytest.approx(0.5)
    with shared.use():
        assert held.close_if_idle(1, held.used + 99.0) == IDLE_SECONDS
    assert opened[0].is_open
    assert held.close_if_idle(1, held.used + IDLE_SECONDS) is None
    assert not opened[0].is_open
    line_of(shared)
    assert held.close_if_idle(1, held.used + 99.0) is None, "the watch of the first connection is over"
    assert opened[1].is_open


def test_a_thread_watches_a_shared_connection_and_ends_with_it(
    share: Callable[..., SharedConnection], opened: list[Line], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flexibo.storage._connections.IDLE_SECONDS", 0.01)
    before = set(threading.enumerate())
    shared = share()
    line_of(shared)
    for thread in set(threading.enumerate()) - before:
        thread.join(10.0)
        assert not thread.is_alive()
    assert not opened[0].is_open
    assert line_of(shared) is opened[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this machine")
def test_a_forked_process_opens_a_shared_connection_of_its_own(
    share: Callable[..., SharedConnection], opened: list[Line]
) -> None:
    shared = share()
    line_of(shared)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        os._exit(0 if line_of(shared) is opened[1] and not opened[0].is_open else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert line_of(shared) is opened[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this machine")
def test_a_fork_closes_what_is_not_in_use(connections: Connections, opened: list[Line]) -> None:
    with connections.use():
        pass
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks in programs with threads
        child = os.fork()
    if not child:
        os._exit(0 if not opened[0].is_open else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not opened[0].is_open
    with connections.use():
        assert len(opened) == 2
