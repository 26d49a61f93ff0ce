"""Tables and claims that experiments share."""

from __future__ import annotations

import pytest
from tests.unit.experiments.made_repeats import made_up, twice

from flexibo.experiments.standard_tables import (
    EXTRA_NOTE,
    IDLE_NOTE,
    OURS,
    error_claims,
    measured_table,
    standings_tables,
    target_claim,
)


def rows(repeats: list, which: int, **given: object) -> dict[str, tuple[str, ...]]:  # type: ignore[type-arg]
    table = standings_tables(repeats, **given)[which]  # type: ignore[arg-type]
    return {row[0]: row[1:] for row in table.rows}


def test_every_problem_has_a_table_of_errors_and_one_of_designs() -> None:
    repeats = [*twice(OURS, [1, 0.2], problem="p"), *twice(OURS, [1, 0.3], problem="q")]
    _, *tables = standings_tables(repeats)
    assert [table.title.partition(":")[0] for table in tables] == ["p", "p", "q", "q"]
    assert [table.rows[0][1] for table in tables[::2]] == ["0.2", "0.3"]
    assert "(s)" in tables[1].headings[-1]


def test_the_errors_over_several_problems_come_first_and_are_geometric_means() -> None:
    ours = [*twice(OURS, [1, 0.2], problem="p"), *twice(OURS, [1, 0.8], problem="q")]
    theirs = [*twice("pal", [1, 0.0], problem="p"), *twice("pal", [1, 0.1], problem="q")]
    first = standings_tables([*ours, *theirs])[0]
    assert first.title.startswith("All 2 problems: hypervolume error")
    assert [row[:2] for row in first.rows] == [(OURS, "0.4"), ("pal", "0.01")], "an error of 0 counts as 0.001"
    only = [repeat for repeat in [*ours, *theirs] if repeat.problem == "p"]
    assert "All" not in standings_tables(only)[0].title


def test_errors_are_shown_after_all_iterations_and_at_both_equal_costs() -> None:
    ours = twice(OURS, [1, 0.6, 0.5, 0.4], bought=[["cheap"]] * 3)  # 30 s, and 3 log 10
    theirs = twice("pal", [1, 0.8, 0.3, 0.1], bought=[["cheap"], ["expensive"], ["expensive"]])
    assert rows([*ours, *theirs], 0) == {OURS: ("0.4",) * 3, "pal": ("0.1", "0.3", "0.8")}


def test_confirmed_errors_have_a_table_and_claims_of_their_own_where_they_are_known() -> None:
    ours = twice(OURS, [1, 0.2], confirmed=[1, 0.9])
    theirs = twice("pal", [1, 0.5], confirmed=[1, 0.5])
    assert [table.title.partition(" (")[0] for table in standings_tables([*ours, *theirs])[:2]] == [
        "p: hypervolume error",
        "p: confirmed hypervolume error",
    ]
    assert rows([*ours, *theirs], 1) == {OURS: ("0.9",) * 3, "pal": ("0.5",) * 3}
    claims = error_claims([*ours, *theirs], "Ours is best")
    assert [claim.verdict for claim in claims] == ["Agrees", "Does not agree"] * 2
    assert ["by confirmed designs" in claim.paper for claim in claims] == [False, True] * 2
    assert len(error_claims([*ours, *twice("pal", [1, 0.5])], "Ours is best")) == 2


def test_designs_and_iterations_are_counted_at_equal_cost() -> None:
    ours = twice(OURS, [1, 0.6, 0.5], bought=[["cheap"]] * 2, in_target=4)
    theirs = twice("pal", [1, 0.8, 0.3], bought=[["cheap"], ["expensive"]], in_target=1)
    assert rows([*ours, *theirs], 1) == {OURS: ("4", "4", "2", "20"), "pal": ("1", "1", "1", "110")}


def test_a_method_without_an_iteration_at_equal_cost_has_a_mark_that_is_explained() -> None:
    ours = twice(OURS, [1, 0.6], bought=[["cheap"]])
    idle = [*ours, *twice("pal", [1, 0.8])]
    table = standings_tables(idle)[0]
    assert [cell.endswith("†") for cell in table.rows[1]] == [False, False, True, True]
    assert table.note == IDLE_NOTE
    assert standings_tables(ours)[0].note == ""


def test_one_repeat_without_an_iteration_is_enough_for_the_mark_and_all_iterations_never_have_it() -> None:
    ours = twice(OURS, [1, 0.6], bought=[["cheap"]])
    half = [made_up("pal", [1, 0.8]), made_up("pal", [1, 0.8], seed=1, bought=[["cheap"]])]
    done = twice("parego", [1], stopped="nothing more to ask")
    marked = rows([*ours, *half, *done], 0)
    assert [cell.endswith("†") for cell in marked["pal"]] == [False, True, True]
    assert [cell.endswith("†") for cell in marked["parego"]] == [False, True, True]


def test_a_method_that_is_not_the_papers_has_a_star_and_does_not_decide_the_equal_cost() -> None:
    repeats = [*twice(OURS, [1, 0.6, 0.5]), *twice("flexibo", [1, 0.1], bought=[["cheap"]])]
    for table in standings_tables(repeats, extra=("flexibo",)):
        assert [row[0] for row in table.rows] == [OURS, "flexibo*"]
        assert table.note == EXTRA_NOTE
    assert rows(repeats, 0, extra=("flexibo",))[OURS] == ("0.5",) * 3
    assert rows(repeats, 0)[OURS][2] == "1 †"
    assert standings_tables(repeats[:2], extra=("flexibo",))[0].note == ""


def test_a_claim_about_errors_is_judged_by_log_cost_and_by_real_cost() -> None:
    ours = twice(OURS, [1, 0.5, 0.4, 0.4], bought=[["cheap"]] * 3)
    theirs = twice("pal", [1, 0.6, 0.3, 0.1], bought=[["cheap"], ["expensive"], ["expensive"]])
    by_log, by_real = error_claims([*ours, *theirs], "Claimed")
    assert ("log cost" in by_log.paper, "real cost" in by_real.paper) == (True, True)
    assert (by_log.verdict, by_real.verdict) == ("Does not agree", "Agrees")


def test_only_the_named_others_are_compared() -> None:
    repeats = [*twice(OURS, [1, 0.5]), *twice("pal", [1, 0.6]), *twice("parego", [1, 0.1])]
    assert {claim.verdict for claim in error_claims(repeats, "Claimed", others=("pal",))} == {"Agrees"}
    assert {claim.verdict for claim in error_claims(repeats, "Claimed")} == {"Does not agree"}
    assert {claim.verdict for claim in error_claims(repeats, "Claimed", extra=("parego",))} == {"Agrees"}


@pytest.mark.parametrize(("found", "verdict"), [(3, "Agrees"), (2, "Undecided"), (1, "Does not agree")])
def test_more_designs_in_the_target_region_are_better(found: int, verdict: str) -> None:
    repeats = [*twice(OURS, [1, 0.5], in_target=found), *twice("pal", [1, 0.5], in_target=2)]
    assert target_claim(repeats, "Claimed", others=("pal",)).verdict == verdict


def test_a_table_of_measures_has_a_row_per_method_and_a_column_per_measure() -> None:
    repeats = [made_up("pal", [1, 0.2], seed=0), made_up("pal", [1, 0.4], seed=1), made_up("parego", [1, 0.7])]
    table = measured_table(repeats, "T", {"error": lambda r: r.iterations[-1].error, "seed": lambda r: float(r.seed)})
    assert table.headings == ("method", "error", "seed")
    assert table.rows == (("pal", "0.3 ± 0.1", "0.5 ± 0.5"), ("parego", "0.7", "0"))
