"""The tables of a comparison: errors, ranking, our method against the best others, goals; for terminals and pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.table import Table
from rich.text import Text

from flexibo._internal.text import printable_line
from flexibo.compare.runs import Run
from flexibo.compare.statistics.errors import FLOOR, MeanError, OverheadPrices, errors, mean_errors
from flexibo.compare.statistics.goals import SHARES_JUDGED, SHARES_SHOWN, GoalResult
from flexibo.compare.statistics.ranking import AgainstBest, RankedMethod, Ranking
from flexibo.compare.statistics.ratios import MARGIN, Ratio
from flexibo.errors import InvalidValueError

WIDEST = 20
"""Wider headings are broken; names of methods may be twice as wide."""
BEST = "bold green"
WORSE = "red"
NOTHING = "-"
TRUSTED_SEEDS = 10
"""From this number of seeds on, the intervals nearly have their nominal coverage."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of plain texts. Some cells have a style in a terminal; the columns `words` do not hold numbers."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    styles: Mapping[tuple[int, int], str]
    words: tuple[int, ...] = (0,)

    def rich_table(self) -> Table:
        """The table for a terminal."""
        table = Table(
            title=Text(self.title),
            title_justify="left",
            caption=Text("\n".join(self.notes)),
            caption_justify="left",
            box=box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            padding=(0, 1, 0, 0),
        )
        names = max((_width(_broken(row[0], WIDEST)) for row in self.rows), default=0)
        for j, heading in enumerate(self.headings):
            side: JustifyMethod = "left" if j in self.words else "right"
            parts = [part for row in self.rows for part in row[j].split()] if j not in self.words else []
            narrowest = max(map(cell_len, parts), default=1)  # a number is never broken; what follows it may be
            whole = j == 0 and names <= 2 * WIDEST
            table.add_column(Text(heading), justify=side, overflow="fold", no_wrap=whole, min_width=narrowest)
        for i, row in enumerate(self.rows):
            cells = [_broken(row[0], WIDEST), *row[1:]]
            table.add_row(*(Text(cell, style=self.styles.get((i, j), "")) for j, cell in enumerate(cells)))
        return table


@dataclass(frozen=True, slots=True)
class MethodsByProblem:
    """A method per row, ours first, and a problem (heading, cells) per column, in blocks as wide as the terminal."""

    title: str
    methods: tuple[str, ...]
    problems: tuple[tuple[str, tuple[Text, ...]], ...]
    notes: tuple[str, ...]
    n_ours: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The blocks, one below the other, all columns of one width."""
        numbers = max((cell.cell_len for _, column in self.problems for cell in column), default=0)
        parts = (_width(printable_line(problem).replace(":", ":\n")) for problem, _ in self.problems)
        width = max(numbers, min(WIDEST, max(parts, default=0)))
        headings = [_broken(printable_line(problem), width) for problem, _ in self.problems]
        name = min(2 * WIDEST, max(map(_width, ("method", *self.methods))))
        room = max(1, (options.max_width - name - 2) // (width + 2))
        n_blocks = max(1, -(-len(self.problems) // room))
        size = max(1, -(-len(self.problems) // n_blocks))
        yield Text(self.title, style="italic")
        for start in range(0, len(self.problems), size):
            table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
            table.add_column("method", width=name, overflow="fold")
            for heading in headings[start : start + size]:
                table.add_column(Text(heading), justify="right", width=width, overflow="fold")
            for i, method in enumerate(self.methods):
                cells = [column[i] for _, column in self.problems[start : start + size]]
                style = "bold" if i < self.n_ours else ""
                table.add_row(Text(method, style=style), *cells, end_section=i == self.n_ours - 1)
            yield table
        if self.notes:
            yield Text("\n".join(self.notes), style="italic")


def _broken(text: str, width: int) -> str:
    r"""The text, broken after colons into lines of at most this width, where that suffices.

    >>> _broken("dtlz2:objectives=3:ratio=100", 20)
    'dtlz2:objectives=3:\nratio=100'
    """
    lines = [""]
    for part in re.findall("[^:]*:|[^:]+", text):
        if lines[-1] and cell_len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _width(text: str) -> int:
    return max(map(cell_len, text.split("\n")))


def error_table(
    runs: Iterable[Run],
    ours: Sequence[str] = (),
    *,
    shares: Sequence[float] = SHARES_SHOWN,
    prices: OverheadPrices | None = None,
) -> MethodsByProblem:
    """Mean floored errors in percent at shares of the budget, a method per row and a problem per column, ours first."""
    runs = list(runs)
    found = [mean_errors(errors(runs, share, prices=prices)) for share in shares]
    present = {run.method for run in runs}
    first = [method for method in dict.fromkeys(ours) if method in present]
    methods = [*first, *sorted(present.difference(first))]
    usual = max((mean.seeds for by_method in found[-1].values() for mean in by_method.values()), default=0)
    columns = tuple(
        (problem, tuple(_error_cell([at[problem] for at in found], method) for method in methods))
        for problem in found[-1]
    )
    labels = tuple(_with_seeds(method, found[-1], usual) for method in methods)
    notes = ["* the lowest error on this problem at this share of the budget"]
    if labels != tuple(map(printable_line, methods)):
        notes.append("(in parentheses) the number of seeds, if it differs")
    shown = " / ".join(f"{share:.0%}".rstrip("%") for share in shares)
    counted = ", overhead counted as cost" if prices is not None else ""
    seeds = "1 seed" if usual == 1 else f"{usual} seeds"
    title = (
        f"Hypervolume error in % at {shown} % of the budget{counted}: mean of {seeds}, errors floored at {FLOOR:.1%}"
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


def ranking_table(ranking: Ranking) -> TextTable:
    """All methods, best first; the last ones ran on some problems only."""
    ours, total = printable_line(ranking.ours), len(ranking.problems)
    ranked = (*ranking.complete, *ranking.partial)
    rows = tuple(_ranking_row(one, ranking.ours, total) for one in ranked)
    styles = {(i, 0): "bold" for i, one in enumerate(ranked) if one.method == ranking.ours}
    styles |= {(i, 5): _style(one.ratio) for i, one in enumerate(ranked)}
    notes = [
        f"Error: geometric mean over the problems. Ratio: the error of {ours} over the method's; below 1, {ours} is "
        f"better. Better, worse: problems on which {ours} is significantly better or worse (the whole "
        f"{ranking.level:.0%} interval is below or above 1). Behind: problems with a ratio above {MARGIN:g}, "
        "significant or not."
    ]
    if ranking.partial:
        notes.append("Methods that ran on fewer problems come last; their numbers are over these problems only.")
    if ranking.unmatched:
        notes.append(f"No problem and seed in common with {ours}: {', '.join(map(printable_line, ranking.unmatched))}.")
    headings = ("method", "problems", "seeds", "error %", "rank", f"ratio ({ranking.level:.0%})")
    title = f"Ranking at {ranking.share:.0%} of the budget"
    return TextTable(title, (*headings, "better", "worse", "behind"), rows, tuple(notes), styles)


def _ranking_row(one: RankedMethod, ours: str, total: int) -> tuple[str, ...]:
    ratios = one.ratios.values()
    problems = f"{len(ratios)}" if len(ratios) == total else f"{len(ratios)} of {total}"
    row = (printable_line(one.method), problems, f"{one.seeds}", _percent(one.geometric_mean), f"{one.mean_rank:.1f}")
    if one.method == ours:
        return (*row, *[NOTHING] * 4)
    counts = (
        sum(ratio.significantly_better for ratio in ratios),
        sum(ratio.significantly_worse for ratio in ratios),
        sum(ratio.worse_by_margin for ratio in ratios),
    )
    return (*row, _interval(one.ratio), *map(str, counts))


def against_best_table(results: AgainstBest | Sequence[AgainstBest], group: str = "other") -> TextTable:
    """Our error over that of the best other method, a problem per row and a share of the budget per column."""
    results = [results] if isinstance(results, AgainstBest) else results
    if not results:
        raise InvalidValueError("There is no result to show; give one for each share of the budget.")
    last = results[-1]
    found = [{one.problem: one for one in result.problems} for result in results]
    rows: list[tuple[str, ...]] = []
    styles: dict[tuple[int, int], str] = {}
    for name in sorted(set().union(*found)):
        at = [by_problem.get(name) for by_problem in found]
        styles |= {(len(rows), j + 1): _style(one.ratio) for j, one in enumerate(at) if one is not None}
        cells = [NOTHING if one is None else _interval(one.ratio) + _mark(one.ratio) for one in at]
        best = ", ".join(map(printable_line, [one for one in at if one is not None][-1].chosen))
        rows.append((printable_line(name), *cells, best))
    styles |= {(len(rows), j): "bold" for j in range(len(results) + 1)}
    rows.append(("geometric mean", *(_interval(result.ratio) for result in results), ""))
    return TextTable(
        f"{printable_line(last.ours)} against the best {group} of each problem: its error over the {group}'s",
        ("problem", *(f"at {result.share:.0%}" for result in results), f"best at {last.share:.0%}"),
        tuple(rows),
        _against_notes(results),
        styles,
        (0, len(results) + 1),
    )


def _against_notes(results: Sequence[AgainstBest]) -> tuple[str, ...]:
    """How the best was chosen, and which methods were left out."""
    ones = [one for result in results for one in result.problems]
    seeds = sorted({one.ratio.seeds for one in ones})
    number = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    notes = []
    if seeds[-1] > 1:
        few = "; with this few seeds they are too narrow" if seeds[0] < TRUSTED_SEEDS else ""
        notes.append(f"In parentheses {results[-1].level:.0%} bootstrap intervals, {number} seeds per problem{few}.")
    if any(one.separate for one in ones):
        notes.append(
            "The best method is chosen on one half of the seeds and judged on the other half; two are named if the "
            "halves disagree."
        )
    if any(one.ratio.significantly_worse_by_margin for one in ones):
        notes.append(f"! lost: the whole interval is above {MARGIN:g}.")
    same = sorted({printable_line(one.problem) for one in ones if not one.separate})
    if same:
        where = "" if len(same) == len({one.problem for one in ones}) else f" on {', '.join(same)}"
        notes.append(f"Too few seeds{where}: the best method is chosen on the seeds it is judged on, which favours it.")
    left_out: dict[str, set[str]] = {}
    for one in ones:
        for method in one.left_out:
            left_out.setdefault(printable_line(method), set()).add(printable_line(one.problem))
    notes += [f"{m} has too few seeds and is left out of: {', '.join(sorted(left_out[m]))}." for m in sorted(left_out)]
    return tuple(notes)


def goals_table(results: Sequence[GoalResult], ours: str) -> TextTable:
    """The goals of our method, one per row, and how far they were reached."""
    styles = {
        (i, j): BEST if met else WORSE
        for i, one in enumerate(results)
        if one.results
        for j, met in ((4, one.must_met), (5, one.aim_met))
    }
    return TextTable(
        f"Goals of {printable_line(ours)}",
        ("measure", *(f"at {share:.0%}" for share in SHARES_SHOWN), "must", "aim"),
        tuple(map(_goal_row, results)),
        _goal_notes(results),
        styles,
    )


def _goal_row(one: GoalResult) -> tuple[str, ...]:
    goal = one.goal
    if not one.results:
        return goal.measure, *[NOTHING] * len(SHARES_SHOWN), f"{goal.must:g}: not compared", f"{goal.aim:g}"
    cells = [
        f"{len(result.lost)} of {len(result.problems)}" if goal.counts_losses else _interval(result.ratio)
        for result in one.results
    ]
    bounds = ((goal.must, one.must_met), (goal.aim, one.aim_met))
    met = (f"{most:g}: {'met' if is_met else f'missed by {one.value - most:.2g}'}" for most, is_met in bounds)
    return goal.measure, *cells, *met


def _goal_notes(results: Sequence[GoalResult]) -> tuple[str, ...]:
    judged = " and ".join(f"{share:.0%}" for share in SHARES_JUDGED)
    notes = [
        f"Judged at {judged} of the budget; the worse result counts. Ratios are geometric means over problems with 90% "
        f"intervals. Lost: the whole interval of a problem's ratio is above {MARGIN:g}. With overhead: the time that "
        "the optimiser itself takes counts as cost."
    ]
    for one in results:
        lost = [f"{', '.join(map(printable_line, r.lost))} at {r.share:.0%}" for r in one.results if r.lost]
        if one.goal.counts_losses and lost:
            notes.append(f"Lost: {'; '.join(lost)}.")
    return tuple(notes)


def _interval(ratio: Ratio) -> str:
    """A ratio with its interval, if it has one."""
    if not np.isfinite(ratio.high):
        return _decimal(ratio.value)
    return f"{_decimal(ratio.value)} ({_decimal(ratio.low)}-{_decimal(ratio.high)})"


def _mark(ratio: Ratio) -> str:
    return "!" if ratio.significantly_worse_by_margin else ""


def _style(ratio: Ratio) -> str:
    return BEST if ratio.significantly_better else WORSE if ratio.significantly_worse else ""


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
