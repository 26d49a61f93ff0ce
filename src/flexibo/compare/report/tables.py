"""What the tables of a comparison say: errors, ranking, our method against the best others, goals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from rich.text import Text

from flexibo._internal.text import printable_line
from flexibo.compare.problems.base import GROUPS
from flexibo.compare.report.text_table import BEST, STRONG, WORSE, MethodsByProblem, TextTable
from flexibo.compare.runs import Measure, Run, Suggestions
from flexibo.compare.statistics.errors import FLOOR, MeanError, OverheadPrices, errors, mean_errors
from flexibo.compare.statistics.goals import SHARES_SHOWN, GoalResult
from flexibo.compare.statistics.money import NOT_REACHED, Money, MoneyGoal
from flexibo.compare.statistics.ranking import AgainstBest, RankedMethod, Ranking
from flexibo.compare.statistics.ratios import Ratio, Standing
from flexibo.errors import InvalidValueError

NOTHING = "-"
BEFORE_NAME: Mapping[Standing, str] = {"ahead": "ahead of", "behind": "behind", "undecided": "undecided:"}
STANDINGS: tuple[Standing, ...] = ("ahead", "undecided", "behind")
TOGETHER = "all problems"
JUDGED_BY: Mapping[Measure, str] = {
    "confirmed": "Confirmed error: by the designs of which a contestant measured every objective.",
    "model": "Model error: by the designs that its own model names among the same candidates for all, measured or not.",
    "reported": "Reported error: by the designs that it reports itself, which may be predicted.",
}


def error_table(
    runs: Iterable[Run],
    ours: Sequence[str] = (),
    *,
    measure: Measure = "confirmed",
    shares: Sequence[float] = SHARES_SHOWN,
    prices: OverheadPrices | None = None,
) -> MethodsByProblem:
    """Mean floored errors in percent at shares of the budget, a method per row and a problem per column, ours first."""
    runs = list(runs)
    found = [mean_errors(errors(runs, share, measure=measure, prices=prices)) for share in shares]
    present = {run.method for run in runs}
    first = [method for method in dict.fromkeys(ours) if method in present]
    methods = [*first, *sorted(present.difference(first))]
    usual = max((mean.seeds for by_method in found[-1].values() for mean in by_method.values()), default=0)
    columns = tuple(
        (problem, tuple(_error_cell([at[problem] for at in found], method) for method in methods))
        for problem in found[-1]
    )
    labels = tuple(_with_seeds(method, found[-1], usual) for method in methods)
    notes = [JUDGED_BY[measure], "* the lowest error on this problem at this share of the budget"]
    if labels != tuple(map(printable_line, methods)):
        notes.append("(in parentheses) the number of seeds, if it differs: such errors are means of other seeds")
    shown = " / ".join(f"{share:.0%}".rstrip("%") for share in shares)
    counted = ", overhead counted as cost" if prices is not None else ""
    seeds = "1 seed" if usual == 1 else f"{usual} seeds"
    title = (
        f"{measure.capitalize()} error in % of the hypervolume at {shown} % of the budget{counted}: geometric mean of "
        f"{seeds}, errors floored at {FLOOR:.1%}"
    )
    return MethodsByProblem(title, labels, columns, tuple(notes), len(first))


def _error_cell(at_shares: Sequence[Mapping[str, MeanError]], method: str) -> Text:
    """The errors of a method on a problem, one for each share; the lowest have a star."""
    cell = Text()
    for position, by_method in enumerate(at_shares):
        cell.append(" " if position else "")
        if method not in by_method:
            cell.append(f"{NOTHING:>3} ", style="dim")
            continue
        best = min(mean.mean for mean in by_method.values())
        is_best = by_method[method].mean <= best * (1.0 + 1e-9)
        text = f"{_short_percent(by_method[method].mean):>3}{'*' if is_best else ' '}"
        cell.append(text, style=BEST if is_best else "")
    return cell


def _with_seeds(method: str, found: Mapping[str, Mapping[str, MeanError]], usual: int) -> str:
    """The name of a method, with its number of seeds if it has fewer than others."""
    seeds = sorted({by_method[method].seeds for by_method in found.values() if method in by_method})
    if not seeds or seeds == [usual]:
        return printable_line(method)
    return f"{printable_line(method)} ({seeds[0]}{'' if len(seeds) == 1 else f' to {seeds[-1]}'})"


def summary_table(by_measure: Mapping[Measure, Sequence[AgainstBest]], groups: Mapping[str, str]) -> TextTable:
    """Our error over that of the best other, by group of problems and by measure, the headline first."""
    first = next(iter(by_measure.values()))
    rows: list[tuple[str, ...]] = []
    styles: dict[tuple[int, int], str] = {}
    for title, names in _grouped(groups):
        for measure, results in by_measure.items():
            ratios = [result.over(names) for result in results]
            if ratios[-1] is None:
                continue
            counted = sum(one.problem in names for one in results[-1].problems)
            cells = (NOTHING if ratio is None else _interval(ratio) for ratio in ratios)
            styles |= {(len(rows), j): _style(ratio) for j, ratio in enumerate(ratios, start=3) if ratio is not None}
            rows.append((title, f"{counted}", measure, *cells, ratios[-1].standing))
    at = [f"at {result.share:.0%}" for result in first]
    ours = printable_line(first[-1].ours)
    return TextTable(
        f"{ours} against the best other, by group of problems: its error over the other's",
        ("group", "problems", "error", *at, f"verdict {at[-1]}"),
        tuple(rows),
        (
            *(JUDGED_BY[measure] for measure in by_measure),
            *_interval_notes([r for rs in by_measure.values() for r in rs]),
        ),
        styles,
        (0, 2, 3 + len(first)),
        merged=2,
    )


def _grouped(groups: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """Titles of groups with their problems, in the order of `GROUPS`; all problems at the end if there are several."""
    names = [*GROUPS, *sorted({*groups.values()} - GROUPS.keys())]
    found = [(GROUPS.get(name, name), [p for p, own in groups.items() if own == name]) for name in names]
    found = [(title, problems) for title, problems in found if problems]
    return [*found, (TOGETHER, list(groups))] if len(found) > 1 else found


def ranking_table(ranking: Ranking, title: str = "") -> TextTable:
    """All methods, best first; the last ones ran on some problems only."""
    ours, total = printable_line(ranking.ours), len(ranking.problems)
    ranked = (*ranking.complete, *ranking.partial)
    rows = tuple(_ranking_row(one, ranking.ours, total) for one in ranked)
    styles = {(i, 0): STRONG for i, one in enumerate(ranked) if one.method == ranking.ours}
    styles |= {(i, 5): _style(one.ratio) for i, one in enumerate(ranked)}
    notes = [
        f"Error: geometric mean over problems and seeds. Ratio: the error of {ours} over the method's; below 1, {ours} "
        f"is better. Problems on which {ours} is ahead (the whole {ranking.level:.0%} interval is below 1), undecided "
        "or behind (above 1)."
    ]
    if len({one.seeds for one in ranked}) > 1:
        notes.append(
            f"A method with fewer seeds has its error from these; ratio, rank and order are those on the seeds that it "
            f"has in common with {ours}."
        )
    if ranking.partial:
        notes.append("Methods that ran on fewer problems come last; their numbers are over these problems only.")
    if ranking.unmatched:
        notes.append(f"No problem and seed in common with {ours}: {', '.join(map(printable_line, ranking.unmatched))}.")
    headings = ("method", "problems", "seeds", "error %", "rank", f"ratio ({ranking.level:.0%})")
    title = f"Ranking{title and f' by {title}'} at {ranking.share:.0%} of the budget"
    return TextTable(title, (*headings, *STANDINGS), rows, tuple(notes), styles)


def _ranking_row(one: RankedMethod, ours: str, total: int) -> tuple[str, ...]:
    ratios = one.ratios.values()
    problems = f"{len(ratios)}" if len(ratios) == total else f"{len(ratios)} of {total}"
    row = (printable_line(one.method), problems, f"{one.seeds}", _percent(one.geometric_mean), f"{one.mean_rank:.1f}")
    if one.method == ours:
        return (*row, *[NOTHING] * 4)
    counts = [sum(ratio.standing == standing for ratio in ratios) for standing in STANDINGS]
    return (*row, _interval(one.ratio), *map(str, counts))


def against_best_table(
    results: Sequence[AgainstBest], group: str = "other", *, measure: Measure, groups: Mapping[str, str]
) -> TextTable:
    """Our error over that of the best other method, a problem per row and a share of the budget per column.

    The problems are ordered by their groups, each with its geometric mean.
    """
    if not results:
        raise InvalidValueError("There is no result to show; give one for each share of the budget.")
    last = results[-1]
    found = [{one.problem: one for one in result.problems} for result in results]
    rows: list[tuple[str, ...]] = []
    styles: dict[tuple[int, int], str] = {}
    present = {name: groups.get(name, "") for name in sorted(set().union(*found))}
    grouped = _grouped(present)
    for title, names in grouped:
        for name in names if title != TOGETHER else ():
            at = [by_problem.get(name) for by_problem in found]
            styles |= {(len(rows), j + 1): _style(one.ratio) for j, one in enumerate(at) if one is not None}
            known = [one for one in at if one is not None]
            cells = [NOTHING if one is None else _interval(one.ratio) for one in at]
            best = f"{BEFORE_NAME[known[-1].ratio.standing]} {printable_line(known[-1].chosen)}"
            rows.append((printable_line(name), *cells, best))
        means = [result.over(names) for result in results]
        styles |= {(len(rows), j): STRONG for j in range(len(results) + 2)}
        cells = [NOTHING if mean is None else _interval(mean) for mean in means]
        mean_of = "geometric mean" if len(grouped) == 1 else f"mean of {title}"
        rows.append((mean_of, *cells, NOTHING if means[-1] is None else means[-1].standing))
    at_shares = [f"at {result.share:.0%}" for result in results]
    return TextTable(
        f"{printable_line(last.ours)} against the best {group} of each problem: its {measure} error over the {group}'s",
        ("problem", *at_shares, f"verdict {at_shares[-1]}"),
        tuple(rows),
        _against_notes(results),
        styles,
        (0, len(results) + 1),
    )


def _interval_notes(results: Sequence[AgainstBest]) -> list[str]:
    """What the intervals are, and how the best was chosen."""
    ones = [one for result in results for one in result.problems]
    seeds = sorted({one.ratio.seeds for one in ones})
    number = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    if seeds[-1] < 2:
        return []
    choice = "The best other is the best with these seeds, which favours it; the lower end of an interval is that of "
    choice += "the best chosen on other seeds."
    if results[-1].other_seeds:
        choice = (
            "The best other is chosen for each seed on the other seeds, and the most frequent is named. This favours "
            f"{printable_line(results[-1].ours)}: its intervals are too low more often than they say."
        )
    return [
        f"In parentheses {results[-1].level:.0%} intervals, {number} seeds per problem. Ahead: the whole interval is "
        f"below 1; behind: above 1. {choice}"
    ]


def _against_notes(results: Sequence[AgainstBest]) -> tuple[str, ...]:
    """How the best was chosen, and which methods were left out."""
    ones = [one for result in results for one in result.problems]
    notes = _interval_notes(results)
    same = sorted({printable_line(one.problem) for one in ones if not one.separate})
    if same:
        where = "" if len(same) == len({one.problem for one in ones}) else f" on {', '.join(same)}"
        notes.append(f"Too few seeds{where} to choose the best on other seeds: both ends favour it.")
    left_out: dict[str, set[str]] = {}
    for one in ones:
        for method in one.left_out:
            left_out.setdefault(printable_line(method), set()).add(printable_line(one.problem))
    notes += [f"{m} has too few seeds and is left out of: {', '.join(sorted(left_out[m]))}." for m in sorted(left_out)]
    return tuple(notes)


def suggestions_table(runs: Iterable[Run], groups: Mapping[str, str]) -> TextTable | None:
    """What became of the suggestions of third-party optimisers, by group of problems; None if they were not counted."""
    counted: dict[tuple[str, str], list[Suggestions]] = {}
    for run in runs:
        if (counts := run.moments[-1].suggestions) is not None:
            counted.setdefault((run.method, groups.get(run.problem, "")), []).append(counts)
    order = [*GROUPS, *sorted({*groups.values()} - GROUPS.keys())]
    rows = []
    for method, group in sorted(counted, key=lambda key: (key[0], order.index(key[1]))):
        own = counted[method, group]
        suggested, replaced, failed = (
            sum(getattr(one, name) for one in own) for name in ("suggested", "replaced", "failed")
        )
        options = sum(one.changed_options for one in own) / replaced if replaced else 0.0
        shares = (f"{100 * count / suggested:.0f}" if suggested else NOTHING for count in (replaced, failed))
        changed = f"{options:.1f}" if replaced else NOTHING
        replaced_share, failed_share = shares
        cells = (f"{len(own)}", f"{suggested}", replaced_share, changed, failed_share)
        rows.append((printable_line(method), GROUPS.get(group, group), *cells))
    if not rows:
        return None
    return TextTable(
        "Suggestions of other libraries that could not be measured",
        ("contestant", "group", "runs", "suggested", "replaced %", "options changed", "failed %"),
        tuple(rows),
        (
            "Replaced: the nearest design that can be measured took its place. Options changed: the mean number "
            "of options in which it differs. Failed: the library raised an error, and a random design was measured.",
        ),
        {},
        (0, 1),
        merged=1,
    )


def goals_table(results: Sequence[GoalResult], ours: str, measure: Measure = "confirmed") -> TextTable:
    """The goals of our method, one per row, and how far they were reached."""
    styles = {
        (i, j): BEST if met else WORSE
        for i, one in enumerate(results)
        if one.results
        for j, met in ((4, one.must_met), (5, one.aim_met))
    }
    return TextTable(
        f"Goals of {printable_line(ours)}, by {measure} errors",
        ("goal", *(f"at {share:.0%}" for share in SHARES_SHOWN), "must", "aim"),
        tuple(map(_goal_row, results)),
        _goal_notes(results),
        styles,
    )


def money_table(found: Money, goal: MoneyGoal, contestants: Sequence[str], groups: Mapping[str, str]) -> TextTable:
    """What contestants pay for the baseline's final error, in percent of the budget; ours is the first."""
    rows: list[tuple[str, ...]] = []
    styles: dict[tuple[int, int], str] = {}
    grouped = _grouped({name: groups.get(name, "") for name in found.shares})
    for title, names in grouped:
        for name in names if title != TOGETHER else ():
            cells = [_paid(found.shares[name][one]) if one in found.shares[name] else NOTHING for one in contestants]
            rows.append((printable_line(name), _percent(found.targets[name]), *cells))
        means = [found.mean(one, names) for one in contestants]
        styles |= {(len(rows), j): STRONG for j in range(len(contestants) + 2)}
        cells = [NOTHING if np.isnan(mean) else f"{mean:.0%}" for mean in means]
        rows.append(("geometric mean" if len(grouped) == 1 else f"mean of {title}", NOTHING, *cells))
    ours, paid = contestants[0], found.mean(contestants[0])
    met = [f"{bound:.0%}: {'met' if paid <= bound else 'missed'}" for bound in (goal.must, goal.aim)]
    return TextTable(
        f"Share of the budget until the confirmed error is that of {printable_line(goal.baseline)} at 100%",
        ("problem", f"error % of {printable_line(goal.baseline)}", *map(printable_line, contestants)),
        tuple(rows),
        (
            f"{printable_line(ours)} pays {paid:.0%} on average. Must {met[0]}; aim {met[1]}.",
            f"Shares are recorded in steps of 5% and rounded up. '>': not reached within the budget, counts as "
            f"{NOT_REACHED:.0%} in means.",
        ),
        styles,
    )


def _paid(share: float | None) -> str:
    return ">" if share is None else f"{share:.0%}"


def _goal_row(one: GoalResult) -> tuple[str, ...]:
    goal = one.goal
    if not one.results:
        return goal.description, *[NOTHING] * len(SHARES_SHOWN), f"{goal.must:g}: not compared", f"{goal.aim:g}"
    cells = [
        f"{len(result.behind)} of {len(result.problems)}" if goal.counts_behind else _interval(result.ratio)
        for result in one.results
    ]
    bounds = ((goal.must, one.must_met), (goal.aim, one.aim_met))
    met = (f"{most:g}: {'met' if is_met else f'missed by {one.value - most:.2g}'}" for most, is_met in bounds)
    return goal.description, *cells, *met


def _goal_notes(results: Sequence[GoalResult]) -> tuple[str, ...]:
    judged = ", ".join(f"{share:.0%}" for share in sorted({share for one in results for share in one.goal.shares}))
    notes = [
        f"Judged at {judged} of the budget; the worst result counts. Ratios are geometric means over problems with 90% "
        "intervals. Behind: the whole interval of a problem's ratio is above 1. With overhead: the time that the "
        "optimiser itself takes counts as cost."
    ]
    lists = [_behind(one) for one in results if one.goal.counts_behind]
    for k, own in enumerate(lists):
        if own and not any(own.items() <= other.items() for other in lists[k + 1 :]):  # a group is part of all problems
            shares = sorted(set(own.values()), key=lambda at: (-len(at), at))
            parts = (f"at {', '.join(at)} on {', '.join(p for p in own if own[p] == at)}" for at in shares)
            notes.append(f"Behind {'; '.join(parts)}.")
    return tuple(notes)


def _behind(one: GoalResult) -> dict[str, tuple[str, ...]]:
    """The shares of the budget at which our method is behind, by problem."""
    names = sorted({problem for result in one.results for problem in result.behind})
    return {
        printable_line(name): tuple(f"{result.share:.0%}" for result in one.results if name in result.behind)
        for name in names
    }


def _interval(ratio: Ratio) -> str:
    """A ratio with its interval, if it has one."""
    if not np.isfinite(ratio.high):
        return _decimal(ratio.value)
    return f"{_decimal(ratio.value)} ({_decimal(ratio.low)}-{_decimal(ratio.high)})"


def _style(ratio: Ratio) -> str:
    return {"ahead": BEST, "behind": WORSE, "undecided": ""}[ratio.standing]


def _decimal(ratio: float) -> str:
    places = 3 if ratio < 0.1 else 2 if ratio < 10 else 1 if ratio < 100 else 0
    return f"{ratio:.{places}f}"


def _percent(error: float) -> str:
    """An error in percent, in four characters."""
    places = 2 if error < 0.09995 else 1 if error < 0.9995 else 0
    return f"{100 * error:.{places}f}"


def _short_percent(error: float) -> str:
    """An error in percent, in three characters: 100, 46, 8.9, .53."""
    percent = 100 * error
    return f"{percent:.0f}" if percent >= 9.95 else f"{percent:.1f}" if percent >= 0.995 else f"{percent:.2f}"[1:]
