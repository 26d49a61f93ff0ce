"""Times: seconds per iteration, without and with evaluation, compared with the paper's table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from flexibo.compare.problems.base import Problem
from flexibo.experiments import drawing
from flexibo.experiments.claims import Claim, ExperimentResult, Judgement, ResultTable, lower
from flexibo.experiments.experiment import Experiment, Figures
from flexibo.experiments.measures import Measure, mean, number, shown
from flexibo.experiments.repeats import Repeat, methods_of, of_problem, problems_of
from flexibo.experiments.standard_tables import OURS, measured_table

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


def overhead(repeat: Repeat) -> float:
    """Seconds per iteration without evaluation."""
    times = [iteration.overhead_s for iteration in repeat.iterations[1:]]
    return mean(times)


def with_evaluation(repeat: Repeat) -> float:
    """Seconds per iteration with evaluation; NaN if costs are not times."""
    n = len(repeat.iterations) - 1
    seconds = SECONDS.get(repeat.unit, math.nan)
    return overhead(repeat) + seconds * repeat.iterations[-1].spent / n if n else math.nan


def evaluate(repeats: Sequence[Repeat], problems: Mapping[str, Problem]) -> ExperimentResult:
    """The time of an iteration."""
    without, full = ({m: mean(_all(repeats, m, measure)) for m in methods_of(repeats)} for measure in _MEASURES)
    claims = (
        _slower(
            "Without evaluation an iteration of FlexiBO takes longer than of every method but PAL (79.9 s; others to "
            "71.2).",
            without,
            OURS,
            [method for method in without if method not in (OURS, "pal")],
        ),
        _slower(
            "Without evaluation an iteration of PAL takes longest (178.2 s).",
            without,
            "pal",
            [method for method in without if method != "pal"],
        ),
        *_quickest(full),
    )
    names = problems_of(repeats)
    columns = {"without evaluation (s)": overhead, "with evaluation (s)": with_evaluation}
    each = [
        measured_table(of_problem(repeats, name), f"{name}: seconds per iteration", columns)
        for name in (names if len(names) > 1 else ())
    ]
    tables = (_beside_paper(repeats), *each)
    return ExperimentResult("times", "Seconds per iteration, without and with evaluation", tables, claims, NOTES)


_MEASURES = (overhead, with_evaluation)


def _all(repeats: Sequence[Repeat], method: str, measure: Measure) -> list[float]:
    return [measure(repeat) for repeat in repeats if repeat.method == method]


def _slower(paper: str, seconds: Mapping[str, float], method: str, others: Sequence[str]) -> Claim:
    """The claim that an iteration of a method takes longer than one of all others."""
    judgements = []
    if others and not math.isnan(seconds.get(method, math.nan)):
        slowest = max(others, key=seconds.__getitem__)
        numbers = f"{number(seconds[method])} s against {number(seconds[slowest])} s of {slowest}"
        judgements.append(Judgement("all problems", lower(seconds[slowest], seconds[method]), numbers))
    return Claim(paper, tuple(judgements))


def _quickest(seconds: Mapping[str, float]) -> list[Claim]:
    others = {method: value for method, value in seconds.items() if method != OURS and not math.isnan(value)}
    lowest: tuple[Judgement, ...] = ()
    second: tuple[Judgement, ...] = ()
    if others and not math.isnan(seconds[OURS]):
        best = min(others, key=others.__getitem__)
        ratio = others[best] / seconds[OURS] if seconds[OURS] else math.inf
        taken = f"{number(others[best], 4)} s"
        numbers = f"{number(seconds[OURS], 4)} s; the next, {best}, takes {taken}, {number(ratio, 2)} times as long"
        lowest = (Judgement("all problems", lower(seconds[OURS], others[best]), numbers),)
        shared = sum(value == others[best] for value in others.values()) > 1
        second = (Judgement("all problems", None if shared else best == "pesmo-dec", f"{best}, {taken}"),)
    return [
        Claim(
            "With evaluation an iteration of FlexiBO takes least (1417 s; the next, PESMO-DEC, 3.1 times as long).",
            lowest,
        ),
        Claim("With evaluation PESMO-DEC, the other decoupled method, comes next (4400 s).", second),
    ]


def _beside_paper(repeats: Sequence[Repeat]) -> ResultTable:
    rows = []
    for method in methods_of(repeats):
        paper = PAPER.get(method, (math.nan, math.nan))
        cells: list[str] = []
        for k, measure in enumerate(_MEASURES):
            cells += [shown(_all(repeats, method, measure)), "-" if math.isnan(paper[k]) else number(paper[k], 5)]
        rows.append((method, *cells))
    headings = ("method", "without evaluation (s)", "the paper's (s)", "with evaluation (s)", "the paper's (s)")
    return ResultTable("Seconds per iteration, over all problems", headings, tuple(rows))


def figures(repeats: Sequence[Repeat], problems: Mapping[str, Problem]) -> Figures:
    """The seconds as bars, the paper's beside ours."""
    ours = {
        method: tuple(mean(_all(repeats, method, measure)) for measure in _MEASURES) for method in methods_of(repeats)
    }
    return {"times": drawing.times(ours, PAPER)}


TIMES = Experiment("times", "Seconds per iteration, without and with evaluation.", tuple(PAPER), evaluate, figures)
