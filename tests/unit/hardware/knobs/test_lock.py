"""The lock of a machine's settings: one session at a time, and none that begins on what a killed one has left."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import stat
import tempfile
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest
from tests.ordinary_user import as_an_ordinary_user
from tests.unit.hardware.fake_linux import FakeKernel, contents, denied, fork, linux, put

from flexibo.hardware.knobs import (
    InUseError,
    Journal,
    JournalError,
    Level,
    RestoreError,
    check_free,
    linux_knobs,
    lock_path,
    restore,
    settings,
)
from flexibo.hardware.knobs._lock import held


class Users:
    """Two users of one machine, each with an own journal."""

    def __init__(self, folder: Path) -> None:
        self.kernel = FakeKernel(linux(folder))
        self.ada = Journal(folder / "ada" / "knobs.json", self.kernel.roots)
        self.bob = Journal(folder / "bob" / "knobs.json", self.kernel.roots)
        self.lock = lock_path(self.kernel.roots)
        self.before = contents(self.kernel.roots)

    def session(self, journal: Journal, value: int = 10):  # type: ignore[no-untyped-def]
        values: dict[str, Level] = {"swappiness": value}
        return settings(linux_knobs(self.kernel), values, machine=self.kernel, journal=journal)

    def swappiness(self) -> str:
        return self.kernel.read(str(self.kernel.roots.proc / "sys/vm/swappiness"))

    def killed(self, journal: Journal) -> int:
        """The number of a process that was killed in a session."""
        pid = fork()
        if not pid:
            try:
                with self.session(journal):
                    os.kill(os.getpid(), signal.SIGKILL)
            finally:
                os._exit(1)
        os.waitpid(pid, 0)
        assert self.swappiness() == "10"
        return pid

    def refuses(self, journal: Journal, error: type[JournalError], match: str) -> None:
        changed = contents(self.kernel.roots)
        with pytest.raises(error, match=match) as caught, self.session(journal, 30):
            pytest.fail("the body must not run")
        assert "\n" not in str(caught.value)
        assert contents(self.kernel.roots) == changed
        assert journal.path.exists() == (journal is self.ada)

    def is_as_it_was(self) -> bool:
        return contents(self.kernel.roots) == self.before and not self.ada.path.exists() and not self.bob.path.exists()


@pytest.fixture
def users(tmp_path: Path) -> Users:
    return Users(tmp_path)


@pytest.fixture
def other_process(users: Users) -> Iterator[int]:
    """Another process that holds a session of ada's until the test is over."""
    ready, told = os.pipe()
    waits, over = os.pipe()
    pid = fork()
    if not pid:
        try:
            os.close(over)
            with users.session(users.ada):
                os.write(told, b"x")
                os.read(waits, 1)  # until the test closes its end
        finally:
            os._exit(0)
    os.close(waits)
    os.read(ready, 1)
    yield pid
    os.close(over)
    os.waitpid(pid, 0)
    os.close(ready)
    os.close(told)
    assert users.is_as_it_was()


def test_a_second_users_session_is_refused_at_once_and_told_who_holds_the_machine(
    users: Users, other_process: int
) -> None:
    users.refuses(
        users.bob,
        InUseError,
        rf"^Process {other_process} .*'\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d UTC' \(journal '{users.ada.path}'\)",
    )
    assert users.swappiness() == "10"


def test_what_was_there_before_is_read_only_when_the_machine_is_ours(users: Users) -> None:
    reads: list[str] = []
    read = users.kernel.read
    users.kernel.read = lambda path: (reads.append(path), read(path))[1]  # type: ignore[method-assign]
    with held(users.ada, roots=users.kernel.roots):
        with pytest.raises(InUseError), users.session(users.bob):
            pytest.fail("the body must not run")
        assert reads == []


def test_settings_that_a_killed_session_left_are_not_taken_for_what_was_there_before(users: Users) -> None:
    pid = users.killed(users.ada)
    facts = rf"process {pid}, .*'.* UTC'.* flexibo knobs restore --journal '{users.ada.path}'$"
    for _ in range(2):
        users.refuses(users.bob, JournalError, facts)
    with pytest.raises(JournalError, match=facts):
        check_free(users.bob, machine=users.kernel)
    assert len(restore(users.ada, machine=users.kernel)) == 1
    check_free(users.bob, machine=users.kernel)
    with users.session(users.bob, 30):
        assert users.swappiness() == "30"
    assert users.is_as_it_was()


def test_a_journal_that_was_removed_by_hand_is_believed(users: Users) -> None:
    users.killed(users.ada)
    users.ada.path.unlink()
    with users.session(users.bob, 30):
        pass
    assert users.swappiness() == "10"


def test_a_journal_in_a_folder_that_may_not_be_looked_into_counts_as_there(
    users: Users, monkeypatch: pytest.MonkeyPatch
) -> None:
    users.killed(users.ada)
    lstat = os.lstat

    def hidden(path: Path) -> os.stat_result:
        if Path(path) == users.ada.path:
            raise denied(str(path))
        return lstat(path)

    monkeypatch.setattr(os, "lstat", hidden)
    users.refuses(users.bob, JournalError, f"flexibo knobs restore --journal '{users.ada.path}'")


def test_after_a_restart_nothing_is_left_to_put_back(users: Users) -> None:
    users.killed(users.ada)
    put(users.kernel.roots.proc / "sys/kernel/random/boot_id", "later")
    with users.session(users.bob, 30):
        assert users.swappiness() == "30"


def test_what_could_not_be_put_back_keeps_other_users_out_until_it_is(users: Users) -> None:
    with pytest.raises(RestoreError), users.session(users.ada):
        users.kernel.refuse["swappiness"] = denied()
    users.kernel.refuse.clear()
    users.refuses(users.bob, JournalError, f"process {os.getpid()}, .*flexibo knobs restore")
    restore(users.ada, machine=users.kernel)
    with users.session(users.bob, 30):
        pass
    assert users.is_as_it_was()


def test_restore_takes_the_lock_too_unless_it_is_forced(users: Users) -> None:
    users.killed(users.ada)
    with pytest.raises(InUseError), held_by_bob(users):
        restore(users.ada, machine=users.kernel)
    assert users.swappiness() == "10"
    with held_by_bob(users):
        restore(users.ada, machine=users.kernel, force=True)
    assert users.is_as_it_was()


def held_by_bob(users: Users):  # type: ignore[no-untyped-def]
    """A session of bob's that could begin because nothing said that ada's was killed."""
    users.lock.write_text("")
    return held(users.bob, roots=users.kernel.roots)


def test_of_two_that_restore_the_second_finds_nothing_to_do(users: Users, monkeypatch: pytest.MonkeyPatch) -> None:
    users.killed(users.ada)
    found = iter([users.ada.load(), None])
    monkeypatch.setattr(Journal, "load", lambda self: next(found))
    assert restore(users.ada, machine=users.kernel) == ()
    assert users.swappiness() == "10"


def test_the_lock_says_who_holds_it_and_nothing_when_all_is_as_it_was(users: Users) -> None:
    moment = datetime(2026, 3, 4, 5, 6, 7, tzinfo=timezone.utc)
    with held(users.ada, roots=users.kernel.roots, now=lambda: moment):
        assert json.loads(users.lock.read_text()) == {
            "pid": os.getpid(),
            "since": "2026-03-04 05:06:07 UTC",
            "journal": str(users.ada.path),
            "boot_id": users.ada.boot_id,
        }
        with open(users.lock) as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert users.lock.read_text() == ""
    assert stat.S_IMODE(users.lock.stat().st_mode) == 0o666


def test_an_entry_that_every_user_can_write_forges_no_line(users: Users, tmp_path: Path) -> None:
    with held(users.ada, roots=users.kernel.roots):
        entry = json.loads(users.lock.read_text())
        bad = put(tmp_path / "a\nflexibo: fine\x1b[2J", "")
        users.lock.write_text(json.dumps(entry | {"pid": 1, "journal": str(bad), "since": "now\n"}))
        with pytest.raises(InUseError, match=r"\b1\b.*'now\\n'.*a\\nflexibo: fine\\x1b\[2J") as caught:
            check_free(users.bob, machine=users.kernel)
        assert str(caught.value).isprintable()
    users.lock.write_text(json.dumps(entry | {"journal": str(bad)}))
    with pytest.raises(JournalError, match="restore --journal") as caught:
        check_free(users.bob, machine=users.kernel)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 99_999, '{"pid": "1"}', "\x00", '{"pid": 1, "more": 2}', "{}"])
def test_an_entry_that_no_session_wrote_is_no_entry(users: Users, text: str) -> None:
    put(users.lock, "").write_text(text)
    with users.session(users.ada):
        pass
    assert users.is_as_it_was()
    with held(users.ada, roots=users.kernel.roots):
        users.lock.write_text(text)
        with pytest.raises(InUseError, match=f"Another session.*{users.lock}"):
            check_free(users.bob, machine=users.kernel)


def test_the_lock_is_where_every_user_may_write_whoever_asks(tmp_path: Path) -> None:
    roots = linux(tmp_path)
    assert lock_path(roots) == tmp_path / "run/lock/flexibo-knobs.lock"
    for name, mode in (("tmp", 0o1777), ("run/lock", 0o755)):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name).chmod(mode)
    assert lock_path(roots) == tmp_path / "tmp/flexibo-knobs.lock"
    (tmp_path / "run/lock").chmod(0o1777)
    assert lock_path(roots) == tmp_path / "run/lock/flexibo-knobs.lock"


def test_a_lock_that_is_a_link_or_a_folder_is_refused(users: Users, tmp_path: Path) -> None:
    secret = put(tmp_path / "secret", "kept")
    users.lock.parent.mkdir(parents=True)
    users.lock.symlink_to(secret)
    with pytest.raises(JournalError, match=f"{users.lock}.*: {os.strerror(errno.ELOOP)}"):
        check_free(users.ada, machine=users.kernel)
    assert secret.read_text() == "kept\n"
    users.lock.unlink()
    os.mkfifo(users.lock)
    with pytest.raises(JournalError, match=f"{users.lock}.*no plain file"):
        check_free(users.ada, machine=users.kernel)
    users.lock.unlink()
    users.lock.mkdir()
    with pytest.raises(JournalError, match=f"{users.lock}.*: {os.strerror(errno.EISDIR)}"):
        check_free(users.ada, machine=users.kernel)


def test_an_unprivileged_user_and_root_hold_the_same_lock() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can step down to another user")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        users = Users(folder)
        users.lock.parent.mkdir(parents=True)
        users.lock.parent.chmod(0o1777)
        with held(users.ada, roots=users.kernel.roots), as_an_ordinary_user(), pytest.raises(InUseError):
            check_free(users.bob, machine=users.kernel)
        with as_an_ordinary_user():
            check_free(users.bob, machine=users.kernel)
