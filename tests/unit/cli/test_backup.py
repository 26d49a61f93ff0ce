"""``flexibo backup``."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command_line import begun, good, mentions, offered, refusal

from flexibo import Study


def events_of(url: str, name: str = "net") -> list[object]:
    return list(Study.load(url, name).events)


class TestBackup:
    def test_a_copy_of_the_file_is_used_as_it_is(self, study: Study, tmp_path: Path) -> None:
        begun("other").close()
        told = good("backup", "study.db", "copy.db")
        assert mentions(told, "copy.db", "'net'", len(study.events), "'other'", "sqlite:///copy.db")
        assert events_of("sqlite:///copy.db") == list(study.events)
        names = sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("study.db-"))
        assert names == ["copy.db", "study.db"]
        assert mentions(good("verify", "copy.db"), "'net'", "whole")

    def test_lines_of_a_study_are_imported_again(self, study: Study) -> None:
        told = good("backup", "sqlite:///study.db", "co py.jsonl")
        assert mentions(told, "co py.jsonl", len(study.events), "'net'")
        good(*offered(told, "import"))
        assert events_of("sqlite:///co py.db") == list(study.events)
        good(*offered(good("backup", "study.db", "co py.jsonl", "--force"), "import"))
        assert events_of("sqlite:///co py-2.db") == list(study.events)

    def test_what_is_printed_about_a_copy_can_be_typed(self, study: Study) -> None:
        begun("other").close()
        good(*offered(good("backup", "study.db", "co py.db"), "status"), "--no-front")

    def test_the_only_database_here_is_meant_without_a_study(self, study: Study) -> None:
        good("backup", "copy.jsonl")
        Path("folder").mkdir()
        good("backup", "folder/copy.db", "--storage", "sqlite:///study.db")
        assert events_of("sqlite:///folder/copy.db") == list(study.events)

    def test_a_backup_is_not_meant_where_no_storage_is_named_unless_it_is_the_only_file(self, study: Study) -> None:
        good("backup", "study.db", "a-copy.db")
        good("backup", "a-copy.db", "z-copy.db")
        assert mentions(good("status", "--no-front"), "net", "study.db")
        study.close()
        Path("study.db").rename("study.old")
        assert mentions(refusal("status"), "a-copy.db", "z-copy.db", "--storage sqlite:///a-copy.db")
        Path("z-copy.db").unlink()
        assert mentions(good("status", "--no-front"), "net", "a-copy.db")

    def test_a_file_is_replaced_by_force_only(self, study: Study) -> None:
        for out in ("copy.db", "copy.jsonl"):
            Path(out).write_text("mine")
            assert mentions(refusal("backup", "study.db", out), out, "--force")
            assert Path(out).read_text() == "mine"
            good("backup", "study.db", out, "--force")
        assert events_of("sqlite:///copy.db") == list(study.events)

    @pytest.mark.parametrize(
        ("arguments", "facts"),
        [
            (["study.db", "copy.txt"], ["copy.txt", "'.txt'", ".db", ".jsonl"]),
            (["study.db", "nowhere/copy.db"], ["nowhere/copy.db", "folder"]),
            (["study.db", "copy.db", "--name", "net"], ["copy.db", "FILE.jsonl", "'net'"]),
            (["study.db", "copy.jsonl", "--name", "nett"], ["'nett'", "'net'"]),
            (["nothing.db", "copy.db"], ["nothing.db"]),
            (["a.db", "b.db", "c.db"], ["3", "STUDY", "FILE"]),
        ],
    )
    def test_what_cannot_be_copied_leaves_no_file(self, study: Study, arguments: list[str], facts: list[str]) -> None:
        before = {path.name for path in Path().iterdir()}
        assert mentions(refusal("backup", *arguments), *facts)
        assert {path.name for path in Path().iterdir()} == before
