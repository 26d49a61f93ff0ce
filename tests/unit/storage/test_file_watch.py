"""Files that are moved, removed or replaced while they are in use."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from flexibo.storage._file_watch import Change, Driver, FileWatch, identity, locks_of, log_of


@pytest.fixture
def connection() -> Driver:
    return Driver(":memory:")


@pytest.fixture
def watch(tmp_path: Path, connection: Driver) -> FileWatch:
    path = tmp_path / "study.db"
    for place in (path, log_of(path), locks_of(path)):
        place.write_text("")
    watch = FileWatch(path)
    watch.opened(connection)
    watch.remember(beside=True)
    return watch


def replace(path: Path) -> None:
    """Put another file in the place of one."""
    new = path.with_name("new")
    new.write_text("")
    new.replace(path)


def test_a_file_that_does_not_exist_has_no_identity(tmp_path: Path) -> None:
    assert identity(tmp_path / "nothing") is None
    assert FileWatch(tmp_path / "nothing").change() is None


def test_unchanged_files_are_unchanged(watch: FileWatch) -> None:
    watch.path.write_text("more")
    log_of(watch.path).write_text("more")
    assert watch.change() is None


def test_another_file_of_the_same_name_is_a_change_for_ever(watch: FileWatch, connection: Driver) -> None:
    replace(watch.path)
    assert watch.change() is Change.FILE
    watch.closing(connection)
    watch.opened(connection)
    watch.remember(beside=True)
    assert watch.change() is Change.FILE


def test_a_file_that_comes_back_is_no_change(watch: FileWatch) -> None:
    watch.path.rename(watch.path.with_name("away"))
    assert watch.change() is Change.FILE
    watch.path.with_name("away").rename(watch.path)
    assert watch.change() is None


@pytest.mark.parametrize("beside", [log_of, locks_of])
def test_a_file_beside_it_may_be_made_again_once_all_connections_are_closed(
    watch: FileWatch, connection: Driver, beside: object
) -> None:
    place = beside(watch.path)  # type: ignore[operator]
    place.unlink()
    assert watch.change() is Change.REMOVED
    place.write_text("")
    replace(place)
    assert watch.change() is Change.REPLACED
    other = Driver(":memory:")
    watch.opened(other)
    watch.closing(other)
    assert watch.change() is Change.REPLACED
    watch.closing(connection)
    assert watch.change() is None


def test_a_connection_that_nobody_closes_counts_until_it_is_collected(watch: FileWatch, connection: Driver) -> None:
    other = Driver(":memory:")
    watch.opened(other)
    watch.closing(connection)
    log_of(watch.path).unlink()
    assert watch.change() is Change.REMOVED
    del other
    gc.collect()
    assert watch.change() is None


def test_a_file_that_is_written_to_or_a_log_that_gets_shorter_is_to_be_examined(watch: FileWatch) -> None:
    stamp = watch.touched()
    assert stamp is not None
    assert not watch.is_written()
    watch.examined(stamp)
    assert watch.touched() is None
    log_of(watch.path).write_text("longer")
    assert watch.touched() is None
    for change in (lambda: log_of(watch.path).write_text("short"), lambda: watch.path.write_text("more")):
        change()
        stamp = watch.touched()
        assert stamp is not None
        assert watch.touched() == stamp
        assert watch.is_written()
        watch.examined(stamp)
        assert not watch.is_written()
        assert watch.touched() is None
