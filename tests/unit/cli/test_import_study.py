"""``flexibo import``."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from tests.command_line import (
    HOSTILE,
    begun,
    call,
    good,
    mentions,
    refusal,
)

from flexibo import Study
from flexibo.cli._exit_status import ExitStatus, status_of
from flexibo.storage import open_storage


class TestImport:
    def test_a_study_moves_from_one_database_to_another(self, study: Study) -> None:
        told = good("export", "--out", "net.jsonl")
        assert mentions(told, "net.jsonl", len(study.events), "'net'")
        first, *lines = Path("net.jsonl").read_text().splitlines()
        assert json.loads(first) == {
            "format": "flexibo-events",
            "version": 1,
            "study": "net",
            "events": len(study.events),
        }
        assert [json.loads(line) for line in lines] == open_storage("sqlite:///study.db", "net").read()
        told = good("import", "net.jsonl", "--storage", "sqlite:///other.db", "--name", "copy")
        assert mentions(told, "sqlite:///other.db", "'copy'", len(study.events))
        assert Study.load("sqlite:///other.db", "copy").events == study.events

    def test_a_pipe_will_do(self, study: Study) -> None:
        lines = good("export", "--out", "-", "--format", "jsonl")
        good("import", "-", "--format", "jsonl", "--storage", "sqlite:///other.db", input=lines)
        assert Study.load("sqlite:///other.db").events == study.events

    def test_a_damaged_export_makes_no_database(self, study: Study) -> None:
        good("export", "--out", "net.jsonl")
        lines = Path("net.jsonl").read_text().splitlines()
        Path("net.jsonl").write_text("\n".join([*lines[:5], f"{{{HOSTILE}", *lines[6:]]))
        assert mentions(refusal("import", "net.jsonl", "--storage", "sqlite:///other.db"), "6", "net.jsonl", "JSON")
        assert not Path("other.db").exists()

    @pytest.mark.parametrize(
        ("arguments", "facts"),
        [
            (["none.jsonl", "--storage", "sqlite:///other.db"], ["none.jsonl", os.strerror(errno.ENOENT)]),
            (["net.jsonl"], ["sqlite:///study.db", "'net'", "already"]),
            (["net.jsonl", "--storage", "sqlite:///study.db"], ["sqlite:///study.db", "'net'", "already"]),
            (["net.bin", "--storage", "sqlite:///other.db"], ["net.bin", "'bin'", ".jsonl"]),
        ],
    )
    def test_what_cannot_be_imported_is_refused(self, study: Study, arguments: list[str], facts: list[str]) -> None:
        good("export", "--out", "net.jsonl")
        assert mentions(refusal("import", *arguments), *facts)
        assert status_of(call("import", *arguments).exception) is ExitStatus.MISTAKE
        assert not Path("other.db").exists()

    def test_results_of_a_table_are_added_all_or_none(self) -> None:
        begun().close()
        table = "x,k,error,energy\n0.5,1,0.25,\n0.75,2,0.5,1.5\n0.1,2,,\n"
        Path("known.csv").write_text(f"\ufeff{table}", encoding="utf-8")
        told = good("import", "known.csv")
        assert mentions(told, "2 results", "'net'", "1 row")
        found = Study.load("sqlite:///study.db").history
        assert (found.count(0), found.count(1), found.spent) == (2, 1, 0.0)
        told = good("import", "known.csv")
        assert mentions(told, "0 results", "'net'", "2 rows")
        Path("bad.csv").write_text("x,k,error\n0.2,1,0.25\n0.3,7,0.25\n")
        assert mentions(refusal("import", "bad.csv"), "3", "bad.csv", "'k'", "7")
        assert len(Study.load("sqlite:///study.db").events) == len(found.events)
        Path("bytes.csv").write_bytes(b"x,k,error\n\xff,1,2\n")
        assert mentions(refusal("import", "bytes.csv"), "bytes.csv", "CSV")
