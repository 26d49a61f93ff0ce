"""Tables and claims that experiments share: errors and designs in the target region at equal cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from statistics import fmean, geometric_mean

from flexibo.experiments.claims import Claim, ResultTable, claim_best
from flexibo.experiments.measures import (
    AXES,
    ITERATIONS,
    LOG_COST,
    REAL_COST,
    CostAxis,
    Measure,
    compared_methods,
    error_at,
    iterations_at,
    limits,
    measures_of,
    shown,
    targets_at,
    values_of,
)
from flexibo.experiments.repeats import Repeat, methods_of, of_problem, problems_of

OURS = "flexibo-gp-log"
"""The paper's method in the comparisons: Gaussian processes and log costs."""

DEFINITIONS = (
    "Hypervolume error: the share of the true front's hypervolume that the reported designs miss, judged by their true "
    "values; a decoupled method reports designs that it only predicts. Confirmed: the same of the designs of which a "
    "method measured every objective. Equal cost: the final cost of the cheapest repeat on a problem; log cost is the "
    "paper's sum of log(max(cost, e)), real cost is the plain sum. Target region: below the first quartile of each "
    "objective; on dnn-stack, as in the paper, below an error of 25 % and the first quartile of energy. Numbers are "
    "means over the repeats ± their standard error; 'within the spread' means that the paired difference is below two "
    "of its standard errors. Undecided: a tie, a difference within the spread, a single repeat, or a cost that is too "
    "small for an iteration of a method in the comparison."
)
IDLE = " †"
IDLE_NOTE = (
    "† The cost is too small for one iteration in some repeats: these have the error of the initial designs, which is "
    "not a result of the method."
)
ERROR_HEADINGS = ("method", "after all iterations", "at equal log cost", "at equal real cost")
LEAST_ERROR = 1e-3
"""Smaller errors count as this in geometric means, as in comparisons."""
EXTRA_NOTE = "* Not one of the paper's methods."


def standings_tables(repeats: Sequence[Repeat], *, extra: Sequence[str] = ()) -> tuple[ResultTable, ...]:
    """Tables of each problem: errors at equal cost, and designs in the target region; `extra` methods have a mark.

    Where there are several problems, the errors over all of them come first.
    """
    ends = {axis.name: limits(repeats, axis, extra=extra) for axis in AXES}
    tables = []
    if len(problems_of(repeats)) > 1:
        tables += [_overall(repeats, ends, extra, confirmed=confirmed) for confirmed in measures_of(repeats)]
    for problem in problems_of(repeats):
        own = of_problem(repeats, problem)
        places = {axis: ends[axis.name][problem] for axis in AXES}
        tables += [_errors(own, places, extra, confirmed=confirmed) for confirmed in measures_of(repeats)]
        tables.append(_targets(own, places, extra))
    return tuple(tables)


def _overall(
    repeats: Sequence[Repeat], ends: Mapping[str, Mapping[str, float]], extra: Sequence[str], *, confirmed: bool
) -> ResultTable:
    """The geometric means over all problems of the errors that the tables of these problems show."""

    def mean(method: str, axis: CostAxis) -> str:
        errors = [
            fmean(values_of(repeats, problem, method, error_at(axis, ends[axis.name][problem], confirmed=confirmed)))
            for problem in problems_of(repeats)
        ]
        return f"{geometric_mean([max(error, LEAST_ERROR) for error in errors]):.3g}"

    rows = [(marked(method, extra), *(mean(method, axis) for axis in AXES)) for method in methods_of(repeats)]
    what = "confirmed hypervolume error" if confirmed else "hypervolume error"
    title = f"All {len(problems_of(repeats))} problems: {what}, the geometric mean of the problems' means"
    return ResultTable(title, ERROR_HEADINGS, tuple(rows), note=extra_note(repeats, extra))


def _errors(
    repeats: Sequence[Repeat], places: Mapping[CostAxis, float], extra: Sequence[str], *, confirmed: bool
) -> ResultTable:
    """Errors after all iterations and at equal cost, with a mark if that cost is too small for an iteration."""
    problem, rows = repeats[0].problem, []
    for method in methods_of(repeats):
        cells = []
        for axis, limit in places.items():
            counts = values_of(repeats, problem, method, iterations_at(axis, limit))
            mark = IDLE if axis is not ITERATIONS and min(counts) == 0 else ""
            measure = error_at(axis, limit, confirmed=confirmed)
            cells.append(shown(values_of(repeats, problem, method, measure)) + mark)
        rows.append((marked(method, extra), *cells))
    what = "confirmed hypervolume error" if confirmed else "hypervolume error"
    title = f"{problem}: {what} (the share of the true front's that is missed)"
    note = IDLE_NOTE if any(IDLE in cell for row in rows for cell in row) else ""
    notes = " ".join(filter(None, (extra_note(repeats, extra), note)))
    return ResultTable(title, ERROR_HEADINGS, tuple(rows), note=notes)


def _targets(repeats: Sequence[Repeat], places: Mapping[CostAxis, float], extra: Sequence[str]) -> ResultTable:
    problem, rows = repeats[0].problem, []
    for method in methods_of(repeats):
        measures = [targets_at(axis, places[axis]) for axis in (ITERATIONS, LOG_COST)]
        measures += [iterations_at(REAL_COST, places[REAL_COST]), lambda repeat: repeat.iterations[-1].spent]
        numbers = [shown(values_of(repeats, problem, method, measure)) for measure in measures]
        rows.append((marked(method, extra), *numbers))
    headings = (
        "method",
        "designs after all iterations",
        "designs at equal log cost",
        "iterations at equal real cost",
        f"spent in all ({repeats[0].unit})",
    )
    title = f"{problem}: designs in the target region, iterations and cost"
    return ResultTable(title, headings, tuple(rows), note=extra_note(repeats, extra))


def marked(method: str, extra: Sequence[str]) -> str:
    """The name of a method in a table, with a star if it is not in the paper."""
    return f"{method}*" if method in extra else method


def extra_note(repeats: Sequence[Repeat], extra: Sequence[str]) -> str:
    """The meaning of the star, if one of these methods is shown."""
    return EXTRA_NOTE if set(extra) & set(methods_of(repeats)) else ""


def error_claims(
    repeats: Sequence[Repeat],
    paper: str,
    *,
    others: Sequence[str] = (),
    extra: Sequence[str] = (),
    axes: Sequence[CostAxis] = (LOG_COST, REAL_COST),
) -> list[Claim]:
    """A claim about the error of the paper's method, by default at equal log cost (the paper's axis) and real cost.

    It is judged by reported designs and, where that is known, by those that were measured completely.
    """
    claims = []
    for axis, confirmed in product(axes, measures_of(repeats)):
        by = ", by confirmed designs" if confirmed else ""
        ends = limits(repeats, axis, extra=extra)
        claims.append(
            claim_best(
                f"{paper} (at equal {axis.name}{by}).",
                repeats,
                ours=OURS,
                others=others or compared_methods(repeats, ours=OURS, extra=extra),
                # Ignored: mypy cannot infer a lambda whose defaults bind the values of a loop.
                measure=lambda problem, axis=axis, ends=ends, confirmed=confirmed: error_at(  # type: ignore[misc]
                    axis, ends[problem], confirmed=confirmed
                ),
                made=lambda problem, axis=axis, ends=ends: iterations_at(axis, ends[problem]),  # type: ignore[misc]
            )
        )
    return claims


def target_claim(repeats: Sequence[Repeat], paper: str, *, others: Sequence[str], extra: Sequence[str] = ()) -> Claim:
    """The claim that the paper's method finds most designs in the target region, judged at equal log cost."""
    ends = limits(repeats, LOG_COST, extra=extra)
    return claim_best(
        f"{paper} (at equal log cost).",
        repeats,
        ours=OURS,
        others=others,
        measure=lambda problem: targets_at(LOG_COST, ends[problem]),
        made=lambda problem: iterations_at(LOG_COST, ends[problem]),
        best=max,
    )


def measured_table(repeats: Sequence[Repeat], title: str, measures: Mapping[str, Measure]) -> ResultTable:
    """A table with a row for each method and a column for each measure of the repeats on one problem."""
    problem = repeats[0].problem
    rows = [
        (method, *(shown(values_of(repeats, problem, method, measure)) for measure in measures.values()))
        for method in methods_of(repeats)
    ]
    return ResultTable(title, ("method", *measures), tuple(rows))
