"""Which storage a command uses."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest
from tests.command_line import (
    HOSTILE,
    call,
    good,
    mentions,
    refusal,
)

from flexibo import Study
from flexibo import cli as command_line
from flexibo.storage import StorageError


class TestFindingTheStorage:
    def test_it_may_come_from_the_environment(self, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
        (Path() / "second.db").touch()
        assert mentions(refusal("list"), "second.db, study.db", "--storage", "FLEXIBO_STORAGE")
        monkeypatch.setenv("FLEXIBO_STORAGE", "sqlite:///study.db")
        assert "net" in good("list")

    def test_without_any_the_sentence_says_how_to_name_one(self) -> None:
        sentence = refusal("status")
        assert mentions(sentence, ".db", "flexibo init", "flexibo run", "--storage", "FLEXIBO_STORAGE")

    @pytest.mark.parametrize("command", ["list", "status", "export --out f.csv", "resume", "worker --idle 1s"])
    def test_a_password_is_never_printed(self, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("psycopg")
        monkeypatch.setenv("FLEXIBO_STORAGE", "postgresql://ada:s3cret@127.0.0.1:1/studies")
        outcome = call(*command.split())
        assert isinstance(outcome.exception, StorageError)
        assert mentions(outcome.exception, "postgresql://ada:***@127.0.0.1:1/studies")
        assert "s3cret" not in f"{outcome.exception} {outcome.output}"
        assert not Path("f.csv").exists()

    def test_a_name_that_is_too_long_for_a_file_is_one_sentence(self) -> None:
        place = f"sqlite:///{'s' * 300}.db"
        sentence = refusal("run", "resnet", "--recorded", "--budget", "50s", "--storage", place)
        assert mentions(sentence, os.strerror(errno.ENAMETOOLONG), "another place")

    def test_a_mistake_is_one_harmless_sentence_and_status_2(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(sys, "argv", ["flexibo", "status", "--storage", f"sqlite:///{HOSTILE}.db"])
        with pytest.raises(SystemExit) as ended:
            command_line.main()
        assert ended.value.code == 2
        printed = capsys.readouterr().err
        assert mentions(printed, "flexibo:", "red\\x1b[31m.db")
        assert "\x1b" not in printed
        assert printed.count("\n") == 1
