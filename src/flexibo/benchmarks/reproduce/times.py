"""Times: seconds per iteration, without and with the evaluation, beside the paper's table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from flexibo.benchmarks.problem import Problem
from flexibo.benchmarks.reproduce import drawing
from flexibo.benchmarks.reproduce.base import Repeat, methods_of, of_problem, problems_of
from flexibo.benchmarks.reproduce.experiment import Experiment, Figures
from flexibo.benchmarks.reproduce.findings import Claim, Findings, Judgement, Table
from flexibo.benchmarks.reproduce.measures import mean, shown
from flexibo.benchmarks.reproduce.standings import OURS

PAPER: dict[str, tuple[float, float]] = {
    OURS: (79.9, 1417.2),
    "pesmo": (64.8, 9133.7),
    "pesmo-dec": (66.9, 4400.4),
    "pal": (178.2, 8764.3),
    "ca-mobo": (71.2, 8411.5),
    "parego": (56.2, 8656.9),
    "smsego": (48.4, 9020.9),
}
"""The paper's table: seconds per iteration without and with evaluation, on a Jetson."""

SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}
NOTES = (
    "Without evaluation: processor time of asking and telling, on one core of the machine that ran this; the paper's "
    "is on a Jetson. With evaluation: the same plus the recorded cost of what the iteration measured. Means over the "
    "iterations of each repeat, then over repeats and problems, ± the standard error over repeats.",
    "The paper's text says that FlexiBO needs 5.6 times less than the next best method, ParEGO; by its own table the "
    "next best is PESMO-DEC, with 3.1 times FlexiBO's seconds, and ParEGO needs 6.1 times as many.",
)


def thinking(repeat: Repeat) -> float:
    """Seconds per iteration without evaluation."""
    times = [iteration.thinking_s for iteration in repeat.iterations[1:]]
    return mean(times)


def with_evaluation(repeat: Repeat) -> float:
    """Seconds per iteration with evaluation; not a number where costs are no times."""
    n = len(repeat.iterations) - 1
    seconds = SECONDS.get(repeat.unit, math.nan)
    return thinking(repeat) + seconds * repeat.iterations[-1].spent / n if n else math.nan


def findings(repeats: Sequence[Repeat], problems: Mapping[str, Problem]) -> Findings:
    """How long an iteration takes."""
    without, full = ({m: mean(_all(repeats, m, measure)) for m in methods_of(repeats)} for measure in _MEASURES)
    claims = (_slower_thinking(without), _pal_slowest(without), *_quickest(full))
    tables = (_beside_paper(repeats), _per_problem(repeats))
    return Findings("times", "Seconds per iteration, without and with evaluation", tables, claims, NOTES)


_MEASURES = (thinking, with_evaluation)


def _all(repeats: Sequence[Repeat], method: str, measure: object) -> list[float]:
    assert callable(measure)
    return [float(measure(repeat)) for repeat in repeats if repeat.method == method]


def _slower_thinking(seconds: Mapping[str, float]) -> Claim:
    others = {method: value for method, value in seconds.items() if method not in (OURS, "pal")}
    judgements = []
    if others and not math.isnan(seconds[OURS]):
        slowest = max(others, key=others.__getitem__)
        numbers = f"{seconds[OURS]:.3g} s against {others[slowest]:.3g} s of {slowest}"
        judgements.append(Judgement("all problems", seconds[OURS] > others[slowest], numbers))
    paper = (
        "Without evaluation an iteration of FlexiBO takes longer than of every method but PAL (79.9 s; others to 71.2)."
    )
    return Claim(paper, tuple(judgements))


def _pal_slowest(seconds: Mapping[str, float]) -> Claim:
    others = {method: value for method, value in seconds.items() if method != "pal"}
    judgements = []
    if "pal" in seconds and others:
        slowest = max(others, key=others.__getitem__)
        numbers = f"{seconds['pal']:.3g} s against {others[slowest]:.3g} s of {slowest}"
        judgements.append(Judgement("all problems", seconds["pal"] > others[slowest], numbers))
    return Claim("Without evaluation an iteration of PAL takes longest (178.2 s).", tuple(judgements))


def _quickest(seconds: Mapping[str, float]) -> list[Claim]:
    others = {method: value for method, value in seconds.items() if method != OURS and not math.isnan(value)}
    lowest: tuple[Judgement, ...] = ()
    second: tuple[Judgement, ...] = ()
    if others and not math.isnan(seconds[OURS]):
        best = min(others, key=others.__getitem__)
        ratio = others[best] / seconds[OURS] if seconds[OURS] else math.inf
        numbers = f"{seconds[OURS]:.4g} s; the next, {best}, takes {others[best]:.4g} s, {ratio:.2g} times as long"
        lowest = (Judgement("all problems", ratio > 1, numbers),)
        second = (Judgement("all problems", best == "pesmo-dec", f"{best}, {others[best]:.4g} s"),)
    return [
        Claim(
            "With evaluation an iteration of FlexiBO takes least (1417 s; the next, PESMO-DEC, 3.1 times as long).",
            lowest,
        ),
        Claim("With evaluation PESMO-DEC, the other decoupled method, comes next (4400 s).", second),
    ]


def _beside_paper(repeats: Sequence[Repeat]) -> Table:
    rows = []
    for method in methods_of(repeats):
        paper = PAPER.get(method, (math.nan, math.nan))
        cells: list[str] = []
        for k, measure in enumerate(_MEASURES):
            cells += [shown(_all(repeats, method, measure)), "-" if math.isnan(paper[k]) else f"{paper[k]:g}"]
        rows.append((method, *cells))
    headings = ("method", "no evaluation (s)", "the paper's (s)", "with evaluation (s)", "the paper's (s)")
    return Table("Seconds per iteration, over all problems", headings, tuple(rows))


def _per_problem(repeats: Sequence[Repeat]) -> Table:
    names = problems_of(repeats)
    rows = []
    for method in methods_of(repeats):
        own = [of_problem(repeats, problem, method) for problem in names]
        cells = [shown([measure(repeat) for repeat in part]) for measure in _MEASURES for part in own]
        rows.append((method, *cells))
    headings = ("method", *(f"{name}, {kind} (s)" for kind in ("no evaluation", "with evaluation") for name in names))
    return Table("Seconds per iteration, problem by problem", headings, tuple(rows))


def figures(repeats: Sequence[Repeat], problems: Mapping[str, Problem]) -> Figures:
    """The seconds as bars, the paper's beside ours."""
    ours = {
        method: tuple(mean(_all(repeats, method, measure)) for measure in _MEASURES) for method in methods_of(repeats)
    }
    return {"times": drawing.times(ours, PAPER)}


TIMES = Experiment("times", "Seconds per iteration, without and with evaluation.", tuple(PAPER), findings, figures)
