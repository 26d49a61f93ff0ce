"""``flexibo export``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.command_line import (
    good,
    mentions,
    refusal,
)

from flexibo import Study
from flexibo.transfer import records


class TestExport:
    def test_a_table_has_a_row_per_evaluation(self, study: Study) -> None:
        good("export", "--out", "net.csv")
        assert len(Path("net.csv").read_text().splitlines()) > len(study.history.asked)
        assert Path("net.csv").read_text() == good("export", "--out", "-", "--format", "csv")

    def test_a_file_is_replaced_by_force_only(self, study: Study) -> None:
        Path("net.csv").write_text("mine")
        assert mentions(refusal("export", "--out", "net.csv"), "net.csv", "--force")
        assert Path("net.csv").read_text() == "mine"
        good("export", "--out", "net.csv", "--force")
        assert Path("net.csv").read_text().startswith("number,")

    @pytest.mark.parametrize(
        ("arguments", "facts"),
        [
            (["--out", "net.txt"], ["net.txt", "'txt'", ".jsonl", ".csv"]),
            (["--out", "-"], [" - ", "--format"]),
            (["--out", "nowhere/net.csv"], ["nowhere/net.csv", "folder"]),
            (["--out", "net.csv", "--name", "nett"], ["'nett'", "'net'"]),
        ],
    )
    def test_what_cannot_be_exported_leaves_no_file(self, study: Study, arguments: list[str], facts: list[str]) -> None:
        before = {path.name for path in Path().iterdir()}
        assert mentions(refusal("export", *arguments), *facts)
        assert {path.name for path in Path().iterdir()} == before

    def test_an_export_says_how_many_attempts_were_measured(self, study: Study) -> None:
        told = good("export", "--out", "net.csv")
        states = Counter(record.state for record in records(study.history, [None] * len(study.events)))
        assert mentions(told, "net.csv", states.total(), "'net'")
        assert states["failed"] == states["pending"] == 1
        for state, number in states.items():
            assert f"{number} {state}" in told
        good("import", "net.csv")
        Path("more.csv").write_text("x,k,error\n0.5,1,0.25\n")
        good("import", "more.csv")
        again = good("export", "--out", "net.csv", "--force")
        assert mentions(again.removeprefix(told.rstrip(".\n")), "1 result")
