"""A command that prints escape sequences: they are stored as they are, and never reach a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

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
PROGRAM = """
from flexibo.studyfile import read_study_file
file = read_study_file("study.yaml")
study = file.study(storage=None)
study.run(file.measures, progress=False)
print(study.stopped)
print(study.summary())
"""
UNRUNNABLE = """
from flexibo.studyfile import read_study_file
file = read_study_file("study.yaml")
file.study(storage=None).run(file.measures, progress=False)
"""


def output(folder: Path, *command: str) -> bytes:
    """All that a program writes; none of it may be a control character other than a line break."""
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    assert not {byte for byte in done.stdout if byte < 32 or byte == 127} - {10}
    return done.stdout


def test_no_escape_sequence_of_a_command_reaches_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(FILE)
    shown = output(tmp_path, sys.executable, "-c", PROGRAM)
    assert rb"Evaluation 0 (error) failed: " in shown
    assert shown.count(rb"\x1b[2J") > 2  # in the log, in why the study stopped, in its summary
    flexibo = (sys.executable, "-m", "flexibo")
    assert rb"\x1b[2J" in output(tmp_path, *flexibo, "run", "study.yaml")
    assert rb"\x1b[2J" in output(tmp_path, *flexibo, "run", "study.yaml", "--no-try")
    assert rb"\x1b[2J" in output(tmp_path, *flexibo, "status", "--storage", "sqlite:///loud.db")
    output(tmp_path, *flexibo, "export", "--storage", "sqlite:///loud.db", "--out", "loud.jsonl")
    events = [json.loads(line) for line in (tmp_path / "loud.jsonl").read_text().splitlines()]
    assert any("\x1b[2J" in event.get("reason", "") for event in events)


def test_a_command_that_cannot_be_run_ends_a_program_without_escape_sequences(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(FILE.replace("exit 1", "exit 127"))
    shown = output(tmp_path, sys.executable, "-c", UNRUNNABLE)
    assert b"MachineError" in shown
    assert rb"\x1b[2J" in shown
