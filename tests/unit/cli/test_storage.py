"""Which storage a command uses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.command_line import (
    HOSTILE,
    call,
    good,
    refusal,
)

from flexibo import Study
from flexibo import cli as command_line


class TestFindingTheStorage:
    def test_it_may_come_from_the_environment(self, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
        (Path() / "second.db").touch()
        assert "there are second.db, study.db here" in refusal("list")
        monkeypatch.setenv("FLEXIBO_STORAGE", "sqlite:///study.db")
        assert "net" in good("list")

    def test_without_any_the_sentence_says_how_to_name_one(self) -> None:
        sentence = refusal("status")
        assert "there is no .db file here; create a study with flexibo init or flexibo run" in sentence
        assert sentence.endswith("or set FLEXIBO_STORAGE.")

    @pytest.mark.parametrize("command", ["list", "status", "export --out f.csv", "resume", "worker --idle 1s"])
    def test_a_password_is_never_printed(self, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("psycopg")
        monkeypatch.setenv("FLEXIBO_STORAGE", "postgresql://ada:s3cret@127.0.0.1:1/studies")
        outcome = call(*command.split())
        assert "postgresql://ada:***@127.0.0.1:1/studies cannot be reached" in str(outcome.exception)
        assert "s3cret" not in f"{outcome.exception} {outcome.output}"
        assert not Path("f.csv").exists()

    def test_a_mistake_is_one_harmless_sentence_and_status_2(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(sys, "argv", ["flexibo", "status", "--storage", f"sqlite:///{HOSTILE}.db"])
        with pytest.raises(SystemExit) as ended:
            command_line.main()
        assert ended.value.code == 2
        printed = capsys.readouterr().err
        assert printed.startswith("flexibo: There is no file ")
        assert "\x1b" not in printed
        assert printed.count("\n") == 1
