from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.experiments.made_repeats import line_about, made_up, twice

from flexibo.experiments import Claim, Repeat, rq2


def others(error: float = 0.5, **fields: object) -> list[Repeat]:
    coupled = {"bought": [["expensive", "cheap"]] * 2} | fields
    return [own for method in rq2.BASELINES for own in twice(method, [1, error, error], **coupled)]


def test_the_librarys_own_method_takes_no_part_in_the_papers_claims() -> None:
    ours = twice(rq2.OURS, [1, 0.3, 0.2], bought=[["cheap"], ["expensive"]])
    extra = twice("flexibo", [1, 0.0, 0.0], bought=[["cheap"], ["cheap"]])
    result = rq2.evaluate([*ours, *others(), *extra], {})
    claim = line_about(result, "seven", "real cost")
    assert claim.verdict == "Agrees"
    # Equal cost is the 110 s that ours spent, not the 20 s of the library's own; theirs have made one iteration then.
    assert "0.2 against 0.5 of" in claim.line
    assert "pesmo, 60.0 % lower)" in claim.line
    assert all("of flexibo," not in claim.line and "of flexibo)" not in claim.line for claim in result.claims)
    report = result.tables[0].markdown()
    assert "| flexibo* |" in report
    assert report.rpartition("\n\n")[2].startswith("* ")
    alone = rq2.evaluate([*ours, *others()], {})
    assert line_about(alone, "spends least").verdict == "Agrees"
    assert "*" not in alone.tables[0].markdown().removeprefix("**").replace("**", "", 1)


def test_a_cost_too_small_for_an_iteration_is_no_evidence() -> None:
    ours = twice(rq2.OURS, [1, 0.3, 0.2], bought=[["cheap"], ["cheap"]])
    result = rq2.evaluate([*ours, *others()], {})
    claim = line_about(result, "seven", "real cost")
    assert claim.verdict == "Undecided"
    assert ", ".join(rq2.BASELINES) in claim.line
    assert "against" not in claim.line
    errors, designs = (table.markdown() for table in result.tables[:2])
    assert "| pesmo | 0.5 | 1 † | 1 † |" in errors
    assert "†" in errors.partition("\n\n")[2].rpartition("\n\n")[2]
    assert "| pesmo | 0 | 0 | 0 | 220 |" in designs


@pytest.mark.parametrize(("error", "verdict"), [(0.9, "Undecided"), (0.1, "Does not agree")])
def test_who_leads_without_a_comparison_with_all_is_undecided_and_who_is_behind_one_is_behind(
    error: float, verdict: str
) -> None:
    ours = twice(rq2.OURS, [1, 0.3, 0.2], bought=[["cheap"], ["cheap"]])
    able = twice("pesmo-dec", [1, error, error], bought=[["cheap"], ["expensive"]])
    rest = [repeat for repeat in others() if repeat.method != "pesmo-dec"]
    claim = line_about(rq2.evaluate([*ours, *able, *rest], {}), "seven", "real cost")
    assert claim.verdict == verdict
    assert "of pesmo-dec" in claim.line
    left_out = ", ".join(method for method in rq2.BASELINES if method != "pesmo-dec")
    assert f": {left_out}" in claim.line


def test_cheap_first_is_judged_by_the_halves_of_a_run() -> None:
    def claim(*bought: str) -> Claim:
        ours = twice(rq2.OURS, [1, 0.5, 0.5, 0.5, 0.5], bought=[[name] for name in bought])
        return line_about(rq2.evaluate([*ours, *others()], {}), "cheap objective early")

    assert rq2.expensive_shares(
        made_up("a", [1] * 5, bought=[["cheap"], ["expensive"], ["expensive"], ["expensive"]])
    ) == (0.5, 1.0)
    assert claim("cheap", "cheap", "cheap", "expensive").verdict == "Agrees"
    assert claim("expensive", "cheap", "cheap", "cheap").verdict == "Does not agree"
    assert claim("expensive", "cheap", "expensive", "cheap").verdict == "Undecided"


def test_the_cost_of_an_iteration_is_its_mean_and_none_without_iterations() -> None:
    assert rq2.cost_per_iteration(made_up("pal", [1, 1, 1], bought=[["expensive", "cheap"], ["cheap"]])) == 60.0
    assert np.isnan(rq2.cost_per_iteration(made_up("pal", [1])))


def test_a_problem_with_one_purchase_has_no_expensive_share() -> None:
    made = made_up("pal", [1, 1, 1])
    assert np.isnan(rq2.expensive_shares(replace(made, leads=("expensive",), lead_costs=(100.0,)))).all()


def test_with_readings_free_a_method_that_reads_much_has_more_iterations_at_equal_cost() -> None:
    ours = twice(rq2.OURS, [1, 0.4, 0.3, 0.2], bought=[["expensive"], ["cheap"], ["cheap"]])
    result = rq2.evaluate([*ours, *others()], {})
    # 120 s are one iteration of the others; free of readings ours spent 100 s, as one iteration of the others costs.
    assert line_about(result, "seven", "readings free").verdict == "Agrees"
    [table] = [table for table in result.tables if table.headings[1:] == ("readings charged", "readings free")]
    cells = {row[0]: row[1:] for row in table.rows}
    assert cells[rq2.OURS] == ("0.2", "0.2")
    assert cells["pesmo"] == ("0.5", "0.5")
    few = twice(rq2.OURS, [1, 0.4, 0.3], bought=[["cheap"], ["cheap"]])
    assert line_about(rq2.evaluate([*few, *others()], {}), "seven", "readings free").verdict == "Undecided"


def test_confirmed_errors_are_shown_with_readings_charged_and_free() -> None:
    ours = twice(rq2.OURS, [1, 0.3, 0.2], bought=[["cheap"], ["expensive"]], confirmed=[1, 1, 0.7])
    table = rq2.evaluate([*ours, *others(confirmed=[1, 0.6, 0.6])], {}).tables[-1]
    assert table.headings[1:] == (
        "readings charged",
        "readings free",
        "confirmed, readings charged",
        "confirmed, readings free",
    )
    assert table.rows[0] == (rq2.OURS, "0.2", "0.2", "0.7", "0.7")
