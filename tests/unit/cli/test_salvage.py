"""``flexibo salvage``."""

from __future__ import annotations

import gc
import json
import shutil
from pathlib import Path

import pytest
from tests.command_line import call, good, mentions, refusal

ASSET = Path(__file__).parents[2] / "assets" / "study-schema-3.db"
PAGE = 4096


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copy(ASSET, "study.db")
    return tmp_path


def damage(at: int, what: bytes) -> bytes:
    data = bytearray(Path("study.db").read_bytes())
    data[at : at + len(what)] = what
    Path("study.db").write_bytes(data)
    return bytes(data)


class TestSalvage:
    def test_a_file_without_its_first_page_is_brought_out_completely(self, folder: Path) -> None:
        before = damage(0, bytes(PAGE))
        shown = call("salvage", "study.db", "--out", "new.db")
        assert shown.exit_code == 1  # nobody knows what was at the end
        assert mentions(shown.stdout, "'net'", "new.db", "56", "20", "200", "lost at the end")
        assert mentions(good("verify", "new.db"), "'net'", "whole", "56")
        gc.collect()  # a connection of this process that is still open keeps the log of its database
        assert sorted(path.name for path in folder.iterdir()) == ["new.db", "study.db"]
        assert Path("study.db").read_bytes() == before

    def test_what_is_lost_is_reported_and_the_exit_status_is_1(self) -> None:
        data = Path("study.db").read_bytes()
        damage(data.rfind(b'"event": "told"'), b'"event": "tolt"')
        shown = call("salvage", "study.db", "--out", "new.db")
        assert shown.exit_code == 1
        assert mentions(shown.stdout, "'net'", "19", "checksum", "budget")
        (found,) = json.loads(call("salvage", "study.db", "--out", "other.db", "--json").stdout)
        assert (len(found["changed"]), found["measurements"], found["events"]) == (1, 19, 55)
        good("status", "--storage", "sqlite:///new.db")

    def test_an_existing_file_is_not_replaced(self) -> None:
        Path("new.db").write_text("mine")
        assert mentions(refusal("salvage", "study.db", "--out", "new.db"), "new.db", "exists")
        assert Path("new.db").read_text() == "mine"
        good("salvage", "study.db", "--out", "new.db", "--force")
        assert mentions(good("verify", "new.db"), "whole")

    def test_the_damaged_file_itself_is_not_replaced(self) -> None:
        before = damage(0, bytes(PAGE))
        Path("same.db").symlink_to("study.db")
        for out in ("study.db", "same.db"):
            assert mentions(refusal("salvage", "study.db", "--out", out, "--force"), out, "itself")
        assert Path("study.db").read_bytes() == before

    def test_a_named_file_comes_before_the_storage_that_is_used_by_default(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FLEXIBO_STORAGE", "sqlite:///other.db")
        assert mentions(good("salvage", "study.db", "--out", "new.db"), "'net'", "56")
        refusal("salvage", "study.db", "--out", "more.db", "--storage", "sqlite:///third.db")

    def test_a_damaged_export_is_brought_out_line_by_line(self) -> None:
        good("export", "--out", "study.jsonl")
        lines = Path("study.jsonl").read_bytes().splitlines(keepends=True)
        told = next(n for n, line in enumerate(lines) if b'"event": "told"' in line)
        lines[told] = lines[told][:30] + b"\xff\n"
        Path("study.jsonl").write_bytes(b"".join(lines))
        assert mentions(refusal("import", "study.jsonl", "--storage", "sqlite:///copy.db"), f"Line {told + 1}")
        shown = call("salvage", "study.jsonl", "--out", "new.db")
        assert shown.exit_code == 1
        assert mentions(shown.stdout, "'net'", "new.db", "19", told - 1, "checksums")
        assert mentions(good("verify", "new.db"), "'net'", "whole")

    def test_a_file_of_which_nothing_is_left_is_one_sentence(self, folder: Path) -> None:
        Path("study.db").write_bytes(b"x" * 9999)
        refusal("salvage", "study.db", "--out", "new.db")
        assert not (folder / "new.db").exists()
