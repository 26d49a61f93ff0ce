"""Tables of a comparison: for the terminal as rich renderables, for documents as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from rich.table import Table
from rich.text import Text

from flexibo._internal.text import printable_line
from flexibo.compare.report.text_table import MethodsByProblem, TextTable
from flexibo.compare.runs import Run
from flexibo.compare.statistics.errors import (
    FLOOR,
    MeanError,
    OverheadPrices,
    errors,
    mean_errors,
    mean_evaluations,
    overhead_per_evaluation,
)
from flexibo.compare.statistics.ranking import AgainstBest, Ranking, Standing
from flexibo.compare.statistics.ratios import MARGIN, Ratio
from flexibo.errors import InvalidValueError

BEST = "bold green"
WORSE = "red"
NOTHING = "-"
TRUSTED_SEEDS = 10
"""From so many seeds on, intervals hold what they promise, nearly."""

T = TypeVar("T")


def error_table(
    runs: Iterable[Run],
    ours: Sequence[str] = (),
    *,
    shares: Sequence[float] = (0.25, 0.5, 1.0),
    thinking: OverheadPrices | None = None,
) -> MethodsByProblem:
    """Mean floored errors in percent at shares of the budget, a method per row and a problem per column, ours first."""
    runs = list(runs)
    found = [mean_errors(errors(runs, share, thinking=thinking)) for share in shares]
    methods = _ordered(runs, ours)
    usual = max((s.seeds for by_method in found[-1].values() for s in by_method.values()), default=0)
    columns = tuple(
        (problem, tuple(_error_cell([at[problem] for at in found], method) for method in methods))
        for problem in found[-1]
    )
    labels = tuple(_with_seeds(method, found[-1], usual) for method in methods)
    notes = ["* the best on this problem at this share"]
    if labels != tuple(map(printable_line, methods)):
        notes.append("(in parentheses) the number of seeds, where it is another")
    shown = " / ".join(f"{share:.0%}".rstrip("%") for share in shares)
    counted = ", thinking time counted" if thinking is not None else ""
    seeds = "1 seed" if usual == 1 else f"{usual} seeds"
    return MethodsByProblem(
        f"Hypervolume error in % at {shown} % of the budget{counted}: mean of {seeds}, errors floored at {FLOOR:.1%}",
        labels,
        columns,
        tuple(notes),
        len(set(ours) & set(methods)),
    )


def _error_cell(at_shares: Sequence[Mapping[str, MeanError]], method: str) -> Text:
    """The errors of a method on a problem, one for each share; the best carry a star."""
    cell = Text()
    for position, by_method in enumerate(at_shares):
        cell.append(" " if position else "")
        if method not in by_method:
            cell.append(f"{NOTHING:>3} ", style="dim")
            continue
        best = min(summary.mean for summary in by_method.values())
        is_best = by_method[method].mean <= best * (1.0 + 1e-9)
        cell.append(
            f"{_short_percent(by_method[method].mean):>3}{'*' if is_best else ' '}", style=BEST if is_best else ""
        )
    return cell


def _with_seeds(method: str, found: Mapping[str, Mapping[str, MeanError]], usual: int) -> str:
    """The name of a method, with its number of seeds where it has fewer than others."""
    seeds = sorted({by_method[method].seeds for by_method in found.values() if method in by_method})
    if not seeds or seeds == [usual]:
        return printable_line(method)
    return f"{printable_line(method)} ({seeds[0]})" if len(seeds) == 1 else f"{printable_line(method)} ({seeds[0]} to {seeds[-1]})"


def overhead_table(runs: Iterable[Run], ours: Sequence[str] = ()) -> MethodsByProblem:
    """Seconds of thinking per evaluation that was paid for, a method per row and a problem per column."""
    runs = list(runs)
    found = overhead_per_evaluation(runs)
    return _blocks("Seconds of thinking per evaluation", runs, ours, found, lambda value, _: _number(value), ())


def evaluations_table(
    runs: Iterable[Run],
    ours: Sequence[str] = (),
    *,
    share: float = 1.0,
    objectives: Mapping[str, Sequence[str]] | None = None,
) -> MethodsByProblem:
    """Mean evaluations of each objective after the initial designs, a method per row and a problem per column.

    Args:
        runs: In any order.
        ours: The methods to show first.
        share: The share of the budget at which they are counted.
        objectives: The names of each problem's objectives, to be listed below the table.
    """
    runs = list(runs)
    found = mean_evaluations(runs, share)
    widths = {
        problem: max(len(_number(value)) for counts in by_method.values() for value in counts)
        for problem, by_method in found.items()
    }
    names = objectives or {}
    notes = [f"{printable_line(p)}: {', '.join(map(printable_line, names[p]))}" for p in found if p in names]
    return _blocks(
        f"Mean evaluations of each objective at {share:.0%} of the budget, after the initial designs",
        runs,
        ours,
        found,
        lambda counts, problem: " ".join(_number(value).rjust(widths[problem]) for value in counts),
        tuple(notes),
    )


def _blocks(
    title: str,
    runs: Sequence[Run],
    ours: Sequence[str],
    found: Mapping[str, Mapping[str, T]],
    shown: Callable[[T, str], str],
    notes: tuple[str, ...],
) -> MethodsByProblem:
    """A table of what was found by problem and method."""
    methods = _ordered(runs, ours)
    columns = tuple(
        (problem, tuple(Text(shown(by_method[m], problem) if m in by_method else NOTHING) for m in methods))
        for problem, by_method in found.items()
    )
    return MethodsByProblem(title, tuple(map(printable_line, methods)), columns, notes, len(set(ours) & set(methods)))


def ranking_table(ranking: Ranking) -> Table:
    """The methods, best first; below them those that ran on some problems only."""
    return ranking_table(ranking).table()


def against_best_table(results: AgainstBest | Sequence[AgainstBest]) -> Table:
    """Our error over the best other's, a problem per row and a share of the budget per column."""
    return against_best_table(results).table()


def markdown(results: Ranking | AgainstBest | Sequence[AgainstBest]) -> str:
    """The same tables as Markdown."""
    return (ranking_table(results) if isinstance(results, Ranking) else against_best_table(results)).markdown()


def ranking_table(ranking: Ranking) -> TextTable:
    """The cells of a ranking: a method per row."""
    ours, total = printable_line(ranking.ours), len(ranking.problems)
    standings = (*ranking.complete, *ranking.partial)
    rows = tuple(_standing_row(standing, ranking.ours, total) for standing in standings)
    styles = {(i, 0): "bold" for i, standing in enumerate(standings) if standing.method == ranking.ours}
    styles |= {(i, 5): _style(standing.ratio) for i, standing in enumerate(standings)}
    notes = [
        f"Error: geometric mean over the problems. Ratio: the error of {ours} over the method's, below 1 {ours} is "
        "better. Won, lost: problems where the whole interval is below or above 1. Behind: problems with a ratio above "
        f"{MARGIN:g}, sure or not."
    ]
    if ranking.partial:
        notes.append("Methods that ran on fewer problems stand last; their figures are over these problems alone.")
    if ranking.unmatched:
        notes.append(f"No problem and seed in common with {ours}: {', '.join(map(printable_line, ranking.unmatched))}.")
    return TextTable(
        f"Ranking at {ranking.share:.0%} of the budget",
        ("method", "problems", "seeds", "error %", "rank", f"ratio ({ranking.level:.0%})", "won", "lost", "behind"),
        rows,
        tuple(notes),
        styles,
    )


def _standing_row(standing: Standing, ours: str, total: int) -> tuple[str, ...]:
    ratios = standing.ratios.values()
    many = f"{len(ratios)}" if len(ratios) == total else f"{len(ratios)} of {total}"
    figures = (_percent(standing.geometric_mean), f"{standing.mean_rank:.1f}")
    row = (printable_line(standing.method), many, f"{standing.seeds}", *figures)
    if standing.method == ours:
        return (*row, *[NOTHING] * 4)
    counts = sum(r.won for r in ratios), sum(r.lost for r in ratios), sum(r.behind for r in ratios)
    return (*row, _interval(standing.ratio), *map(str, counts))


def against_best_table(results: AgainstBest | Sequence[AgainstBest], whom: str = "other") -> TextTable:
    """The cells of a comparison with the best others: a problem per row, a share of the budget per column.

    Args:
        results: One for each share.
        whom: What the others are, for the title.
    """
    results = [results] if isinstance(results, AgainstBest) else results
    if not results:
        raise InvalidValueError("There is no result to show; give one for each share of the budget.")
    last = results[-1]
    found = [{versus.problem: versus for versus in result.problems} for result in results]
    rows: list[tuple[str, ...]] = []
    styles: dict[tuple[int, int], str] = {}
    for name in sorted(set().union(*found)):
        at = [by_problem.get(name) for by_problem in found]
        styles |= {(len(rows), j + 1): _style(versus.ratio) for j, versus in enumerate(at) if versus is not None}
        cells = [NOTHING if versus is None else _interval(versus.ratio) + _mark(versus.ratio) for versus in at]
        best = ", ".join(map(printable_line, [versus for versus in at if versus is not None][-1].chosen))
        rows.append((printable_line(name), *cells, best))
    styles |= {(len(rows), j): "bold" for j in range(len(results) + 1)}
    rows.append(("geometric mean", *(_interval(result.ratio) for result in results), ""))
    return TextTable(
        f"{printable_line(last.ours)} against the best {whom} of each problem: its error over the {whom}'s",
        ("problem", *(f"at {result.share:.0%}" for result in results), f"best at {last.share:.0%}"),
        tuple(rows),
        _against_notes(results),
        styles,
        (0, len(results) + 1),
    )


def _against_notes(results: Sequence[AgainstBest]) -> tuple[str, ...]:
    """What must be said about the choice of the best."""
    versuses = [versus for result in results for versus in result.problems]
    seeds = sorted({versus.ratio.seeds for versus in versuses})
    many = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    notes = []
    if seeds[-1] > 1:
        few = "; with so few they are too narrow" if seeds[0] < TRUSTED_SEEDS else ""
        notes.append(f"In parentheses {results[-1].level:.0%} bootstrap intervals from {many} seeds per problem{few}.")
    if any(versus.separate for versus in versuses):
        notes.append(
            "Which other is the best is decided on one half of the seeds and judged on the other; two are named where "
            "the halves disagree."
        )
    if any(versus.ratio.lost_clearly for versus in versuses):
        notes.append(f"! lost: the whole interval is above {MARGIN:g}.")
    same = sorted({printable_line(versus.problem) for versus in versuses if not versus.separate})
    if same:
        where = "" if len(same) == len({versus.problem for versus in versuses}) else f" on {', '.join(same)}"
        notes.append(f"Too few seeds{where}: the best other is chosen on the seeds it is judged on, which favours it.")
    left_out: dict[str, set[str]] = {}
    for versus in versuses:
        for method in versus.left_out:
            left_out.setdefault(printable_line(method), set()).add(printable_line(versus.problem))
    notes += [f"{m} has too few seeds and is left out of: {', '.join(sorted(left_out[m]))}." for m in sorted(left_out)]
    return tuple(notes)


def _interval(ratio: Ratio) -> str:
    """A ratio with its interval, where it has one."""
    if not np.isfinite(ratio.high):
        return _decimal(ratio.value)
    return f"{_decimal(ratio.value)} ({_decimal(ratio.low)}-{_decimal(ratio.high)})"


def _mark(ratio: Ratio) -> str:
    return "!" if ratio.lost_clearly else ""


def _style(ratio: Ratio) -> str:
    return BEST if ratio.won else WORSE if ratio.lost else ""


def _decimal(ratio: float) -> str:
    return (
        f"{ratio:.3f}"
        if ratio < 0.1
        else f"{ratio:.2f}"
        if ratio < 10
        else f"{ratio:.1f}"
        if ratio < 100
        else f"{ratio:.0f}"
    )


def _percent(error: float) -> str:
    """An error in percent, in four characters."""
    return f"{100 * error:.2f}" if error < 0.09995 else f"{100 * error:.1f}" if error < 0.9995 else f"{100 * error:.0f}"


def _short_percent(error: float) -> str:
    """An error in percent, in three characters: 100, 46, 8.9, .53."""
    percent = 100 * error
    return f"{percent:.0f}" if percent >= 9.95 else f"{percent:.1f}" if percent >= 0.995 else f"{percent:.2f}"[1:]


def _number(value: float) -> str:
    """A count or a time, short."""
    if np.isnan(value):
        return NOTHING
    return f"{value:.2g}" if value < 0.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def _ordered(runs: Sequence[Run], ours: Sequence[str]) -> list[str]:
    """All methods: ours first, in the order given, then the others by name."""
    methods = {run.method for run in runs}
    first = [method for method in dict.fromkeys(ours) if method in methods]
    return [*first, *sorted(methods.difference(first))]
