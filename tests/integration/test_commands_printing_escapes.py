"""A command that prints escape sequences: they are stored as they are, and never reach a terminal."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest
from tests.forked import COMMAND_LINE, Command, forked_into, imported

from flexibo.studyfile import read_study_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a shell")
FILE = """
name: loud
method: random
budget: 60
options: {x: [1, 2, 3]}
objectives:
  error: {command: "printf 'burnt \\\\033]0;owned\\\\007\\\\033[2J\\\\rflexibo: all is well' >&2; exit 1", retries: 0}
  joules: {command: "echo {x} 1"}
"""


@pytest.fixture(scope="module", autouse=True)
def ready() -> Iterator[None]:
    with imported(*COMMAND_LINE):
        yield


def program(folder: Path) -> None:
    """A user's program that runs the study file."""
    os.chdir(folder)
    file = read_study_file("study.yaml")
    study = file.study(storage=None)
    study.run(file.measures, progress=False)
    print(study.stopped)
    print(study.summary())


def printed(process: ForkServerProcess, path: Path) -> bytes:
    """All that a process writes; none of it may be a control character other than a line break."""
    process.join(120)
    shown = path.read_bytes()
    assert not {byte for byte in shown if byte < 32 or byte == 127} - {10}
    return shown


def command(folder: Path, *words: str) -> bytes:
    started = Command(folder, *words)
    return printed(started.process, started.printed)


def test_no_escape_sequence_of_a_command_reaches_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(FILE)
    shown = printed(forked_into(tmp_path / "out", tmp_path / "out", program, tmp_path), tmp_path / "out")
    assert rb"Evaluation 0 (error) failed: " in shown
    assert shown.count(rb"\x1b[2J") > 2  # in the log, in why the study stopped, in its summary
    assert rb"\x1b[2J" in command(tmp_path, "run", "study.yaml")
    assert rb"\x1b[2J" in command(tmp_path, "run", "study.yaml", "--no-try")
    assert rb"\x1b[2J" in command(tmp_path, "status", "--storage", "sqlite:///loud.db")
    command(tmp_path, "export", "--storage", "sqlite:///loud.db", "--out", "loud.jsonl")
    events = [json.loads(line) for line in (tmp_path / "loud.jsonl").read_text().splitlines()]
    assert any("\x1b[2J" in event.get("reason", "") for event in events)


def test_a_command_that_cannot_be_run_ends_a_program_without_escape_sequences(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(FILE.replace("exit 1", "exit 127"))
    shown = printed(forked_into(tmp_path / "out", tmp_path / "out", program, tmp_path), tmp_path / "out")
    assert b"MachineError" in shown
    assert rb"\x1b[2J" in shown
