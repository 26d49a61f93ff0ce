"""Files that are moved, removed or replaced while they are in use."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexibo.storage._file_watch import Change, FileWatch, identity, locks_of, log_of


@pytest.fixture
def watch(tmp_path: Path) -> FileWatch:
    path = tmp_path / "study.db"
    for place in (path, log_of(path), locks_of(path)):
        place.write_text("")
    watch = FileWatch(path)
    watch.opened()
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


def test_another_file_of_the_same_name_is_a_change_for_ever(watch: FileWatch) -> None:
    replace(watch.path)
    assert watch.change() is Change.FILE
    watch.closed()
    watch.opened()
    watch.remember(beside=True)
    assert watch.change() is Change.FILE


def test_a_file_that_comes_back_is_no_change(watch: FileWatch) -> None:
    watch.path.rename(watch.path.with_name("away"))
    assert watch.change() is Change.FILE
    watch.path.with_name("away").rename(watch.path)
    assert watch.change() is None


@pytest.mark.parametrize("beside", [log_of, locks_of])
def test_a_file_beside_it_may_be_made_again_once_all_connections_are_closed(watch: FileWatch, beside: object) -> None:
    place = beside(watch.path)  # type: ignore[operator]
    place.unlink()
    assert watch.change() is Change.REMOVED
    place.write_text("")
    replace(place)
    assert watch.change() is Change.REPLACED
    watch.opened()
    watch.closed()
    assert watch.change() is Change.REPLACED
    watch.closed()
    assert watch.change() is None
