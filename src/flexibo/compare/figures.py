"""Figures of a comparison as SVG files that stand alone: for documentation, in light and in dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from itertools import combinations

from flexibo.compare.page.axes import LETTER
from flexibo.compare.page.facts import ProblemFacts
from flexibo.compare.page.looks import Look, look_rules, looks_of, markers
from flexibo.compare.page.outcomes import Outcome, outcomes_by_problem
from flexibo.compare.page.panels import Panel, bar_panel, error_panel, front_panel
from flexibo.compare.page.text import escaped, shortened
from flexibo.compare.runs import Run

GAP = 18.0
HEADING = 28.0
LEGEND_ROW = 22.0

Problems = Mapping[str, ProblemFacts]


def overview_figure(runs: Sequence[Run], problems: Problems, *, ours: str, columns: int = 3) -> str:
    """Hypervolume error against the share of the budget: a panel per problem, one legend."""
    found, looks = _read(runs, problems, ours)
    panels = [
        (name, error_panel(outcomes, looks, width=310, height=232)) for name, outcomes in found.items() if outcomes
    ]
    return _composed("Hypervolume error against the share of the budget", panels, looks, columns)


def error_figure(runs: Sequence[Run], problem: str, facts: ProblemFacts, *, ours: str) -> str:
    """Hypervolume error against cost on one problem: means over the seeds and their 90 % bootstrap bands."""
    outcomes, looks = _read_one(runs, problem, facts, ours)
    panel = error_panel(outcomes, looks, width=640, height=400, budget=facts.budget, unit=facts.unit)
    return _composed(f"Hypervolume error against cost on {problem}", [(problem, panel)], looks, 1)


def front_figure(runs: Sequence[Run], problem: str, facts: ProblemFacts, *, ours: str) -> str:
    """The fronts that each method found with the first seed, and the true front; a panel per pair of objectives."""
    outcomes, looks = _read_one(runs, problem, facts, ours)
    pairs = list(combinations(range(len(facts.names)), 2))
    width, height = (640, 420) if len(pairs) == 1 else (390, 300)
    panels = [
        (problem if k == 0 else "", front_panel(outcomes, looks, facts, pair=pair, width=width, height=height))
        for k, pair in enumerate(pairs)
    ]
    return _composed(f"Fronts found on {problem}", panels, looks, min(3, len(pairs)))


def evaluations_figure(runs: Sequence[Run], problem: str, facts: ProblemFacts, *, ours: str) -> str:
    """How many evaluations of each objective every method paid for, mean over the seeds."""
    outcomes, looks = _read_one(runs, problem, facts, ours)
    columns = [(name, [outcome.evaluations[j] for outcome in outcomes]) for j, name in enumerate(facts.names)]
    label = f"Evaluations per objective on {problem}"
    panel = bar_panel(outcomes, looks, columns, width=640, label=label, counts=True)
    return _composed(label, [(label, panel)], looks, 1, named=True)


def thinking_figure(runs: Sequence[Run], problem: str, facts: ProblemFacts, *, ours: str) -> str:
    """How long every method thought, in all and per evaluation, mean over the seeds."""
    outcomes, looks = _read_one(runs, problem, facts, ours)
    columns = [
        ("in all (s)", [outcome.overhead_s for outcome in outcomes]),
        ("per evaluation (s)", [outcome.overhead_per_evaluation_s for outcome in outcomes]),
    ]
    label = f"OverheadPrices time on {problem}"
    panel = bar_panel(outcomes, looks, columns, width=640, label=label, counts=False)
    return _composed(label, [(label, panel)], looks, 1, named=True)


def _read(runs: Sequence[Run], problems: Problems, ours: str) -> tuple[dict[str, list[Outcome]], dict[str, Look]]:
    found = outcomes_by_problem([run for run in runs if run.problem in problems], problems)
    return found, looks_of({outcome.method for outcomes in found.values() for outcome in outcomes}, ours)


def _read_one(
    runs: Sequence[Run], problem: str, facts: ProblemFacts, ours: str
) -> tuple[list[Outcome], dict[str, Look]]:
    found, looks = _read(runs, {problem: facts}, ours)
    return found[problem], looks


def _composed(
    title: str, panels: Sequence[tuple[str, Panel]], looks: Mapping[str, Look], columns: int, *, named: bool = False
) -> str:
    """Panels in rows with headings, their style, and a legend below unless they name the methods themselves."""
    columns = max(1, min(columns, len(panels)))
    width = max((panel.width for _, panel in panels), default=320.0)
    height = max((panel.height for _, panel in panels), default=0.0) + HEADING
    whole = columns * (width + GAP) + GAP
    parts = []
    for k, (heading, panel) in enumerate(panels):
        x, y = GAP + (k % columns) * (width + GAP), GAP + (k // columns) * (height + GAP)
        name = escaped(shortened(heading, int(width / 8)))
        parts.append(f'<text class="heading" x="{x + 4:g}" y="{y + 14:g}">{name}</text>')
        parts.append(f'<g transform="translate({x:g} {y + HEADING:g})">{panel.body}</g>')
    top = GAP + -(-len(panels) // columns) * (height + GAP)
    legend, bottom = _legend([] if named else list(looks.values()), whole, top)
    style = resources.files("flexibo.compare.page").joinpath("plot.css").read_text(encoding="utf-8")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" width="{whole:g}" height="{bottom:g}" '
        f'viewBox="0 0 {whole:g} {bottom:g}" role="img" aria-label="{escaped(title)}">'
        f"<title>{escaped(title)}</title><style>{style}{look_rules(looks.values())}</style>"
        f'<rect class="paper" width="{whole:g}" height="{bottom:g}"/>{"".join(parts)}{legend}</svg>\n'
    )


def _legend(looks: Sequence[Look], width: float, top: float) -> tuple[str, float]:
    """The methods in as many rows as they need, and where the last row ends."""
    parts, x, y = [], GAP, top + 8.0
    for look in looks:
        name = shortened(look.method, 40)
        room = 44.0 + LETTER * len(name) + 14.0
        if x > GAP and x + room > width - GAP:
            x, y = GAP, y + LEGEND_ROW
        ours = " ours" if look.is_ours else ""
        mark = markers(look, [(x + 17.0, y)], 3.6)
        parts.append(
            f'<g class="{look.css_class}{ours}"><path class="line" d="M{x:.1f},{y:g}h34"/>'
            f'<path class="mark" d="{mark}"/>'
            f'<text class="name{ours}" x="{x + 41:.1f}" y="{y + 4:g}">{escaped(name)}</text></g>'
        )
        x += room
    return "".join(parts), (y + LEGEND_ROW if looks else top)
