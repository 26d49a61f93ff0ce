from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from rich.console import Console, RenderableType

from flexibo.compare.report.tables import (
    against_best_table,
    error_table,
    goals_table,
    ranking_table,
    suggestions_table,
    summary_table,
)
from flexibo.compare.report.text_table import TextTable
from flexibo.compare.runs import Moment, Run, Suggestions
from flexibo.compare.statistics.goals import Goal, GoalResult
from flexibo.compare.statistics.ranking import AgainstBest, against_best, ranking
from flexibo.compare.statistics.ratios import Ratio
from flexibo.errors import InvalidValueError

SHARES = (0.0, 0.25, 0.5, 1.0)


def run(problem: str, method: str, seed: int, error: float, *, overhead_s: float = 0.0, n: int = 2) -> Run:
    """A run whose error at 25, 50 and 100 % of the budget is 4, 2 and 1 times this one."""
    factors = dict(zip(SHARES, (5, 4, 2, 1), strict=True))
    moments = [
        Moment(
            share, 100 * share, error * factor, overhead_s * share, tuple(round(10 * (j + 1) * share) for j in range(n))
        )
        for share, factor in factors.items()
    ]
    return Run(problem, method, seed, tuple(moments))


def shown(renderable: RenderableType, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(renderable)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def line(text: str, start: str) -> str:
    """The first line that begins with this."""
    return next(row for row in text.splitlines() if row.strip().startswith(start))


def against(runs: list[Run], ours: str, share: float = 1.0) -> AgainstBest:
    return against_best(runs, ours, None, share)


def compared(results: list[AgainstBest], groups: dict[str, str] | None = None) -> TextTable:
    return against_best_table(results, measure="confirmed", groups=groups or {})


METHODS = ("ours", "botorch", "tpe")
RUNS = [
    run(problem, method, seed, error)
    for problem, row in {"nb201-tx2": (0.05, 0.1, 0.2), "zdt1:finite:ratio=10": (0.08, 0.04, 0.0)}.items()
    for method, error in zip(METHODS, row, strict=True)
    for seed in range(4)
]
HOLED = [*RUNS, *(run("nb201-tx2", "hvkg", seed, 0.002) for seed in range(2))]
MANY = [run(f"problem-{p:02}", f"method-{m:02}", 0, 0.01 * (m + 1)) for p in range(17) for m in range(17)]


def test_errors_are_shown_in_percent_with_the_best_marked() -> None:
    text = shown(error_table(RUNS))
    assert line(text, "ours").split() == ["ours", "20*", "10*", "5.0*", "32", "16", "8.0"]
    assert line(text, "tpe").split() == ["tpe", "80", "40", "20", ".10*", ".10*", ".10*"]
    assert "25 / 50 / 100 %" in text
    assert "mean of 4 seeds" in text


def test_the_numbers_of_a_problem_stand_below_each_other() -> None:
    rows = [row for row in shown(error_table(RUNS)).splitlines() if row.split() and row.split()[0] in METHODS]
    ends = [[m.end() for m in re.finditer(r"[\d.]+(?=[* ])", row)] for row in rows]
    assert ends == [ends[0]] * len(METHODS)


def test_ours_stand_first_in_the_order_given_and_others_by_name() -> None:
    text = shown(error_table(RUNS, ["tpe", "ours", "absent"]))
    found = [row.split()[0] for row in text.splitlines() if row.split() and row.split()[0] in METHODS]
    assert found == ["tpe", "ours", "botorch"]


def test_holes_and_other_numbers_of_seeds_are_told() -> None:
    text = shown(error_table(HOLED))
    assert line(text, "hvkg (2)").split() == ["hvkg", "(2)", ".80*", ".40*", ".20*", "-", "-", "-"]
    assert "number of seeds" in text
    assert "number of seeds" not in shown(error_table(RUNS))


def test_ties_are_all_marked() -> None:
    text = shown(error_table([run("p", "a", 0, 0.0), run("p", "b", 0, 0.0002)], shares=(1.0,)))
    assert line(text, "a").split() == ["a", ".10*"]
    assert line(text, "b").split() == ["b", ".10*"]


def test_overhead_that_counts_is_told_and_counted() -> None:
    runs = [run("p", "slow", 0, 0.1, overhead_s=100.0), run("p", "fast", 0, 0.1)]
    text = shown(error_table(runs, shares=(1.0,), prices={"p": (100.0, 1.0)}))
    assert "overhead" in text
    assert line(text, "fast").split() == ["fast", "10*"]
    assert line(text, "slow").split() == ["slow", "20"]


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_tables_keep_to_the_terminal_and_lose_nothing(width: int) -> None:
    text = shown(error_table(MANY, ["method-05"]), width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for number in range(17):
        assert text.count(f"problem-{number:02}") == 1
    figures = [word for row in text.splitlines() if row.startswith(" method-03 ") for word in row.split()[1:]]
    assert figures == ["16", "8.0", "4.0"] * 17
    blocks = text.count("method-16")
    assert text.count("method-05") == blocks
    assert text.count("*") == 17 * 3 + 1  # method-00 is best everywhere; one star explains


def test_wider_terminals_need_fewer_blocks() -> None:
    blocks = [shown(error_table(MANY), width).count("method-16") for width in (60, 120, 300)]
    assert blocks == sorted(blocks, reverse=True)
    assert blocks[-1] == 1
    assert blocks[0] > blocks[1] > 1


def test_a_ranking_is_shown_with_its_ratio_and_its_counts() -> None:
    text = shown(ranking_table(ranking(HOLED, 1.0, ours="ours")))
    rows = [row.split()[0] for row in text.splitlines() if row.split() and row.split()[0] in (*METHODS, "hvkg")]
    assert rows == ["tpe", "botorch", "ours", "hvkg"]  # botorch and ours are equal
    # Errors 0.2 and the floor: geometric mean 1.41 %; ours has 0.05 and 0.08: ratios 0.25 and 80.
    assert line(text, "tpe").split() == ["tpe", "2", "4", "1.41", "2.0", "4.47", "(4.47-4.47)", "1", "0", "1"]
    assert line(text, "ours").split() == ["ours", "2", "4", "6.32", "2.0", "-", "-", "-", "-"]
    assert line(text, "hvkg").split()[:4] == ["hvkg", "1", "of", "2"]
    assert "come last" in text


def test_against_the_best_shows_every_share_and_says_who_is_ahead() -> None:
    text = shown(compared([against(HOLED, "ours", share) for share in (0.25, 1.0)]))
    assert line(text, "nb201-tx2").split()[1:5] == ["0.50", "(0.50-0.50)", "0.50", "(0.50-0.50)"]
    assert line(text, "nb201-tx2").split()[-1] == "botorch"
    assert "ahead" in line(text, "nb201-tx2")
    # At 25 % the best has the floor, 0.1 %, and ours 32 %.
    behind = line(text, "zdt1:finite:ratio=10").split()[1:]
    assert behind == ["320", "(320-320)", "80.0", "(80.0-80.0)", "behind", "tpe"]
    assert line(text, "geometric mean").split()[2:] == ["12.6", "(12.6-12.6)", "6.32", "(6.32-6.32)", "behind"]
    assert re.search(r"hvkg .*: nb201-tx2", text)
    assert "4 seeds per problem" in text


def test_a_choice_on_the_same_seeds_is_told() -> None:
    few = [r for r in RUNS if r.seed < 2]
    assert len(compared([against(few, "ours")]).notes) == len(compared([against(RUNS, "ours")]).notes) + 1


def test_one_seed_has_a_ratio_and_no_interval() -> None:
    single = [r for r in RUNS if r.seed == 0]
    words = line(shown(compared([against(single, "ours")])), "nb201").split()
    assert words == ["nb201-tx2", "0.50", "undecided:", "botorch"]


def test_problems_stand_by_their_groups_each_with_its_mean() -> None:
    groups = {"nb201-tx2": "recorded", "zdt1:finite:ratio=10": "synthetic"}
    firsts = [row[0] for row in compared([against(RUNS, "ours")], groups).rows]
    assert firsts[0] == "nb201-tx2"
    assert firsts[2] == "zdt1:finite:ratio=10"
    assert len(firsts) == 5  # two problems, the mean of each group, and of all
    assert compared([against(RUNS, "ours")], groups).rows[-1][1] == "6.32 (6.32-6.32)"


def test_a_summary_has_a_row_for_each_group_and_measure_the_recorded_tables_first() -> None:
    results = [against(RUNS, "ours", share) for share in (0.5, 1.0)]
    groups = {"zdt1:finite:ratio=10": "synthetic", "nb201-tx2": "recorded", "absent": "stack"}
    table = summary_table({"confirmed": results, "model": results}, groups)
    assert [(row[1], row[2], row[4], row[5]) for row in table.rows] == [
        ("1", "confirmed", "0.50 (0.50-0.50)", "ahead"),
        ("1", "model", "0.50 (0.50-0.50)", "ahead"),
        ("1", "confirmed", "80.0 (80.0-80.0)", "behind"),
        ("1", "model", "80.0 (80.0-80.0)", "behind"),
        ("2", "confirmed", "6.32 (6.32-6.32)", "behind"),
        ("2", "model", "6.32 (6.32-6.32)", "behind"),
    ]
    assert len({row[0] for row in table.rows}) == 3


def test_errors_are_those_of_the_measure() -> None:
    judged = Moment(1.0, 100.0, 0.4, 0.0, (1,), model=0.2)
    text = shown(error_table([Run("p", "ours", 0, (judged,))], measure="model", shares=(1.0,)))
    assert line(text, "ours").split() == ["ours", "20*"]


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_long_names_of_problems_are_broken_after_colons(width: int) -> None:
    names = ["branin-currin:finite:ratio=100", "dtlz2:objectives=3:ratio=100"]
    runs = [run(name, method, seed, 0.1) for name in names for method in ("ours", "botorch-nehvi") for seed in range(4)]
    text = shown(compared([against(runs, "ours", share) for share in (0.25, 0.5, 1.0)]), width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    assert line(text, "dtlz2:objectives=3:")
    assert line(text, "ratio=100")
    assert "botorch-nehvi" in text


@pytest.mark.parametrize("width", [80, 100, 140])
def test_every_table_keeps_to_the_terminal_and_breaks_no_word(width: int) -> None:
    runs = [
        run(name, method, seed, 0.1 + 0.01 * seed)
        for name in ("nb201-imagenet-gpu", "zdt1:ratio=10:expensive=2:finite")
        for method in ("ours", "botorch-qlognparego")
        for seed in range(4)
    ]
    groups = {"nb201-imagenet-gpu": "recorded", "zdt1:ratio=10:expensive=2:finite": "synthetic"}
    results = [against(runs, "ours", share) for share in (0.25, 0.5, 1.0)]
    tables = [
        summary_table({"confirmed": results, "model": results, "reported": results}, groups),
        compared(results, groups),
        ranking_table(ranking(runs, 1.0, ours="ours")),
    ]
    for table in tables:
        text = shown(table, width)
        assert max(map(len, text.splitlines())) <= width
        words = {word for row in table.rows for cell in row for word in re.split("[ :]", cell)}
        words |= {word for heading in table.headings for word in heading.split()}
        assert not {word for word in words if word not in text}


def test_a_group_is_named_once_in_a_summary() -> None:
    table = TextTable(
        "", ("group", "n", "error"), (("a", "1", "x"), ("a", "1", "y"), ("b", "1", "x")), (), {}, merged=2
    )
    assert [line.split() for line in shown(table).splitlines()[3:]] == [["a", "1", "x"], ["y"], ["b", "1", "x"]]


def goal(behind: Mapping[float, Sequence[str]], group: str | None = None) -> GoalResult:
    """A goal that counts the problems of a group on which ours is behind, given by share."""
    runs = [run(name, m, seed, 0.1) for name in ("p", "q") for m in ("ours", "other") for seed in range(4)]
    results = []
    for share, names in behind.items():
        found = against(runs, "ours", share)
        judged = (replace(one, ratio=Ratio(2.0, 1.5, 2.5, 4)) for one in found.problems if one.problem in names)
        results.append(replace(found, problems=tuple(judged)))
    return GoalResult(Goal(1, 0, group=group, counts_behind=True), tuple(results))


def test_problems_behind_are_named_once_with_their_shares() -> None:
    everywhere = goal({0.25: ["p"], 0.5: ["p", "q"], 1.0: ["p"]})
    notes = goals_table([goal({0.5: ["q"]}, "recorded"), everywhere], "ours").notes
    assert len(notes) == 2
    assert re.search("25%, 50%, 100% on p; .*50% on q", notes[1])


ODD = ("[red]x[/red]", "a|b*c_d", "two\nlines")


def test_names_are_never_read_as_markup() -> None:
    runs = [run(f"[bold]{name}[/]", name, seed, 0.1) for name in ODD for seed in range(4)]
    runs += [run(r.problem, "[/]", r.seed, 0.2) for r in runs]
    tables = [
        error_table(runs, ["[/]"]),
        ranking_table(ranking(runs, 1.0, ours="[/]")),
        compared([against(runs, "[/]")]),
    ]
    for table in tables:
        text = shown(table, 200)
        for name in ("[/]", "[red]x[/red]", "a|b*c_d", r"two\nlines"):
            assert name in text
    for table in (tables[0], tables[2]):
        assert "[bold]a|b*c_d[/]" in shown(table, 200)


def test_nothing_to_show_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="result"):
        compared([])


def test_replaced_and_failed_suggestions_are_shown_by_contestant_and_group() -> None:
    counts = Suggestions(20, 5, 15, 1)
    rival = run("q", "ehvi", 0, 0.1)
    rival = replace(rival, moments=tuple(replace(m, suggestions=counts) for m in rival.moments))
    table = suggestions_table([run("q", "flexibo", 0, 0.1), rival, replace(rival, seed=1)], {"q": "recorded"})
    assert table is not None
    assert table.rows == (("ehvi", "recorded tables", "2", "40", "25", "3.0", "5"),)
    assert suggestions_table([run("q", "flexibo", 0, 0.1)], {"q": "recorded"}) is None
