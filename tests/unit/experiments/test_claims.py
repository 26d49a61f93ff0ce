from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from rich.console import Console
from tests.unit.experiments.made_repeats import made_up, twice

from flexibo.experiments import EXPERIMENTS, Claim, Judgement, Repeat, ResultTable, rq1, rq2, rq3, times


def test_a_single_repeat_decides_nothing() -> None:
    claim = rq3.evaluate([made_up(rq3.OURS, [1, 0.1]), made_up(rq3.FOREST, [1, 0.2])], {}).claims[0]
    assert claim.verdict == "Undecided"
    assert "50.0 % lower, a single repeat" in claim.line


def test_problems_are_judged_one_by_one() -> None:
    repeats = [
        own
        for name, errors in (("first", (0.1, 0.2)), ("second", (0.3, 0.2)), ("third", (0.8, 0.1)))
        for method, error in zip((rq3.OURS, rq3.FOREST), errors, strict=True)
        for own in twice(method, [1, error], problem=name)
    ]
    claim = rq3.evaluate(repeats, {}).claims[0]
    assert claim.verdict == "Agrees in part"
    assert "agrees on 1 of 3: first (0.1 against 0.2 of flexibo-rf-log, 50.0 % lower" in claim.line
    assert "Does not agree on second (0.3 against 0.2 of flexibo-rf-log, 50.0 % higher" in claim.line
    assert "third (0.8 against 0.1 of flexibo-rf-log, 8 times as high)" in claim.line


def test_a_difference_smaller_than_its_spread_is_undecided() -> None:
    def repeats(ours: Sequence[float]) -> list[Repeat]:
        own = [made_up(rq3.OURS, [1, error], seed=seed) for seed, error in enumerate(ours)]
        return own + [made_up(rq3.FOREST, [1, 0.5], seed=seed) for seed in range(len(ours))]

    unclear, clear = (rq3.evaluate(repeats(ours), {}).claims[0] for ours in ([0.1, 0.8], [0.40, 0.41]))
    assert (unclear.verdict, clear.verdict) == ("Undecided", "Agrees")
    assert "within the spread" in unclear.line
    assert "within the spread" not in clear.line


def test_a_claim_that_nothing_speaks_to_is_not_judged() -> None:
    assert Claim("Claimed.", ()).verdict == "Cannot be judged"
    assert Claim("Claimed.", (Judgement("p", False, "1"),)).line == "The paper: Claimed. Here: does not agree on p (1)."


def test_a_table_in_markdown_has_a_line_per_row() -> None:
    table = ResultTable("Title", ("method", "error"), (("a|b", "1"),))
    assert table.markdown() == "**Title**\n\n| method | error |\n| --- | ---: |\n| a/b | 1 |"


@pytest.mark.parametrize("width", [80, 100, 150])
def test_a_terminal_of_eighty_columns_cuts_no_name_and_no_number(width: int) -> None:
    repeats = [
        made_up(method, [1, 0.0123 + 0.0011 * seed], seed=seed, gain=0.123 + 0.045 * seed, bought=[["expensive"] * 90])
        for method in dict.fromkeys(
            EXPERIMENTS["rq1"].methods + EXPERIMENTS["rq2"].methods + EXPERIMENTS["rq3"].methods
        )
        for seed in (0, 1)
    ]
    for module in (rq1, rq2, rq3, times):
        for table in module.evaluate(repeats, {}).tables:
            console = Console(file=io.StringIO(), width=width)
            console.print(table)
            lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
            for row in table.rows:
                assert any(line.split() == " ".join(row).split() for line in lines), row
            assert [line[0] for line in lines].index("─") <= 4
