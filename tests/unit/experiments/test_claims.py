from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import pytest
from rich.console import Console

from flexibo import Objective, Space
from flexibo.compare.problems.base import Problem, constant_costs
from flexibo.experiments import (
    EXPERIMENTS,
    Claim,
    ExperimentResult,
    Iteration,
    Judgement,
    Repeat,
    ResultTable,
    measures,
    motivation,
    rq1,
    rq2,
    rq3,
    times,
)
from flexibo.experiments.landscape import contour_grid, unexplained
from flexibo.experiments.measures import LOG_COST, REAL_COST, equal_limit, shown, state_at


def made_up(
    method: str,
    errors: Sequence[float],
    *,
    seed: int = 0,
    problem: str = "p",
    bought: Sequence[Sequence[str]] = (),
    gain: float = 1.0,
    thinking: float = 1.0,
    in_target: int = 0,
    front: tuple[tuple[float, float], ...] = ((0.5, 0.5),),
    values: tuple[float, float] = (0.5, 0.5),
    stopped: str = "",
) -> Repeat:
    """A repeat with these errors after its iterations, of which expensive ones cost 100 s and cheap ones 10 s."""
    prices = {"expensive": 100.0, "cheap": 10.0}
    iterations: list[Iteration] = []
    spent = log_spent = 0.0
    for number, error in enumerate(errors):
        names = tuple(bought[number - 1] if bought else ("expensive",)) if number else ()
        costs = tuple(prices[name] for name in names)
        spent, log_spent = spent + sum(costs), log_spent + sum(float(np.log(cost)) for cost in costs)
        volume, own = (10.0, gain) if number else (None, None)
        seconds = thinking if number else 0.0
        place = values if number else ()
        iterations.append(
            Iteration(number, names, costs, spent, log_spent, seconds, volume, own, place, error, in_target)
        )
    return Repeat(problem, method, seed, ("expensive", "cheap"), (100.0, 10.0), "s", tuple(iterations), front, stopped)


def twice(method: str, errors: Sequence[float], **fields: object) -> list[Repeat]:
    """Two repeats that did the same, so that what they show is no chance."""
    return [made_up(method, errors, seed=seed, **fields) for seed in (0, 1)]  # type: ignore[arg-type]


def line_about(result: ExperimentResult, words: str) -> Claim:
    [claim] = [claim for claim in result.claims if words in claim.paper]
    return claim


def problem() -> Problem:
    """Losses are the two options themselves; the front is where they sum to 1."""
    space = Space({"cpu_ghz": (0.0, 1.0), "filters": (0.0, 1.0)})
    front = np.array([[x, 1 - x] for x in np.linspace(0, 1, 11)])
    objectives = (Objective("error", unit="%"), Objective("energy", unit="J"))
    return Problem(
        "p",
        "made up",
        space,
        objectives,
        lambda designs: np.asarray(designs.codes),
        constant_costs([100.0, 10.0]),
        np.array([1.1, 1.1]),
        front,
        0.6,
    )


def test_equal_cost_is_what_the_thriftiest_spent_unless_it_had_nothing_more_to_ask() -> None:
    expensive = made_up("a", [1, 0.5, 0.2])
    cheap = made_up("b", [1, 0.6, 0.3], bought=[["cheap"], ["cheap"]])
    assert equal_limit([expensive, cheap], REAL_COST) == 20.0
    assert equal_limit([expensive, made_up("b", [1, 0.6], bought=[["cheap"]], stopped="done")], REAL_COST) == 200.0
    assert equal_limit([expensive, cheap], LOG_COST) == pytest.approx(2 * np.log(10))


def test_a_repeat_stands_where_its_last_affordable_iteration_left_it() -> None:
    expensive = made_up("a", [1, 0.5, 0.2])
    assert [state_at(expensive, REAL_COST, limit).error for limit in (0, 99, 100, 199, 200, 10**6)] == [
        1,
        1,
        0.5,
        0.5,
        0.2,
        0.2,
    ]


@pytest.mark.parametrize(("log", "verdict"), [(0.1, "Agrees"), (0.3, "Does not agree")])
def test_the_verdict_on_cost_functions_follows_the_numbers(log: float, verdict: str) -> None:
    repeats = twice(rq1.LOG, [1, log]) + twice(rq1.RATIO, [1, 0.2]) + twice(rq1.CONSTANT, [1, 0.4])
    claims = [c for c in rq1.evaluate(repeats, {}).claims if "lower hypervolume error" in c.paper]
    assert [c.verdict for c in claims] == [verdict, verdict]
    assert f"{log:.3g} against 0.2 of flexibo-gp-ratio" in claims[0].line


def test_a_tie_is_undecided_and_called_one() -> None:
    repeats = [own for method in (rq1.LOG, rq1.RATIO, rq1.CONSTANT) for own in twice(method, [1, 0.2])]
    claims = rq1.evaluate(repeats, {}).claims
    assert [claim.verdict for claim in claims] == ["Undecided"] * len(claims)
    assert all("a tie" in claim.line for claim in claims)


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


def test_errors_are_compared_at_equal_cost_and_not_after_equal_iterations() -> None:
    # Ours buys cheaply and is ahead for its 30 s; theirs is better after a expensive iteration, which costs 100 s.
    ours = twice(rq3.OURS, [1, 0.5, 0.4, 0.4], bought=[["cheap"], ["cheap"], ["cheap"]])
    theirs = twice(rq3.FOREST, [1, 0.6, 0.3, 0.1], bought=[["cheap"], ["expensive"], ["expensive"]])
    log_cost, real_cost = rq3.evaluate(ours + theirs, {}).claims[:2]
    assert real_cost.verdict == "Agrees"
    assert "0.4 against 0.6" in real_cost.line
    # By the paper's logarithms one expensive evaluation costs as much as two cheap ones.
    assert log_cost.verdict == "Does not agree"
    assert "0.4 against 0.3" in log_cost.line


def test_ratio_costs_must_favour_the_cheap_objective() -> None:
    def repeats(ratio: str) -> list[Repeat]:
        bought = {rq1.LOG: ["cheap", "expensive"], rq1.RATIO: [ratio, ratio], rq1.CONSTANT: ["expensive", "expensive"]}
        courses = {method: [[name] for name in names] for method, names in bought.items()}
        return [own for method in courses for own in twice(method, [1, 0.2, 0.1], bought=courses[method])]

    assert line_about(rq1.evaluate(repeats("cheap"), {}), "favour the cheap").verdict == "Agrees"
    assert line_about(rq1.evaluate(repeats("expensive"), {}), "favour the cheap").verdict == "Does not agree"


def test_the_change_of_volume_is_a_share_of_the_first_region() -> None:
    assert rq1.removed_per_evaluation(made_up(rq1.LOG, [1, 1, 1], gain=2.0)) == pytest.approx(20.0)
    gains = {rq1.LOG: 2.0, rq1.RATIO: 3.0, rq1.CONSTANT: 1.0}
    repeats = [own for method, gain in gains.items() for own in twice(method, [1, 0.5], gain=gain)]
    result = rq1.evaluate(repeats, {})
    assert line_about(result, "most per evaluation").verdict == "Does not agree"
    assert line_about(result, "Constant costs change the volume less").verdict == "Agrees"


def others(error: float = 0.5, **fields: object) -> list[Repeat]:
    coupled = {"bought": [["expensive", "cheap"]] * 2} | fields
    return [own for method in rq2.BASELINES for own in twice(method, [1, error, error], **coupled)]


def test_the_librarys_own_method_takes_no_part_in_the_papers_claims() -> None:
    ours = twice(rq2.OURS, [1, 0.3, 0.2], bought=[["cheap"], ["expensive"]])
    extra = twice("flexibo", [1, 0.0, 0.0], bought=[["cheap"], ["cheap"]])
    result = rq2.evaluate([*ours, *others(), *extra], {})
    claim = line_about(result, "of all seven methods (at equal real cost)")
    assert claim.verdict == "Agrees"
    # Equal cost is the 110 s that ours spent, not the 20 s of the library's own; theirs have made one iteration then.
    assert "0.2 against 0.5 of pesmo, 60.0 % lower)" in claim.line
    assert all("of flexibo," not in claim.line and "of flexibo)" not in claim.line for claim in result.claims)
    report = result.tables[0].markdown()
    assert "| flexibo* |" in report
    assert report.endswith("* Not one of the paper's methods.")
    alone = rq2.evaluate([*ours, *others()], {})
    assert line_about(alone, "spends least").verdict == "Agrees"
    assert "*" not in alone.tables[0].markdown().removeprefix("**").replace("**", "", 1)


def test_a_cost_too_small_for_an_iteration_is_no_evidence() -> None:
    claim = "of all seven methods (at equal real cost)"
    ours = twice(rq2.OURS, [1, 0.3, 0.2], bought=[["cheap"], ["cheap"]])
    result = rq2.evaluate([*ours, *others()], {})
    assert line_about(result, claim).verdict == "Undecided"
    assert "too small a cost for an iteration of pesmo, pesmo-dec, pal," in line_about(result, claim).line
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
    claim = line_about(rq2.evaluate([*ours, *able, *rest], {}), "of all seven methods (at equal real cost)")
    assert claim.verdict == verdict
    assert "of pesmo-dec" in claim.line
    assert "; left out, as the cost is too small for an iteration: pesmo, pal, parego, smsego, ca-mobo" in claim.line


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


def test_times_add_the_cost_to_the_thinking() -> None:
    made = made_up("pal", [1, 1, 1], bought=[["expensive", "cheap"], ["cheap"]], thinking=3.0)
    assert times.overhead(made) == 3.0
    assert times.with_evaluation(made) == pytest.approx(3.0 + 60.0)


def test_the_verdicts_on_times_follow_the_numbers() -> None:
    def result(thinking: float, bought: list[list[str]]) -> ExperimentResult:
        ours = made_up(times.OURS, [1, 1, 1], bought=bought, thinking=thinking)
        pal = made_up("pal", [1, 1, 1], bought=[["expensive", "cheap"]] * 2, thinking=5.0)
        half = made_up("pesmo-dec", [1, 1, 1], bought=[["expensive"], ["cheap"]], thinking=2.0)
        return times.evaluate([ours, pal, half], {})

    slow = result(3.0, [["cheap"], ["cheap"]])
    assert [claim.verdict for claim in slow.claims] == ["Agrees"] * 4
    assert "4.4 times as long" in slow.claims[2].line
    quick = result(0.1, [["expensive", "cheap"]] * 2)
    assert [claim.verdict for claim in quick.claims] == ["Does not agree", "Agrees", "Does not agree", "Agrees"]
    assert "| flexibo-gp-log | 0.1 | 79.9 |" in quick.tables[0].markdown()


def test_equal_times_decide_nothing() -> None:
    repeats = [made_up(method, [1, 1]) for method in (times.OURS, "pal", "pesmo-dec")]
    assert [claim.verdict for claim in times.evaluate(repeats, {}).claims] == ["Undecided"] * 4


def test_designs_near_the_front_are_on_it_and_designs_worse_than_both_medians_are_of_low_quality() -> None:
    near = motivation.on_front(problem(), [(0.5, 0.5), (0.505, 0.505), (0.6, 0.6)])
    assert near.tolist() == [True, True, False]
    assert motivation.low_quality(problem(), [(0.9, 0.9), (0.9, 0.1)]).tolist() == [True, False]


@pytest.mark.parametrize(
    ("found", "verdict"), [(((0.0, 1.0), (1.0, 0.0)), "Agrees"), (((0.8, 0.8),), "Does not agree")]
)
def test_the_verdict_on_the_categories_follows_the_fronts(found: tuple[tuple[float, float], ...], verdict: str) -> None:
    others = [method for method in motivation.CATEGORIES if method != motivation.OURS]
    repeats = [own for method in others for own in twice(method, [1, 0.5])]
    repeats += twice(motivation.OURS, [1, 0.4], front=found)
    result = motivation.evaluate(repeats, {"p": problem()})
    assert line_about(result, "identifies more designs on the Pareto front").verdict == verdict


def test_a_plane_is_linear_and_a_bowl_is_not() -> None:
    x, y = np.meshgrid(np.arange(5.0), np.arange(4.0), indexing="ij")
    assert unexplained(3 * x - y) == pytest.approx(0.0, abs=1e-12)
    assert unexplained((x - 2) ** 2) == pytest.approx(1.0)
    assert unexplained(np.ones((3, 3))) == 0.0
    grid = contour_grid(problem())
    assert grid is not None
    assert grid.names == ("cpu_ghz", "filters")
    assert grid.values[3, 5].tolist() == pytest.approx([grid.levels[0][3], grid.levels[1][5]])


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


def test_numbers_have_no_powers_of_ten() -> None:
    assert [measures.number(value, 2) for value in (147.3, 1920.4, 0.0, 1e-5, 1e-9)] == [
        "147",
        "1,920",
        "0",
        "0.00001",
        "<0.000001",
    ]
    assert shown([0.3341, 0.3342]) == "0.334 ± 0.00005"
    assert shown([206.0, 500.0]) == "353 ± 147"


def test_a_single_value_has_no_spread_and_none_is_a_dash() -> None:
    assert shown([12000.0, 14000.0]) == "13,000 ± 1,000"
    assert shown([0.5]) == "0.5"
    assert shown([float("nan")]) == "-"
