"""The functions that a worker imports."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.command_line import (
    begun,
    refusal,
)

from flexibo.cli._worker_functions import imported_functions

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


def board(*, fail: str = "", kill: int = 0) -> None:
    Path("board.py").write_text(BOARD.format(fail=fail, kill=kill))


class TestFunctions:
    @pytest.mark.parametrize("name", ["functions", "made", "Bench", "Bench.functions"])
    def test_functions_may_be_a_mapping_or_what_makes_one(self, name: str) -> None:
        board()
        assert set(imported_functions(f"board:{name}")) == {"error", "energy"}

    @pytest.mark.parametrize(
        ("place", "sentence"),
        [
            ("board", "--functions is 'board'; give MODULE:NAME"),
            ("bord:functions", "Module 'bord' of --functions cannot be imported"),
            ("board:function", "Module 'board' has no 'function'"),
            ("board:needs", "board:needs cannot be called without arguments"),
            ("board:number", "board:number is 3; it must be a mapping"),
        ],
    )
    def test_functions_that_are_not_there_are_refused(self, place: str, sentence: str) -> None:
        board()
        begun().close()
        assert sentence in refusal("worker", "--functions", place)
