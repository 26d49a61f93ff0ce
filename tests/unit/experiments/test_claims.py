from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console
from tests.unit.experiments.made_repeats import made_up, twice

from flexibo.experiments import (
    EXPERIMENTS,
    Claim,
    ExperimentResult,
    Judgement,
    Repeat,
    ResultTable,
    rq1,
    rq2,
    rq3,
    times,
)
from flexibo.experiments.claims import Doubt, doubt


def test_a_single_repeat_decides_nothing() -> None:
    claim = rq3.evaluate([made_up(rq3.OURS, [1, 0.1]), made_up(rq3.FOREST, [1, 0.2])], {}).claims[0]
    assert claim.verdict == "Undecided"
    assert "50.0 % lower" in claim.line
    assert Doubt.SINGLE_REPEAT.value in claim.line


def test_problems_are_judged_one_by_one() -> None:
    repeats = [
        own
        for name, errors in (("first", (0.1, 0.2)), ("second", (0.3, 0.2)), ("third", (0.8, 0.1)))
        for method, error in zip((rq3.OURS, rq3.FOREST), errors, strict=True)
        for own in twice(method, [1, error], problem=name)
    ]
    claim = rq3.evaluate(repeats, {}).claims[0]
    assert claim.verdict == "Agrees in part"
    assert [(own.problem, own.agrees) for own in claim.judgements] == [
        ("first", True),
        ("second", False),
        ("third", False),
    ]
    assert re.search(r"1 of 3: first .*second .*third ", claim.line)
    for own, facts in zip(
        claim.judgements,
        (r"0\.1 .*0\.2 .*50\.0 % lower", r"0\.3 .*0\.2 .*50\.0 % higher", r"0\.8 .*0\.1 .*\b8 times"),
        strict=True,
    ):
        assert re.search(facts, own.numbers)
        assert rq3.FOREST in own.numbers


def test_a_difference_smaller_than_its_spread_is_undecided() -> None:
    def repeats(ours: Sequence[float]) -> list[Repeat]:
        own = [made_up(rq3.OURS, [1, error], seed=seed) for seed, error in enumerate(ours)]
        return own + [made_up(rq3.FOREST, [1, 0.5], seed=seed) for seed in range(len(ours))]

    unclear, clear = (rq3.evaluate(repeats(ours), {}).claims[0] for ours in ([0.1, 0.8], [0.40, 0.41]))
    assert (unclear.verdict, clear.verdict) == ("Undecided", "Agrees")
    assert Doubt.NOT_SIGNIFICANT.value in unclear.line
    assert Doubt.NOT_SIGNIFICANT.value not in clear.line


def test_a_claim_that_nothing_speaks_to_is_not_judged() -> None:
    assert Claim("Claimed.", ()).verdict == "Cannot be judged"
    line = Claim("Claimed.", (Judgement("p", False, "1"),)).line
    assert re.search(r"Claimed\..*not agree.* p \(1\)\.", line)


def test_a_table_in_markdown_has_a_line_per_row() -> None:
    table = ResultTable("Title", ("method", "error"), (("a|b", "1"),))
    assert table.markdown().splitlines() == ["**Title**", "", "| method | error |", "| --- | ---: |", "| a/b | 1 |"]


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


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1.0, 2.0], [2.0, 1.0], Doubt.TIE),
        ([1.0], [2.0], Doubt.SINGLE_REPEAT),
        ([1.0, float("nan")], [2.0, 2.0], Doubt.SINGLE_REPEAT),
        ([1.0, 5.0], [2.0, 2.0], Doubt.NOT_SIGNIFICANT),
        ([1.0, 1.1], [2.0, 2.0], None),
    ],
)
def test_a_paired_difference_must_be_significant(
    first: list[float], second: list[float], expected: Doubt | None
) -> None:
    assert doubt(first, second) == expected


@pytest.mark.parametrize(
    ("held", "verdict"),
    [
        ([True, True], "Agrees"),
        ([True, False], "Agrees in part"),
        ([True, None], "Agrees in part"),
        ([False, None], "Does not agree"),
        ([None, None], "Undecided"),
        ([], "Cannot be judged"),
    ],
)
def test_a_verdict_adds_up_the_judgements_of_the_problems(held: list[bool | None], verdict: str) -> None:
    judgements = tuple(Judgement(f"p{k}", agrees, "") for k, agrees in enumerate(held))
    assert Claim("Claimed.", judgements).verdict == verdict


def test_a_report_has_claims_figures_and_tables() -> None:
    table = ResultTable("Title", ("method", "error"), (("pal", "1"),))
    result = ExperimentResult("one", "One", (table,), (Claim("Claimed.", ()),), notes=("Noted.",))
    report = result.markdown([Path("out") / "one-error.png"])
    assert report.startswith("# One\n\nNoted.\n")
    assert "![one-error](one-error.png)" in report
    assert "- **Cannot be judged.** " in report
    assert table.markdown() in report
    assert "png" not in result.markdown()
