"""The sections of a report, as HTML: what was compared, tables, legend, overview, and one section per problem."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import combinations

from flexibo.compare.page.facts import ProblemFacts, Sheet
from flexibo.compare.page.looks import Look, markers
from flexibo.compare.page.outcomes import Outcome
from flexibo.compare.page.panels import FLOOR, MOST_DRAWN, bar_panel, error_panel, front_panel
from flexibo.compare.page.text import escaped, listed, shown, shown_error

Outcomes = Mapping[str, Sequence[Outcome]]
Looks = Mapping[str, Look]
NO_BREAK = "\N{NO-BREAK SPACE}"
LONG = 28
NUMBER = re.compile("[-+<±≤≥\N{MINUS SIGN}]? ?[0-9]")


def head(title: str, command: str, allowance: Mapping[str, str], notes: Sequence[str], found: Outcomes) -> str:
    """What was compared, under which allowance, and by which command."""
    runs = [outcome for outcomes in found.values() for outcome in outcomes]
    methods = {outcome.method for outcome in runs}
    seeds = {seed for outcome in runs for seed in outcome.seeds}
    n_runs = sum(len(outcome.seeds) for outcome in runs)
    counts = [(len(found), "problem"), (len(methods), "method"), (len(seeds), "seed"), (n_runs, "run")]
    lede = " · ".join(f"{shown(n, 6)} {word}{'' if n == 1 else 's'}" for n, word in counts)
    rows = "".join(f"<dt>{escaped(name)}</dt><dd>{escaped(text)}</dd>" for name, text in allowance.items())
    lines = "\n".join(escaped(line) for line in command.splitlines())
    rows += f"<dt>command</dt><dd><pre>{lines}</pre></dd>"
    said = "".join(f"<p>{escaped(note)}</p>" for note in notes)
    return (
        f'<header class="wide"><h1>{escaped(title)}</h1><p class="lede">{lede}</p>'
        f'<div class="sheet"><dl class="terms">{rows}</dl></div>{said}{_gaps(found, seeds)}</header>'
    )


def _gaps(found: Outcomes, seeds: set[int]) -> str:
    """Who was not run everywhere, or not with every seed."""
    lines = []
    for method in sorted({outcome.method for outcomes in found.values() for outcome in outcomes}):
        mine = [outcome for outcomes in found.values() for outcome in outcomes if outcome.method == method]
        numbers = sorted({len(outcome.seeds) for outcome in mine})
        if len(mine) == len(found) and numbers == [len(seeds)]:
            continue
        some = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
        lines.append(f"<li>{escaped(method)}: {len(mine)} of {len(found)} problems, {some} of {len(seeds)} seeds</li>")
    if not lines:
        return ""
    return (
        f'<details class="sheet"><summary>Not everybody was run everywhere ({len(lines)})</summary>'
        f'<ul class="gaps">{"".join(lines)}</ul></details>'
    )


def table(sheet: Sheet, ours: str) -> str:
    """A table that was made elsewhere, with our row marked."""
    body = "".join(f"<tr{' class=ours' if row and row[0] == ours else ''}>{_cells(row)}</tr>" for row in sheet.rows)
    notes = "".join(f'<p class="hint">{escaped(note)}</p>' for note in sheet.notes)
    made = _table(sheet.headings, sheet.rows, body, sheet.title)
    return f'<section class="sheet"><h3>{escaped(sheet.title)}</h3>{made}{notes}</section>'


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], body: str, label: str) -> str:
    aligned = [_css([row[k] for row in rows if 0 < k < len(row)]) for k in range(len(columns))]
    names = [escaped(column.replace(" %", NO_BREAK + "%")) for column in columns]
    heads = "".join(f'<th scope="col"{css}>{name}</th>' for css, name in zip(aligned, names, strict=True))
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escaped(label)}">'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cells(row: Sequence[str], before: str = "") -> str:
    first = "".join(f'<th scope="row"{_css([cell])}>{before}{escaped(cell)}</th>' for cell in row[:1])
    return first + "".join(f"<td{_css([cell])}>{escaped(cell)}</td>" for cell in row[1:])


def _css(cells: Sequence[str]) -> str:
    """How cells are set: numbers to the right, long texts in several lines."""
    if any(len(cell) > LONG for cell in cells):
        return ' class="long"'
    return ' class="number"' if any(cell == "-" or NUMBER.match(cell) for cell in cells) else ""


def legend(looks: Looks) -> str:
    """The methods, each with a box that hides it everywhere."""
    labels = "".join(
        f'<label class="{look.css_class}{" ours" if look.is_ours else ""}" title="{escaped(look.method)}">'
        f'<input type="checkbox" value="{look.css_class}" checked>{swatch(look)}'
        f'<span class="name">{escaped(look.method)}</span></label>'
        for look in looks.values()
    )
    return (
        f'<div class="legend"><fieldset class="wide"><legend>Methods to show</legend>{labels}'
        '<button type="button" id="all">All</button><button type="button" id="none">Only ours</button></fieldset></div>'
    )


def swatch(look: Look) -> str:
    """The line and marker of a method."""
    ours = " ours" if look.is_ours else ""
    mark = markers(look, [(17.0, 6.0)], 3.6)
    return (
        f'<svg class="plot swatch {look.css_class}{ours}" viewBox="0 0 34 12" aria-hidden="true">'
        f'<g class="{look.css_class}{ours}"><path class="line" d="M1,6H33"/><path class="mark" d="{mark}"/></g></svg>'
    )


def overview(found: Outcomes, looks: Looks) -> str:
    """A small panel per problem."""
    figures = "".join(
        f'<figure><figcaption><a href="#p{k}">{escaped(name)}</a></figcaption>{_small(outcomes, looks, k)}</figure>'
        for k, (name, outcomes) in enumerate(found.items())
    )
    return (
        '<section class="wide"><h2 id="overview">Every problem at a glance</h2><p class="hint">Hypervolume error '
        "against the share of the budget spent after the initial designs: the mean over the seeds and its 90 % "
        "bootstrap band, which is too narrow where seeds are few. Lower is better; errors below "
        f"{FLOOR:g} are drawn there; every panel has its own range. Point at a curve for its value, at the legend to "
        "see one method everywhere.</p>"
        f'<div class="overview">{figures}</div></section>'
    )


def _small(outcomes: Sequence[Outcome], looks: Looks, k: int) -> str:
    if not outcomes:
        return '<p class="hint">No runs.</p>'
    return error_panel(outcomes, looks, width=310, height=232, problem=k).svg()


def problem_section(k: int, name: str, facts: ProblemFacts, outcomes: Sequence[Outcome], looks: Looks) -> str:
    """Everything about one problem, to be opened."""
    inside = _inside(k, facts, outcomes, looks) if outcomes else "<p>Nobody was run on this problem.</p>"
    return (
        f'<details class="problem" id="p{k}"{" open" if k == 0 else ""}><summary><h3>{escaped(name)}</h3>'
        f"<span>{_verdict(outcomes, looks)}</span></summary>"
        f'<div class="inside"><p>{escaped(facts.summary)}</p><p class="hint">{_facts(facts)}</p>'
        f"{inside}</div></details>"
    )


def _verdict(outcomes: Sequence[Outcome], looks: Looks) -> str:
    """Our final error and the best of the others, in one line."""
    told = []
    for rank, outcome in enumerate(outcomes, start=1):
        if looks[outcome.method].is_ours:
            told.append(
                f"{escaped(outcome.method)} {escaped(shown_error(outcome.final))}, place {rank} of {len(outcomes)}"
            )
    best = next((outcome for outcome in outcomes if not looks[outcome.method].is_ours), None)
    if best:
        told.append(
            f"best {'other' if told else ''} {escaped(best.method)} {escaped(shown_error(best.final))}".replace(
                "  ", " "
            )
        )
    return " · ".join(told) or "no runs"


def _facts(facts: ProblemFacts) -> str:
    few = facts.n_designs < 1e7
    designs = (
        f"{shown(facts.n_designs, 7 if few else 3)} designs"
        if facts.n_designs < math.inf
        else "infinitely many designs"
    )
    goals = [
        f"{'least' if d == 'min' else 'most'} {axis}" for axis, d in zip(facts.axes, facts.directions, strict=True)
    ]
    costs = [
        f"{name} {shown(cost)}{NO_BREAK}{facts.unit}".strip() if cost else f"{name} comes along"
        for name, cost in zip(facts.names, facts.mean_costs, strict=True)
    ]
    known = "true" if facts.exact else "best known"
    return escaped(
        f"{facts.n_options} options, {designs}. Wanted: {listed(goals)}. Mean cost of measuring: {listed(costs)}. "
        f"Budget: {shown(facts.budget, 4)}{NO_BREAK}{facts.unit} after the initial designs. "
        f"Judged against the {known} front, {shown(len(facts.front), 6)} designs."
    )


def _inside(k: int, facts: ProblemFacts, outcomes: Sequence[Outcome], looks: Looks) -> str:
    curves = error_panel(outcomes, looks, width=560, height=400, budget=facts.budget, unit=facts.unit, problem=k)
    counts = [(axis, [o.evaluations[j] for o in outcomes]) for j, axis in enumerate(facts.names)]
    times = [
        ("in all (s)", [o.overhead_s for o in outcomes]),
        ("per evaluation (s)", [o.overhead_per_evaluation_s for o in outcomes]),
    ]
    bars = [
        _figure(
            "Evaluations per objective",
            "Mean number paid for after the initial designs; methods with the least error first.",
            bar_panel(outcomes, looks, counts, width=560, label="Evaluations per objective.", counts=True).svg(),
        ),
        _figure(
            "OverheadPrices time",
            "Mean processor time of a run; an evaluation is one objective of one design.",
            bar_panel(outcomes, looks, times, width=560, label="OverheadPrices time.", counts=False).svg(),
        ),
    ]
    error = _figure("Error against cost", "Mean over the seeds with 90 % bootstrap bands.", curves.svg())
    fronts = _fronts(k, facts, outcomes, looks)
    return f'<div class="panels">{error}{fronts}{"".join(bars)}</div>{_numbers(facts, outcomes, looks)}'


def _figure(heading: str, caption: str, body: str, *, css_class: str = "") -> str:
    return (
        f"<figure{css_class and f' class={css_class}'}><figcaption><b>{escaped(heading)}</b>"
        f"<span>{escaped(caption)}</span></figcaption>{body}</figure>"
    )


def _fronts(k: int, facts: ProblemFacts, outcomes: Sequence[Outcome], looks: Looks) -> str:
    """The fronts of the first seed: one panel for two objectives, one for each pair of more."""
    first = min(seed for outcome in outcomes for seed in outcome.seeds)
    absent = sorted(o.method for o in outcomes if o.front is None or not len(o.front))
    caption = f"True values of the designs reported at the end with seed {first}. "
    caption += f"Black: the {'true' if facts.exact else 'best known'} front"
    caption += f", {MOST_DRAWN} of its designs." if len(facts.front) > MOST_DRAWN else "."
    if absent:
        caption += f" No front of: {listed(absent)}."
    pairs = list(combinations(range(len(facts.names)), 2))
    width, height = (560, 400) if len(pairs) == 1 else (310, 250)
    panels = [
        front_panel(outcomes, looks, facts, pair=pair, width=width, height=height, problem=k).svg() for pair in pairs
    ]
    if len(pairs) < 2:
        return _figure("Fronts found", caption, panels[0]) if panels else ""
    body = "".join(f"<figure>{panel}</figure>" for panel in panels)
    css_class = "whole" if len(pairs) > 4 else ""
    return _figure("Fronts found", caption, f'<div class="pairs">{body}</div>', css_class=css_class)


def _numbers(facts: ProblemFacts, outcomes: Sequence[Outcome], looks: Looks) -> str:
    """The figures in numbers."""
    columns = ["method", "seeds", "error at 25 %", "at 50 %", "at 100 %", "90 % band", f"spent ({facts.unit})"]
    columns += [f"evaluations of {name}" for name in facts.names] + ["thinking (s)", "per evaluation (s)"]
    rows = [_numbers_row(outcome) for outcome in outcomes]
    body = []
    for outcome, row in zip(outcomes, rows, strict=True):
        look = looks[outcome.method]
        css = f"series {look.css_class}{' ours' if look.is_ours else ''}"
        body.append(f'<tr class="{css}">{_cells(row, swatch(look))}</tr>')
    return _table(columns, rows, "".join(body), "Results in numbers")


def _numbers_row(outcome: Outcome) -> list[str]:
    band = (
        f"{shown_error(outcome.low[-1], 2)} to {shown_error(outcome.high[-1], 2)}" if len(outcome.seeds) > 1 else "none"
    )
    errors = [shown_error(outcome.error_at(share)) for share in (0.25, 0.5, 1.0)]
    counts = [shown(count) for count in outcome.evaluations]
    times = [shown(outcome.overhead_s), shown(outcome.overhead_per_evaluation_s, 2)]
    return [outcome.method, str(len(outcome.seeds)), *errors, band, shown(outcome.spent, 4), *counts, *times]
