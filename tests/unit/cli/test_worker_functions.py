"""The functions that a worker imports."""

from __future__ import annotations

import pytest
from tests.command_line import begun, board, refusal

from flexibo.cli._work import imported_functions


class TestFunctions:
    @pytest.mark.parametrize("name", ["functions", "made", "Bench", "Bench.functions"])
    def test_functions_may_be_a_mapping_or_what_makes_one(self, name: str) -> None:
        board()
        assert set(imported_functions(f"board:{name}")) == {"error", "energy"}

    @pytest.mark.parametrize(
        ("place", "sentence"),
        [
            ("board", "is 'board'; give module:function"),
            ("bord:functions", "no module 'bord'"),
            ("board:function", "Module 'board' has no 'function'"),
            ("board:needs", "board:needs cannot be called without arguments"),
            ("board:number", "board:number is 3; it must be a mapping"),
        ],
    )
    def test_functions_that_are_not_there_are_refused(self, place: str, sentence: str) -> None:
        board()
        begun().close()
        assert sentence in refusal("worker", "--functions", place)
