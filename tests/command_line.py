"""What tests of the command line share: calling it, and a small stored study."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
import struct
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from flexibo import Evaluation, Objective, Study
from flexibo.cli import app
from flexibo.errors import FlexiBOError
from flexibo.history import History

HOSTILE = "red\x1b[31m"
SPACE = {"x": (0.0, 1.0), "k": [1, 2, 3]}
STUDY_FILE = """
name: toy
method: random
budget: 60
seed: 1
n_initial: 3
candidates: 40
options:
  x: {from: 0, to: 1000}
  kind: [plain, "$(touch pwned)"]
objectives:
  error: {command: "echo {x} {kind} > last; echo {x} 8"}
  joules: {function: "board:joules", unit: J}
"""
BOARD_FILE = """
def joules(design):
    return 1000 - design["x"] + (design["kind"] == "plain"), 3.0
"""
BOARD = """
import os, signal

calls = []

def error(design):
    calls.append(design)
    if {fail!r} == "error":
        raise RuntimeError("burnt \\x1b[31m" + chr(10) + "and gone")
    if {kill!r} and len(calls) == 3:
        os.kill(os.getpid(), {kill!r})
    return design["x"] + design["k"] / 10, 5.0

def energy(design):
    return 1 - design["x"] + design["k"] / 20, 1.0

functions = {{"error": error, "energy": energy}}

def made():
    return functions

class Bench:
    functions = functions

needs = lambda argument: functions
number = 3
"""
OURS = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\x11tEXtSoftware\0flexibo 9" + b"\0" * 4
"""The beginning of a picture that flexibo drew."""
FIRST = [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]  # how the labels of MNIST begin


def error(design: Any) -> tuple[float, float]:
    return design["x"] + design["k"] / 10, 5.0


def energy(design: Any) -> tuple[float, float]:
    return 1.0 - design["x"] + design["k"] / 20, 1.0


def call(*arguments: object, **how: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=True, **how)


def good(*arguments: object, **how: Any) -> str:
    outcome = call(*arguments, **how)
    assert outcome.exit_code == 0, (outcome.output, outcome.exception)
    return str(outcome.stdout)


def printed(*arguments: object, **variables: str) -> str:
    """The words that a command prints, with these environment variables."""
    return " ".join(good(*arguments, env=variables).split())


def mentions(text: object, *facts: object) -> bool:
    """Whether a text has these facts in this order: names, values, options and commands, each as whole words."""

    def whole(fact: str) -> str:
        return r"(?<!\w)" * fact[:1].isalnum() + re.escape(fact) + r"(?!\w)" * fact[-1:].isalnum()

    return re.search(".*?".join(whole(str(fact)) for fact in facts), " ".join(str(text).split())) is not None


def offered(text: object, word: str) -> list[str]:
    """The arguments of the first command with this word that a text offers for copying: what ends its line."""
    found = re.search(rf"flexibo {re.escape(word)}\b[^\n]*", str(text))
    assert found, text
    return shlex.split(found[0])[1:]


def refusal(*arguments: object, **how: Any) -> str:
    """The one sentence that a mistake earns."""
    outcome = call(*arguments, **how)
    assert isinstance(outcome.exception, FlexiBOError), (outcome.output, outcome.exception)
    return str(outcome.exception)


def begun(name: str = "net", url: str = "sqlite:///study.db", **settings: Any) -> Study:
    objectives = settings.pop("objectives", [Objective("error"), Objective("energy", unit="J", noisy=True)])
    chosen = {"budget": 100, "seed": 3, "n_initial": 3, "candidates": 50, "storage": url, "name": name}
    return Study(settings.pop("space", SPACE), objectives, **(chosen | settings))


def copied(database: Path) -> None:
    """Copy a database of studies to the working folder, as study.db."""
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect("study.db")) as target:
        source.backup(target)


def asked(study: Study) -> Evaluation:
    evaluation = study.ask()
    assert evaluation is not None
    return evaluation


def worked(study: Study, steps: int) -> None:
    for _ in range(steps):
        evaluation = asked(study)
        value, cost = {"error": error, "energy": energy}[evaluation.objective](evaluation.design)
        study.tell(evaluation, value, cost=cost)


def board(*, fail: str = "", kill: int = 0) -> None:
    """Write a module with the functions of a study, which may fail or send their process a signal."""
    Path("board.py").write_text(BOARD.format(fail=fail, kill=kill))


def asked_by_hand(*arguments: object) -> list[dict[str, Any]]:
    """What ``flexibo ask`` claims."""
    found = json.loads(good("ask", "--json", *arguments))["evaluations"]
    assert isinstance(found, list)
    return found


def history(url: str = "sqlite:///study.db") -> History:
    """The history of the only study of a storage."""
    return Study.load(url).history


class FakeMeter:
    """Gains a joule at each look."""

    name, update_seconds, is_estimate = "a fake", 0.001, False

    def __init__(self) -> None:
        self.joules = 0.0

    def read_joules(self) -> float:
        self.joules += 1.0
        return self.joules


def write_mnist(folder: Path) -> None:
    """MNIST in its own format, but small."""
    rng = np.random.default_rng(0)
    for part, count in (("train", 60), ("t10k", 20)):
        labels = np.array((FIRST * 6)[:count], dtype=np.uint8)
        pixels = (rng.integers(0, 40, (count, 12, 12)) + 20 * labels[:, None, None]).astype(np.uint8)
        images = struct.pack(">HBBIII", 0, 8, 3, count, 12, 12) + pixels.tobytes()
        (folder / f"{part}-images-idx3-ubyte").write_bytes(images)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">HBBI", 0, 8, 1, count) + labels.tobytes())


def label(number: int = 0) -> str:
    """The name of the last attempt at an evaluation of the study, as ``flexibo ask`` printed it."""
    found = history()
    return replace(found.asked[number], token=found.tokens(number)[-1]).label
