"""Connections: one for each thread, closed when nobody needs them."""

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
from flexibo.storage._connections import Connections
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
