"""``flexibo verify``."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.command_line import call, good, mentions, refusal

from flexibo.cli.verify import shown_numbers

ASSET = Path(__file__).parents[2] / "assets" / "study-schema-3.db"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copy(ASSET, "study.db")
    return tmp_path


class TestVerify:
    @pytest.mark.parametrize("place", [[], ["study.db"], ["sqlite:///study.db"], ["--storage", "sqlite:///study.db"]])
    def test_a_whole_study_is_whole(self, place: list[str]) -> None:
        assert mentions(good("verify", *place), "'net'", "whole", "56", "20")

    def test_an_export_is_verified_too(self) -> None:
        good("export", "--out", "study.jsonl")
        assert mentions(good("verify", "study.jsonl"), "'net'", "whole", "56")
        Path("study.jsonl").write_bytes(Path("study.jsonl").read_bytes()[:-200])
        shown = call("verify", "study.jsonl")
        assert shown.exit_code == 1
        assert mentions(shown.stdout, "'net'", "damaged", "flexibo salvage study.jsonl --out")
        Path("study.jsonl").write_text("mine\n")
        assert mentions(refusal("verify", "study.jsonl"), "study.jsonl")

    def test_a_changed_event_is_named_and_the_exit_status_is_1(self) -> None:
        with closing(sqlite3.connect("study.db")) as connection, connection:
            connection.execute("UPDATE flexibo_events SET content = replace(content, '1', '2') WHERE number = 9")
            connection.execute("DELETE FROM flexibo_events WHERE number = 20")
        shown = call("verify")
        assert shown.exit_code == 1
        assert mentions(shown.stdout, "'net'", "damaged", "9", "20", "flexibo salvage study.db --out")
        (found,) = json.loads(call("verify", "--json").stdout)
        assert (found["changed"], found["missing"]) == ([9], [20])

    @pytest.mark.parametrize("command", ["status", "front", "resume", "export --out new.csv"])
    def test_every_command_on_a_damaged_study_names_the_commands_that_help(self, command: str) -> None:
        with closing(sqlite3.connect("study.db")) as connection, connection:
            connection.execute("UPDATE flexibo_events SET content = replace(content, '1', '2') WHERE number = 9")
        path = Path("study.db").absolute()
        told = refusal(*command.split())
        assert mentions(told, "9", f"flexibo verify {path}", f"flexibo salvage {path} --out study-salvaged.db")

    def test_a_damaged_file_names_the_commands_that_help(self) -> None:
        data = Path("study.db").read_bytes()
        for damaged in (data[:4096] + bytes(8192) + data[12288:], bytes(4096) + data[4096:], data[:-100]):
            Path("study.db").write_bytes(damaged)
            assert mentions(refusal("status"), "flexibo verify", "study.db", "flexibo salvage", "study.db", "--out")

    def test_a_place_that_makes_no_sense_is_one_sentence(self) -> None:
        assert mentions(refusal("verify", "none.db"), "none.db")
        assert mentions(refusal("verify", "a.db", "--storage", "sqlite:///b.db"), "a.db")
        assert mentions(refusal("verify", "--name", "other"), "'other'", "'net'")


def test_many_numbers_are_cut() -> None:
    assert shown_numbers((7,)) == "7"
    assert mentions(shown_numbers(tuple(range(100))), "9", "90 more")
