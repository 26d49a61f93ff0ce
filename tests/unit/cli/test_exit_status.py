"""Exit statuses, which scripts rely on."""

from __future__ import annotations

import errno
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
import typer
from tests.command_line import mentions
from typer.testing import CliRunner

from flexibo import __version__
from flexibo.cli import app
from flexibo.cli._exit_status import MEANINGS, ExitStatus, exit_with_status, status_of
from flexibo.errors import (
    DesignError,
    InvalidTypeError,
    InvalidValueError,
    MachineError,
    missing_extra,
    unknown_name,
)
from flexibo.hardware import MeterError
from flexibo.storage import NoSuchStorageError, StorageError, open_storage

ROOT = Path(__file__).parents[3]


def ended(command: Callable[[], object]) -> int:
    """The status that a command line ends with."""
    with pytest.raises(SystemExit) as left:
        exit_with_status(command)
    assert isinstance(left.value.code, int)
    return left.value.code


def raised(error: BaseException) -> int:
    """The status that a command line ends with if it raises this."""

    def command() -> NoReturn:
        raise error

    return ended(command)


def flexibo(*words: str) -> int:
    """The status that these words on the command line end with."""
    return ended(lambda: app(list(words), prog_name="flexibo"))


class TestStatuses:
    @pytest.mark.parametrize(
        ("error", "status"),
        [
            (InvalidValueError("wrong"), ExitStatus.MISTAKE),
            (InvalidTypeError("wrong"), ExitStatus.MISTAKE),
            (unknown_name("method", "x", ["y"]), ExitStatus.MISTAKE),
            (DesignError("too large"), ExitStatus.MISTAKE),
            (NoSuchStorageError("no file"), ExitStatus.MISTAKE),
            (StorageError("disk full"), ExitStatus.MACHINE),
            (MachineError("too hot"), ExitStatus.MACHINE),
            (MeterError("no meter"), ExitStatus.MACHINE),
            (missing_extra("torch", "dnn"), ExitStatus.MACHINE),
            (OSError(errno.ENOSPC, "no space"), ExitStatus.MACHINE),
            (PermissionError(errno.EACCES, "Permission denied"), ExitStatus.MACHINE),
            (FileNotFoundError(errno.ENOENT, "gone"), ExitStatus.FAULT),
            (ZeroDivisionError("oops"), ExitStatus.FAULT),
            (KeyboardInterrupt(), ExitStatus.INTERRUPTED),
            (BrokenPipeError(errno.EPIPE, "Broken pipe"), ExitStatus.UNREAD),
        ],
    )
    def test_every_exception_has_its_status(self, error: BaseException, status: ExitStatus) -> None:
        assert status_of(error) is status

    def test_a_mistake_is_one_harmless_sentence(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert raised(InvalidValueError("wrong\x1b[2J")) == 2
        assert capsys.readouterr() == ("", "flexibo: wrong\\x1b[2J\n")

    def test_a_fault_of_flexibo_has_its_traceback_and_asks_for_a_report(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert raised(ZeroDivisionError("oops\x1b[2J")) == 4
        printed = capsys.readouterr().err
        assert "\x1b" not in printed
        assert "ZeroDivisionError: oops" in printed
        assert re.search(r"^flexibo: .*\(Python [\d.]+\)", printed, re.MULTILINE)
        assert __version__ in printed

    def test_what_ends_well_is_0(self) -> None:
        assert ended(lambda: None) == 0
        assert raised(SystemExit()) == 0
        assert raised(SystemExit(7)) == 7

    def test_an_exit_with_words_says_them(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert raised(SystemExit("no such thing")) == 1
        assert capsys.readouterr().err == "no such thing\n"

    def test_an_abort_at_a_question_is_an_interruption(self) -> None:
        def command() -> NoReturn:
            try:
                raise typer.Abort
            except typer.Abort:
                sys.exit(1)

        assert ended(command) == 130

    def test_wrong_usage_is_a_mistake(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert flexibo("status", "--nonsense") == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert "--nonsense" in printed.err

    def test_a_mistake_on_the_command_line_is_one_sentence(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert flexibo("demo", "--method", "flexbo") == 2
        printed = capsys.readouterr().err
        assert mentions(printed, "flexibo:", "'flexbo'", "'flexibo'")
        assert "Traceback" not in printed

    def test_every_status_has_a_meaning_in_the_help_and_the_documentation(self) -> None:
        assert set(MEANINGS) == set(ExitStatus)
        shown = " ".join(CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).stdout.split())
        written = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
        for status, meaning in MEANINGS.items():
            assert f"{status:d} {meaning}" in shown
            assert re.search(rf"^\| {status:d} \|", written, re.MULTILINE), status


@pytest.fixture
def unread() -> Iterator[int]:
    """A pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


class TestBrokenPipes:
    @pytest.mark.parametrize("command", [["methods"], ["methods", "--json"], ["--help"]])
    def test_output_that_nobody_reads_ends_silently(
        self, command: list[str], unread: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with open(unread, "w", closefd=False) as output:
            monkeypatch.setattr(sys, "stdout", output)
            assert flexibo(*command) == 141
        assert capsys.readouterr().err == ""

    def test_a_process_whose_output_nobody_reads_ends_silently(self, unread: int) -> None:
        command = [sys.executable, "-m", "flexibo", "--help"]
        done = subprocess.run(command, stdout=unread, stderr=subprocess.PIPE, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (141, "")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this machine")
    def test_a_full_disk_is_the_machines_fault(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with open("/dev/full", "w") as full:
            monkeypatch.setattr(sys, "stdout", full)
            assert flexibo("methods", "--json") == 3
        printed = capsys.readouterr().err
        assert printed.startswith("flexibo: Output")
        assert "No space left" in printed
        assert printed.count("\n") == 1

    @pytest.mark.parametrize(
        "closed",
        [
            pytest.param(">&-", marks=pytest.mark.variant),
            pytest.param("2>&-", marks=pytest.mark.variant),
            "<&- >&- 2>&-",
        ],
    )
    def test_a_closed_stream_is_no_error(self, closed: str) -> None:
        command = f"exec {shlex.quote(sys.executable)} -m flexibo methods {closed}"
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_working_folder_that_was_removed_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    outcome = CliRunner().invoke(app, ["run", "study.yaml"])
    assert isinstance(outcome.exception, InvalidValueError)
    with pytest.raises(StorageError, match=r"sqlite:///study\.db"):
        open_storage("sqlite:///study.db", "net")


@pytest.mark.parametrize(("digit", "characters"), [("9", "10,003"), ("9 ", "characters")])
def test_a_value_of_many_characters_is_not_printed_whole(
    capsys: pytest.CaptureFixture[str], digit: str, characters: str
) -> None:
    def failing() -> NoReturn:
        raise InvalidValueError(f"--budget is {digit * 10_000!r}; give less.")

    assert ended(failing) == ExitStatus.MISTAKE
    shown = capsys.readouterr().err
    assert mentions(shown, "--budget", characters, "give less")
    assert len(shown) < 5000
