"""The journal of a session: on the disk first, for one session at a time, and believed only where it can be."""

from __future__ import annotations

import errno
import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.hardware.fake_linux import BOOT, journal_in, linux, put

from flexibo.hardware.knobs import Journal, JournalError, Write, default_path
from flexibo.hardware.knobs import journal as journals


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return journal_in(tmp_path, linux(tmp_path))


def write_in(journal: Journal, before: str = "60") -> Write:
    return Write(str(journal.roots.proc / "sys/vm/swappiness"), "10", before, tolerance=0.5)


def edit(journal: Journal, **changes: object) -> None:
    content = json.loads(journal.path.read_text())
    journal.path.write_text(json.dumps(content | changes))


def die(journal: Journal, pid: int = 4711) -> None:
    """Make the journal that of a process which is gone."""
    edit(journal, pid=pid, started="1")


def test_what_is_written_is_read_again_with_process_and_boot(journal: Journal) -> None:
    assert journal.load() is None
    elsewhere = str(journal.roots.proc / "sys/vm/dirty_bytes")
    writes = (write_in(journal), Write(elsewhere.replace("bytes", "ratio"), "5", "8192", elsewhere, steady=False))
    journal.begin(writes)
    entry = journal.load()
    assert entry is not None
    assert entry.writes == writes
    assert (entry.pid, entry.boot_id, entry.host) == (os.getpid(), BOOT, "board")
    assert journal.is_alive(entry)
    assert journal.is_of_this_boot(entry)
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600
    journal.end()
    assert journal.load() is None
    assert list(journal.path.parent.iterdir()) == []
    journal.end()


def test_an_update_replaces_all_and_leaves_no_draft(journal: Journal) -> None:
    journal.begin([write_in(journal)])
    journal.update([write_in(journal, "70")])
    entry = journal.load()
    assert entry is not None
    assert [write.before for write in entry.writes] == ["70"]
    assert entry.pid == os.getpid()
    journal.update([write_in(journal)], is_left=True)
    entry = journal.load()
    assert entry is not None
    assert entry.pid == 0
    assert not journal.is_alive(entry)
    assert list(journal.path.parent.iterdir()) == [journal.path]


def test_the_content_is_on_the_disk_before_it_has_its_name(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    original, link = os.fsync, os.link

    def sync(descriptor: int) -> None:
        events.append("file" if stat.S_ISREG(os.fstat(descriptor).st_mode) else "folder")
        original(descriptor)

    def linked(source: str, target: Path) -> None:
        events.append("name")
        link(source, target)

    monkeypatch.setattr(journals.os, "fsync", sync)
    monkeypatch.setattr(journals.os, "link", linked)
    journal.begin([write_in(journal)])
    assert events == ["file", "name", "folder"]


def test_a_second_session_of_this_process_is_refused(journal: Journal) -> None:
    journal.begin([])
    with pytest.raises(JournalError, match=rf"This process .*\b{os.getpid()}\b.*session"):
        journal.begin([])


def test_a_living_process_is_named(journal: Journal) -> None:
    journal.begin([])
    other = os.getppid()
    edit(journal, pid=other, started=journal._started(other))
    with pytest.raises(JournalError, match=rf"Process {other}\b.*{journal.path}") as caught:
        journal.begin([])
    assert "flexibo knobs restore" not in str(caught.value)  # it restores them itself


def test_a_dead_process_asks_for_restore_even_if_its_number_is_used_again(journal: Journal) -> None:
    journal.begin([])
    for pid in (4194304 + 1, os.getpid()):
        die(journal, pid)
        with pytest.raises(JournalError, match=rf"process {pid}\b.*flexibo knobs restore --journal {journal.path}"):
            journal.begin([])
    journal.update([], is_left=True)
    with pytest.raises(JournalError, match=rf"flexibo knobs restore --journal {journal.path}") as caught:
        journal.begin([])
    assert str(os.getpid()) not in str(caught.value).replace(str(journal.path), "")  # no process is left to name


def test_of_two_that_begin_at_once_one_is_refused(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    journal.begin([write_in(journal)])
    monkeypatch.setattr(Journal, "load", lambda self: None)  # it looked before the other had written
    with pytest.raises(JournalError, match=rf"Another session.*{journal.path}"):
        journal.begin([])
    monkeypatch.undo()
    entry = journal.load()
    assert entry is not None
    assert len(entry.writes) == 1
    assert list(journal.path.parent.iterdir()) == [journal.path]


def test_a_journal_of_another_boot_or_machine_says_so(journal: Journal) -> None:
    journal.begin([])
    put(journal.roots.proc / "sys/kernel/random/boot_id", "another")
    with pytest.raises(JournalError, match=rf"{journal.path}.*restarted.*flexibo knobs restore --force"):
        journal.begin([])
    entry = journal.load()
    assert entry is not None
    assert not journal.is_alive(entry)
    put(journal.roots.proc / "sys/kernel/hostname", "other")
    with pytest.raises(JournalError, match=rf"{journal.path}.*'board'.*flexibo knobs restore --force"):
        journal.begin([])


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "{}", "3", '{"format": 2}', "[" * 100_000, "\x00", '{"format": 1, "writes": 3}'],
)
def test_a_damaged_journal_is_one_sentence(journal: Journal, text: str) -> None:
    journal.path.parent.mkdir()
    journal.path.write_text(text)
    with pytest.raises(JournalError, match=rf"{journal.path} .*damaged") as caught:
        journal.load()
    assert "\n" not in str(caught.value)
    with pytest.raises(JournalError, match="is damaged"):
        journal.begin([])
    assert journal.path.read_text() == text


@pytest.mark.parametrize(
    "changes",
    [{"pid": "1"}, {"pid": True}, {"host": 3}, {"boot_id": None}, {"started": 1}, {"more": 1}, {"writes": [{}]}],
)
def test_a_journal_with_wrong_fields_is_damaged(journal: Journal, changes: dict[str, object]) -> None:
    journal.begin([write_in(journal)])
    edit(journal, **changes)
    with pytest.raises(JournalError, match="is damaged"):
        journal.load()


@pytest.mark.parametrize("name", ["value", "before", "tolerance", "readable", "path"])
def test_a_journal_whose_write_has_a_wrong_type_is_damaged(journal: Journal, name: str) -> None:
    journal.begin([write_in(journal)])
    content = json.loads(journal.path.read_text())
    content["writes"][0][name] = [7]
    journal.path.write_text(json.dumps(content))
    with pytest.raises(JournalError, match="is damaged"):
        journal.load()


@pytest.mark.parametrize("name", ["path", "before_path"])
@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/proc/sys/vm/swappiness", "{proc}/sys/kernel/core_pattern", "nvml:0/x"]
)
def test_a_journal_that_names_another_file_is_refused(journal: Journal, name: str, path: str) -> None:
    journal.begin([write_in(journal)])
    content = json.loads(journal.path.read_text())
    content["writes"][0][name] = path.format(proc=journal.roots.proc)
    journal.path.write_text(json.dumps(content))
    with pytest.raises(JournalError, match=rf"{journal.path} .*no knob") as caught:
        journal.load()
    assert repr(content["writes"][0][name]) in str(caught.value)


@pytest.mark.parametrize("text", ["", "1\n2", "|/bin/sh", "9" * 65, "a b"])
def test_a_text_that_no_kernel_shows_is_refused_before_it_is_kept(journal: Journal, text: str) -> None:
    with pytest.raises(JournalError, match=r"/sys/vm/swappiness") as caught:
        journal.begin([write_in(journal, text)])
    assert repr(text) in str(caught.value)
    with pytest.raises(JournalError, match=r"/sys/vm/swappiness") as caught:
        journal.begin([replace(write_in(journal), value=text)])
    assert repr(text) in str(caught.value)
    assert not journal.path.exists()


def test_a_full_disk_is_one_sentence_and_keeps_the_old_journal(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.begin([write_in(journal)])
    old = journal.path.read_text()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(journals.os, "fsync", full)
    with pytest.raises(JournalError, match=rf"{journal.path} .*written: {os.strerror(errno.ENOSPC)}"):
        journal.update([])
    assert journal.path.read_text() == old
    assert list(journal.path.parent.iterdir()) == [journal.path]


def test_a_journal_that_cannot_be_made_read_or_removed_says_why(tmp_path: Path) -> None:
    roots = linux(tmp_path)
    blocked = Journal(put(tmp_path / "file", "") / "state" / "knobs.json", roots)
    with pytest.raises(JournalError, match=rf"{blocked.path} .*read: .*{os.strerror(errno.ENOTDIR)}"):
        blocked.begin([])
    folder = Journal(tmp_path / "folder", roots)
    folder.path.mkdir()
    with pytest.raises(JournalError, match=rf"{folder.path} .*read: .*{os.strerror(errno.EISDIR)}"):
        folder.load()
    with pytest.raises(JournalError, match=rf"{folder.path} .*removed: {os.strerror(errno.EISDIR)}"):
        folder.end()
    (roots.proc / "sys/kernel/random/boot_id").unlink()
    with pytest.raises(JournalError, match=rf"random/boot_id .*read: {os.strerror(errno.ENOENT)}"):
        journal_in(tmp_path, roots).begin([])


def test_the_journal_is_in_the_users_state_folder() -> None:
    home = Path("/home/ada")
    assert default_path({}, home) == home / ".local/state/flexibo/knobs.json"
    assert default_path({"XDG_STATE_HOME": "relative"}, home) == home / ".local/state/flexibo/knobs.json"
    assert default_path({"XDG_STATE_HOME": "/var/state"}, home) == Path("/var/state/flexibo/knobs.json")
