"""What other programs may do to the file of a running study without being called damage."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from tests.unit.study.small_studies import answered, asked, opened

from flexibo import Study
from flexibo.storage import _file_watch, _sqlite

ROUNDS = 5


@pytest.fixture(autouse=True)
def often_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits are copied from the log to the file at every write."""
    monkeypatch.setattr(_sqlite, "CHECKPOINT_SECONDS", 0.0)


def executed(statement: str) -> Callable[[Path, ExitStack], None]:
    def visit(path: Path, _: ExitStack) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(statement).fetchall()

    return visit


def left_open(path: Path, visits: ExitStack) -> None:
    """A reader that never ends its transaction, so that the log cannot be copied whole."""
    connection = visits.enter_context(closing(sqlite3.connect(path, isolation_level=None)))
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM flexibo_events").fetchone()


def dumped(path: Path, visits: ExitStack) -> None:
    """A dump that is still being written while the study goes on."""
    connection = visits.enter_context(closing(sqlite3.connect(path)))
    lines = connection.iterdump()
    next(lines)
    visits.callback(list, lines)


def copied(path: Path, _: ExitStack) -> None:
    for beside in path.parent.glob("study.db*"):
        shutil.copy2(beside, path.parent / f"copy-of-{beside.name}")


def linked(path: Path, _: ExitStack) -> None:
    """As backups do that share unchanged files; the time of the last change of the file's record is another one."""
    (path.parent / "linked.db").unlink(missing_ok=True)
    os.link(path, path.parent / "linked.db")


def touched(path: Path, _: ExitStack) -> None:
    os.utime(path)
    path.chmod(0o640)


def backed_up(path: Path, _: ExitStack) -> None:
    with closing(sqlite3.connect(path)) as connection, closing(sqlite3.connect(path.parent / "backup.db")) as target:
        connection.backup(target)


VISITS = {
    "vacuum": executed("VACUUM"),
    "reindex": executed("REINDEX"),
    "analyze": executed("ANALYZE"),
    "checkpoint": executed("PRAGMA wal_checkpoint(TRUNCATE)"),
    "integrity check": executed("PRAGMA integrity_check"),
    "reader": left_open,
    "dump": dumped,
    "cp -p": copied,
    "hard link": linked,
    "touch": touched,
    "backup": backed_up,
}


@pytest.fixture(params=["disk", "memory", "coarse clock"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on a disk, on a file system in memory, and on one whose time stamps are two seconds apart."""
    if request.param == "memory":
        place = Path("/dev/shm") / f"flexibo-{os.getpid()}"
        if not place.parent.is_dir():
            pytest.skip("There is no file system in memory.")
        place.mkdir()
        yield place
        shutil.rmtree(place)
        return
    if request.param == "coarse clock":
        monkeypatch.setattr(_file_watch, "stat_of", lambda path, stat_of=_file_watch.stat_of: coarse(stat_of(path)))
    yield tmp_path


def coarse(stat: os.stat_result | None) -> os.stat_result | None:
    if stat is None:
        return None
    fields, times = list(stat)[:10], {"st_mtime_ns": 0, "st_ctime_ns": 0}
    for name in times:
        times[name] = getattr(stat, name) // 2_000_000_000 * 2_000_000_000
    return os.stat_result(fields, times)


@pytest.mark.parametrize("visit", list(VISITS))
def test_visitors_are_not_called_damage_while_a_study_runs(
    visit: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, told = folder / "study.db", 0
    with caplog.at_level(logging.WARNING), ExitStack() as visits:
        studies = [visits.enter_context(closing(opened(f"sqlite:///{path}", method="random"))) for _ in range(2)]
        for _ in range(ROUNDS):
            VISITS[visit](path, visits)
            for study in studies:
                answered(study, asked(study))
                told += 1
    with closing(Study.load(f"sqlite:///{path}")) as again:
        assert len(again.history.measurements) == told
    assert not caplog.records
    assert not list(folder.glob("*.unstored.jsonl"))


def test_a_copy_that_is_restored_on_purpose_is_continued(tmp_path: Path) -> None:
    path, copy = tmp_path / "study.db", tmp_path / "copy.db"
    study = opened(f"sqlite:///{path}", method="random")
    answered(study, asked(study))
    backed_up(path, ExitStack())
    shutil.copy2(tmp_path / "backup.db", copy)
    answered(study, asked(study))
    study.close()
    shutil.copy2(copy, path)
    for beside in ("-wal", "-shm"):
        Path(f"{path}{beside}").unlink(missing_ok=True)
    with closing(opened(f"sqlite:///{path}", method="random")) as again:
        assert len(again.history.measurements) == 1
        answered(again, asked(again))
    with closing(Study.load(f"sqlite:///{path}")) as again:
        assert len(again.history.measurements) == 2


def test_a_study_that_is_closed_leaves_its_file_alone_at_once(tmp_path: Path) -> None:
    study = opened(f"sqlite:///{tmp_path}/study.db", method="random")
    for _ in range(2):
        answered(study, asked(study))
        study.close()
        assert [path.name for path in tmp_path.iterdir()] == ["study.db"]
