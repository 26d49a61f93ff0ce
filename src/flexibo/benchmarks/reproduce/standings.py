"""Where the methods stand: errors and designs in the target region, after equal iterations and at equal cost."""

from __future__ import annotations

from collections.abc import Sequence

from flexibo.benchmarks.reproduce.base import Repeat, methods_of, problems_of
from flexibo.benchmarks.reproduce.findings import Claim, Table
from flexibo.benchmarks.reproduce.measures import (
    AXES,
    ITERATIONS,
    LOG_COST,
    REAL_COST,
    claim_best,
    compared_methods,
    error_at,
    limits,
    shown,
    targets_at,
    values_of,
)

OURS = "flexibo-gp-log"
"""The paper's method in the comparisons: Gaussian processes and log costs."""

DEFINITIONS = (
    "Hypervolume error: the share of the true front's hypervolume that the reported designs miss, judged by their true "
    "values. Equal cost: what the thriftiest repeat on a problem had spent at its end; log cost is the paper's sum of "
    "log(max(cost, e)), real cost is the plain sum. Target region: below the first quartile of each objective; on "
    "dnn-stack, as in the paper, below an error of 25 % and the first quartile of energy. Numbers are means over the "
    "repeats ± their standard error; 'within the spread' means that the paired difference is below two of its standard "
    "errors."
)


def standings_table(repeats: Sequence[Repeat], *, extra: Sequence[str] = ()) -> Table:
    """Errors after all iterations, at equal log cost and at equal real cost, and designs in the target region.

    Args:
        repeats: All repeats.
        extra: Methods that are shown, but take no part in the paper's comparison.
    """
    ends = {axis.name: limits(repeats, axis, extra=extra) for axis in AXES}
    rows = []
    for problem in problems_of(repeats):
        for method in methods_of(repeats):
            measures = [error_at(axis, ends[axis.name][problem]) for axis in AXES]
            measures += [targets_at(axis, ends[axis.name][problem]) for axis in (ITERATIONS, LOG_COST)]
            measures.append(lambda repeat: repeat.iterations[-1].spent)
            numbers = [shown(values_of(repeats, problem, method, measure)) for measure in measures]
            rows.append((problem, f"{method} (not the paper's)" if method in extra else method, *numbers))
    headings = (
        "problem",
        "method",
        "error after all iterations",
        "error at equal log cost",
        "error at equal real cost",
        "designs in target after all iterations",
        "designs in target at equal log cost",
        "spent in all",
    )
    return Table("Hypervolume error and designs in the target region", headings, tuple(rows), labels=2)


def error_claims(
    repeats: Sequence[Repeat], paper: str, *, others: Sequence[str] = (), extra: Sequence[str] = ()
) -> list[Claim]:
    """A claim about the error of the paper's method, judged at equal log cost (the paper's axis) and real cost."""
    claims = []
    for axis in (LOG_COST, REAL_COST):
        ends = limits(repeats, axis, extra=extra)
        claims.append(
            claim_best(
                f"{paper} (at equal {axis.name}).",
                repeats,
                ours=OURS,
                others=others or compared_methods(repeats, ours=OURS, extra=extra),
                measure=lambda problem, axis=axis, ends=ends: error_at(axis, ends[problem]),  # type: ignore[misc]
            )
        )
    return claims
