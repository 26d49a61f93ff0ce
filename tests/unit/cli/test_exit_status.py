"""Exit statuses, the help, start-up and completion: what scripts and shells rely on."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

import pytest
import typer
from typer.testing import CliRunner

from flexibo.cli import _completion, _exit_status, app
from flexibo.cli._exit_status import MEANINGS, ExitStatus, status_of
from flexibo.cli.commands import COMMANDS
from flexibo.errors import DesignError, InvalidTypeError, InvalidValueError, MachineError, missing_extra, unknown_name
from flexibo.hardware import MeterError
from flexibo.storage import NoSuchStorageError, StorageError, open_storage

ROOT = Path(__file__).parents[3]
FLEXIBO = [sys.executable, "-m", "flexibo"]


def ended(error: BaseException | None) -> int:
    """The status with which a command line ends that raises this."""

    def command() -> None:
        if error is not None:
            raise error

    with pytest.raises(SystemExit) as left:
        _exit_status.run(command)
    assert isinstance(left.value.code, int)
    return left.value.code


class TestStatuses:
    @pytest.mark.parametrize(
        ("error", "status"),
        [
            (InvalidValueError("wrong"), ExitStatus.MISTAKE),
            (InvalidTypeError("wrong"), ExitStatus.MISTAKE),
            (unknown_name("method", "x", ["y"]), ExitStatus.MISTAKE),
            (DesignError("too large"), ExitStatus.MISTAKE),
            (NoSuchStorageError("There is no file."), ExitStatus.MISTAKE),
            (StorageError("The disk is full."), ExitStatus.MACHINE),
            (MachineError("too hot"), ExitStatus.MACHINE),
            (MeterError("There is no meter."), ExitStatus.MACHINE),
            (missing_extra("torch", "dnn"), ExitStatus.MACHINE),
            (OSError(errno.ENOSPC, "No space left on device"), ExitStatus.MACHINE),
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
        assert ended(InvalidValueError("wrong\x1b[2J")) == 2
        assert capsys.readouterr() == ("", "flexibo: wrong\\x1b[2J\n")

    def test_a_fault_of_flexibo_has_its_traceback_and_asks_for_a_report(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert ended(ZeroDivisionError("oops\x1b[2J")) == 4
        printed = capsys.readouterr().err
        assert "\x1b" not in printed
        assert "ZeroDivisionError: oops" in printed
        assert re.search(
            r"flexibo: This is a fault of flexibo \S+ \(Python [\d.]+\), not yours; please report it", printed
        )

    def test_what_ends_well_is_0(self) -> None:
        assert ended(None) == 0
        assert ended(SystemExit()) == 0
        assert ended(SystemExit(7)) == 7

    def test_an_exit_with_words_says_them(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert ended(SystemExit("no such thing")) == 1
        assert capsys.readouterr().err == "no such thing\n"

    def test_an_abort_at_a_question_is_an_interruption(self) -> None:
        def command() -> NoReturn:
            try:
                raise typer.Abort
            except typer.Abort:
                sys.exit(1)

        with pytest.raises(SystemExit) as left:
            _exit_status.run(command)
        assert left.value.code == 130

    def test_wrong_usage_is_a_mistake(self) -> None:
        done = subprocess.run([*FLEXIBO, "status", "--nonsense"], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout) == (2, "")
        assert "--nonsense" in done.stderr

    def test_every_status_has_a_meaning_in_the_help_and_the_documentation(self) -> None:
        assert set(MEANINGS) == set(ExitStatus)
        shown = " ".join(CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).stdout.split())
        written = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
        for status, meaning in MEANINGS.items():
            assert f"{status:d} is {meaning}" in shown
            assert re.search(rf"^\| {status:d} \|", written, re.MULTILINE), status


class TestBrokenPipes:
    @pytest.mark.parametrize("command", [["methods"], ["methods", "--json"], ["--help"]])
    def test_output_that_nobody_reads_ends_silently(self, command: list[str]) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        try:
            done = subprocess.run([*FLEXIBO, *command], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=120)
        finally:
            os.close(writing)
        assert (done.returncode, done.stderr) == (141, "")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this machine")
    def test_a_full_disk_is_the_machines_fault(self) -> None:
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [*FLEXIBO, "methods", "--json"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120
            )
        assert done.returncode == 3
        assert done.stderr.startswith("flexibo: [Errno 28]")
        assert done.stderr.count("\n") == 1


class TestHelp:
    def test_every_command_stands_once_in_its_part_with_one_line(self) -> None:
        shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80", "TERM": "dumb"}).stdout
        for panel in ("Studies", "Look", "Systems and hardware", "Compare", "Set-up"):
            assert f" {panel} " in shown
        assert " Commands " not in shown
        for command in COMMANDS:
            assert len(re.findall(rf"^\W+{command.name}\s+{re.escape(command.summary)}", shown, re.MULTILINE)) == 1

    @pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
    def test_every_command_explains_itself_with_examples(self, command: object) -> None:
        from flexibo.cli.commands import Command

        assert isinstance(command, Command)
        shown = CliRunner().invoke(app, [command.name, "--help"], env={"COLUMNS": "200"})
        assert shown.exit_code == 0
        assert command.examples
        for example in command.examples:
            assert example.startswith("flexibo ") or "$(flexibo " in example
            assert example in shown.stdout

    @pytest.mark.parametrize("words", [["front"], ["run"], ["knobs", "set"], []])
    def test_flags_show_no_type_and_paragraphs_fill_their_lines(self, words: list[str]) -> None:
        shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80", "TERM": "dumb"}).stdout
        assert "bool" not in shown.lower()
        text = [line.strip() for line in shown.partition("╭")[0].splitlines()]
        broken = [line for line, after in pairwise(text) if after and 0 < len(line) < 60]
        assert broken == []

    def test_examples_name_options_that_exist(self) -> None:
        for command in COMMANDS:
            shown = CliRunner().invoke(app, [command.name, "--help"], env={"COLUMNS": "200"}).stdout
            before = shown.partition("Examples:")[0]
            for option in re.findall(r"(?<!\w)--[\w-]+", " ".join(command.examples)):
                assert re.search(rf"{option}\b", before), (command.name, option)


def test_every_command_is_documented() -> None:
    written = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for name in (*(command.name for command in COMMANDS), "knobs"):
        assert f"flexibo {name}" in written, name


class TestStartUp:
    def test_the_help_imports_nothing_heavy(self) -> None:
        code = (
            "import sys\n"
            "sys.argv = ['flexibo', '--help']\n"
            "from flexibo.cli import main\n"
            "try:\n    main()\n"
            "except SystemExit:\n    pass\n"
            "heavy = {'numpy', 'scipy', 'sklearn', 'sqlalchemy', 'matplotlib', 'yaml', 'moocore', 'torch'}\n"
            "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
            "print(len([m for m in sys.modules if m.startswith('flexibo')]), file=sys.stderr)\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        heavy, number = done.stderr.splitlines()
        assert heavy == "[]"
        assert int(number) <= 60


def completions(words: str, folder: Path, **variables: str) -> list[str]:
    """What bash is told to complete the last of these words with."""
    plain = {name: value for name, value in os.environ.items() if name != "FLEXIBO_STORAGE"}
    environment = {**plain, "_FLEXIBO_COMPLETE": "complete_bash", "COMP_WORDS": words, **variables}
    environment["COMP_CWORD"] = str(len(words.split(" ")) - 1)
    code = "import sys; sys.argv = ['flexibo']; from flexibo.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=folder, env=environment
    )
    assert done.stderr == ""
    return done.stdout.split()


class TestCompletion:
    def test_the_names_are_those_of_the_tables(self) -> None:
        plots = pytest.importorskip("flexibo.plots")
        from flexibo.compare.problems.table import FAMILIES
        from flexibo.compare.suites import SUITES
        from flexibo.experiments import EXPERIMENTS
        from flexibo.methods.table import METHODS
        from flexibo.systems.catalogue import SYSTEMS

        assert set(_completion.METHODS) == set(METHODS)
        assert set(_completion.PROBLEMS) == set(FAMILIES)
        assert set(_completion.SYSTEMS) == set(SYSTEMS)
        assert set(_completion.SUITES) == set(SUITES)
        assert set(_completion.PICTURES) == set(plots.PICTURES)
        assert set(_completion.EXPERIMENTS) == set(EXPERIMENTS)

    def test_a_shell_completes_commands_and_names(self, tmp_path: Path) -> None:
        assert completions("flexibo doc", tmp_path) == ["doctor"]
        assert completions("flexibo compare --methods ehv", tmp_path) == ["ehvi"]
        assert completions("flexibo compare --problems zdt", tmp_path) == ["zdt1", "zdt2", "zdt3"]
        assert completions("flexibo demo --method pes", tmp_path) == ["pesmo", "pesmo-dec"]

    def test_a_shell_completes_study_files_and_systems(self, tmp_path: Path) -> None:
        (tmp_path / "more").mkdir()
        for name in ("study.yaml", "speech.yml", "other.txt", "more/speech.yaml"):
            (tmp_path / name).touch()
        assert completions("flexibo run s", tmp_path) == ["speech.yml", "study.yaml", "squeezenet"]
        assert completions("flexibo run more/", tmp_path) == ["more/speech.yaml"]
        assert completions("flexibo run none/", tmp_path) == []
        assert completions("flexibo record le", tmp_path) == ["lenet"]

    def test_a_shell_completes_the_studies_of_a_database(self, tmp_path: Path) -> None:
        from flexibo import Study

        for name in ("net", "night", "other"):
            Study({"x": [1, 2]}, ["a", "b"], storage=f"sqlite:///{tmp_path / 'study.db'}", name=name).close()
        assert completions("flexibo status --name n", tmp_path) == ["net", "night"]

    @pytest.mark.parametrize(
        "storage", ["postgresql://ada:s3cret@127.0.0.1:1/studies", "nonsense", "sqlite:///none.db"]
    )
    def test_a_storage_that_cannot_be_read_completes_nothing(self, storage: str, tmp_path: Path) -> None:
        assert completions("flexibo status --name n", tmp_path, FLEXIBO_STORAGE=storage) == []
        assert not list(tmp_path.iterdir())

    def test_a_file_that_is_no_database_completes_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "study.db").write_text("no database")
        assert completions("flexibo status --name n", tmp_path) == []
        open_storage(f"sqlite:///{tmp_path / 'empty.db'}", "none")
        assert completions("flexibo status --name n", tmp_path, FLEXIBO_STORAGE="sqlite:///empty.db") == []

    def test_a_shell_can_be_told_to_complete(self) -> None:
        environment = {**os.environ, "_FLEXIBO_COMPLETE": "source_bash"}
        code = "import sys; sys.argv = ['flexibo']; from flexibo.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment
        )
        assert done.returncode == 0
        assert "complete" in done.stdout
        assert "_FLEXIBO_COMPLETE" in done.stdout
