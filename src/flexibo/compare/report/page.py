"""The report of a comparison: one HTML file that needs no network, with charts drawn by `page.js`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from itertools import combinations, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from flexibo._internal.arrays import FloatArray
from flexibo._internal.numbers import format_number
from flexibo._internal.text import printable_line
from flexibo.compare.problems.base import GROUPS, Problem
from flexibo.compare.report._method_results import MethodResult, ordered, results_by_problem
from flexibo.compare.report.tables import JUDGED_BY
from flexibo.compare.report.text_table import BEST, STRONG, WORSE, TextTable
from flexibo.compare.runs import MEASURES, Allowance, Measure, Run
from flexibo.compare.statistics.errors import FLOOR
from flexibo.objectives import Objective
from flexibo.web import asset
from flexibo.web.document import document, embedded_json, write_document

MOST_DRAWN = 250
"""The largest number of designs of the true front that is drawn."""

# Okabe and Ito's palette, which colour-blind readers can distinguish, for light and dark pages. Orange is reserved for
# the method under test; grey replaces yellow, which is invisible on white. Later methods differ by dashes and symbols.
OURS = ("#D55E00", "#FF7A1A")
COLOURS = (
    ("#0072B2", "#4C9BE8"),
    ("#009E73", "#2CC295"),
    ("#CC79A7", "#E79AC4"),
    ("#E69F00", "#F2C14E"),
    ("#56B4E9", "#8FD3FF"),
    ("#6B6B6B", "#B5B5B5"),
)
DASHES = ("", "7 3", "2 3")
STYLES = {BEST: "better", WORSE: "worse", STRONG: "strong"}
"""Classes of cells by their style in a terminal."""
SYMBOLS = {"circle": "●", "rect": "■", "triangle": "▲", "diamond": "◆", "emptyCircle": "○", "emptyRect": "□"}
"""Symbols by the names that ECharts gives them."""


def write_page(
    path: str | Path,
    runs: Sequence[Run],
    problems: Mapping[str, Problem],
    allowance: Allowance,
    *,
    ours: str,
    facts: Mapping[str, str],
    summary: Sequence[TextTable] = (),
    tables: Mapping[Measure, Sequence[TextTable]] | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Write the report to a file, in a folder that is created if necessary. The same runs give the same file.

    Args:
        path: The file.
        runs: In any order; a method may be missing on a problem.
        problems: The problems, in the order in which they are shown.
        allowance: What every method got.
        ours: The method that stands out.
        facts: What was compared: methods, budget, command, ...
        summary: Tables about all measures, shown first.
        tables: Tables by measure.
        notes: Sentences below the facts.
    """
    found = results_by_problem(runs, problems)
    names = {result.method for results in found.values() for result in results}
    methods = [*([ours] if ours in names else []), *sorted(names - {ours}, key=lambda name: (name.casefold(), name))]
    numbers = {method: k + (ours not in names) for k, method in enumerate(methods)}
    measures = [m for m in MEASURES if any(m in result.curves for results in found.values() for result in results)]
    body = [
        _facts(facts, notes, found),
        *(_table(table, ours) for table in summary),
        _legend(numbers, measures),
        *(_by_measure(m, "".join(_table(table, ours) for table in (tables or {}).get(m, ()))) for m in measures),
        _overview(found, problems),
        *(
            _problem(k, problem, found[name], allowance, ours, measures)
            for k, (name, problem) in enumerate(problems.items())
        ),
    ]
    data = {
        "methods": {number: _look(method, number) for method, number in numbers.items()},
        "problems": [
            _problem_data(problem, found[name], allowance.amount(problem), numbers)
            for name, problem in problems.items()
        ],
        "floor": FLOOR,
        "measures": measures,
    }
    own_css, own_js = ((files(__package__) / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    text = document(
        "Comparison at equal cost",
        "\n".join(body),
        data=embedded_json(data),
        styles=[asset("page.css"), own_css, _colour_rules(numbers.values())],
        scripts=[asset("echarts.min.js"), asset("charts-text.js"), own_js],
    )
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write_document(path, text)


def _escaped(text: object) -> str:
    """Text from outside for a place between tags or in a quoted attribute."""
    return escape(printable_line(text))


def _facts(facts: Mapping[str, str], notes: Sequence[str], found: Mapping[str, Sequence[MethodResult]]) -> str:
    """What was compared, and which methods did not run everywhere."""
    results = [result for results in found.values() for result in results]
    seeds = {seed for result in results for seed in result.seeds}
    counts = {
        "problem": len(found),
        "method": len({result.method for result in results}),
        "seed": len(seeds),
        "run": sum(len(result.seeds) for result in results),
    }
    summary = ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for word, n in counts.items())
    rows = "".join(f"<dt>{_escaped(name)}</dt><dd>{_escaped(text)}</dd>" for name, text in facts.items())
    lines = "".join(f"<li>{_escaped(note)}</li>" for note in notes)
    remarks = f"<details><summary>Notes</summary><ul>{lines}</ul></details>" if lines else ""
    gaps = "".join(f"<li>{_escaped(line)}</li>" for line in _missing_runs(found, len(seeds)))
    missing = f"<details><summary>Methods without all runs</summary><ul>{gaps}</ul></details>" if gaps else ""
    return f'<section class="card"><p class="lead">{summary}</p><dl>{rows}</dl>{remarks}{missing}</section>'


def _missing_runs(found: Mapping[str, Sequence[MethodResult]], n_seeds: int) -> list[str]:
    by_method: dict[str, list[MethodResult]] = {}
    for results in found.values():
        for result in results:
            by_method.setdefault(result.method, []).append(result)
    lines = []
    for method in sorted(by_method):
        numbers = sorted({len(result.seeds) for result in by_method[method]})
        if len(by_method[method]) == len(found) and numbers == [n_seeds]:
            continue
        seeds = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
        lines.append(f"{method}: {len(by_method[method])} of {len(found)} problems, {seeds} of {n_seeds} seeds")
    return lines


def _table(table: TextTable, ours: str) -> str:
    notes = "".join(f'<p class="hint">{_escaped(note)}</p>' for note in table.notes)
    body = "".join(_text_row(table, i, ours) for i, row in enumerate(table.rows) if row)
    content = _html_table(table.headings, body, table.words)
    return f'<section class="card"><h2>{_escaped(table.title)}</h2>{content}{notes}</section>'


def _text_row(table: TextTable, i: int, ours: str) -> str:
    """A row of a table that a terminal shows too, with its styles and merged cells."""
    row = table.rows[i]
    cells = [
        _cell(cell, j, table.words, STYLES.get(table.styles.get((i, j), ""), ""), _span(table, i, j))
        for j, cell in enumerate(row)
        if not table.is_repeated(i, j)
    ]
    return f"<tr{' class=ours' if row[0] == ours else ''}>{''.join(cells)}</tr>"


def _span(table: TextTable, i: int, j: int) -> int:
    """The number of rows that a cell covers."""
    return 1 + sum(1 for _ in takewhile(lambda below: table.is_repeated(below, j), range(i + 1, len(table.rows))))


def _html_table(headings: Sequence[str], body: str, words: Sequence[int] = (0,)) -> str:
    heads = "".join(
        f'<th scope="col"{"" if j in words else " class=number"}>{_escaped(heading)}</th>'
        for j, heading in enumerate(headings)
    )
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def _row(cells: Sequence[str], *, ours: bool) -> str:
    """A row of numbers that begins with a name."""
    return f"<tr{' class=ours' if ours else ''}>{''.join(_cell(cell, j) for j, cell in enumerate(cells))}</tr>"


def _cell(text: str, j: int, words: Sequence[int] = (0,), style: str = "", span: int = 1) -> str:
    """A cell of column j, which holds text if it is one of `words` and otherwise a number."""
    tag = "th" if j == 0 else "td"
    scope = "" if j else ' scope="row"' if span == 1 else ' scope="rowgroup"'
    classes = " ".join(filter(None, ("" if j in words else "number", style)))
    kind = f' class="{classes}"' if classes else ""
    rows = f' rowspan="{span}"' if span > 1 else ""
    return f"<{tag}{scope}{rows}{kind}>{_escaped(text)}</{tag}>"


def _by_measure(measure: Measure, content: str, tag: str = "div") -> str:
    """Content that is shown while its measure is chosen; at first confirmed errors are."""
    return f'<{tag} data-measure="{measure}"{"" if measure == MEASURES[0] else " hidden"}>{content}</{tag}>'


def _legend(numbers: Mapping[str, int], measures: Sequence[Measure]) -> str:
    """The choice of the measure, and the methods, each with a check box that shows or hides it in every chart."""
    choices = "".join(
        f'<label title="{_escaped(JUDGED_BY[measure])}"><input type="radio" name="measure" value="{measure}"'
        f"{' checked' if measure == MEASURES[0] else ''}> {measure} error</label>"
        for measure in measures
    )
    hints = "".join(_by_measure(measure, f'<p class="hint">{_escaped(JUDGED_BY[measure])}</p>') for measure in measures)
    labels = "".join(
        f'<label class="m{number}{" ours" if number == 0 else ""}"><input type="checkbox" value="{number}" checked>'
        f'<svg viewBox="0 0 30 10" aria-hidden="true"><path d="M1,5H29" stroke-dasharray="{_dashes(number)}"/></svg>'
        f'<span aria-hidden="true">{SYMBOLS[_symbol(number)]}</span> <b>{_escaped(method)}</b></label>'
        for method, number in numbers.items()
    )
    buttons = '<button type="button" id="all">All</button> <button type="button" id="none">None</button>'
    return (
        f'<fieldset class="card measures"><legend>Judged by</legend>{choices}{hints}</fieldset>'
        f'<fieldset class="card legend"><legend>Methods</legend>{labels}{buttons}</fieldset>'
    )


def _overview(found: Mapping[str, Sequence[MethodResult]], problems: Mapping[str, Problem]) -> str:
    """A small chart for each problem, by groups of problems."""
    parts = []
    for group in dict.fromkeys([*GROUPS, *(problem.group for problem in problems.values())]):
        charts = "".join(
            f'<figure><figcaption><a href="#p{k}">{_escaped(name)}</a></figcaption>'
            f'<div class="chart" data-chart="overview" data-problem="{k}"></div></figure>'
            for k, (name, results) in enumerate(found.items())
            if results and problems[name].group == group
        )
        if charts:
            parts.append(f'<h3>{_escaped(GROUPS.get(group, group))}</h3><div class="overview">{charts}</div>')
    return (
        '<section><h2>Error against cost</h2><p class="hint">Geometric mean over the seeds with its 90 % band at each '
        "share of the budget. Lower is better. Every chart has its own scale, and errors below "
        f"{FLOOR:g} count as {FLOOR:g}.</p>{''.join(parts)}</section>"
    )


def _problem(
    k: int,
    problem: Problem,
    results: Sequence[MethodResult],
    allowance: Allowance,
    ours: str,
    measures: Sequence[Measure],
) -> str:
    """The section of one problem, closed except for the first."""
    tables = "".join(_by_measure(m, _numbers(problem, ordered(results, m), m, ours)) for m in measures)
    standings = "".join(_by_measure(m, _standing(ordered(results, m), m, ours), "span") for m in measures)
    body = _charts(k, problem, results) + tables if results else "<p>No runs.</p>"
    return (
        f'<details class="card problem" id="p{k}"{" open" if k == 0 else ""}><summary><h2>{_escaped(problem.name)}</h2>'
        f"{standings}</summary><p>{_escaped(problem.summary)}</p>"
        f'<p class="hint">{_description(problem, allowance)}</p>{body}</details>'
    )


def _standing(results: Sequence[MethodResult], measure: Measure, ours: str) -> str:
    """Our final error and the best other's, in one line."""
    rank = next((k for k, result in enumerate(results, start=1) if result.method == ours), None)
    other = next((result for result in results if result.method != ours), None)
    parts = []
    if rank is not None:
        error = _error(results[rank - 1].curves[measure].at(1.0))
        parts.append(f"{ours} {error}, rank {rank} of {len(results)}")
    if other is not None:
        parts.append(f"best {'other ' if parts else ''}{other.method} {_error(other.curves[measure].at(1.0))}")
    return _escaped("; ".join(parts) or "no runs")


def _description(problem: Problem, allowance: Allowance) -> str:
    budget = allowance.amount(problem)
    when = "initial designs included" if allowance.from_scratch else "after the initial designs"
    size = problem.space.size
    designs = "infinitely many designs" if math.isinf(size) else f"{format_number(size, 7)} designs"
    goals = [f"{objective.direction}imise {_axis(objective)}" for objective in problem.objectives]
    costs = [
        f"{name} {format_number(cost, 3)} {problem.unit}".strip() if cost else f"{name} is measured with another"
        for name, cost in zip(problem.names, problem.mean_costs().tolist(), strict=True)
    ]
    known = "true" if problem.exact else "best known"
    return _escaped(
        f"{len(problem.space.names)} options, {designs}. Objectives: {', '.join(goals)}. Mean cost of a measurement: "
        f"{', '.join(costs)}. Budget: {format_number(budget, 4)} {problem.unit}, {when}. "
        f"Judged against the {known} front of {len(problem.front):,} designs."
    )


def _charts(k: int, problem: Problem, results: Sequence[MethodResult]) -> str:
    first = min(seed for result in results for seed in result.seeds)
    absent = sorted(result.method for result in results if not result.fronts)
    known = "true front" if problem.exact else "best known front"
    front = f"True values of the designs that count with seed {first}; black: the {known}"
    front += f", {MOST_DRAWN} of its designs." if len(problem.front) > MOST_DRAWN else "."
    front += f" No front: {', '.join(absent)}." if absent else ""
    pairs = combinations(range(len(problem.objectives)), 2)
    fronts = (_figure(k, "front", "Front", front, f' data-a="{a}" data-b="{b}"') for a, b in pairs)
    return (
        '<div class="charts">'
        + _figure(k, "error", "Error against cost", "Geometric mean over the seeds with its 90 % band.")
        + "".join(fronts)
        + _figure(k, "evaluations", "Evaluations of each objective", "Mean number after the initial designs.")
        + "</div>"
    )


def _figure(k: int, kind: str, title: str, caption: str, more: str = "") -> str:
    return (
        f"<figure><figcaption><b>{title}</b> <span>{_escaped(caption)}</span></figcaption>"
        f'<div class="chart" data-chart="{kind}" data-problem="{k}"{more}></div></figure>'
    )


def _numbers(problem: Problem, results: Sequence[MethodResult], measure: Measure, ours: str) -> str:
    """The charts in numbers."""
    headings = ["method", "seeds", f"{measure} error at 25 %", "at 50 %", "at 100 %", "90 % band"]
    headings += [f"spent ({problem.unit})", *(f"evaluations of {name}" for name in problem.names)]
    headings += ["overhead (s)", "per evaluation (s)"]
    rows = []
    for result in results:
        curve = result.curves[measure]
        band = f"{_error(curve.low[-1])} to {_error(curve.high[-1])}" if len(result.seeds) > 1 else "-"
        errors = [_error(curve.at(share)) for share in (0.25, 0.5, 1.0)]
        counts = [format_number(count, 3) for count in result.evaluations.tolist()]
        times = [format_number(seconds, 3) for seconds in (result.overhead_s, result.overhead_per_evaluation_s)]
        cells = [result.method, f"{len(result.seeds)}", *errors, band, format_number(result.spent, 4), *counts, *times]
        rows.append(_row(cells, ours=result.method == ours))
    return _html_table(headings, "".join(rows))


def _error(error: float) -> str:
    """A hypervolume error; tiny ones without digits that nobody needs."""
    return "<0.0001" if 0 < error < 1e-4 else format_number(error, 3)


def _axis(objective: Objective) -> str:
    """An objective with its unit, as an axis is labelled."""
    return f"{objective.name} ({objective.unit})" if objective.unit else objective.name


def _look(method: str, number: int) -> dict[str, str]:
    """The name, the dashes and the symbol of a method in the charts; its colour comes from the style sheet."""
    return {"name": printable_line(method), "dashes": _dashes(number), "symbol": _symbol(number)}


def _dashes(number: int) -> str:
    return "" if number == 0 else DASHES[(number - 1) // len(COLOURS) % len(DASHES)]


def _symbol(number: int) -> str:
    shift = (number - 1) // len(COLOURS)
    return "circle" if number == 0 else list(SYMBOLS)[(number + shift) % len(SYMBOLS)]


def _colour_rules(numbers: Iterable[int]) -> str:
    """The style sheet with the colour of each method, for light and for dark pages."""
    colours = {number: OURS if number == 0 else COLOURS[(number - 1) % len(COLOURS)] for number in numbers}
    light = "".join(f".m{number}{{color:{colour[0]}}}\n" for number, colour in colours.items())
    dark = "".join(f".m{number}{{color:{colour[1]}}}\n" for number, colour in colours.items())
    return f"{light}@media screen and (prefers-color-scheme:dark){{\n{dark}}}\n"


def _problem_data(
    problem: Problem, results: Sequence[MethodResult], budget: float, numbers: Mapping[str, int]
) -> dict[str, Any]:
    """What the charts of a problem show, for `page.js`."""
    front = problem.front[np.argsort(problem.front[:, 0], kind="stable")] * problem.signs
    if len(front) > MOST_DRAWN:
        front = front[np.linspace(0, len(front) - 1, MOST_DRAWN).astype(int)]
    return {
        "unit": printable_line(problem.unit),
        "budget": budget,
        "objectives": [
            {"name": printable_line(_axis(objective)), "max": objective.direction == "max"}
            for objective in problem.objectives
        ],
        "front": [_rounded(row) for row in front],
        "series": [
            {
                "method": numbers[result.method],
                "seeds": len(result.seeds),
                "errors": {
                    measure: {
                        "shares": curve.shares.tolist(),
                        "mean": _rounded(curve.mean),
                        "low": _rounded(curve.low),
                        "high": _rounded(curve.high),
                    }
                    for measure, curve in result.curves.items()
                },
                "fronts": {measure: [_rounded(row) for row in front] for measure, front in result.fronts.items()},
                "evaluations": _rounded(result.evaluations),
            }
            for result in results
        ],
    }


def _rounded(values: FloatArray) -> list[float]:
    """Numbers with the digits that a chart can show."""
    return [float(f"{value:.5g}") for value in values.tolist()]
