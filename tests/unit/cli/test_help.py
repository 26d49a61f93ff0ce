"""The help and the start of the command line."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from itertools import pairwise

import pytest
from tests.command_line import good, mentions, refusal
from typer.testing import CliRunner

import flexibo
from flexibo.cli import app
from flexibo.cli.commands import COMMANDS, CommandEntry


@cache
def help_of(command: str) -> str:
    """The help of a command, in a wide terminal."""
    return good(command, "--help", env={"COLUMNS": "200"})


class TestHelp:
    def test_every_command_stands_once_in_its_part_with_one_line(self) -> None:
        shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80", "TERM": "dumb"}).stdout
        for panel in ("Studies", "Inspect", "Systems and hardware", "Compare", "Setup"):
            assert f" {panel} " in shown
        assert " Commands " not in shown
        for command in COMMANDS:
            assert len(re.findall(rf"^\W+{command.name}\s+{re.escape(command.summary)}", shown, re.MULTILINE)) == 1

    @pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
    def test_every_command_explains_itself_with_examples(self, command: CommandEntry) -> None:
        shown = help_of(command.name)
        assert command.examples or command.name in ("knobs", "board")
        for example in command.examples:
            assert example.startswith("flexibo ") or "$(flexibo " in example
            assert example in shown

    @pytest.mark.parametrize("words", [["front"], ["run"], ["knobs", "set"], []])
    def test_flags_show_no_type_and_paragraphs_fill_their_lines(self, words: list[str]) -> None:
        shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80", "TERM": "dumb"}).stdout
        assert "bool" not in shown.lower()
        text = [line.strip() for line in shown.partition("╭")[0].splitlines()]
        broken = [line for line, after in pairwise(text) if after and 0 < len(line) < 60]
        assert broken == []

    def test_examples_name_options_that_exist(self) -> None:
        for command in COMMANDS:
            before = help_of(command.name).partition("Examples:")[0]
            for option in re.findall(r"(?<!\w)--[\w-]+", " ".join(command.examples)):
                assert re.search(rf"{option}\b", before), (command.name, option)


class TestNumbers:
    @pytest.mark.parametrize(
        ("words", "facts"),
        [
            (["resume", "--max-evaluations", "abc"], ["--max-evaluations", "'abc'", "whole number"]),
            (["resume", "--max-evaluations=0"], ["--max-evaluations", "'0'", "1"]),
            (["run", "study.yaml", "--seed", "1.5"], ["--seed", "'1.5'", "whole number"]),
            (["demo", "--budget", "much"], ["--budget", "'much'", "number"]),
        ],
    )
    def test_what_is_none_or_out_of_range_is_one_sentence(self, words: list[str], facts: list[str]) -> None:
        said = refusal(*words)
        assert mentions(said, *facts)
        assert "Input" not in said

    def test_a_long_one_is_cut(self) -> None:
        assert len(refusal("resume", "--max-evaluations", "x" * 10_000)) < 1000


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


def test_the_command_line_says_its_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.output.strip() == f"flexibo {flexibo.__version__}"
