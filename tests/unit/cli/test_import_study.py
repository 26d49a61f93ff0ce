"""``flexibo import``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_line import (
    HOSTILE,
    begun,
    call,
    good,
    refusal,
)

from flexibo import Study
from flexibo.cli._exit_status import ExitStatus, status_of
from flexibo.storage import open_storage


class TestImport:
    def test_a_study_moves_from_one_database_to_another(self, study: Study) -> None:
        assert good("export", "--out", "net.jsonl") == f"net.jsonl has the {len(study.events)} events of study 'net'.\n"
        first, *lines = Path("net.jsonl").read_text().splitlines()
        assert json.loads(first) == {
            "format": "flexibo-events",
            "version": 1,
            "study": "net",
            "events": len(study.events),
        }
        assert [json.loads(line) for line in lines] == open_storage("sqlite:///study.db", "net").read()
        told = good("import", "net.jsonl", "--storage", "sqlite:///other.db", "--name", "copy")
        assert told == f"sqlite:///other.db has the study 'copy' now, with {len(study.events)} events.\n"
        assert Study.load("sqlite:///other.db", "copy").events == study.events

    def test_a_pipe_will_do(self, study: Study) -> None:
        lines = good("export", "--out", "-", "--format", "jsonl")
        good("import", "-", "--format", "jsonl", "--storage", "sqlite:///other.db", input=lines)
        assert Study.load("sqlite:///other.db").events == study.events

    def test_a_damaged_export_makes_no_database(self, study: Study) -> None:
        good("export", "--out", "net.jsonl")
        lines = Path("net.jsonl").read_text().splitlines()
        Path("net.jsonl").write_text("\n".join([*lines[:5], f"{{{HOSTILE}", *lines[6:]]))
        sentence = refusal("import", "net.jsonl", "--storage", "sqlite:///other.db")
        assert sentence.startswith("Line 6 of net.jsonl is damaged: it is not JSON.")
        assert not Path("other.db").exists()

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (
                ["none.jsonl", "--storage", "sqlite:///other.db"],
                "none.jsonl cannot be read: No such file or directory.",
            ),
            (["net.jsonl"], "sqlite:///study.db holds a study 'net' already"),
            (["net.jsonl", "--storage", "sqlite:///study.db"], "holds a study 'net' already"),
            (["net.bin", "--storage", "sqlite:///other.db"], "The format of net.bin is 'bin'"),
        ],
    )
    def test_what_cannot_be_imported_is_refused(self, study: Study, arguments: list[str], sentence: str) -> None:
        good("export", "--out", "net.jsonl")
        assert sentence in refusal("import", *arguments)
        assert status_of(call("import", *arguments).exception) is ExitStatus.MISTAKE
        assert not Path("other.db").exists()

    def test_results_of_a_table_are_added_all_or_none(self) -> None:
        begun().close()
        table = "x,k,error,energy\n0.5,1,0.25,\n0.75,2,0.5,1.5\n0.1,2,,\n"
        Path("known.csv").write_text(f"\ufeff{table}", encoding="utf-8")
        told = good("import", "known.csv")
        assert told == "2 results were added to study 'net'. 1 rows have no values and were passed over.\n"
        found = Study.load("sqlite:///study.db").history
        assert (found.count(0), found.count(1), found.spent) == (2, 1, 0.0)
        told = good("import", "known.csv")
        assert told.startswith("0 results were added to study 'net'.")
        assert told.endswith("2 rows were known to the study and not added again.\n")
        Path("bad.csv").write_text("x,k,error\n0.2,1,0.25\n0.3,7,0.25\n")
        assert "Line 3 of bad.csv: Option 'k' is 7" in refusal("import", "bad.csv")
        assert len(Study.load("sqlite:///study.db").events) == len(found.events)
        Path("bytes.csv").write_bytes(b"x,k,error\n\xff,1,2\n")
        assert "bytes.csv is not CSV" in refusal("import", "bytes.csv")
